package ssh

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	crypto "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/rpc"
)

// hungConn is the connection of an agent that ends only when the connection does.
type hungConn struct {
	crypto.Conn
	once    sync.Once
	session io.Closer
	ended   chan struct{}
}

func (c *hungConn) Close() error {
	c.once.Do(func() { close(c.ended) })
	return c.session.Close()
}

// keptOpen is a channel whose end the agent does not notice.
type keptOpen struct{ io.ReadWriteCloser }

func (keptOpen) Close() error { return nil }

// An agent that does not end is cut off after the farewell, also one that is
// refused before the board is in use.
func TestHungAgentIsCutOff(t *testing.T) {
	for _, build := range []string{"this", "another"} {
		t.Run(build, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lab, agent := net.Pipe()
				defer lab.Close()
				defer agent.Close()
				go rpc.Greet(agent, rpc.Agent, rpc.Hello{Build: "this"})
				r, err := device.Connect(t.Context(), "its agent", keptOpen{lab}, build, 0)
				if err != nil {
					t.Fatal(err)
				}
				c := &hungConn{session: lab, ended: make(chan struct{})}
				b := &Board{Build: build}
				began := time.Now()
				err = b.accept(&connection{Client: &crypto.Client{Conn: c}}, r, c.ended, device.Sent{})
				if refused := build != "this"; (err != nil) != refused {
					t.Errorf("got %v", err)
				}
				if err := b.Close(); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took != farewell || b.client != nil || b.remote != nil {
					t.Errorf("took %v, client %v, agent %v", took, b.client, b.remote)
				}
			})
		})
	}
}

// Between reaching a board and asking for its addresses another may have hung it up: then it has none.
func TestAddressesOfABoardThatWasHungUp(t *testing.T) {
	lab, agent := net.Pipe()
	defer lab.Close()
	defer agent.Close()
	go rpc.Greet(agent, rpc.Agent, rpc.Hello{Build: "this"})
	r, err := device.Connect(t.Context(), "its agent", keptOpen{lab}, "this", 0)
	if err != nil {
		t.Fatal(err)
	}
	b := &Board{Build: "this", remote: r}
	if there, here, err := b.Addresses(t.Context()); err != nil || there.IsValid() || here.IsValid() {
		t.Errorf("got %v, %v, %v, want no address", there, here, err)
	}
}

// A wire is a connection in memory that takes all that is written.
type wire struct {
	net.Conn // nil: nobody asks for the rest
	mu       *sync.Mutex
	changed  *sync.Cond
	in, out  *[]byte
	closed   *bool
}

func newWire() (here, there wire) {
	mu := new(sync.Mutex)
	one := wire{mu: mu, changed: sync.NewCond(mu), in: new([]byte), out: new([]byte), closed: new(bool)}
	other := one
	other.in, other.out = one.out, one.in
	return one, other
}

func (w wire) Read(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(*w.in) == 0 && !*w.closed {
		w.changed.Wait()
	}
	if *w.closed {
		return 0, io.EOF
	}
	n := copy(b, *w.in)
	*w.in = (*w.in)[n:]
	return n, nil
}

func (w wire) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if *w.closed {
		return 0, net.ErrClosed
	}
	*w.out = append(*w.out, b...)
	w.changed.Broadcast()
	return len(b), nil
}

func (w wire) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	*w.closed = true
	w.changed.Broadcast()
	return nil
}

func (w wire) LocalAddr() net.Addr  { return &net.TCPAddr{} }
func (w wire) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// silentBoard is a board that lets us in and answers nothing after that, as one that hangs.
func silentBoard(t *testing.T) *crypto.Client {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own, err := crypto.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	here, there := newWire()
	server := &crypto.ServerConfig{NoClientAuth: true}
	server.AddHostKey(own)
	go crypto.NewServerConn(there, server)
	conn, channels, requests, err := crypto.NewClientConn(here, "board", &crypto.ClientConfig{User: "pi",
		HostKeyCallback: crypto.InsecureIgnoreHostKey()})
	if err != nil {
		t.Fatal(err)
	}
	return crypto.NewClient(conn, channels, requests)
}

// A board that hangs right after the login is given up, whatever is asked of it, and at once where nobody wants it any
// more.
func TestBoardThatHangsAfterTheLogin(t *testing.T) {
	for name, x := range map[string]struct {
		ask  func(ctx context.Context, c *crypto.Client) error
		most time.Duration
	}{
		"a folder is asked for": {func(ctx context.Context, c *crypto.Client) error {
			_, err := (&Board{Exe: "/no/such/exe"}).install(ctx, c)
			return err
		}, device.Silence + farewell},
		"the agent is started": {func(ctx context.Context, c *crypto.Client) error {
			_, _, err := (&Board{}).start(ctx, &connection{Client: c}, place{})
			return err
		}, handshake + farewell},
		"a folder is removed": {func(_ context.Context, c *crypto.Client) error {
			place{dir: "/tmp/" + device.AgentPrefix + "1"}.remove(c)
			return io.EOF
		}, handshake + farewell},
		"it is called off": {func(ctx context.Context, c *crypto.Client) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := sh(ctx, c, "true", nil)
			return err
		}, time.Second + farewell},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := silentBoard(t)
			defer c.Close()
			began := time.Now()
			if err := x.ask(t.Context(), c); err == nil || time.Since(began) != x.most {
				t.Errorf("%s: %v after %v, want it given up after %v", name, err, time.Since(began), x.most)
			}
		})
	}
}

// hungAgent is an ssh-agent that answers as far as it does, and then nothing.
type hungAgent struct {
	agent.Agent
	lists bool
	ever  chan struct{}
}

func (a hungAgent) List() ([]*agent.Key, error) {
	if !a.lists {
		<-a.ever
	}
	return a.Agent.List()
}

func (a hungAgent) SignWithFlags(crypto.PublicKey, []byte, agent.SignatureFlags) (*crypto.Signature, error) {
	<-a.ever
	return nil, io.EOF
}

// Extension is what no agent here has.
func (a hungAgent) Extension(string, []byte) ([]byte, error) {
	return nil, agent.ErrExtensionUnsupported
}

// An ssh-agent that hangs, when it is asked for its keys or to sign, ends with who asks.
func TestHungSSHAgent(t *testing.T) {
	for _, lists := range []bool{false, true} {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		a := hungAgent{agent.NewKeyring(), lists, make(chan struct{})}
		defer close(a.ever)
		if err := a.Add(agent.AddedKey{PrivateKey: key}); err != nil {
			t.Fatal(err)
		}
		socket := filepath.Join(t.TempDir(), "agent")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go agent.ServeAgent(a, c)
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		ended := make(chan error, 1)
		go func() {
			keys := host{agent: socket}.keyring(ctx)
			defer keys.close()
			if len(keys.signers) == 0 {
				ended <- fmt.Errorf("there is %s", keys.words())
				return
			}
			_, err := keys.signers[0].Sign(rand.Reader, []byte("x"))
			ended <- err
		}()
		select {
		case err := <-ended:
			if err == nil {
				t.Errorf("lists %v: it signed", lists)
			}
		case <-time.After(time.Minute):
			t.Fatalf("lists %v: the agent is waited for", lists)
		}
	}
}

// A board whose kernel takes the connection, and that says nothing after that, is given up.
func TestBoardWithoutAWord(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // the kernel takes connections, and nobody accepts them
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := host{name: "127.0.0.1", port: port, user: "pi"}.connect(ctx, nil)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it let us in")
		}
	case <-time.After(time.Minute):
		t.Error("it is waited for")
	}
}
