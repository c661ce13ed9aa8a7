package testbed

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// A heap with which no Java VM starts is refused, of stacks that hand it to one.
func TestHeapsThatNoJavaTakes(t *testing.T) {
	java := stack.Program{Command: []string{"java", "-Xmx{heap}", "Main"}}
	b := bed(t)
	p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: rest-json\nrequests: 5\n"))
	if err != nil {
		t.Fatal(err)
	}
	x := b.assemble(p, b.Exe, b.Temp)
	x.lab.Stacks = map[string]stack.Description{"jersey": {Serve: java, Call: java},
		"own": {Serve: stack.Program{Command: []string{"./own", "{heap}"}}}}
	for _, s := range []struct {
		stack string
		heap  int64
		ok    bool
	}{{"jersey", 1 << 20, false}, {"jersey", 1 << 50, false}, {"jersey", 2 << 20, true}, {"jersey", 64 << 20, true},
		{"jersey", 0, true}, {"own", 1 << 20, true}} {
		setup := *p.Trials[0].Setup
		setup.Heap, setup.Client.Stack, setup.Server.Stack = s.heap, s.stack, s.stack
		one := p.Trials[0]
		one.Setup = &setup
		x.faults, x.plan.Trials = nil, []study.Trial{one}
		x.seeHeap()
		if (len(x.faults) == 0) != s.ok || !s.ok && !strings.Contains(x.faults[0].What, "below 2MiB or above 262144GiB") {
			t.Errorf("%s with %d B: got %v", s.stack, s.heap, x.faults)
		}
	}
}
