package coap

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// abuseOf says how many datagrams the survival tests throw and how to throw the
// same again: COAP_DATAGRAMS (200000 each), COAP_SEED (the day, so that every
// day's tests throw others).
func abuseOf(t *testing.T) (datagrams int, random *rand.Rand) {
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return otherwise
	}
	seed := number("COAP_SEED", int(time.Now().Unix()/86400))
	datagrams = number("COAP_DATAGRAMS", 200_000)
	t.Logf("COAP_SEED=%d COAP_DATAGRAMS=%d", seed, datagrams)
	return datagrams, rand.New(rand.NewPCG(uint64(seed), 2))
}

// saneDatagrams are those of the sequences in seeds, and those captured from
// other makes' clients and servers.
func saneDatagrams(t *testing.T) (sane [][]byte) {
	for _, s := range seeds(t) {
		split(s, func(_ byte, d []byte) { sane = append(sane, d) })
	}
	files, err := filepath.Glob("testdata/fuzz/FuzzDecode/captured-*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captured datagrams: %v", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(b), "[]byte(")
		d, err := strconv.Unquote(strings.TrimSuffix(strings.TrimSpace(text), ")"))
		if err != nil || len(d) == 0 {
			t.Fatal(name, err)
		}
		sane = append(sane, []byte(d))
	}
	return sane
}

// spoiled is one of the sane datagrams with up to three faults; i makes it
// unlike the others, else most would be duplicates.
func spoiled(sane [][]byte, random *rand.Rand, i int) []byte {
	b := append([]byte(nil), sane[random.IntN(len(sane))]...)
	for range random.IntN(4) {
		switch at := random.IntN(len(b)); random.IntN(3) {
		case 0:
			b[at] ^= 1 << random.IntN(8)
		case 1:
			b[at] = byte(random.Uint32())
		case 2:
			b = b[:at+1]
		}
	}
	b[len(b)-1] += byte(i)
	return b
}

// TestSocketSurvives throws spoiled datagrams at a server on a real socket. The
// server answers honest requests all along, and neither its memory nor its
// goroutines grow.
func TestSocketSurvives(t *testing.T) {
	datagrams, random := abuseOf(t)
	sane := saneDatagrams(t)
	before := runtime.NumGoroutine()
	handler := func(req *Request, resp *Response) { shop(new(int))(req, resp) } // notifications are made beside the reader
	s := &Server{Handler: handler, BlockSize: 64, MaxBody: 1000, MaxPeers: 64, MaxTransfers: 16, MaxHeld: 1 << 16,
		Observable: everything, MaxObservers: 16}
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, conn) }()
	address := conn.LocalAddr().String()
	honest, err := Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	strangers := make([]net.Conn, 32)
	for i := range strangers {
		if strangers[i], err = net.Dial("udp", address); err != nil {
			t.Fatal(err)
		}
		defer strangers[i].Close()
		strangers[i].(*net.UDPConn).SetReadBuffer(1) // nobody reads what they are told
	}
	var early state
	for i := range datagrams {
		if _, err := strangers[random.IntN(len(strangers))].Write(spoiled(sane, random, i)); err != nil {
			t.Fatal(err)
		}
		if i%100 == 99 { // few enough not to overrun the socket's buffer
			honestly(t, honest)
			for path := range observedPaths(s) {
				s.Changed(path)
			}
		}
		if i == datagrams/10 {
			early = stateNow()
		}
	}
	honestly(t, honest)
	late := stateNow()
	t.Logf("after a tenth %v; at the end %v; %d goroutines before", early, late, before)
	c := &s.Counts
	t.Logf("%d handled, %d malformed, %d refused, %d duplicates, %d ignored, %d expired, %d notifications; %d lost in "+
		"the socket's buffer", c.Requests.Load(),
		c.Malformed.Load(), c.Refused.Load(), c.Duplicates.Load(), c.Ignored.Load(), c.Expired.Load(),
		c.Notifications.Load(), lostAt(conn))
	if late.goroutines > early.goroutines || late.heap > early.heap+4<<20 {
		t.Errorf("grown: after a tenth %v, at the end %v", early, late)
	}
	if c.Malformed.Load() == 0 || c.Refused.Load() == 0 || c.Duplicates.Load() == 0 || c.Ignored.Load() == 0 ||
		c.Expired.Load() == 0 || c.Notifications.Load() == 0 {
		t.Error("the datagrams reached too little")
	}
	honest.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines left, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// observedPaths are those that somebody observes just now.
func observedPaths(s *Server) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	paths := map[string]bool{}
	for _, ep := range s.endpoints {
		ep.mu.Lock()
		for _, o := range ep.observers {
			paths[o.path] = true
		}
		ep.mu.Unlock()
	}
	return paths
}

// honestly asks as a client that wants its answer.
func honestly(t *testing.T, c *Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reply, err := c.Do(ctx, &Call{Method: POST, Path: "sum", Body: pattern(5000)[:200]})
	if err != nil || reply.Code != Changed || len(reply.Body) != 50 {
		t.Fatalf("an honest client gets %v, %d bytes, %v", reply.Code, len(reply.Body), err)
	}
}

// A state is what might grow.
type state struct {
	goroutines int
	heap       uint64 // bytes in use after a collection
	resident   string // what the kernel says
}

func (s state) String() string {
	return fmt.Sprintf("%d goroutines, %d B of heap, %s resident", s.goroutines, s.heap, s.resident)
}

func stateNow() state {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s := state{runtime.NumGoroutine(), m.HeapAlloc, "?"}
	status, _ := os.ReadFile("/proc/self/status")
	if _, after, ok := strings.Cut(string(status), "VmRSS:"); ok {
		line, _, _ := strings.Cut(after, "\n")
		s.resident = strings.TrimSpace(line)
	}
	return s
}

// lostAt is how many datagrams the kernel had no room for; -1 if it does not say.
func lostAt(conn *net.UDPConn) int {
	f, err := os.Open("/proc/net/udp")
	if err != nil {
		return -1
	}
	defer f.Close()
	port := fmt.Sprintf(":%04X", conn.LocalAddr().(*net.UDPAddr).Port)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if w := strings.Fields(lines.Text()); len(w) > 12 && strings.HasSuffix(w[1], port) {
			if n, err := strconv.Atoi(w[12]); err == nil {
				return n
			}
		}
	}
	return -1
}
