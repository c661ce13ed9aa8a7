package lab

import (
	"errors"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// known are connections from ports of a client's; one below 0 is closed.
func known(ports ...int) (all []kernel.Connection) {
	for _, port := range ports {
		end := netip.AddrPortFrom(netip.IPv6Loopback(), uint16(max(port, -port)))
		all = append(all, kernel.Connection{Client: end, Open: port > 0})
	}
	return all
}

// What a client is asked for: none where it keeps none, and none where the kernel cannot count.
func TestConnectionsAsked(t *testing.T) {
	of := func(connection, transport string) study.Setup {
		return study.Setup{Connection: connection, Transport: transport, Concurrency: 8}
	}
	elsewhere, devices, joint := of("keep-alive", "http"), of("keep-alive", "http"), of("keep-alive", "http")
	elsewhere.URL, devices.Population.Devices, joint.DrivenFrom = "http://127.0.0.1:80/", 9, 3
	for _, tt := range []struct {
		setup study.Setup
		want  int
	}{
		{of("keep-alive", "http"), 8}, {of("keep-alive", "mqtt5"), 8}, {of("keep-alive", "coap-tcp"), 8},
		{of("pipelined", "http"), 1}, {of("multiplexed", "http2"), 1}, {of("per-request", "http"), 0},
		{of("keep-alive", "coap"), 0}, {of("keep-alive", "udp"), 0}, {of("multiplexed", "http3"), 0},
		{of("keep-alive", "dpws"), 0}, {elsewhere, 0}, {devices, 0}, {joint, 24},
	} {
		if got := connectionsAsked(&tt.setup); got != tt.want {
			t.Errorf("%+v: got %d, want %d", tt.setup, got, tt.want)
		}
	}
}

// What the kernel knows of a trial's connections stands in the ledger: after the warm-up and after the run it is asked.
// A trial of whose connections it knows nothing is as good.
func TestTheKernelsConnectionsAreKept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, tt := range []struct {
		what string
		says func(asked int) ([]kernel.Connection, error)
		want float64 // 0: nothing is noted
	}{
		{"one that is kept", func(asked int) ([]kernel.Connection, error) {
			return [][]kernel.Connection{known(1), known(1)}[asked], nil
		}, 1},
		{"five for one", func(asked int) ([]kernel.Connection, error) {
			return [][]kernel.Connection{known(-9, 1), known(-9, -1, -2, -3, -4, 5)}[asked], nil
		}, 5},
		{"a kernel that does not answer", func(int) ([]kernel.Connection, error) { return known(1), errors.New("no") }, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := soundStack()
			var asked atomic.Int64
			s.connections = func(side int) ([]kernel.Connection, error) {
				if side == atClient {
					t.Errorf("%s: the same kernel is asked twice", tt.what)
				}
				return tt.says(int(asked.Add(1)) - 1)
			}
			l, running := fakeLab(t, s, 1)
			defer l.Store.Close()
			if _, err := l.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			running.Wait()
			got := noted(t, l)
			had, there := got["connections_had"]
			if there != (tt.want > 0) || had != tt.want || there && got["connections_asked"] != 1 {
				t.Errorf("%s: got %v of %v", tt.what, had, got["connections_asked"])
			}
			if trials, err := l.Store.Trials(); err != nil || !slices.ContainsFunc(trials,
				func(x store.TrialState) bool { return x.State == store.Valid }) {
				t.Errorf("%s: %+v, %v", tt.what, trials, err)
			}
		})
	}
}

// noted is what was noted of the first attempt of the first trial.
func noted(t *testing.T, l *Lab) map[string]float64 {
	t.Helper()
	all, err := l.Store.Qualities()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, q := range all[store.AttemptID{Trial: 1, Attempt: 1}] {
		got[q.Key] = q.Value
	}
	return got
}

