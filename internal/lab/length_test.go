package lab

import (
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/kernel"
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
	type both [2]time.Duration
	for _, tt := range []struct {
		placement   string
		took        time.Duration
		cpu, waited both
		unused      time.Duration // of all CPUs on which they may run
		busy        time.Duration // of them, finer; 0: untold
		want        time.Duration
	}{
		{one, 1000, both{600, 400}, both{350, 300}, 0, 0, 0},        // alone: one ready while the other runs
		{one, 1000, both{300, 200}, both{260, 250}, 0, 0, 500},      // half of the CPU is another program's
		{one, 1000, both{10, 10}, both{3, 2}, 900, 0, 5},            // behind a link both sleep
		{one, 1000, both{200, 200}, both{90, 80}, 600, 0, 0},        // a sensor sleeps
		{one, 1000, both{200, 200}, both{190, 180}, 300, 0, 300},    // the same beside another program
		{two, 1000, both{900, 1000}, both{700, 500}, 100, 0, 0},     // virtual machines
		{two, 1000, both{400, 500}, both{700, 500}, 100, 0, 1000},   // and half of the CPUs is another program's
		{two, 1000, both{400, 500}, both{70, 50}, 100, 0, 120},      // one that they seldom wait for
		{one, 75, both{10, 15}, both{8, 9}, 40, 27, 2},              // a short run of a service that sleeps: ticks tell 10
		{one, 75, both{10, 15}, both{12, 13}, 40, 44, 19},           // the same beside another program
		{one, 1000, both{200, 200}, both{190, 180}, 300, 402, 290},  // a container's account knows nothing of others
		{one, 1000, both{200, 200}, both{190, 180}, 600, 500, 10},   // nor does a fine one go beyond what ticks allow
		{two, 1000, both{400, 500}, both{700, 500}, 100, 800, 980},  // two CPUs: two ticks
		{two, 1000, both{400, 500}, both{700, 500}, 100, 1895, 995}, // what is finer is taken
	} {
		s := &study.Setup{Placement: tt.placement}
		k := newTask(&Lab{CPUs: []int{1, 0}}, study.Trial{Setup: s})
		cpus := len(k.cpus())
		if got, want := cpus, map[string]int{one: 1, two: 2}[tt.placement]; got != want {
			t.Fatalf("%s: the programs are on %d CPUs, want %d", tt.placement, got, want)
		}
		const ms = time.Millisecond
		var u usage
		for side := range sides {
			u.of[side][behindRun] = device.Usage{CPU: tt.cpu[side] * ms, Waiting: tt.waited[side] * ms}
		}
		began := time.Now()
		u.cpus[beforeRun] = spent{began, kernel.CPUSpent{Unused: time.Hour}}
		u.cpus[behindRun] = spent{began.Add(tt.took * ms), kernel.CPUSpent{Unused: time.Hour + tt.unused*ms}}
		if tt.busy > 0 {
			u.cpus[beforeRun].Busy, u.cpus[behindRun].Busy = time.Minute, time.Minute+tt.busy*ms
		}
		if got := u.waitForOthers(cpus); got != tt.want*ms {
			t.Errorf("CPU %v of %v, waited %v, unused %v, busy %v: got %v, want %v ms", tt.cpu, tt.took, tt.waited, tt.unused,
				tt.busy, got, int64(tt.want))
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
