package advise

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// Of two treatments and one objective, the front says the same as the comparison with the best: by block.
func TestFrontAgreesWithTheBest(t *testing.T) {
	var slow, slower []float64
	for i := range 8 {
		block := math.Exp(float64(i%4) - 1.5) // a factor of 20 between blocks, and 5 % between treatments
		slow, slower = append(slow, 10*block), append(slower, 10.5*block*(1+0.002*float64(i%3)))
	}
	for _, tt := range []struct {
		what  string
		a, b  []float64
		noise bool
	}{
		{"blocks that are slow for both tell them apart", slow, slower, false},
		{"apart on the whole, and as often alike in a block as not", []float64{1, 1.1, 1, 1.1, 1, 1.1},
			[]float64{1.2, 1.1, 1.2, 1.1, 1.2, 1.1}, true},
	} {
		c, err := Choose([]Series{series("a", "rtt", tt.a...), series("b", "rtt", tt.b...)},
			[]Objective{{Term: mustTerm(t, "rtt")}}, nil, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		x := c.Candidates[1]
		if x.Name != "b" || x.Noise != tt.noise || x.Front || x.Unsure != tt.noise || x.BeatBy != "a" {
			t.Errorf("%s: within noise %v, perhaps on the front %v, beaten by %q", tt.what, x.Noise, x.Unsure, x.BeatBy)
		}
	}
}

// Who is beaten in one figure beyond noise and in the other within it may be on the front: in truth it may be the
// better one there. Who is beaten clearly by one is not, whoever else beats it within noise.
func TestFrontOfTwoFigures(t *testing.T) {
	near := []float64{0.90, 1.10, 0.95, 1.05, 1.00, 1.00}
	small := []float64{1.11, 0.91, 1.06, 0.96, 1.01, 1.01}
	beaten := []float64{1.10, 0.98, 1.00, 1.12, 0.90, 1.02}
	bytes := func(b float64) []float64 { return []float64{b, b, b, b, b, b} }
	both := func(name string, times []float64, b float64) []Series {
		return []Series{series(name, "rtt", times...), series(name, "message_size", bytes(b)...)}
	}
	slow := make([]float64, len(beaten))
	for i, x := range small {
		slow[i] = 2*x + 0.01*beaten[i]
	}
	all := append(append(append(both("near", near, 100), both("small", small, 50)...), both("beaten", beaten, 90)...),
		both("slow", slow, 95)...)
	c, err := Choose(all, []Objective{{Term: mustTerm(t, "rtt")}, {Term: mustTerm(t, "message_size")}}, nil, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range c.Candidates {
		want := map[string]string{"near": "yes", "small": "yes", "beaten": "perhaps", "slow": "no"}[x.Name]
		got := "no"
		switch {
		case x.Front:
			got = "yes"
		case x.Unsure:
			got = "perhaps"
		}
		if got != want {
			t.Errorf("%s: on the front: %s (beaten by %q), want %s", x.Name, got, x.BeatBy, want)
		}
	}
}

// Who is on the front by a hair, since its time is the shortest by a ten-thousandth of what trials scatter by, is
// called beaten beyond doubt in at most 5 of 100 studies, however much smaller the messages of the others are; who is
// slower by twice the scatter, and larger, is in nine of ten.
func TestWhoIsOnTheFrontIsSeldomBeatenBeyondDoubt(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	r := rand.New(rand.NewPCG(21, 22))
	for _, blocks := range []int{4, 6, 12} {
		const studies = 150
		wrong, found := 0, 0
		for range studies {
			all := []Series{series("hair", "rtt", around(r, 1-0.1e-4, 0.1, blocks)...)}
			for _, name := range []string{"b", "c"} {
				all = append(all, series(name, "rtt", around(r, 1, 0.1, blocks)...))
			}
			all = append(all, series("slow", "rtt", around(r, 1.4, 0.1, blocks)...))
			for i, name := range []string{"hair", "b", "c", "slow"} {
				size := []float64{100, 50, 40, 200}[i]
				all = append(all, series(name, "message_size", around(r, size, 0.001, blocks)...))
			}
			c, err := Choose(all, []Objective{{Term: mustTerm(t, "rtt")}, {Term: mustTerm(t, "message_size")}}, nil, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range c.Candidates {
				beaten := !x.Front && !x.Unsure
				switch {
				case x.Name == "hair" && beaten:
					wrong++
				case x.Name == "slow" && beaten:
					found++
				}
			}
		}
		t.Logf("%d blocks: beaten by chance in %d of %d, the slow one in %d", blocks, wrong, studies, found)
		if wrong > studies*7/100 || blocks > 4 && found < studies*85/100 {
			t.Errorf("%d blocks: beaten by chance in %d of %d, the slow one in %d", blocks, wrong, studies, found)
		}
	}
}

// without are series whose trials had too few requests for a p95.
func without(s Series, sd float64) Series {
	for i := range s.Trials {
		s.Trials[i].P95, s.Trials[i].SD = math.NaN(), sd
	}
	return s
}

// A p95 that no trial can show is not measured, and it is said how many requests show one.
func TestP95OfFewRequests(t *testing.T) {
	rtt := []Objective{{Term: mustTerm(t, "rtt")}}
	few := without(series("a", "rtt", 1, 1.1, 1), 0.1)
	bound := []Condition{mustRequire(t, "rtt.p95 < 100ms")}
	_, err := Choose([]Series{few, without(series("b", "rtt", 2, 2.1, 2), 0.1)}, rtt, bound, 0.95)
	if want := "no trial has a p95 of rtt, which takes 20 answered requests in a trial; set requests to 20 or more " +
		"and run it again, or ask for rtt"; !errors.Is(err, ErrNotMeasured) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	_, err = Choose([]Series{without(series("a", "peak_rss", 1, 1), math.NaN())},
		[]Objective{{Term: mustTerm(t, "client.peak_rss.p95")}}, nil, 0.95)
	if want := "of which it has one value; ask for client.peak_rss"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}

	// Where some have one, the others are undecided, and one line says why.
	all := []Series{few, without(series("b", "rtt", 2, 2.1, 2), 0.1), series("c", "rtt", 0.01, 0.011, 0.01)}
	c, err := Choose(all, rtt, bound, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if x := c.Candidates[1]; names(c) != "c a b" || x.Meets != stat.Undecided ||
		x.Checks[0].Figure.Side != measure.Client || x.Checks[0].Figure.Center.HasInterval() {
		t.Errorf("got %s, %+v", names(c), c.Candidates[1])
	}
	if next := c.Next(); len(next) != 1 || next[0] != "a; b, rtt.p95 < 100ms: a trial has no p95 of rtt: it takes 20 "+
		"answered requests in a trial; raise requests" {
		t.Errorf("next: %q", next)
	}
}

// Of few trials, too, a p95 is the median of theirs, as a report has it; of benches the mean is.
func TestFewTrialsP95IsTheirMedian(t *testing.T) {
	far := series("far once", "rtt", 1, 1.1, 9)
	for _, units := range []bool{false, true} {
		far.Units = units
		c, err := Choose([]Series{far}, []Objective{{Term: mustTerm(t, "rtt.p95")}}, nil, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Candidates[0].Objectives[0].Center.Center; (got == 2.2) == units {
			t.Errorf("units of benches: %v; got a p95 of %v", units, got)
		}
	}
}

// The side that counts is the worse one of some treatment.
func TestCounting(t *testing.T) {
	server := func(s Series) Series {
		s.Side = measure.Server
		return s
	}
	all := []Series{series("a", "total_time", 5, 5), server(series("a", "total_time", 1, 1)),
		series("b", "total_time", 6, 6), server(series("b", "total_time", 2, 2))}
	if got := Counting(all, mustTerm(t, "total_time")); len(got) != 1 || got[0] != measure.Client {
		t.Errorf("got %v", got)
	}
	all = append(all, series("c", "total_time", 1, 1), server(series("c", "total_time", 2, 2)))
	if got := Counting(all, mustTerm(t, "total_time")); len(got) != 2 {
		t.Errorf("got %v", got)
	}
	if got := Counting(all, mustTerm(t, "server.total_time")); len(got) != 1 || got[0] != measure.Server {
		t.Errorf("got %v", got)
	}
}
