package coap

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Over TCP, and observing, against libcoap's programs.
func TestTheirClientOverTCP(t *testing.T) {
	program := libcoap(t, "coap-client-notls")
	at := startTCP(t, &Server{Handler: echo})
	for _, n := range []int{1, 1024, 100_000, 500_000} {
		in := filepath.Join(t.TempDir(), "in")
		if err := os.WriteFile(in, pattern(n), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, program, "-m", "post", "-f", in, "coap+tcp://"+at+"/echo"); !bytes.Equal(got, pattern(n)) {
			t.Errorf("%d bytes posted, got %d", n, len(got))
		}
	}
}

func TestOurClientOverTCPTheirServer(t *testing.T) {
	c, err := DialTCP(t.Context(), theirs(t, "notls", "127.0.0.1"), Params{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, n := range []int{1, 1024, 100_000, 500_000} {
		for _, call := range []*Call{{Method: PUT, Path: "thing", Format: OctetStream, Body: pattern(n)},
			{Method: GET, Path: "thing"}} {
			reply, err := c.Do(t.Context(), call)
			if err != nil || reply.Code.Class() != 2 || call.Method == GET && !bytes.Equal(reply.Body, pattern(n)) {
				t.Fatalf("%v of %d bytes: got %v, %d bytes, %v", call.Method, n, reply.Code, len(reply.Body), err)
			}
		}
	}
}

// ticking serves a clock whose observers hear of it every 200 ms.
func ticking(t *testing.T, kind Type) string {
	c := &clock{}
	s := &Server{Handler: c.serve, Observable: everything, Notifications: kind}
	at := start(t, s, "127.0.0.1")
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-done:
				return
			case <-time.After(200 * time.Millisecond):
				c.n.Add(1)
				s.Changed("clock")
			}
		}
	}()
	t.Cleanup(func() { close(done); <-gone })
	return at
}

func TestTheirClientObserves(t *testing.T) {
	program := libcoap(t, "coap-client-notls")
	for _, kind := range []Type{Confirmable, NonConfirmable} {
		at := ticking(t, kind)
		var states []string
		for _, s := range []string{"2", "8", "30"} { // longer on a busy machine
			out, err := exec.Command(program, "-B", "60", "-s", s, "-w", "coap://"+at+"/clock").CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %v: %s", kind, err, out)
			}
			if states = strings.Fields(string(out)); len(states) >= 4 {
				break
			}
		}
		if len(states) < 4 {
			t.Errorf("%v: heard %q; want 5 states in each second", kind, states)
		}
	}
}

func TestOurClientObservesTheirs(t *testing.T) {
	c := dial(t, theirs(t, "notls", "127.0.0.1"), false, Params{})
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var states []string
	err := c.Observe(ctx, &Call{Method: GET, Path: "time"}, func(r Reply) bool {
		states = append(states, string(r.Body))
		return len(states) < 3
	})
	if err != nil || len(states) != 3 || states[0] == states[2] {
		t.Errorf("heard %q, %v", states, err)
	}
}

// aiocoap is a Python with aiocoap, which was written by others again.
func aiocoap(t *testing.T) string {
	t.Helper()
	py := os.Getenv("EDGEGAUGE_PYTHON")
	out, err := exec.Command(py, "-c", "import aiocoap, cbor2, cryptography, filelock, ge25519").CombinedOutput()
	if err == nil {
		return py
	}
	advice := fmt.Sprintf("%q cannot import aiocoap (%v: %s); python3 -m venv V && V/bin/pip install "+
		"'aiocoap[oscore]', then EDGEGAUGE_PYTHON=V/bin/python", py, err, bytes.TrimSpace(out))
	if os.Getenv("CI") == "true" {
		t.Fatal(advice)
	}
	t.Skip(advice)
	return ""
}

// contextFolder is an OSCORE context as aiocoap keeps it.
func contextFolder(t *testing.T, k Keys) string {
	t.Helper()
	dir := t.TempDir()
	h := hex.EncodeToString
	text := fmt.Sprintf(`{"sender-id_hex": %q, "recipient-id_hex": %q, "secret_hex": %q, "salt_hex": %q, "algorithm": "AES-CCM-16-64-128"`, h(k.SenderID), h(k.RecipientID), h(k.Secret), h(k.Salt))
	if len(k.IDContext) > 0 {
		text += fmt.Sprintf(`, "id-context_hex": %q`, h(k.IDContext))
	}
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(text+"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func aioKeys() Keys {
	return Keys{Secret: []byte("a secret of 16 B"), Salt: []byte("salt"), SenderID: []byte{1}, RecipientID: []byte{2},
		IDContext: []byte("context")}
}

func TestOurClientAiocoapServes(t *testing.T) {
	py := aiocoap(t)
	port := strconv.Itoa(freePort(t))
	cmd := exec.Command(py, "testdata/aio.py", "serve", "::1", port, contextFolder(t, turned(aioKeys())))
	cmd.Stderr = os.Stderr
	run(t, cmd)
	at := net.JoinHostPort("::1", port)
	udp := dial(t, at, false, Params{})
	defer udp.Close()
	conn, err := net.Dial("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	sealed := NewClient(conn, Params{Security: secure(t, aioKeys())})
	defer sealed.Close()
	tcp, err := DialTCP(t.Context(), at, Params{})
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	for name, c := range map[string]interface {
		Do(context.Context, *Call) (Reply, error)
	}{"UDP": udp, "OSCORE": sealed, "TCP": tcp} {
		for _, n := range []int{1, 1000, 20_000, 100_000} {
			reply, err := c.Do(t.Context(), &Call{Method: POST, Path: "echo", Body: pattern(n)})
			if err != nil || reply.Code != Changed || !bytes.Equal(reply.Body, pattern(n)) {
				t.Errorf("%s, %d bytes: got %v, %d bytes, %v", name, n, reply.Code, len(reply.Body), err)
				break
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	heard := 0
	if err := udp.Observe(ctx, &Call{Method: GET, Path: "clock"},
		func(Reply) bool { heard++; return heard < 5 }); err != nil || heard != 5 {
		t.Errorf("observed %d states, %v", heard, err)
	}
}

func TestAiocoapAsksOurServer(t *testing.T) {
	py := aiocoap(t)
	ask := func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, py, append([]string{"testdata/aio.py"}, args...)...)
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			err = errors.Join(err, errors.New(said.String()))
		}
		return string(bytes.TrimSpace(out)), err
	}
	sealed := contextFolder(t, aioKeys())
	for name, args := range map[string][]string{
		"UDP": {"coap://" + start(t, &Server{Handler: echo}, "::1") + "/echo", "-"},
		"OSCORE": {"coap://" + start(t, &Server{Handler: echo, Keyring: &Keyring{Keys: turned(aioKeys())}}, "::1") +
			"/echo", sealed},
		"TCP": {"coap+tcp://" + startTCP(t, &Server{Handler: echo}) + "/echo", "-"},
	} {
		for _, n := range []string{"1", "1000", "20000", "100000"} {
			if got, err := ask("ask", args[0], args[1], n); err != nil || got != "2.04 Changed "+n+" True" {
				t.Errorf("%s, %s bytes: %q, %v", name, n, got, err)
				break
			}
		}
	}
	if got, err := ask("observe", "coap://"+ticking(t, Confirmable)+"/clock", "5"); err != nil ||
		len(strings.Fields(got)) != 5 {
		t.Errorf("observed %q, %v", got, err)
	}
}