// The kernel's tables are read beside the warm-up, and again only when its counters have changed since, so that
// nothing is missed.
func TestTablesAreReadAgainAfterAChange(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, tt := range []struct {
		what string
		// counters are as the kernel says them before its tables are read first, when the warm-up has ended and when the
		// run has; nil: it does not say.
		counters []int64
		tables   [][]kernel.Connection // as they are read
		want     float64
	}{
		{"one that is kept", []int64{1, 1, 1}, [][]kernel.Connection{known(1)}, 1},
		{"one is lost in the warm-up", []int64{1, 2, 2}, [][]kernel.Connection{known(1), known(-1, 2)}, 1},
		{"one is lost in the run", []int64{1, 1, 2}, [][]kernel.Connection{known(1), known(-1, 2)}, 2},
		{"in both", []int64{1, 2, 3}, [][]kernel.Connection{known(1), known(-1, 2), known(-1, -2, 3)}, 2},
		{"another's is opened in the run", []int64{1, 1, 2}, [][]kernel.Connection{known(1), known(1)}, 1},
		{"a kernel without counters", nil, [][]kernel.Connection{known(1), known(-1, 2)}, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := soundStack()
			var mu sync.Mutex
			read, asked, early := 0, 0, make(chan struct{})
			s.connections = func(int) ([]kernel.Connection, error) {
				mu.Lock()
				defer mu.Unlock()
				if read++; read == 1 {
					close(early)
				}
				return tt.tables[min(read, len(tt.tables))-1], nil
			}
			if tt.counters != nil {
				warms := s.acts[warming]
				warms.wait = early // a bubble in which this is not beside the warm-up never ends it
				s.acts[warming] = warms
				s.counters = func(side int) (kernel.TCPCounters, error) {
					mu.Lock()
					defer mu.Unlock()
					asked++
					return kernel.TCPCounters{Opened: tt.counters[asked-1]}, nil
				}
			}
			l, running := fakeLab(t, s, 1)
			defer l.Store.Close()
			if _, err := l.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			running.Wait()
			if got := noted(t, l)["connections_had"]; got != tt.want || read != len(tt.tables) {
				t.Errorf("%s: got %v in %d readings, want %v in %d", tt.what, got, read, tt.want, len(tt.tables))
			}
		})
	}
}

// Where two kernels know the connections, one that only one of them has seen closed is looked for in both.
func TestCountersOfTwoKernels(t *testing.T) {
	n := connections{task: task{setup: &study.Setup{Connection: "keep-alive", Transport: "http", Concurrency: 1}}}
	var read, changed [2]int
	stacks := [2]*fakeStack{}
	for side := range stacks {
		stacks[side] = &fakeStack{
			connections: func(int) ([]kernel.Connection, error) { read[side]++; return known(1), nil },
			counters: func(int) (kernel.TCPCounters, error) {
				return kernel.TCPCounters{Open: int64(changed[side])}, nil
			},
		}
	}
	n.programs = &programs{task: n.task, link: &linked{line: &link.Line{}}, places: &placement{},
		client: &program{process: &fakeProcess{stack: stacks[atClient], side: atClient}},
		server: &program{process: &fakeProcess{stack: stacks[atServer], side: atServer}},
		served: stack.Ready{URL: "http://127.0.0.1:1/"}}
	n.countEarly()
	n.countWarm()
	if read != [2]int{1, 1} {
		t.Errorf("while nothing changes, their tables are read %v times", read)
	}
	changed[atServer]++
	n.countLast()
	n.counting.Wait()
	if read != [2]int{2, 2} || n.most != 1 {
		t.Errorf("when one has changed, their tables are read %v times, and %d had", read, n.most)
	}
	n.setup.DrivenFrom, changed = 2, [2]int{}
	if c := n.readCounters(); c != nil {
		t.Errorf("with clients elsewhere: %v", c)
	}
}

// A client that is to open a connection for each request, and opens fewer by its kernel's count, is noted; one whose
// kernel does not say, or counts others' as well, is not.
func TestConnectionsThatWereNotOpened(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, tt := range []struct {
		what         string
		connection   string
		before, last int64
		want         float64
	}{
		{"one for each", "per-request", 9, 9 + fakeRequests, 0},
		{"the first was open before", "per-request", 9, 9 + fakeRequests - 1, 0},
		{"one for all", "per-request", 9, 9, fakeRequests - 1},
		{"one that is kept", "keep-alive", 9, 9, 0},
		{"a kernel that counts nothing", "per-request", 0, 0, 0},
		{"others on the machine", "per-request", 9, 900, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := soundStack()
			var mu sync.Mutex
			read := 0
			s.counters = func(int) (kernel.TCPCounters, error) {
				mu.Lock()
				defer mu.Unlock()
				if read++; read == 1 {
					return kernel.TCPCounters{Opened: tt.before}, nil
				}
				return kernel.TCPCounters{Opened: tt.last}, nil
			}
			l, running := fakeLab(t, s, 1)
			defer l.Store.Close()
			l.Plan.Trials[0].Setup.Connection = tt.connection
			if _, err := l.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			running.Wait()
			if got := noted(t, l)["connections_lacking"]; got != tt.want {
				t.Errorf("%s: got %v, want %v", tt.what, got, tt.want)
			}
		})
	}
}
