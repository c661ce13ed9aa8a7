package advise

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// seriesOf is a series of RTTs of a treatment, with a value a block.
func seriesOf(treatment string, values ...float64) Series {
	s := Series{Factors: []string{"stack"}, Levels: []string{treatment}, Side: measure.Client, Response: "rtt", Unit: "s"}
	for i, v := range values {
		s.Trials = append(s.Trials, TrialSummary{ID: i + 1, Block: i + 1, Mean: v, Median: v, P95: v, SD: 0})
	}
	return s
}

// near are ten values of about v, which differ by half a per cent.
func near(v float64) []float64 {
	out := make([]float64, 10)
	for i := range out {
		out[i] = v * (1 + 0.005*math.Cos(float64(3*i)))
	}
	return out
}

// Of trials that ended before they had a figure the ratios of the others tell nothing: those are the better ones.
func TestRatiosOfTheBetterTrialsTellNothing(t *testing.T) {
	old := []Series{seriesOf("a", near(1)...), seriesOf("b", near(3)...)}
	for i, which := range []string{"the first treatment's", "the other's"} {
		now := []Series{seriesOf("a", near(1)...), seriesOf("b", near(3)...)}
		now[i].Longer = 2
		r, err := Repeat(old, now, 0.95, 0.05)
		if err != nil || r.Ratios[0].Agreement != CannotTell || r.Agreement() != CannotTell {
			t.Errorf("%s: got %+v, %v", which, r.Ratios, err)
		}
	}
}

// A machine twice as slow differs in every figure and agrees in every ratio; one stack that is slower differs in both;
// few or scattered trials tell neither, and nor do those that waited for a CPU.
func TestRepeat(t *testing.T) {
	old := []Series{seriesOf("a", near(1)...), seriesOf("b", near(3)...)}
	waited := seriesOf("b", near(6)...)
	waited.Waiting = 0.5
	for _, tt := range []struct {
		name            string
		new             []Series
		figures, ratios []Agreement
		whole           Agreement
	}{
		{"the same", []Series{seriesOf("a", near(1.001)...), seriesOf("b", near(3)...)}, []Agreement{Agrees, Agrees},
			[]Agreement{Agrees}, Agrees},
		{"a slower machine", []Series{seriesOf("a", near(2)...), seriesOf("b", near(6)...)}, []Agreement{Differs, Differs},
			[]Agreement{Agrees}, Differs},
		{"a slower stack", []Series{seriesOf("a", near(1)...), seriesOf("b", near(6)...)}, []Agreement{Agrees, Differs},
			[]Agreement{Differs}, Differs},
		{"scattered trials", []Series{seriesOf("a", near(1)...), seriesOf("b", 1, 9, 2, 5, 3)},
			[]Agreement{Agrees, CannotTell},
			[]Agreement{CannotTell}, CannotTell},
		{"one trial", []Series{seriesOf("a", 1), seriesOf("b", 3)}, []Agreement{CannotTell, CannotTell},
			[]Agreement{CannotTell}, CannotTell},
		{"waiting for a CPU", []Series{seriesOf("a", near(1)...), waited}, []Agreement{Agrees, CannotTell},
			[]Agreement{CannotTell}, CannotTell},
		{"a difference within the margin", []Series{seriesOf("a", near(1.03)...), seriesOf("b", near(3.09)...)},
			[]Agreement{Agrees, Agrees}, []Agreement{Agrees}, Agrees},
	} {
		r, err := Repeat(old, tt.new, 0.95, 0.05)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		for what, x := range map[string]struct {
			got  []Repeated
			want []Agreement
		}{"figures": {r.Figures, tt.figures}, "ratios": {r.Ratios, tt.ratios}} {
			if len(x.got) != len(x.want) {
				t.Fatalf("%s: %d %s, want %d", tt.name, len(x.got), what, len(x.want))
			}
			for i, want := range x.want {
				if got := x.got[i]; got.Agreement != want {
					t.Errorf("%s, %s of %s: got %s (%v, %v to %v), want %s", tt.name, what, got.Treatment, got.Agreement,
						got.Ratio.Estimate, got.Ratio.Lo, got.Ratio.Hi, want)
				}
			}
		}
		if got := r.Agreement(); got != tt.whole {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.whole)
		}
	}
	if r, _ := Repeat(old, old, 0.95, 0.05); r.Ratios[0].Treatment != "b over a" {
		t.Errorf("the ratio is of %q", r.Ratios[0].Treatment)
	}

	// Three trials each of a hundred stacks agree: each is proven by itself.
	var kept, again []Series
	for i := range 100 {
		name := string(rune('a'+i/26)) + string(rune('a'+i%26))
		kept, again = append(kept, seriesOf(name, near(1)[:3]...)), append(again, seriesOf(name, near(1)[3:6]...))
	}
	if r, err := Repeat(kept, again, 0.95, 0.05); err != nil || r.Agreement() != Agrees || len(r.Ratios) != 99 {
		t.Errorf("a hundred stacks: got %s, %d ratios, %v", r.Agreement(), len(r.Ratios), err)
	}
}

