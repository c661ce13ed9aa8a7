package wire

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/fleet/admit"
)

// A mute is a hub that answers pings, until it stands still: then it takes nothing and says nothing, and its
// connections stay.
type mute struct {
	listener net.Listener
	still    sync.RWMutex // who holds it has the hub stand still
}

func newMute(t *testing.T) *mute {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &mute{listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			go m.serve(c)
		}
	}()
	return m
}

func (m *mute) serve(c net.Conn) {
	io.WriteString(c, `INFO {"server_id":"m","version":"2.10.0","max_payload":1048576,"headers":true,"nonce":"abc"}`+
		"\r\n")
	from := bufio.NewReader(c)
	for {
		line, err := from.ReadString('\n')
		m.still.RLock()
		if err == nil && line == "PING\r\n" {
			_, err = io.WriteString(c, "PONG\r\n")
		}
		m.still.RUnlock()
		if err != nil {
			return
		}
	}
}

func (m *mute) credentials(t *testing.T, bench string) Credentials {
	t.Helper()
	_, seed, err := admit.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return Credentials{URL: "nats://" + m.listener.Addr().String(), Bench: bench, Seed: seed}
}

// A hub that stands still is told of, and that it answers again.
func TestSilenceOfAHubIsTold(t *testing.T) {
	m := newMute(t)
	board, err := OpenBoard(m.credentials(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer board.Close()
	bench, err := OpenBench(m.credentials(t, "one"))
	if err != nil {
		t.Fatal(err)
	}
	defer bench.Close()
	for who, attend := range map[string]func(context.Context, time.Duration, func(string)){
		"the coordinator": board.Attend, "the bench": bench.Attend} {
		ctx, cancel := context.WithCancel(t.Context())
		said := make(chan string)
		go attend(ctx, 300*time.Millisecond, func(line string) { said <- line })
		m.still.Lock()
		waitFor(t, who, said, m.listener.Addr().String()+" has not answered for 300ms")
		m.still.Unlock()
		waitFor(t, who, said, "answers again")
		cancel()
	}
}

func waitFor(t *testing.T, who string, said <-chan string, want string) {
	t.Helper()
	for late := time.After(time.Minute); ; {
		select {
		case line := <-said:
			if strings.Contains(line, want) {
				return
			}
		case <-late:
			t.Fatalf("%s did not say %q", who, want)
		}
	}
}

// Both ends of a connection to a hub that stands still end soon, though a write waits for it.
func TestCloseBesideAHubThatStandsStill(t *testing.T) {
	t.Parallel()
	for _, stuffed := range []bool{false, true} {
		m := newMute(t)
		board, err := OpenBoard(m.credentials(t, ""))
		if err != nil {
			t.Fatal(err)
		}
		bench, err := OpenBench(m.credentials(t, "one"))
		if err != nil {
			t.Fatal(err)
		}
		m.still.Lock()
		if stuffed { // more than sockets hold
			for range 64 {
				go board.nc.Publish("x", make([]byte, 1<<20))
				go bench.nc.Publish("x", make([]byte, 1<<20))
			}
			time.Sleep(500 * time.Millisecond)
		}
		began := time.Now()
		err = board.Close()
		bench.Close()
		if took := time.Since(began); took > 4*farewell || err == nil {
			t.Errorf("stuffed %v: both took %v to end, and the coordinator's said %v", stuffed, took, err)
		}
		m.still.Unlock()
	}
}

// A hub that takes connections and says nothing is named as what it is.
func TestAHubThatSaysNothing(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for what, address := range map[string]string{"stands still": l.Addr().String(), "is not there": "127.0.0.1:1"} {
		c := (&mute{listener: l}).credentials(t, "")
		c.URL = "nats://" + address
		if _, err := OpenBoard(c); !strings.Contains(fmt.Sprint(err), "the hub does not answer") {
			t.Errorf("a hub that %s: %v", what, err)
		}
	}
}
