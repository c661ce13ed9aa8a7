package testbed

import (
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/study"
)

// seeHeaps finds treatments that differ in nothing but a heap that neither program takes: they are one, measured
// twice. One heap for all treatments stands for those that take it, whichever of them the stacks here leave.
func (x *assembly) seeHeaps() {
	same := map[string]study.Trial{}
	for t := range x.treatments() {
		if x.takesHeap(t.Setup) {
			continue
		}
		rest := *t.Setup
		rest.Heap = 0
		key := fmt.Sprintf("%+v", rest) // another pointer in it is another treatment
		first, seen := same[key]
		if !seen {
			same[key] = t
			continue
		}
		if first.Setup.Heap == t.Setup.Heap {
			continue
		}
		if t.Setup.Heap == 0 {
			t = first
		}
		stacks := []string{t.Setup.Client.Stack, t.Setup.Server.Stack}
		what := fmt.Sprintf("stacks %s and %s take no heap", stacks[0], stacks[1])
		if slices.Sort(stacks); stacks[0] == stacks[1] {
			what = fmt.Sprintf("stack %s takes no heap", stacks[0])
		}
		x.fault(t, what+", so treatments that differ in it alone are equal", "do not vary heap", "stack", "client.stack",
			"server.stack", "heap")
	}
}

// takesHeap reports whether a program of a treatment takes a heap.
func (x *assembly) takesHeap(s *study.Setup) bool {
	return x.lab.Stacks[s.Client.Stack].Call.TakesHeap() || x.lab.Stacks[s.Server.Stack].Serve.TakesHeap()
}