// Intervals hold 1 as often as they say where nothing changed, and seldom where the machine became slower by as much as
// ten of their half-widths. What never varies has no interval.
func TestHeld(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, tt := range []struct {
		factor   float64
		from, to float64
	}{{1, 0.93, 0.97}, {1.2, 0, 0.01}} {
		held, of := 0, 0
		for range 40 {
			var old, again []Series
			for i := range 25 {
				name := string(rune('a' + i))
				var a, b []float64
				for range 8 {
					a, b = append(a, math.Exp(0.01*r.NormFloat64())), append(b, tt.factor*math.Exp(0.01*r.NormFloat64()))
				}
				old, again = append(old, seriesOf(name, a...)), append(again, seriesOf(name, b...))
			}
			old, again = append(old, seriesOf("z", 3, 3, 3)), append(again, seriesOf("z", 3, 3, 3))
			x, err := Repeat(old, again, 0.95, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			n, all := Held(x.Figures)
			held, of = held+n, of+all
		}
		if share := float64(held) / float64(of); of != 1000 || share < tt.from || share > tt.to {
			t.Errorf("times %g: %d of %d intervals have 1 in them", tt.factor, held, of)
		}
	}
}

// Where nothing changed, at most one repetition in twenty says that it differs; where one of the stacks became slower
// by the margin, at most one in twenty says that the whole agrees. The seeds are fixed: the rates do not vary.
func TestRepeatErrs(t *testing.T) {
	repetitions := 400
	if testing.Short() {
		repetitions = 100
	}
	scattered := func(r *rand.Rand, name string, mean float64, trials int) Series {
		values := make([]float64, trials)
		for i := range values {
			values[i] = mean * math.Exp(0.01*r.NormFloat64())
		}
		return seriesOf(name, values...)
	}
	for _, tt := range []struct {
		name string
		last float64 // of the stacks, times what it was
		bad  Agreement
	}{{"nothing changed", 1, Differs}, {"one stack at the margin", 1.05, Agrees}} {
		for _, trials := range []int{3, 10} {
			r, wrong := rand.New(rand.NewPCG(uint64(trials), 1)), 0
			for range repetitions {
				var old, again []Series
				for _, name := range []string{"a", "b", "c", "d", "e"} {
					factor := 1.0
					if name == "e" {
						factor = tt.last
					}
					old = append(old, scattered(r, name, 1, 10))
					again = append(again, scattered(r, name, factor, trials))
				}
				x, err := Repeat(old, again, 0.95, 0.05)
				if err != nil {
					t.Fatal(err)
				}
				if x.Agreement() == tt.bad {
					wrong++
				}
			}
			// 5 %, and twice the error of so many draws
			if share := float64(wrong) / float64(repetitions); share > 0.05+2*math.Sqrt(0.05*0.95/float64(repetitions)) {
				t.Errorf("%s, %d trials: %.1f %% of repetitions say %q", tt.name, trials, 100*share, tt.bad)
			}
		}
	}
}

// A repetition that lost trials agrees with nothing: those that are left may be the better ones.
func TestARepetitionThatLostTrials(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 4))
	c, err := Repeat([]Series{series("x", "rtt", around(r, 10, 0.01, 20)...)},
		[]Series{series("x", "rtt", around(r, 10, 0.01, 8)...)}, 0.95, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Agreement(); got != Agrees {
		t.Fatalf("fewer, as planned: %s", got)
	}
	c.Lost = []Loss{{Treatment: "x", Old: [2]int{20, 20}, New: [2]int{8, 20}}}
	if got := c.Agreement(); got != CannotTell {
		t.Errorf("12 lost: %s", got)
	}
}

