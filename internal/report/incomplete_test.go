package report

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// lackingFleet writes results of three stacks on four benches: b2 is ten times slower than the
// others and cannot run californium, b4 cannot run soap.
func lackingFleet(t *testing.T, design string) string {
	t.Helper()
	slow := map[string]float64{"b1": 1, "b2": 10, "b3": 1.5, "b4": 2}
	takes := map[string]float64{"rest-json": 1e-3, "soap": 2e-3, "californium": 4e-3}
	of := func(block int) string { return []string{"b1", "b2", "b3", "b4"}[(block-1)%4] }
	w := exactly(func(at map[string]string, block int) float64 {
		wobble := 1 + 0.01*math.Sin(float64(7*block)+1e4*takes[at["stack"]])
		return takes[at["stack"]] * slow[of(block)] * wobble
	})
	w.bench = func(block int) store.Bench { return store.Bench{Name: of(block), Boot: "1"} }
	w.lacks = func(at map[string]string, block int) bool {
		return at["stack"] == "californium" && of(block) == "b2" || at["stack"] == "soap" && of(block) == "b4"
	}
	return w.write(t, "study: fleet\nservice: monitor\nrequests: 100\nfactors: {stack: [rest-json, soap, californium]}\n"+
		"responses: [rtt]\ndesign: {replications: 12, seed: 1"+design+"}\n")
}

// What a bench lacks is judged by what its others did: the truth is that californium takes four
// times as long as rest-json, though the mean of its trials is not even twice as high.
func TestBenchesThatLackTreatments(t *testing.T) {
	r := reportOf(t, lackingFleet(t, ", benches: incomplete"))
	rest, _ := r.Cell(0, measure.Client, "rtt")
	soap, _ := r.Cell(1, measure.Client, "rtt")
	far, _ := r.Cell(2, measure.Client, "rtt")
	for _, x := range []struct {
		of    *Cell
		ratio float64
	}{{soap, 2}, {far, 4}} {
		got, err := Ratio(x.of, rest, 0.95)
		if err != nil || got.Lo > x.ratio || got.Hi < x.ratio || math.Abs(got.Estimate-x.ratio) > 0.05*x.ratio {
			t.Errorf("ratio: got %v (%v to %v), %v; want %v", got.Estimate, got.Lo, got.Hi, err, x.ratio)
		}
		if by := x.of.Mean.Center / rest.Mean.Center; math.Abs(by-x.ratio) > 0.05*x.ratio {
			t.Errorf("the figures say %v times as much, want %v", by, x.ratio)
		}
	}
	// rest-json ran everywhere: its figure is the mean over benches, as it is.
	if want := 1e-3 * (1 + 10 + 1.5 + 2) / 4; math.Abs(rest.Mean.Center-want) > 0.01*want {
		t.Errorf("rest-json: got %v, want %v", rest.Mean.Center, want)
	}
	for i, want := range []int{12, 9, 9} {
		if x := r.Treatments[i]; x.Wanted != want || x.Valid != want {
			t.Errorf("%s: %d of %d trials, want %d: what is lacking is not wanted", x.Name(), x.Valid, x.Wanted, want)
		}
	}
	said := strings.Join(r.Warnings, "\n")
	for _, want := range []string{
		"soap ran on 3 of 4 benches (b1, b2, b3), in 9 of 12 blocks: java is missing; its figures are scaled",
		"californium ran on 3 of 4 benches (b1, b3, b4), in 9 of 12 blocks",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no warning %q in\n%s", want, said)
		}
	}
	if strings.Contains(said, "excluded") || strings.Contains(said, "trials are valid") {
		t.Errorf("a lacking trial is no failure:\n%s", said)
	}
	if len(r.Benches.Panels) != 1 || len(r.Benches.Panels[0].Contrasts) != 2 || r.Benches.Panels[0].Model.DF1 != 4 {
		t.Errorf("benches: %+v", r.Benches.Panels)
	}
	var text, page, out bytes.Buffer
	if err := r.Text(&text); err != nil || !strings.Contains(text.String(), "as sure as with") {
		t.Errorf("text: %v\n%s", err, text.String())
	}
	if err := r.HTML(&page); err != nil {
		t.Error(err)
	}
	var read struct {
		Benches struct{ Lacking []benchLackJSON }
	}
	if err := r.JSON(&out); err != nil || json.Unmarshal(out.Bytes(), &read) != nil || len(read.Benches.Lacking) != 2 ||
		!slices.Equal(read.Benches.Lacking[0].Benches, []string{"b1", "b2", "b3"}) ||
		!(read.Benches.Lacking[0].Efficiency > 0.5) {
		t.Errorf("JSON: %v, %+v", err, read)
	}
}

// Without holes benches: incomplete changes nothing.
func TestIncompleteStudyOfCompleteBenches(t *testing.T) {
	at := func(at map[string]string, block int) float64 {
		return float64(len(at["stack"])) * 1e-3 * (1 + 0.01*math.Sin(float64(block)*float64(len(at["stack"]))))
	}
	three := []string{"b1", "b2", "b3"}
	whole, may := reportOf(t, fleetOf(t, "", three, at)), reportOf(t, fleetOf(t, ", benches: incomplete", three, at))
	a, _ := whole.Cell(1, measure.Client, "rtt")
	b, _ := may.Cell(1, measure.Client, "rtt")
	if a.Mean.Center != b.Mean.Center || a.Mean.Lo != b.Mean.Lo || len(may.Benches.Lacks) != 0 {
		t.Errorf("got %+v, want %+v", b.Mean, a.Mean)
	}
}

