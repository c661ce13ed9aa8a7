package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// fleetOf writes results of two stacks in six blocks, which the benches run in turn; rtt
// says a trial's, in s.
func fleetOf(t *testing.T, design string, benches []string, rtt func(at map[string]string, block int) float64) string {
	t.Helper()
	w := exactly(rtt)
	w.bench = func(block int) store.Bench { return store.Bench{Name: benches[(block-1)%len(benches)], Boot: "1"} }
	return w.write(t, "study: fleet\nservice: monitor\nrequests: 100\nfactors: {stack: [rest-json, soap]}\n"+
		"responses: [rtt]\ndesign: {replications: 6, seed: 1"+design+"}\n")
}

// reopened opens results to go on with them.
func reopened(t *testing.T, dir string) *store.Store {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "study.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := study.Parse("study.yaml", text, study.Vocabulary{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := study.Expand(s)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(dir, header(t, string(text), s, plan))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// Figures of several benches are means over benches, with the interval of the kind: here
// worked out by hand.
func TestFiguresOfSeveralBenches(t *testing.T) {
	// b1, b2 and b3 run two blocks each: rest-json takes 1 and 3 ms on b1, 4 and 6 on b2, 7 and 9 on b3; soap 4/9 of that.
	times := []float64{1, 4, 7, 3, 6, 9}
	at := func(at map[string]string, block int) float64 {
		return float64(len(at["stack"])) / 9 * times[block-1] * 1e-3
	}
	three := []string{"b1", "b2", "b3"}
	r := reportOf(t, fleetOf(t, "", three, at))
	c, _ := r.Cell(0, measure.Client, "rtt")
	// means of benches: 2, 5, 8 ms; their standard error is 3/√3, t(0.975, 2) = 4.302653
	half := 4.302652729911275 * 3e-3 / math.Sqrt(3)
	if c.Mean.Center != 5e-3 || math.Abs(c.Mean.Hi-c.Mean.Center*math.Exp(half/5e-3)) > 1e-9 {
		t.Errorf("for benches like these: got %+v", c.Mean)
	}
	r = reportOf(t, fleetOf(t, ", benches: fixed", three, at))
	c, _ = r.Cell(0, measure.Client, "rtt")
	// each block lies 1 ms from its bench's mean: variance 6·1/3, standard error √(2/6), t(0.975, 3) = 3.182446
	half = 3.182446305284263e-3 * math.Sqrt(2./6)
	if math.Abs(c.Mean.Center-5e-3) > 1e-15 || math.Abs(c.Mean.Hi-5e-3-half) > 1e-12 {
		t.Errorf("for these benches: got %+v, want half-width %g", c.Mean, half)
	}
	if x, err := Ratio(c, c, 0.95); err != nil || x.Estimate != 1 {
		t.Errorf("ratio to itself: %+v, %v", x, err)
	}
	if r.Benches.Kind != stat.FixedBenches || len(r.Benches.Names) != 3 || len(r.Benches.Panels) != 0 {
		t.Errorf("benches %+v, want 3, fixed, and no model of ratios that do not vary", r.Benches)
	}
}

// One starved trial among times of several benches makes the interval wide; no time
// becomes negative, and no report fails.
func TestWideSpreadOfSeveralBenches(t *testing.T) {
	for _, kind := range []string{"fixed", "random"} {
		times := []float64{1, 4, 7, 300, 6, 9}
		r := reportOf(t, fleetOf(t, ", benches: "+kind, []string{"b1", "b2", "b3"},
			func(at map[string]string, block int) float64 {
				return float64(len(at["stack"])) * times[block-1] * 1e-4
			}))
		c, _ := r.Cell(0, measure.Client, "rtt")
		for _, f := range []stat.Summary{c.Mean, c.Median} {
			if !(0 < f.Lo && f.Lo < f.Center && f.Center < f.Hi) {
				t.Errorf("%s: got %+v", kind, f)
			}
		}
		if slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.Contains(w, "negative") }) {
			t.Errorf("%s: warnings %q", kind, c.Warnings)
		}
	}
}