// A figure that was not measured again is no agreement; compare names it.
func TestAFigureThatWasNotMeasuredAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 4))
	old := []Series{series("x", "rtt", around(r, 10, 0.01, 20)...), series("x", "cpu", around(r, 1, 0.01, 20)...)}
	new := []Series{series("x", "rtt", around(r, 10, 0.01, 20)...)}
	c, err := Repeat(old, new, 0.95, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Agreement(); got != CannotTell || len(c.Gone) != 1 || c.Gone[0] != "x cpu, client" {
		t.Errorf("got %s, %q", got, c.Gone)
	}
	if c, err = Repeat(new, old, 0.95, 0.05); err != nil || c.Agreement() != Agrees || len(c.Gone) > 0 {
		t.Errorf("a figure more: got %s, %q, %v", c.Agreement(), c.Gone, err)
	}
}

// Ratios that are repeated are of what was measured, or of what was modelled: never of one over the other.
func TestRatiosAreNotOfAMeterOverAModel(t *testing.T) {
	series := func() []Series {
		all := []Series{seriesOf("a", near(1)...), seriesOf("b", near(3)...), seriesOf("c", near(5)...),
			seriesOf("d", near(7)...)}
		all[1].Modelled, all[3].Modelled = true, true
		return all
	}
	r, err := Repeat(series(), series(), 0.95, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range r.Ratios {
		names = append(names, x.Treatment)
	}
	if got := strings.Join(names, ", "); got != "c over a, d over b" {
		t.Errorf("got ratios of %s", got)
	}
}

// Of what is 0 in some blocks there is no ratio between treatments: that of the other blocks alone would change where
// only the share of such blocks does. It is said which have none.
func TestRatiosLeaveNoBlockOut(t *testing.T) {
	const studies = 200
	r := rand.New(rand.NewPCG(29, 24))
	drawn := func(name string, every int, share float64) Series { // its mean is share
		var values []float64
		for i := range 12 {
			v := 0.0
			if i%every == 0 {
				v = share * float64(every) * math.Exp(0.02*r.NormFloat64())
			}
			values = append(values, v)
		}
		return series(name, "failed_share", values...)
	}
	differ := 0
	for range studies {
		kept := []Series{drawn("a", 1, 0.1), drawn("b", 2, 0.1)}
		again := []Series{drawn("a", 1, 0.1), drawn("b", 1, 0.1)} // as many fail, in all blocks
		got, err := Repeat(kept, again, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if Count(got.Ratios, Differs) > 0 {
			differ++
		}
		if want := []string{"failed_share of b over a"}; !slices.Equal(got.NoRatio, want) || len(got.Ratios) > 0 {
			t.Fatalf("got %v and %d ratios, want %v", got.NoRatio, len(got.Ratios), want)
		}
	}
	t.Logf("a ratio that did not change differs in %.1f %%", 100*float64(differ)/studies)
	if differ > 0 {
		t.Errorf("a ratio that did not change differs in %d of %d repetitions", differ, studies)
	}
}
