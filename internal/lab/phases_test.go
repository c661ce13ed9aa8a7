package lab

import (
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
)

func TestPhasesAreKeptOnceAndOnlyIfTold(t *testing.T) {
	told := func(r *evidence) map[string]float64 {
		r.summarize()
		got := map[string]float64{}
		for _, x := range r.findings.results {
			switch x.Response {
			case "discovery", "metadata", "first_invoke":
				if _, twice := got[x.Response]; twice || x.Side != "client" || x.N != 1 || x.Unit != "s" {
					t.Errorf("got %+v", x)
				}
				got[x.Response] = x.Mean
			}
		}
		return got
	}
	if got := told(sound()); len(got) != 0 {
		t.Errorf("a client that told no phases has %v", got)
	}
	r := sound()
	c := &r.conversation
	// As "ready" tells, then as the "end" of the warm-up does; nothing later changes it.
	c.phases = stack.Phases{Discovery: 1300 * time.Millisecond, Metadata: 40 * time.Millisecond}
	c.phases = c.phases.Or(stack.Phases{FirstInvoke: 2 * time.Millisecond})
	c.phases = c.phases.Or(stack.Phases{Discovery: 1, FirstInvoke: 1})
	got := told(r)
	if len(got) != 3 || got["discovery"] != 1.3 || got["metadata"] != 0.04 || got["first_invoke"] != 0.002 {
		t.Errorf("got %v", got)
	}
}