// Builds of a program that differ are said: within a bench beside the figures, between benches of one architecture for
// the whole.
func TestBuildsOfBenches(t *testing.T) {
	facts := func(arch, build string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"devices":{"local":{"arch":%q}},"stacks":{"rest-json":{"Checksums":{"a.jar":%q}}}}`,
			arch, build))
	}
	for _, tt := range []struct {
		what          string
		brought       map[string][]json.RawMessage
		doubted, said string // bench whose figures are doubted, and what is said for the whole
	}{
		{"the same everywhere", map[string][]json.RawMessage{"b1": {facts("amd64", "x")},
			"b2": {facts("amd64", "x")}}, "", ""},
		{"other architectures", map[string][]json.RawMessage{"b1": {facts("amd64", "x")},
			"b2": {facts("arm64", "y")}}, "", ""},
		{"two builds", map[string][]json.RawMessage{"b1": {facts("amd64", "x")}, "b2": {facts("amd64", "y")}}, "",
			"benches have different builds of stack rest-json"},
		{"built anew", map[string][]json.RawMessage{"b1": {facts("amd64", "x"), facts("amd64", "y")}}, "b1",
			"bench b1 measured with 2 different builds of stack rest-json"},
		{"no facts of ours", map[string][]json.RawMessage{"b1": {json.RawMessage(`[1]`), json.RawMessage(`{"kernel":"6"}`)}},
			"", ""},
	} {
		dir := fleetOf(t, "", []string{"b1", "b2"}, func(at map[string]string, block int) float64 {
			return 1e-3 * float64(1+block%3)
		})
		s := reopened(t, dir)
		for bench, all := range tt.brought {
			for _, f := range all {
				if err := s.AddBench(bench, f); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		r := reportOf(t, dir)
		all := strings.Join(r.Warnings, "\n")
		if strings.Contains(all, "builds of") != (tt.said != "") || !strings.Contains(all, tt.said) {
			t.Errorf("%s: got %q, want %q", tt.what, all, tt.said)
		}
		beside := false
		for _, c := range r.Cells {
			beside = beside || strings.Contains(strings.Join(c.Warnings, "\n"), "different builds")
		}
		if beside != (tt.doubted != "") {
			t.Errorf("%s: figures are doubted: %v", tt.what, beside)
		}
	}
}

// What does not count is said: attempts that were superseded, blocks that lack a trial,
// and facts of each bench are kept.
func TestWhatBenchesDidInVainIsSaid(t *testing.T) {
	dir := fleetOf(t, "", []string{"b1", "b2"}, func(at map[string]string, block int) float64 {
		if block == 6 && at["stack"] == "soap" {
			return math.NaN()
		}
		return 1e-3 * (1 + 0.1*float64(len(at["stack"])) + 0.01*float64(block%4))
	})
	s := reopened(t, dir)
	pending, err := s.Pending()
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.BeginOn(pending[0].ID, store.Bench{Name: "b2", Boot: "1"})
	if err == nil {
		err = errors.Join(a.Supersede("its lease ran out", nil), s.AddBench("b1", json.RawMessage(`{"kernel":"6.1"}`)),
			s.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	r := reportOf(t, dir)
	all := strings.Join(r.Warnings, "\n")
	for _, want := range []string{"1 attempt was superseded", "bench b2: 1 block lacks a trial and is excluded " +
		"from all figures"} {
		if !strings.Contains(all, want) {
			t.Errorf("warnings lack %q:\n%s", want, all)
		}
	}
	c, _ := r.Cell(0, measure.Client, "rtt")
	if c.Mean.N != 4 { // blocks that count less benches, and the mean
		t.Errorf("the figure is of %d units, want 5 whole blocks - 2 benches + 1", c.Mean.N)
	}
	if len(r.Benches.Facts) != 1 {
		t.Errorf("facts: %s", r.Benches.Facts)
	}
	// A third bench that has done no whole block does not make them benches like these.
	r = reportOf(t, fleetOf(t, "", []string{"b1", "b2", "b3"}, func(at map[string]string, block int) float64 {
		if block%3 == 0 && at["stack"] == "soap" {
			return math.NaN()
		}
		return 1e-3 * float64(block)
	}))
	if r.Benches.Kind != stat.FixedBenches || len(r.Benches.Names) != 2 {
		t.Errorf("with a bench of no whole block: got %s, %v", r.Benches.Kind, r.Benches.Names)
	}
}

// A ratio near 1 has as many digits as tell it from 1, as everywhere: 1.004 (1.003 to 1.006), and not 1.00 to 1.01.
func TestRatiosOfBenchesAreToldFromOne(t *testing.T) {
	r := reportOf(t, fleetOf(t, "", []string{"b1", "b2", "b3"}, func(at map[string]string, block int) float64 {
		return map[string]float64{"rest-json": 1, "soap": 1.004}[at["stack"]] * 1e-3 *
			(1 + 3e-4*math.Sin(float64(3*block+len(at["stack"]))))
	}))
	tables := r.benchTables()
	if len(tables) != 1 || len(tables[0].Rows) != 2 {
		t.Fatalf("got %+v", tables)
	}
	for i, text := range tables[0].Rows[1][2:] {
		if !strings.HasPrefix(text, "1.00") || strings.HasPrefix(text+" ", "1.00 ") || strings.HasSuffix(text, " 1.01") {
			t.Errorf("figure %d: got %q", i, text)
		}
	}
}

// Benches are said to disagree on the time that is ranked: where treatments connect for each request, that is not the
// RTT.
func TestBenchesDisagreeOnTheTimeThatIsRanked(t *testing.T) {
	benches := []string{"b1", "b2", "b3"}
	for _, connects := range []bool{true, false} {
		w := exactly(nil)
		w.bench = func(block int) store.Bench { return store.Bench{Name: benches[(block-1)%3], Boot: "1"} }
		w.exact = func(at map[string]string, block int) []store.Result {
			of := func(response string, v float64) store.Result {
				v *= 1 + 0.01*math.Sin(float64(5*block*len(at["stack"])))
				return store.Result{Side: measure.Client, Response: response, Unit: "s", N: 100, Mean: v, SD: v / 10, Median: v,
					P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured}
			}
			total := 2e-3
			if benches[(block-1)%3] == "b3" && at["stack"] == "soap" {
				total = 4e-3
			}
			return []store.Result{of("rtt", 1e-3), of("total_time", total)}
		}
		file := "study: fleet\nservice: monitor\nrequests: 100\nfactors: {stack: [rest-json, soap]}\n" +
			"responses: [rtt, total_time]\ndesign: {replications: 12, seed: 1}\n"
		if connects {
			file += "connection: per-request\n"
		}
		got := strings.Join(reportOf(t, w.write(t, file)).Verdict(), "\n")
		if strings.Contains(got, "Benches differ, total time: the size of the difference depends on the bench: soap is ") !=
			connects || strings.Contains(got, " and 2.00 times on b3 (") != connects || strings.Contains(got, "differ, RTT") ||
			strings.Contains(got, "disagree") {
			t.Errorf("connection for each request: %v: got\n%s", connects, got)
		}
	}
}

// Of benches of which no difference is shown none is claimed, nor that they agree: that would take a proof.
func TestNobodyIsSaidToAgree(t *testing.T) {
	for _, m := range []stat.BenchModel{{F: 1, DF1: 2, DF2: 9, P: 0.4}, {F: 9, DF1: 2, DF2: 9, P: 1e-3, Driver: "b1",
		PWithout: 0.3}, {F: 9, DF1: 2, DF2: 9, P: 1e-3, Driver: "b1", PWithout: 0.01}, {F: 9, DF1: 2, DF2: 9, P: 1e-3},
		{F: stat.Number(math.NaN()), P: stat.Number(math.NaN())}} {
		if got := (BenchPanel{Model: m, many: true}).agreement(0.95); strings.Contains(got, "agree") ||
			strings.Contains(got, "NaN") {
			t.Errorf("%+v: %q", m, got)
		}
	}
}

// Eight equal treatments on six benches: the table of benches sets each against the best, which was picked from the
// data. In one study of twenty at most an interval leaves 1 out, for these benches and for benches like these; of one
// treatment that takes twice as long, all say it.
func TestIntervalsOfBenchesKnowThatTheBestWasPicked(t *testing.T) {
	const studies, treatments, benches, blocks = 400, 8, 6, 18
	rnd := rand.New(rand.NewPCG(29, 19))
	var wrong [2]int
	for n := range studies + 20 {
		r := &Report{Factors: []string{"stack"}}
		r.Study.Design.Confidence = 0.95
		var level [benches]float64
		for i := range level {
			level[i] = 0.2 * rnd.NormFloat64()
		}
		for i := range treatments {
			name := string(rune('a' + i))
			r.Treatments = append(r.Treatments, Treatment{Levels: []string{name}, Stack: name, Floor: -1, Wanted: blocks,
				Valid: blocks})
			c := Cell{Treatment: i, Side: measure.Client, Response: "rtt", Unit: "s", Method: store.Measured}
			for b := range blocks {
				v := 1e-3 * math.Exp(level[b%benches]+0.03*rnd.NormFloat64())
				if n >= studies && i == 3 {
					v *= 2
				}
				c.Points = append(c.Points, Point{Trial: b*treatments + i + 1, Block: b + 1, Mean: v, Median: v, P95: v, SD: v / 10,
					Min: v, Bench: string(rune('A' + b%benches))})
			}
			r.Cells = append(r.Cells, c)
		}
		r.findBenches()
		for i := range r.Cells {
			if err := r.Cells[i].summarize(0.95); err != nil {
				t.Fatal(err)
			}
		}
		p, ok := r.benchPanel(Panel{measure.Client, "rtt", "s"})
		if !ok || len(p.Contrasts) != treatments-1 {
			t.Fatalf("got %+v, %v", p, ok)
		}
		var apart [2]bool
		for _, c := range p.Contrasts {
			for k, x := range []stat.Comparison{c.These, c.Like} {
				leaves := x.Lo > 1 || x.Hi < 1
				if n >= studies && c.Treatment == 3 && !leaves {
					t.Errorf("twice as long: %+v", x)
				}
				apart[k] = apart[k] || leaves
			}
		}
		for k, is := range apart {
			if is && n < studies {
				wrong[k]++
			}
		}
	}
	t.Logf("an interval leaves 1 out: for these benches in %.1f %%, for benches like these in %.1f %%",
		100*float64(wrong[0])/studies, 100*float64(wrong[1])/studies)
	for _, n := range wrong {
		if stat.AtLeast(n, studies, 0.05) < 1e-4 {
			t.Errorf("of equal treatments one is told from the best in %v of %d studies", wrong, studies)
		}
	}
}
