package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// energies writes results of the factors in which the energy of each trial is known, and whether a model gave it.
func energies(
	t *testing.T, factors string, of func(at map[string]string, block int) (joules float64, modelled bool),
	bench func(block int) store.Bench,
) *Report {
	t.Helper()
	w := exactly(nil)
	w.bench = bench
	w.exact = func(at map[string]string, block int) []store.Result {
		v, modelled := of(at, block)
		method := map[bool]store.Method{true: store.Modelled, false: store.Measured}[modelled]
		v *= wobble(block + len(at["stack"]))
		return []store.Result{{Side: measure.Client, Response: "energy", Unit: "J", N: 1, Mean: v, SD: v / 10, Median: v,
			P95: v, Min: v, Max: v, Method: method}}
	}
	return reportOf(t, w.write(t, "study: s\nservice: monitor\nrequests: 100\nfactors: {"+factors+"}\n"+
		"design: {replications: 6, seed: 1}\n"))
}

// contrasts are the levels that effects compare, each pair in the order of its names, and whether a model is in it.
func contrasts(e Effects) []string {
	var out []string
	for _, c := range e.Levels {
		pair := []string{c.Best, c.Other}
		slices.Sort(pair)
		out = append(out, fmt.Sprintf("%s %s %v", pair[0], pair[1], c.Modelled))
	}
	slices.Sort(out)
	return out
}

// What a meter read and what a model says are not compared, however far they are apart: levels are where both are
// measured, or both modelled.
func TestEffectsCompareNothingMeasuredWithAModel(t *testing.T) {
	joules := map[string]float64{"metered": 1, "metered-too": 2, "modelled": 3, "modelled-too": 4}
	for _, tt := range []struct {
		what, factors string
		modelled      func(at map[string]string) bool
		want, apart   string
		anova         bool
	}{
		{"all are measured", "stack: [metered, metered-too, modelled]", func(map[string]string) bool { return false },
			"metered metered-too false|metered modelled false", "", true},
		{"all are modelled", "stack: [metered, modelled]", func(map[string]string) bool { return true },
			"metered modelled true", "", true},
		{"some are", "stack: [metered, modelled, metered-too, modelled-too]",
			func(at map[string]string) bool { return strings.HasPrefix(at["stack"], "modelled") },
			"metered metered-too false|modelled modelled-too true",
			"levels of stack are not compared where one is measured and the other modelled: metered, metered-too with " +
				"modelled, modelled-too", false},
		{"at some levels of another factor they are", "stack: [metered, metered-too], ip: [ipv4, ipv6]",
			func(at map[string]string) bool { return at["ip"] == "ipv6" }, "metered metered-too true",
			"levels of ip are not compared where one is measured and the other modelled: ipv4 with ipv6", false},
	} {
		r := energies(t, tt.factors, func(at map[string]string, _ int) (float64, bool) {
			v := joules[at["stack"]]
			if at["ip"] == "ipv6" {
				v *= 5
			}
			return v, tt.modelled(at)
		}, nil)
		e := effectsOf(t, r, "energy")
		if got := strings.Join(contrasts(e), "|"); got != tt.want {
			t.Errorf("%s: compares %s, want %s", tt.what, got, tt.want)
		}
		said := strings.Join(e.Warnings, "\n")
		if !strings.Contains(said, tt.apart) || strings.Contains(said, "are not compared where") != (tt.apart != "") {
			t.Errorf("%s: warnings %q, want %q", tt.what, said, tt.apart)
		}
		if (e.Anova != nil) != tt.anova || strings.Contains(said, "no analysis of variance: some treatments are measured") ==
			tt.anova {
			t.Errorf("%s: an analysis of variance: %v, want %v: %s", tt.what, e.Anova != nil, tt.anova, said)
		}
	}
}

// Nor are benches compared by treatments of which some are measured and others modelled. What is measured on one bench
// and modelled on another counts as modelled.
func TestBenchesCompareNothingMeasuredWithAModel(t *testing.T) {
	bench := func(block int) store.Bench { return store.Bench{Name: []string{"b1", "b2"}[block%2], Boot: "1"} }
	spread := func(at map[string]string, block int) float64 {
		return float64(len(at["stack"])) * (1 + 0.1*float64((block*len(at["stack"]))%3))
	}
	const stacks = "stack: [soap, rest-json]"
	mixed := "energy at the client: some treatments are measured and others modelled, so benches are not compared by it"
	r := energies(t, stacks, func(at map[string]string, block int) (float64, bool) {
		return spread(at, block), at["stack"] == "soap"
	}, bench)
	if said := strings.Join(r.Warnings, "\n"); len(r.Benches.Panels) != 0 || !strings.Contains(said, mixed) {
		t.Errorf("soap is modelled: panels %+v, warnings\n%s", r.Benches.Panels, said)
	}
	r = energies(t, stacks, func(at map[string]string, block int) (float64, bool) {
		return spread(at, block), block%2 == 0
	}, bench)
	if said := strings.Join(r.Warnings, "\n"); len(r.Benches.Panels) != 1 || strings.Contains(said, mixed) {
		t.Errorf("one bench models: panels %+v, warnings\n%s", r.Benches.Panels, said)
	}
	for _, c := range r.Cells {
		if said := strings.Join(c.Warnings, "\n"); c.Method != store.Modelled ||
			!strings.Contains(said, "measured in some trials and modelled in others") {
			t.Errorf("one bench models: treatment %d is %s: %s", c.Treatment, c.Method, said)
		}
	}
}

// A page of findings cannot say how many times as much a model gives as a meter.
func TestTimesOfAModelAreRefused(t *testing.T) {
	r := energies(t, "stack: [soap, rest-json]", func(at map[string]string, _ int) (float64, bool) {
		return float64(len(at["stack"])), at["stack"] == "soap"
	}, nil)
	if text, err := timesAs(&r.Cells[0], &r.Cells[1], 0.95); err == nil || !strings.Contains(err.Error(), "modelled") {
		t.Errorf("got %q, %v", text, err)
	}
	if text, err := timesAs(&r.Cells[0], &r.Cells[0], 0.95); err != nil {
		t.Errorf("of itself: %q, %v", text, err)
	}
}
