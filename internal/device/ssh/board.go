package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	crypto "golang.org/x/crypto/ssh"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/measure"
)

// A Board is a machine behind SSH. It is connected when it is first needed, and
// again after the connection was lost.
type Board struct {
	Target
	Name  string // as the study has it
	Exe   string // the edgegauge binary here
	Build string
	// Patience is how long a board that was there before is awaited when it
	// does not answer: it may be booting.
	Patience time.Duration
	// Whole says that programs run there that edgegauge-board does not have.
	Whole bool

	mu     sync.Mutex
	client *connection
	remote *device.Remote
	ended  chan struct{} // closed when the agent's session has ended
	before bool          // it was connected once
	owes   bool          // an agent's connection was lost, and nobody has been there since
	sent   device.Sent   // the agent's program, last
}

// New names a board; nothing is connected yet.
func New(name, exe, build string) (*Board, error) {
	t, err := ParseTarget(name)
	if err != nil {
		return nil, err
	}
	return &Board{Target: t, Name: name, Exe: exe, Build: build, Patience: 2 * time.Minute}, nil
}

// Remote is the agent there.
func (b *Board) Remote(ctx context.Context) (*device.Remote, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.remote != nil && b.remote.Err() == nil {
		return b.remote, nil
	}
	b.hangUp()
	began := time.Now()
	for {
		err := b.connect(ctx)
		if err == nil {
			b.before, b.owes = true, false
			return b.remote, nil
		}
		if !b.before || errors.Is(err, errFinal) || ctx.Err() != nil || time.Since(began) > b.Patience {
			return nil, fmt.Errorf("%s: %w", b.Name, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

func (b *Board) connect(ctx context.Context) error {
	client, err := dial(ctx, b.Target)
	if err != nil {
		return err
	}
	p, err := b.install(ctx, client.Client)
	if err != nil {
		client.Close()
		return err
	}
	r, ended, err := b.start(ctx, client, p)
	if err != nil {
		p.remove(client.Client)
		client.Close()
		return err
	}
	return b.accept(client, r, ended, p.sent)
}

// accept takes a started agent, unless it is of another build.
func (b *Board) accept(client *connection, r *device.Remote, ended chan struct{}, sent device.Sent) error {
	b.client, b.remote, b.ended, b.sent = client, r, ended, sent
	if b.Build == r.Build || b.Build == "" {
		return nil
	}
	b.hangUp()
	return refusal{fmt.Sprintf("its agent was built from %s, this program from %s: their stacks may differ; rebuild "+
		"%s from the same sources", r.Build, b.Build, sent.File)}
}

// start starts the agent, and speaks with it on the session's stdin and stdout.
func (b *Board) start(ctx context.Context, c *connection, p place) (*device.Remote, chan struct{}, error) {
	late := time.AfterFunc(handshake+farewell, func() { c.Close() }) // it may answer nothing of what follows
	defer late.Stop()
	s, err := c.NewSession()
	if err != nil {
		return nil, nil, err
	}
	in, err := s.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := s.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	said := &lockedBuffer{}
	s.Stderr = said
	if err := s.Start("exec " + quote(p.dir+"/"+device.AgentFile) + " " + device.AgentVerb + " " +
		quote(p.dir)); err != nil {
		return nil, nil, err
	}
	ch := &channel{Reader: out, WriteCloser: in, session: s}
	ended := make(chan struct{})
	var how error
	go func() {
		how = s.Wait()
		close(ended)
	}()
	greeting, cancel := within(ctx, handshake)
	defer cancel()
	r, err := device.Connect(greeting, "its agent", ch, b.Build, device.Silence)
	if err != nil {
		s.Close()
		<-ended
		if text := lastLine(said.String()); text != "" {
			err = fmt.Errorf("%w; it said: %s", err, text)
		}
		text := fmt.Sprintf("start the agent in %s: %v; if programs may not run there, %s", p.dir, err, elsewhere)
		// Where nothing says how it ended the connection was lost or the board is slow: it may be (re)booting.
		var status *crypto.ExitError
		if errors.As(how, &status) && status.Signal() == "" {
			return nil, nil, refusal{text}
		}
		return nil, nil, errors.New(text)
	}
	r.Name = b.Name
	ch.gentle.Store(true)
	return r, ended, nil
}

// A channel is a session's stdin and stdout. Closed gently it lets the agent
// clean up before the rest is taken away.
type channel struct {
	io.Reader
	io.WriteCloser
	session *crypto.Session
	gentle  atomic.Bool
}

// farewell is how long an agent may take to end what it started.
const farewell = 15 * time.Second

func (c *channel) Close() error {
	err := c.WriteCloser.Close()
	if c.gentle.Load() {
		time.AfterFunc(farewell, func() { c.session.Close() })
		return err
	}
	return errors.Join(err, c.session.Close())
}

// lockedBuffer keeps the beginning of what an agent says on stderr.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	const most = 10_000
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Write(p[:min(len(p), max(0, most-l.b.Len()))])
	return len(p), nil
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// hangUp ends agent and connection, if there are any.
func (b *Board) hangUp() {
	if b.remote != nil {
		b.owes = b.owes || b.remote.Err() != nil
		client := b.client // Subtle: the field may be nil by the time the timer fires
		stop := time.AfterFunc(farewell, func() { client.Close() })
		b.remote.Close()
		<-b.ended
		stop.Stop()
	}
	if b.client != nil {
		b.client.Close()
	}
	b.client, b.remote = nil, nil
}

// Close ends the agent, which removes all that is there. After a lost
// connection it goes there once more, to remove what a killed agent left.
func (b *Board) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hangUp()
	if b.owes {
		b.owes = false
		ctx, cancel := context.WithTimeout(context.Background(), 3*handshake)
		defer cancel()
		if err := b.connect(ctx); err != nil {
			return fmt.Errorf("%s: its agent's folder %s* may still be there: %w", b.Name, device.AgentPrefix, err)
		}
		b.hangUp()
	}
	return nil
}

// Addresses are the ends of the SSH connection: by them the board is reached
// from here, and this machine from there. Through a jump host there are none.
func (b *Board) Addresses(ctx context.Context) (board, lab netip.Addr, err error) {
	if _, err := b.Remote(ctx); err != nil {
		return board, lab, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client == nil || !b.client.direct {
		return board, lab, nil
	}
	return address(b.client.RemoteAddr()), address(b.client.LocalAddr()), nil
}

func address(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// Facts are the board's.
func (b *Board) Facts(ctx context.Context) (device.Facts, error) {
	r, err := b.Remote(ctx)
	if err != nil {
		return device.Facts{}, err
	}
	f, err := r.Facts(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	sent := b.sent
	f.Agent = &sent
	return f, err
}

// CPUs are the numbers of those that programs may use there; nil: it does not know.
func (b *Board) CPUs(ctx context.Context) ([]int, error) {
	r, err := b.Remote(ctx)
	if err != nil {
		return nil, err
	}
	return r.CPUs(ctx)
}

// Check says whether the board is fit to measure on.
func (b *Board) Check(ctx context.Context) ([]device.Finding, error) {
	r, err := b.Remote(ctx)
	if err != nil {
		return nil, err
	}
	return r.Check(ctx)
}

// Start starts a program there.
func (b *Board) Start(ctx context.Context, c device.Command) (*device.Process, error) {
	r, err := b.Remote(ctx)
	if err != nil {
		return nil, err
	}
	return r.Start(ctx, c)
}

// Observe reads an instrument there.
func (b *Board) Observe(ctx context.Context, instrument string, emit func(measure.Sample)) error {
	r, err := b.Remote(ctx)
	if err != nil {
		return err
	}
	return r.Observe(ctx, instrument, emit)
}
