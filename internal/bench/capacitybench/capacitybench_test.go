package capacitybench

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// The small form of `edgegauge bench capacity`: two of its servers, shorter trials, and
// fewer searches. The bounds are four standard errors wide.
func TestIntervalsHoldTheCapacityOfSimulatedServers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	for i, s := range Servers() {
		if s.Name != "M/M/1, trials ±3 %" && s.Name != "cliff: M/D/1, bound of 500 ms, trials ±3 %" {
			continue
		}
		s.Length = 3
		const n = 300
		c, err := s.Count(t.Context(), n, 4000, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %v", s.Name, c)
		if slack := 4 * math.Sqrt(0.95*0.05/n); math.Abs(c.Coverage()-0.95) > slack || c.None > n/8 {
			t.Errorf("%s: %v", s.Name, c)
		}
		if c.Trials > budget {
			t.Errorf("%s: %.0f trials", s.Name, c.Trials)
		}
	}
}

// The small form of `edgegauge bench capacity/bounds`, with shorter trials.
func TestSearchesAreSeldomWrongAtTheirBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	s := Servers()[slices.IndexFunc(Servers(), func(s Server) bool { return s.Name == "M/M/1, trials ±8 %" })]
	s.Length = 3
	truth := s.Truth(rand.New(rand.NewPCG(5, 1)), 4000)
	const n = 150
	for _, tt := range []struct {
		stage         stat.CapacityStage
		over          float64
		least, atMost float64 // share
	}{
		{stat.BelowLeast, 0.9, 0, 0.06}, {stat.BelowLeast, 1.1, 0.6, 1},
		{stat.AboveMost, 1.1, 0, 0.06}, {stat.AboveMost, 0.9, 0.6, 1},
	} {
		b, err := s.CountBound(t.Context(), truth, Bound{Stage: tt.stage, Over: tt.over}, n, 6)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", b)
		if share := float64(b.Said) / n; share < tt.least || share > tt.atMost || b.Beyond() != (tt.least > 0) {
			t.Errorf("%+v: beyond %v", b, b.Beyond())
		}
		if wrong := float64(b.Single) / n; !b.Beyond() && wrong < 0.08 {
			t.Errorf("%+v: one trial is nearly as right: the test sees nothing", b)
		}
	}
}

// The simulated queue is M/M/1's: p99 of the response time is −ln 0.01/(μ−λ), in long trials.
func TestSimulatedQueueIsMM1(t *testing.T) {
	s := Servers()[0]
	s.Length = 200
	r := rand.New(rand.NewPCG(1, 1))
	sum := 0.0
	const n = 40
	for range n {
		sum += s.Bound / s.margin(r, 700, 1) / n
	}
	if want := -math.Log(0.01) / 300; math.Abs(sum/want-1) > 0.04 {
		t.Errorf("p99 is %.5f s, not %.5f", sum, want)
	}
}

func TestTopKeepsTheLargest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var all []float64
	var k top
	for range 1000 {
		v := r.Float64()
		all = append(all, v)
		k.add(v, 10)
	}
	above := 0
	for _, v := range all {
		if v >= k.least() {
			above++
		}
	}
	if len(k) != 10 || above != 10 {
		t.Errorf("%d kept, %d as large", len(k), above)
	}
}

// A search whose first rate is far off still brackets.
func TestSearchBracketsFromFar(t *testing.T) {
	s := Servers()[0]
	for _, first := range []float64{3, 40000} {
		step, n, err := s.Search(t.Context(), rand.New(rand.NewPCG(1, 9)), stat.CapacitySearch{First: first, Least: 1,
			Most: 1e6, Precision: 0.1, Budget: 100, Confidence: 0.95})
		if err != nil || step.Stage != stat.Precise || math.Abs(step.Capacity.Rate/780-1) > 0.3 {
			t.Errorf("from %g: %v, stage %d, %+v, %d trials", first, err, step.Stage, step.Capacity, n)
		}
	}
}
