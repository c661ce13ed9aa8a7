package advise

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// A study of two stacks is repeated. Whoever gives up its slowest requests in one of the two is neither quicker for it,
// nor as quick as before where all requests take longer: figures and ratios are of all requests. The rates are those of
// doc/method.md.
func TestARepetitionKnowsWhatFailed(t *testing.T) {
	const trials, requests = 8, 200
	studies := 400
	if testing.Short() {
		studies = 60
	}
	type stack struct{ scale, slow, gives float64 } // times 10 ms; the share that takes ten times as long, and gives up
	for _, x := range []struct {
		words       string
		kept, again [2]stack
		truth       [2]Agreement // of the first stack's figure, and of the ratio
		least       float64      // of the studies that say so
	}{
		{"the first gives up its slowest 2 % when repeated", [2]stack{{1, 0.04, 0}, {1, 0.04, 0}},
			[2]stack{{1, 0.04, 0.02}, {1, 0.04, 0}}, [2]Agreement{Agrees, Agrees}, 0.5},
		{"it gave them up, and does no more", [2]stack{{1, 0.04, 0.02}, {1, 0.04, 0}},
			[2]stack{{1, 0.04, 0}, {1, 0.04, 0}}, [2]Agreement{Agrees, Agrees}, 0.5},
		{"it takes 1.2 times as long, and gives up its slowest 2 %", [2]stack{{1, 0.04, 0}, {1, 0.04, 0}},
			[2]stack{{1.2, 0.04, 0.02}, {1, 0.04, 0}}, [2]Agreement{Differs, Differs}, 0.95},
		{"1.2 times as long, none fails", [2]stack{{1, 0.04, 0}, {1, 0.04, 0}}, [2]stack{{1.2, 0.04, 0}, {1, 0.04, 0}},
			[2]Agreement{Differs, Differs}, 0.5},
		{"as before, none fails", [2]stack{{1, 0, 0}, {1, 0, 0}}, [2]stack{{1, 0, 0}, {1, 0, 0}},
			[2]Agreement{Agrees, Agrees}, 0.9},
	} {
		r := rand.New(rand.NewPCG(29, 53))
		one := func(name string, s stack) Series {
			out, failed := series(name, "rtt"), 0
			for i := range trials {
				base := 0.01 * s.scale * math.Exp(0.01*r.NormFloat64())
				times := make([]float64, requests)
				for j := range times {
					times[j] = base * math.Exp(0.1*r.NormFloat64())
					if j < int(s.slow*requests) {
						times[j] = 0.1 + 0.03*r.Float64()
					}
					if j < int(s.gives*requests) {
						times[j] = 1
					}
				}
				y, lost := trialOf(t, i+1, times, 0.9, true)
				out.Trials, failed = append(out.Trials, y), failed+lost
			}
			out.Side, out.Requests, out.Failed = measure.Client, trials*requests, float64(failed)/(trials*requests)
			return out
		}
		var wrong, right [2][2]int // of answered requests and of all; figure and ratio
		for range studies {
			old, new := []Series{one("a", x.kept[0]), one("b", x.kept[1])}, []Series{one("a", x.again[0]), one("b", x.again[1])}
			for k, all := range []bool{false, true} {
				a, b := old, new
				if !all {
					a, b = AnsweredOnly(old), AnsweredOnly(new)
					for i := range a {
						a[i].Failed, b[i].Failed = 0, 0
					}
				}
				got, err := Repeat(a, b, 0.95, 0.05)
				if err != nil {
					t.Fatal(err)
				}
				for i, said := range []Agreement{got.Figures[0].Agreement, got.Ratios[0].Agreement} {
					switch said {
					case x.truth[i]:
						right[k][i]++
					case Agrees, Differs:
						wrong[k][i]++
					}
				}
			}
		}
		for i, of := range []string{"figure", "ratio"} {
			share := func(n int) float64 { return 100 * float64(n) / float64(studies) }
			t.Logf("%s, %s: wrong %.1f %%, now %.1f %%; right %.1f %%, now %.1f %%", x.words, of, share(wrong[0][i]),
				share(wrong[1][i]), share(right[0][i]), share(right[1][i]))
			if tooOften(wrong[1][i], studies, 0.05) || float64(right[1][i]) < x.least*float64(studies) {
				t.Errorf("%s, %s: of %d studies %d say what is wrong, and %d what is right", x.words, of, studies, wrong[1][i],
					right[1][i])
			}
		}
	}
}

