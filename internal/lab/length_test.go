package lab

import (
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

func TestRunsAreLongEnough(t *testing.T) {
	began := time.Now()
	warm := func(n int, took time.Duration) stack.WarmUp {
		return stack.WarmUp{Client: n, Span: stack.Span{Began: began, Ended: began.Add(took)}}
	}
	for _, tt := range []struct {
		requests int
		least    time.Duration
		warmUp   stack.WarmUp
		want     time.Duration
	}{
		{500, 100 * time.Millisecond, warm(100, time.Millisecond), 100 * time.Millisecond}, // quick: the time decides
		{8, 100 * time.Millisecond, warm(2, 200*time.Millisecond), time.Second},            // a slow link: the number
		{8, 100 * time.Millisecond, stack.WarmUp{}, 100 * time.Millisecond},
	} {
		if got := longEnough(tt.requests, tt.least, tt.warmUp); got != tt.want {
			t.Errorf("%d requests, %v, warm-up %+v: got %v, want %v", tt.requests, tt.least, tt.warmUp, got, tt.want)
		}
	}
}

func TestTooFewRequestsForALeastTime(t *testing.T) {
	r := sound()
	r.setup.Requests, r.setup.MinDuration = 5, time.Second
	for n, want := range map[int]string{4: "at least 5 were requested", 5: "", 900: ""} {
		r.sides[atClient].n, r.sides[atServer].n = n, n
		if got := r.counts(); !says(got, want) && !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%d requests: got %q, want %q", n, got, want)
		}
	}
}

// Programs that share CPUs wait for each other by construction, and the threads of one for its own: that is no
// starvation. What others take of the CPUs is.
func TestWaitingForEachOtherIsNoStarvation(t *testing.T) {
	const one, two = study.Together, study.Apart // CPUs
	for _, tt := range []struct {
		placement   string
		cpu, waited [2]time.Duration
		idle        time.Duration // of all CPUs on which they may run
		want        time.Duration
	}{
		{one, [2]time.Duration{600, 400}, [2]time.Duration{350, 300}, 0, 0},      // alone: one ready while the other runs
		{one, [2]time.Duration{300, 200}, [2]time.Duration{260, 250}, 0, 500},    // half of the CPU is another program's
		{one, [2]time.Duration{10, 10}, [2]time.Duration{3, 2}, 900, 5},          // behind a link both sleep
		{one, [2]time.Duration{200, 200}, [2]time.Duration{90, 80}, 600, 10},     // a sensor sleeps; 10 ms: steps
		{one, [2]time.Duration{200, 200}, [2]time.Duration{190, 180}, 300, 310},  // the same beside another program
		{two, [2]time.Duration{900, 1000}, [2]time.Duration{700, 500}, 100, 20},  // virtual machines; 20 ms: steps
		{two, [2]time.Duration{400, 500}, [2]time.Duration{700, 500}, 100, 1020}, // and half of the CPUs is another program's
		{two, [2]time.Duration{400, 500}, [2]time.Duration{70, 50}, 100, 120},    // one that they seldom wait for
	} {
		s := &study.Setup{Placement: tt.placement}
		k := newTask(&Lab{CPUs: []int{1, 0}}, study.Trial{Setup: s})
		cpus := len(k.cpus())
		if got, want := cpus, map[string]int{one: 1, two: 2}[tt.placement]; got != want {
			t.Fatalf("%s: the programs are on %d CPUs, want %d", tt.placement, got, want)
		}
		var u usage
		for side := range sides {
			u.of[side][behindRun] = device.Usage{CPU: tt.cpu[side] * time.Millisecond,
				Waiting: tt.waited[side] * time.Millisecond}
		}
		u.idle = [2]time.Duration{time.Hour, time.Hour + tt.idle*time.Millisecond}
		if got := u.waitForOthers(time.Second, cpus); got != tt.want*time.Millisecond {
			t.Errorf("CPU %v, waited %v: got %v, want %v ms", tt.cpu, tt.waited, got, int64(tt.want))
		}
	}
}

func TestCPUsOfPlacements(t *testing.T) {
	all := []int{3, 1, 0}
	for _, tt := range []struct {
		placement string
		pin       study.Pin
		all       []int
		want      [2][]int
	}{
		{study.Together, study.Pin{}, all, [2][]int{{3}, {3}}},
		{study.Apart, study.Pin{}, all, [2][]int{{1}, {3}}},
		{study.Free, study.Pin{}, all, [2][]int{nil, nil}},
		{"", study.Pin{}, all, [2][]int{nil, nil}},
		{study.Together, study.Pin{}, nil, [2][]int{nil, nil}},
		{study.Together, study.Pin{Client: []int{0}}, all, [2][]int{{0}, nil}}, // a pin wins
	} {
		got := CPUsOf(&study.Setup{Placement: tt.placement}, tt.pin, tt.all)
		if !equal(got.Client, tt.want[0]) || !equal(got.Server, tt.want[1]) {
			t.Errorf("%s, pinned %v: got %v, want %v", tt.placement, tt.pin, got, tt.want)
		}
	}
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
