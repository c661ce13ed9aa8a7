package report

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// metersOf are results of two stacks of 100 requests a trial, whose trials have such energies, and whose meter may
// be off by so much, J a trial; 0: as in results of earlier versions, nothing is noted of it.
func metersOf(t *testing.T, unseen float64, joules func(stack string) float64) *Report {
	t.Helper()
	w := exactly(nil)
	w.exact = func(at map[string]string, _ int) []store.Result {
		v := joules(at["stack"]) / 100
		return []store.Result{{Side: measure.Client, Response: "energy", Unit: "J", N: 1, Mean: v, Median: v, P95: v, Min: v,
			Max: v, Method: store.Measured}}
	}
	w.quality = func(map[string]string, int) []store.Quality {
		q := []store.Quality{{Key: "requests", Unit: "1", Value: 100}}
		if unseen > 0 {
			q = append(q, store.Quality{Key: "client_energy_unseen", Unit: "J", Value: unseen})
		}
		return q
	}
	return reportOf(t, w.write(t, "study: s\nservice: monitor\nrequests: 100\nfactors: {stack: [rest-json, coap-cbor]}\n"+
		"design: {replications: 6, seed: 1}\n"))
}

// What a meter does not see makes no winner, no met requirement, no change and no analysis of variance, in all of the
// places that tell them; what is beyond it does, and old results, which say nothing of it, are judged as before.
func TestWhatAMeterDoesNotSeeDecidesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 4))
	for _, c := range []struct {
		what             string
		unseen, a, b     float64 // J a trial
		decides, nothing bool
	}{
		{"nothing at all", 0.15, 0, 0, false, true},
		{"rounding", 1e-9, 3e-15, -5e-15, false, true},
		{"within a step", 0.15, 0.1, 0.02, false, true},
		{"one of two is told from 0", 0.15, 0.2, 0.02, false, false},
		{"more than two steps apart", 0.15, 1, 0.1, true, false},
		{"an earlier version", 0, 0.1, 0.02, true, false},
	} {
		joules := func(stack string) float64 {
			v := c.a
			if stack == "coap-cbor" {
				v = c.b
			}
			return v * (1 + 0.01*rng.NormFloat64())
		}
		r := metersOf(t, c.unseen, joules)
		says := strings.Join(r.Verdict(), "\n")
		if strings.Contains(says, "next is rest-json") != c.decides ||
			strings.Contains(says, "can distinguish none from 0") != c.nothing ||
			strings.Contains(says, "exactly as much") {
			t.Errorf("%s: %s", c.what, says)
		}
		e := effectsOf(t, r, "energy")
		tested := e.Anova != nil && len(e.Levels) > 0 && e.Levels[0].Clear(0.95)
		if tested != c.decides {
			t.Errorf("%s: effects %+v, %q", c.what, e.Levels, e.Warnings)
		}
		below, err := advise.ParseRequirement("energy < 0.5mJ")
		if err != nil {
			t.Fatal(err)
		}
		got, err := advise.Choose(r.Series(), []advise.Objective{{Term: advise.Term{Response: "energy", Figure: "mean"}}},
			[]advise.Condition{below}, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		met := got.Candidates[0].Meets
		if want := c.unseen < 0.1; (met == stat.Confirmed) != want {
			t.Errorf("%s: less than 0.5 mJ is %s", c.what, met)
		}
		for _, format := range []string{"text", "markdown", "json", "csv", "latex"} {
			var b bytes.Buffer
			if err := Formats[format](r, &b); err != nil || strings.Contains(b.String(), "Inf") ||
				strings.Contains(b.String(), "NaN") {
				t.Errorf("%s: %s: %v", c.what, format, err)
			}
		}
		if c.nothing && !strings.Contains(strings.Join(r.Cells[0].Warnings, "; "), "not told from 0") {
			t.Errorf("%s: warnings %q", c.what, r.Cells[0].Warnings)
		}
		again, err := advise.Compare(r.Series(), metersOf(t, c.unseen, joules).Series(), nil, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range again.Contrasts {
			if x.Change == advise.Higher || x.Change == advise.Lower || x.Change == advise.Same {
				t.Errorf("%s: compared with the same again it is %s", c.what, x.Change)
			}
		}
	}
}

// Two stacks of one energy, each off by as much as a meter does not see: their ratio was apart from 1 in most results,
// however sure of it the trials were, and the interval of none is now.
func TestRatiosAllowForWhatAMeterDoesNotSee(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	before, now := 0, 0
	const results = 60
	for range results {
		off := map[string]float64{"rest-json": 0.15 * (2*rng.Float64() - 1), "coap-cbor": 0.15 * (2*rng.Float64() - 1)}
		r := metersOf(t, 0.15, func(stack string) float64 { return 1 + off[stack] + 0.01*rng.NormFloat64() })
		a, _ := r.Cell(0, measure.Client, "energy")
		b, _ := r.Cell(1, measure.Client, "energy")
		x, err := Ratio(a, b, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if x.Lo > 1 || x.Hi < 1 {
			now++
		}
		seen := *a
		seen.Unseen = 0
		other := *b
		other.Unseen = 0
		if x, err = Ratio(&seen, &other, 0.95); err != nil {
			t.Fatal(err)
		}
		if x.Lo > 1 || x.Hi < 1 {
			before++
		}
	}
	t.Logf("apart: %d of %d before, %d now", before, results, now)
	if before < results/2 || now > 0 {
		t.Errorf("apart: %d of %d before, %d now", before, results, now)
	}
}
