package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	made "edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// fleetWith writes results of the stacks in six blocks on three benches in turn; figures says what a trial has, nothing
// where it is invalid. In block 6 half of the requests fail.
func fleetWith(t *testing.T, stacks, design string, figures func(stack string, block int) map[string]float64) *Report {
	t.Helper()
	w := exactly(nil)
	w.bench = func(block int) store.Bench {
		return store.Bench{Name: []string{"b1", "b2", "b3"}[(block-1)%3], Boot: "1"}
	}
	w.quality = func(_ map[string]string, block int) []store.Quality {
		return []store.Quality{{Key: "requests", Unit: "1", Value: 100},
			{Key: "failures", Unit: "1", Value: float64(block / 6 * 50)}}
	}
	w.exact = func(at map[string]string, block int) []store.Result {
		var out []store.Result
		for name, v := range figures(at["stack"], block) {
			x, _ := measure.FindResponse(name)
			out = append(out, store.Result{Side: measure.Client, Response: name, Unit: x.Unit, N: 100, Mean: v, SD: v / 10,
				Median: v, P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured})
		}
		return out
	}
	return reportOf(t, w.write(t, "study: fleet\nservice: monitor\nrequests: 100\nfactors: {stack: ["+stacks+"]}\n"+
		"responses: [rtt, message_size]\ndesign: {replications: 6, seed: 1"+design+"}\n"))
}

// A block that lacks a trial is in no figure: not in a mean, nor in a deviation, a p95, a least time, the number of
// trials, the points of the page, the share of failed requests or a forecast. All are those of the other blocks.
func TestFiguresAreOfWholeBlocks(t *testing.T) {
	figures := func(r *Report) map[string]string {
		var csv strings.Builder
		if err := r.CSV(&csv); err != nil {
			t.Fatal(err)
		}
		out := map[string]string{"csv": csv.String(), "series": fmt.Sprint(r.Series())}
		for _, c := range r.Cells {
			if len(c.Points) != 5 {
				t.Errorf("%s of treatment %d: %d points, want 5", c.Response, c.Treatment, len(c.Points))
			}
		}
		for _, p := range r.Panels() {
			text, err := json.Marshal(r.dataPanel(p))
			if err != nil {
				t.Fatal(err)
			}
			out[p.Response+" of the page"] = string(text)
		}
		for i, x := range r.Treatments {
			trials, notes, _, err := r.traffic(i, "nb-iot", "", false)
			out["forecast of "+x.Name()] = fmt.Sprint(trials, notes, err)
			out["failures of "+x.Name()] = fmt.Sprint(x.failed)
		}
		return out
	}
	of := func(last bool) map[string]string {
		return figures(fleetWith(t, "rest-json, soap", "", func(stack string, block int) map[string]float64 {
			v := 1e-3 * float64(len(stack)) * wobble(block)
			switch {
			case block == 6 && (stack == "soap" || !last):
				return nil
			case block == 6:
				v = 1e-6
			}
			return map[string]float64{"rtt": v, "message_size": 1e6 * v}
		}))
	}
	want := of(false)
	for what, got := range of(true) {
		if got != want[what] {
			t.Errorf("%s: got\n%s\nwithout the block that is not whole\n%s", what, got, want[what])
		}
	}
}

// Where no block is whole there is no figure, which is said, and no precision is reached. What the trials had is known
// of each of them.
func TestNoFigureWithoutAWholeBlock(t *testing.T) {
	r := fleetWith(t, "rest-json, soap", "", func(stack string, block int) map[string]float64 {
		out := map[string]float64{"rtt": 1e-3 * float64(len(stack)) * wobble(block)}
		if (block%2 == 0) == (stack == "soap") {
			out["message_size"] = 100
		}
		return out
	})
	if c, ok := r.Cell(0, measure.Client, "message_size"); ok {
		t.Errorf("got %+v", c)
	}
	if c, ok := r.Cell(0, measure.Client, "rtt"); !ok || len(c.Points) != 6 {
		t.Errorf("RTT: got %+v", c)
	}
	const want = "message size at the client: no bench completed a block with rest-json; soap; such trials are " +
		"excluded from all figures"
	if said := strings.Join(r.Warnings, "\n"); !strings.Contains(said, want) {
		t.Errorf("warnings lack %q:\n%s", want, said)
	}
	if got := r.Chart(Panel{measure.Client, "message_size", "B"}).Rows[0].Value; got != "no whole block" {
		t.Errorf("the page says %q", got)
	}
	r.Study.Design.Precision = 100
	if c, share, why := r.Widest(); len(r.precise()) > 0 || len(r.wide(false)) != 2 || c == nil ||
		c.Response != "message_size" || !math.IsInf(share, 1) || why != "no whole block" {
		t.Errorf("widest: %+v, %v, %s; wide: %+v", c, share, why, r.wide(false))
	}
	for _, x := range r.Trials {
		_, ok := r.PointOf(x.ID, r.TreatmentOf(x.Treatment), measure.Client, "message_size")
		if want := (x.Block%2 == 0) == (x.Treatment[0].Text == "soap"); ok != want {
			t.Errorf("trial %d of %s: has a size: %v, want %v", x.ID, x.Treatment[0].Text, ok, want)
		}
	}
}

// A treatment that only one bench can run, in no whole block, does not keep the others from being compared.
func TestTreatmentInNoWholeBlock(t *testing.T) {
	r := fleetWith(t, "rest-json, soap, californium", ", benches: incomplete",
		func(stack string, block int) map[string]float64 {
			if stack == "californium" && block != 2 || stack == "soap" && block == 2 {
				return nil
			}
			return map[string]float64{"rtt": 1e-3 * float64(len(stack)) * wobble(block+len(stack))}
		})
	rest, _ := r.Cell(0, measure.Client, "rtt")
	soap, ok := r.Cell(1, measure.Client, "rtt")
	if _, found := r.Cell(2, measure.Client, "rtt"); !ok || found {
		t.Fatalf("soap: %v, californium: %v", ok, found)
	}
	if x, err := Ratio(rest, soap, 0.95); err != nil || math.Abs(x.Estimate-9./4) > 0.1 {
		t.Errorf("rest-json over soap: %+v, %v", x, err)
	}
	if said := strings.Join(r.Warnings, "\n"); !strings.Contains(said, "no bench completed a block with californium") {
		t.Errorf("warnings:\n%s", said)
	}
}

// The distribution of all requests leaves out what the figures leave out.
func TestDistributionsAreOfWholeBlocks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	kept, plan, err := made.Create(dir, made.Study(2, 6, 50))
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	for _, x := range plan.Trials {
		if x.Block < 6 || x.Cell == 0 {
			on := store.Bench{Name: []string{"b1", "b2"}[x.Block%2], Boot: "1"}
			err = errors.Join(err, made.TrialOn(kept, x, 50, on))
		}
	}
	r, readErr := ReadUnverified(kept)
	if err = errors.Join(err, readErr); err != nil {
		t.Fatal(err)
	}
	if err := r.ReadRaw(kept, 0); err != nil {
		t.Fatal(err)
	}
	for i := range r.Treatments {
		d, ok := r.Distribution(i, Panel{measure.Client, "rtt", "s"})
		if !ok {
			t.Fatalf("treatment %d has no distribution", i)
		}
		if d.Trials != 5 || d.Values.n != 250 {
			t.Errorf("treatment %d: %d trials of %d requests in all, want 5 of 50 each", i, d.Trials, d.Values.n)
		}
	}
}