// Where the median among all requests is one that failed, or nobody knows it, a repetition cannot tell, and says why,
// of the ratio to the first treatment, too; and times that ask for no answer are means as ever.
func TestARepetitionOfAMedianThatFailed(t *testing.T) {
	for says, all := range map[string]float64{"is one that failed": math.Inf(1), "lacks the exchanges": math.NaN()} {
		old := []Series{seriesOf("a", near(1)...), seriesOf("b", near(3)...), seriesOf("c", near(2)...)}
		old[2].Response = "serialization"
		new := []Series{seriesOf("a", near(1)...), seriesOf("b", near(3)...), seriesOf("c", near(2)...)}
		new[2].Response = "serialization"
		new[1].Failed, new[2].Failed = 0.6, 0.6
		new[1].Trials[4].AllMedian = all
		got, err := Repeat(old, new, 0.95, 0.05)
		if err != nil || len(got.Figures) != 3 || len(got.Ratios) != 1 {
			t.Fatalf("%s: got %+v, %v", says, got, err)
		}
		for _, x := range []Repeated{got.Figures[1], got.Ratios[0]} {
			if x.Agreement != CannotTell || x.Figure != "median" || !strings.Contains(x.Doubt, says) {
				t.Errorf("%s of %s: %s, %q", x.Figure, x.Treatment, x.Agreement, x.Doubt)
			}
		}
		for _, x := range []Repeated{got.Figures[0], got.Figures[2]} {
			if x.Agreement != Agrees || x.Figure != "mean" {
				t.Errorf("%s of %s %s: %s", x.Figure, x.Treatment, x.Response, x.Agreement)
			}
		}
	}
}

// A repetition of which another share of the requests fails is no agreement, whichever way; chance that may explain it
// leaves the whole open, and so few of equals differ as the level allows.
func TestARepetitionThatFailsMore(t *testing.T) {
	of := func(hits ...int) []Attempts {
		a := Attempts{Factors: []string{"stack"}, Levels: []string{"a"}, Name: "a"}
		for _, n := range hits {
			a.Failed = append(a.Failed, stat.Share{Hits: n, N: 200})
		}
		return []Attempts{a}
	}
	none, many, outage := of(0, 0, 0, 0, 0, 0), of(20, 22, 19, 21, 20, 23), of(0, 0, 0, 60, 0, 0)
	for _, tt := range []struct {
		what     string
		old, new []Attempts
		want     Agreement
		says     string
	}{
		{"none fails", none, none, Agrees, ""},
		{"as many", many, many, Agrees, ""},
		{"more", none, many, Differs, "125 of 1200 requests (10.4 %) failed, 0 of 1200 requests (0 %) before: chance does not"},
		{"fewer", many, none, Differs, "0 of 1200 requests (0 %) failed, 125 of 1200 requests (10.4 %) before: chance does not"},
		{"an outage", none, outage, CannotTell, "more trials would decide"},
		{"none any more", outage, none, CannotTell, "more trials would decide"},
	} {
		r, err := Repeat([]Series{seriesOf("a", near(1)...)}, []Series{seriesOf("a", near(1)...)}, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		r.Failed = FailuresDiffer(tt.old, tt.new, 0.95)
		said := ""
		for _, f := range r.Failed {
			said += f.String()
		}
		if got := r.Agreement(); got != tt.want || !strings.Contains(said, tt.says) || (said == "") != (tt.says == "") {
			t.Errorf("%s: %s, %q", tt.what, got, said)
		}
	}
	const studies = 1000
	r, differ := rand.New(rand.NewPCG(29, 54)), 0
	for range studies {
		draw := func() []Attempts {
			var hits []int
			for range 6 {
				hits = append(hits, drawnHits(r, 200, 0.03*math.Exp(0.5*r.NormFloat64())))
			}
			return of(hits...)
		}
		for _, f := range FailuresDiffer(draw(), draw(), 0.95) {
			if f.Verdict == stat.Confirmed {
				differ++
			}
		}
	}
	if tooOften(differ, studies, 0.05) {
		t.Errorf("shares of equals differ in %d of %d repetitions", differ, studies)
	}
}
