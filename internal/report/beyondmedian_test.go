package report

import (
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// A pretended treatment: requests of about 461 µs, a share of which sleeps 100 ms; in the one trial that is disturbed a
// share of them, too.
type pretended struct {
	name      string
	scale     float64 // times 461 µs
	slow      float64 // share of requests
	disturbed float64 // share of requests of one of the trials
}

// typical are the quantiles of what a request takes that does not sleep: log-normal, 30 %.
var typical = sync.OnceValue(func() (q *[1 << 14]float64) {
	q = new([1 << 14]float64)
	for i := range q {
		q[i] = math.Exp(0.3 * math.Sqrt2 * math.Erfinv((2*float64(i)+1)/float64(len(q))-1))
	}
	return q
})

// requests draws 300 in ascending order, without sorting: what lies between uniform values in order is exponential. Who
// sleeps comes after all others.
func requests(r *rand.Rand, base, share float64) (values []float64) {
	var places [301]float64
	end := 0.0
	for k := range places {
		end += r.ExpFloat64()
		places[k] = end
	}
	q := typical()
	var slow []float64
	values = make([]float64, 0, 300)
	for _, place := range places[:300] {
		v := base * q[int(place/end*float64(len(q)))]
		if r.Float64() < share {
			slow = append(slow, v+0.1)
		} else {
			values = append(values, v)
		}
	}
	return append(values, slow...)
}

// veiledReport draws trials of 300 requests. Trials differ by 5 %.
func veiledReport(t *testing.T, r *rand.Rand, trials int, all ...pretended) *Report {
	t.Helper()
	out := &Report{}
	out.Study.Design.Confidence = 0.95
	for i, x := range all {
		out.Treatments = append(out.Treatments, Treatment{Levels: []string{x.name}, Floor: -1, Wanted: trials, Valid: trials})
		c := Cell{Treatment: i, Side: measure.Client, Response: "rtt", Unit: "s"}
		bad := r.IntN(trials)
		for b := range trials {
			base, share := x.scale*461e-6*math.Exp(0.05*r.NormFloat64()), x.slow
			if b == bad {
				share += x.disturbed
			}
			values, sum := requests(r, base, share), 0.0
			for _, v := range values {
				sum += v
			}
			at := func(share float64) float64 {
				whole, rest := math.Modf(share * float64(len(values)-1))
				return values[int(whole)]*(1-rest) + values[int(whole)+1]*rest
			}
			c.Points = append(c.Points, Point{Trial: len(all)*b + i + 1, Block: b + 1, Mean: sum / float64(len(values)),
				Median: at(0.5), P95: at(0.95)})
		}
		if err := c.summarize(out.Study.Design.Confidence); err != nil {
			t.Fatal(err)
		}
		c.ByMedian = true
		out.Cells = append(out.Cells, c)
	}
	return out
}

// The rates are those of doc/method.md: how often the sentence that ranks by medians says of means or p95 that they
// differ.
func TestMediansDoNotHideSlowRequests(t *testing.T) {
	runs := 4000
	if testing.Short() {
		runs = 100
	}
	good, disturbed := pretended{"a", 1, 0, 0}, pretended{"a", 1, 0, 0.02}
	slow := pretended{"b", 1, 0.05, 0}
	for _, x := range []struct {
		words       string
		trials      int
		least, most float64 // per cent
		says        string  // what must be in it
		of          []pretended
	}{
		{"equal", 6, 0, 5.5, "", []pretended{good, {"b", 1, 0, 0}}},
		{"equal, one trial of one disturbed", 6, 0, 5.5, "", []pretended{disturbed, {"b", 1, 0, 0}}},
		{"equal, 5 % of the requests of both slow", 6, 0, 5.5, "", []pretended{{"a", 1, 0.05, 0}, slow}},
		{"equal, five treatments, one trial of one disturbed", 6, 0, 5.5, "", []pretended{disturbed, {"b", 1, 0, 0},
			{"c", 1, 0, 0}, {"d", 1, 0, 0}, {"e", 1, 0, 0}}},
		{"one has 5 % slow requests", 6, 99, 100, "a part of the requests of b is slow", []pretended{good, slow}},
		{"one has 5 % slow requests, one trial of the other disturbed", 6, 95, 100, "a part of the requests of b is slow",
			[]pretended{disturbed, slow}},
		{"one has 5 % slow requests, twelve trials, one of the other disturbed", 12, 99, 100,
			"a part of the requests of b is slow", []pretended{disturbed, slow}},
		{"the one with 5 % slow requests has less of a median", 6, 95, 100, "; yet the mean of a typical trial of a is 0.",
			[]pretended{{"a", 1.3, 0, 0.02}, slow}},
	} {
		r, hits, runs := rand.New(rand.NewPCG(7, uint64(x.trials))), 0, runs
		if len(x.of) > 2 {
			runs /= 4 // of which each takes many times as long
		}
		for range runs {
			said := strings.Join(veiledReport(t, r, x.trials, x.of...).Verdict(), " ")
			if !strings.HasPrefix(said, "Quickest: ") || !strings.Contains(said, "(medians, since ") {
				t.Fatalf("%s: got %q", x.words, said)
			}
			if strings.Contains(said, "of a typical trial of") && strings.Contains(said, x.says) {
				hits++
			}
		}
		if got := 100 * float64(hits) / float64(runs); got < x.least || got > x.most+300*math.Sqrt(0.05/float64(runs)) {
			t.Errorf("%s: said in %.1f %% of %d, want %v to %v", x.words, got, runs, x.least, x.most)
		} else {
			t.Logf("%s, %d trials each: %.1f %%", x.words, x.trials, got)
		}
	}
}

// A median that is alike, and more requests that wait for a CPU: that is not said as certain.
func TestWaitingMayExplainWhatMediansHide(t *testing.T) {
	r := veiledReport(t, rand.New(rand.NewPCG(7, 7)), 12, pretended{"a", 1, 0, 0}, pretended{"b", 1, 0.03, 0})
	for i := range r.Cells {
		r.Cells[i].Waiting = 0.8
	}
	const want = "; waiting for a CPU may explain that the mean of a typical trial of "
	if got := strings.Join(r.Verdict(), " "); !strings.Contains(got, want) || strings.Contains(got, "is slow") {
		t.Errorf("got %q", got)
	}
}

// Requests that all take longer are no part of them: that is said only where the median does not tell as much. A
// treatment of which all are slower may be behind by its mean where its median is not beyond doubt.
func TestSlowerAltogetherIsNoPart(t *testing.T) {
	runs := 2000
	if testing.Short() {
		runs = 100
	}
	for _, scale := range []float64{1.08, 1.12, 1.2} {
		r, wrong, said := rand.New(rand.NewPCG(11, 11)), 0, 0
		for range runs {
			text := strings.Join(veiledReport(t, r, 6, pretended{"a", 1, 0, 0}, pretended{"b", scale, 0, 0}).Verdict(), " ")
			if strings.Contains(text, "of a typical trial of") {
				said++
			}
			if strings.Contains(text, "a part of the requests of") {
				wrong++
			}
		}
		t.Logf("slower by %.2f: means said in %.1f %%, a part in %.1f %%", scale, 100*float64(said)/float64(runs),
			100*float64(wrong)/float64(runs))
		if 200*wrong > runs {
			t.Errorf("slower by %.2f: a part of the requests is said to be slow in %d of %d", scale, wrong, runs)
		}
	}
}