// Benches that have nothing in common compare nothing.
func TestBenchesWithNothingInCommon(t *testing.T) {
	of := func(block int) string { return []string{"b1", "b2"}[(block-1)%2] }
	w := exactly(func(at map[string]string, block int) float64 { return float64(len(at["stack"])+block) * 1e-3 })
	w.bench = func(block int) store.Bench { return store.Bench{Name: of(block), Boot: "1"} }
	w.lacks = func(at map[string]string, block int) bool { return (at["stack"] == "soap") == (of(block) == "b1") }
	r := reportOf(t, w.write(t, "study: fleet\nservice: monitor\nrequests: 100\nfactors: {stack: [rest-json, soap]}\n"+
		"responses: [rtt]\ndesign: {replications: 6, seed: 1, benches: incomplete}\n"))
	said := strings.Join(r.Warnings, "\n")
	if !strings.Contains(said, "benches fall into groups with no treatment in common; treatments are not compared") {
		t.Errorf("warnings:\n%s", said)
	}
	soap, _ := r.Cell(1, measure.Client, "rtt")
	rest, _ := r.Cell(0, measure.Client, "rtt")
	if x, err := Ratio(soap, rest, 0.95); err == nil {
		t.Errorf("got a ratio: %+v", x)
	}
}

// Two benches that share one treatment say how the others compare, and nothing of whether benches rank them alike.
func TestBenchesThatShareOneTreatment(t *testing.T) {
	of := func(block int) string { return []string{"b1", "b2"}[(block-1)%2] }
	takes := map[string]float64{"rest-json": 1e-3, "soap": 2e-3, "californium": 4e-3}
	w := exactly(func(at map[string]string, block int) float64 {
		return takes[at["stack"]] * (1 + 0.01*math.Sin(float64(7*block)+1e4*takes[at["stack"]]))
	})
	w.bench = func(block int) store.Bench { return store.Bench{Name: of(block), Boot: "1"} }
	w.lacks = func(at map[string]string, block int) bool {
		return at["stack"] == "californium" && of(block) == "b1" || at["stack"] == "rest-json" && of(block) == "b2"
	}
	r := reportOf(t, w.write(t, "study: fleet\nservice: monitor\nrequests: 100\n"+
		"factors: {stack: [rest-json, soap, californium]}\nresponses: [rtt]\n"+
		"design: {replications: 12, seed: 1, benches: incomplete}\n"))
	var text strings.Builder
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	said := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{"Quickest: rest-json", "last is californium", "treatment by bench unknown",
		"whether benches rank treatments differently is not known", "californium rest-json "} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	for _, not := range []string{"Benches disagree", "NaN", "Inf", "p = 0"} {
		if strings.Contains(said, not) {
			t.Errorf("%q in\n%s", not, text.String())
		}
	}
	var out bytes.Buffer
	if err := r.JSON(&out); err != nil {
		t.Error(err)
	}
}

// Benches that differ ten times skew no trials: the mean of a treatment over all benches is far from the median of the
// trials of those that run it, and their blocks are unequally many.
func TestBenchesThatDifferSkewNothing(t *testing.T) {
	slow := map[string]float64{"b1": 1, "b2": 10}
	unequal := exactly(func(at map[string]string, block int) float64 {
		return slow[map[bool]string{true: "b1", false: "b2"}[block > 3]] * float64(len(at["stack"])) * 1e-3 * wobble(block)
	})
	unequal.bench = func(block int) store.Bench {
		return store.Bench{Name: map[bool]string{true: "b1", false: "b2"}[block > 3], Boot: "1"}
	}
	for name, dir := range map[string]string{"lacking": lackingFleet(t, ", benches: incomplete"),
		"unequally many blocks": unequal.write(t, "study: fleet\nservice: monitor\nrequests: 100\n"+
			"factors: {stack: [rest-json, soap]}\nresponses: [rtt]\ndesign: {replications: 12, seed: 1}\n")} {
		for _, c := range reportOf(t, dir).Cells {
			if c.Skewed || c.Clustered {
				t.Errorf("%s: treatment %d is said to be skewed: mean %v, median %v", name, c.Treatment, c.Mean.Center,
					c.Median.Center)
			}
			if said := strings.Join(c.Warnings, "; "); name != "lacking" && strings.Contains(said, "outliers") {
				t.Errorf("%s: treatment %d: %s", name, c.Treatment, said)
			}
		}
	}
}

// A treatment that one bench of several runs has many trials and no interval for benches like these: that is said, and
// not that there is one trial.
func TestATreatmentOfOneBench(t *testing.T) {
	of := func(block int) string { return []string{"b1", "b2", "b3"}[(block-1)%3] }
	w := exactly(func(at map[string]string, block int) float64 { return float64(len(at["stack"])) * 1e-3 * wobble(block) })
	w.bench = func(block int) store.Bench { return store.Bench{Name: of(block), Boot: "1"} }
	w.lacks = func(at map[string]string, block int) bool { return at["stack"] == "soap" && of(block) != "b1" }
	r := reportOf(t, w.write(t, "study: fleet\nservice: monitor\nrequests: 100\n"+
		"factors: {stack: [rest-json, soap, coap]}\nresponses: [rtt]\ndesign: {replications: 12, seed: 1, benches: incomplete}\n"))
	c, _ := r.Cell(1, measure.Client, "rtt")
	said := strings.Join(c.Warnings, "; ")
	if c.Mean.HasInterval() || !strings.Contains(said, "the benches that ran it, or their blocks, are too few") ||
		strings.Contains(said, "one trial") {
		t.Errorf("got %+v: %s", c.Mean, said)
	}
}
