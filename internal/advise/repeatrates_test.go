package advise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// A drawnStudy has so many treatments, each with four times that are much the same, or that have nothing to do with
// each other. Blocks of a run share the third part of what trials vary by.
type drawnStudy struct {
	treatments, trials int
	spread             float64
	alone              bool
}

func (d drawnStudy) draw(r *rand.Rand, factor func(treatment int) float64) []Series {
	block := make([]float64, d.trials)
	for i := range block {
		block[i] = d.spread / 3 * r.NormFloat64()
	}
	var out []Series
	for k := range d.treatments {
		own := make([]float64, d.trials)
		for i := range own {
			own[i] = block[i] + d.spread*r.NormFloat64()
		}
		for j := range 4 {
			s := Series{Factors: []string{"stack"}, Levels: []string{fmt.Sprint("t", k)}, Side: measure.Client,
				Response: fmt.Sprint("time", j), Unit: "s"}
			for i := range d.trials {
				v := own[i] + d.spread/10*r.NormFloat64()
				if d.alone {
					v = block[i] + d.spread*r.NormFloat64()
				}
				v = factor(k) * math.Exp(v)
				s.Trials = append(s.Trials, TrialSummary{ID: i + 1, Block: i + 1, Mean: v, Median: v, P95: v})
			}
			out = append(out, s)
		}
	}
	return out
}

// Of a repetition that is as quick as what was kept, or takes as much longer as the margin, at most one in twenty says
// that the whole differs, whatever its figures have to do with each other. Of one that takes 1.3 times as long most say
// so. The rates of doc/method.md are of 2,000 each.
func TestRepetitionsDifferBeyondTheMargin(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	for _, x := range []struct {
		drawnStudy
		least [2]float64 // per cent that differ at 1.1 and 1.3 times as long
	}{
		{drawnStudy{1, 8, 0.1, false}, [2]float64{7, 91}},
		{drawnStudy{2, 8, 0.02, false}, [2]float64{98, 100}},
		{drawnStudy{2, 8, 0.1, false}, [2]float64{5, 96.3}},
		{drawnStudy{5, 8, 0.1, false}, [2]float64{4, 99}},
		{drawnStudy{2, 20, 0.3, true}, [2]float64{6, 80}},
	} {
		studies := 2000 / x.treatments
		if testing.Short() {
			studies = 200
		}
		var said []string
		for i, times := range []float64{1, 1.05, 1.1, 1.3} {
			r := rand.New(rand.NewPCG(uint64(x.trials), math.Float64bits(times)))
			differ := 0
			for range studies {
				old := x.draw(r, func(int) float64 { return 1 })
				got, err := Repeat(old, x.draw(r, func(int) float64 { return times }), 0.95, 0.05)
				if err != nil {
					t.Fatal(err)
				}
				if got.Agreement() == Differs {
					differ++
				}
			}
			share := float64(differ) / float64(studies)
			said = append(said, fmt.Sprintf("%.1f", 100*share))
			slack := 2 * math.Sqrt(0.05*0.95/float64(studies))
			switch {
			case i < 2 && share > 0.05+slack:
				t.Errorf("%+v, times %g: %.1f %% differ, more than 5 %%", x.drawnStudy, times, 100*share)
			case i >= 2 && !testing.Short() && share < x.least[i-2]/100:
				t.Errorf("%+v, times %g: %.1f %% differ, less than %g %%", x.drawnStudy, times, 100*share, x.least[i-2])
			}
		}
		t.Logf("%d treatments of %d trials that spread by %g %%, times that are alike: %v; of 1, 1.05, 1.1 and 1.3 times as "+
			"long differ %s %%", x.treatments, x.trials, 100*x.spread, !x.alone, strings.Join(said, ", "))
	}
}

// What is not decided says why, and the p of the answer that is nearer.
func TestRepetitionSaysWhyItCannotTell(t *testing.T) {
	waited := seriesOf("b", near(3.6)...)
	waited.Waiting = 0.3
	scattered := []float64{1, 1.1, 0.9, 1.05, 0.95}
	var many, slower []Series
	for i := range 30 {
		name := fmt.Sprint("t", i)
		many, slower = append(many, seriesOf(name, scattered...)), append(slower, seriesOf(name, scattered...))
	}
	slower[3] = seriesOf("t3", 1.28, 1.4, 1.16, 1.34, 1.22)
	for _, tt := range []struct {
		name     string
		old, new []Series
		at       int
		want     Why
	}{
		{"one trial", []Series{seriesOf("b", 1, 2)}, []Series{seriesOf("b", 3)}, 0, Untested},
		{"waited", []Series{seriesOf("b", near(3)...)}, []Series{waited}, 0, Waited},
		{"1.28 times as long, alone of thirty", many, slower, 3, Together},
		{"its interval has both", many, slower, 0, Straddles},
	} {
		got, err := Repeat(tt.old, tt.new, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		x := got.Figures[tt.at]
		if x.Agreement != CannotTell || x.Why != tt.want {
			t.Errorf("%s: %s, %q, want %q", tt.name, x.Agreement, x.Why, tt.want)
		}
		if math.IsNaN(x.P) != (tt.want == Untested) || x.P < 0.05 {
			t.Errorf("%s: p %g", tt.name, x.P)
		}
		if want := 31; len(tt.old) == 30 && got.Tests != want {
			t.Errorf("%d differences are judged at once, want %d", got.Tests, want)
		}
		beyond := x.Ratio.Lo > 1.05 || x.Ratio.Hi < 1/1.05
		if beyond == (tt.want == Straddles) && tt.want != Untested {
			t.Errorf("%s: its interval is %g to %g", tt.name, x.Ratio.Lo, x.Ratio.Hi)
		}
	}
}
