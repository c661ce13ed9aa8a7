package advise

import (
	"math/rand/v2"
	"testing"
)

// Trials so unlike each other that no number of blocks finds the difference give a size that
// says so, and no error: what was measured is judged all the same.
func TestHopelessSize(t *testing.T) {
	k := mustChange(t, "rtt > 5%")
	k.Detect = true
	for _, tt := range []struct {
		spread   float64
		hopeless bool
	}{{4, true}, {0.05, false}} {
		r := rand.New(rand.NewPCG(23, 1))
		old, new := series("A", "rtt", around(r, 10, tt.spread, 4)...), series("A", "rtt", around(r, 10, tt.spread, 4)...)
		old.Interleaved, new.Interleaved = true, true
		sizes, err := Sizes([]Series{old}, []Series{new}, []Condition{k}, 0.999, 0.98)
		if err != nil {
			t.Fatal(err)
		}
		if got := sizes[0].Blocks == 0; got != tt.hopeless {
			t.Errorf("spread %g: %+v", tt.spread, sizes[0])
		}
	}
}
