package reference

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/protocol/dpws"
	"edgegauge.example/edgegauge/internal/stack"
)

// The option discovery says which requests begin with a search; a listener on
// the group counts the Probes that are not repetitions.
func TestDPWSSearchesAsOftenAsTheOptionSays(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the stack dpws-sdcri")
	}
	ns, _, err := twoNamespaces()
	if err != nil {
		lacking(t, fmt.Errorf("two network namespaces: %w; run as root", err))
	}
	sdcri, err := stack.Read("../dpws-sdcri")
	if err != nil {
		t.Fatal(err)
	}
	if !sdcri.Built() {
		lacking(t, fmt.Errorf("stacks/dpws-sdcri is not built; run: edgegauge stacks build dpws-sdcri"))
	}
	probes := listen(t, func() (n dpws.Network, err error) {
		err = within(ns, func() error {
			lo, err := net.InterfaceByName("lo")
			if err == nil {
				n, err = dpws.Join(lo, true)
			}
			return err
		})
		return n, err
	})
	for _, tt := range []struct {
		client, level string
		want          int // searches of a start and runs of 2 and 3 requests
	}{{"reference/dpws", "once", 1}, {"reference/dpws", "first", 3}, {"reference/dpws", "each", 6},
		{"dpws-sdcri", "first", 3}} {
		before, _ := probes()
		srv, cl := start(t, sdcri, "reference/dpws", "serve", ns), start(t, sdcri, tt.client, "call", ns)
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		served, err := srv.Serve(ctx, stack.Serve{Service: "echo", Encoding: "soap12", Transport: "dpws", Security: "none",
			Host: "127.0.0.1", Options: map[string]string{"match_delay": "10ms"},
			Limits: stack.Limits{Body: 1 << 20}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = cl.Call(ctx, stack.Call{URL: served.URL, Service: "echo", Encoding: "soap12", Transport: "dpws",
			Security: "none", Message: stack.Message{Seed: 1, N: 3},
			Connection: "keep-alive", Timeout: int64(20 * time.Second), Options: map[string]string{"discovery": tt.level}})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{2, 3} {
			if _, err := cl.Run(ctx, stack.Run{Requests: n, Record: true}, func(x measure.Exchange) {
				if x.Failure != "" {
					t.Errorf("%s, %s: request %d: %s", tt.client, tt.level, x.Seq, x.Failure)
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
		got, again := probes()
		if got -= before; got < tt.want || got > tt.want+again {
			t.Errorf("%s with discovery %s searched %d times, want %d and up to %d more for want of an answer",
				tt.client, tt.level, got, tt.want, again)
		}
		cancel()
	}
}

// unanswered is how long both clients wait for an answer before they search again (MATCH_TIMEOUT; DPWS 1.1, appendix
// B), less what a packet's own time may differ by.
const unanswered = 9 * time.Second

// listen counts the different Probes that a group hears, and since the last count those that came as late after another
// as a search goes out again which nobody answered in time: on a busy machine that happens. Before it says a count it
// sends a mark to the group and waits until that has come back: what was sent before is counted then, however busy the
// machine is.
func listen(t *testing.T, join func() (dpws.Network, error)) (count func() (all, again int)) {
	network, err := join()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	var last time.Time
	late := 0
	done, marks, mark := make(chan struct{}), make(chan string, 1), 0
	go func() {
		defer close(done)
		network.Receive(func(b []byte, _ netip.AddrPort) {
			if bytes.HasPrefix(b, []byte("mark ")) {
				marks <- string(b)
			} else if bytes.Contains(b, []byte("/discovery/2009/01/Probe<")) {
				mu.Lock()
				if now := time.Now(); !seen[string(b)] {
					if !last.IsZero() && now.Sub(last) > unanswered {
						late++
					}
					seen[string(b)], last = true, now
				}
				mu.Unlock()
			}
		})
	}()
	t.Cleanup(func() { network.Close(); <-done })
	return func() (all, again int) {
		mark++
		if err := network.Multicast(fmt.Appendf(nil, "mark %d", mark)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-marks:
		case <-time.After(time.Minute):
			t.Fatal("the group does not hear its own mark")
		}
		mu.Lock()
		defer mu.Unlock()
		again, late, last = late, 0, time.Time{}
		return len(seen), again
	}
}
