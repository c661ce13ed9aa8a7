package report

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// onSeveral lets the blocks of a study run on benches in turn, of which each takes its own time.
func (r *Report) onSeveral(t *testing.T, rnd *rand.Rand, benches int) {
	t.Helper()
	level := make([]float64, benches)
	for i := range level {
		level[i] = math.Exp(0.2 * rnd.NormFloat64())
	}
	for i := range r.Cells {
		for j := range r.Cells[i].Points {
			p := &r.Cells[i].Points[j]
			bench := (p.Block - 1) % benches
			p.Bench = string(rune('A' + bench))
			for _, x := range []*float64{&p.Mean, &p.Median, &p.P95, &p.SD, &p.Min, &p.AllMedian, &p.AllP95} {
				*x *= level[bench]
			}
		}
	}
	r.findBenches()
	for i := range r.Cells {
		if err := r.Cells[i].summarize(r.Study.Design.Confidence); err != nil {
			t.Fatal(err)
		}
	}
}

// Of two equal stacks on several benches one gives up its slowest requests: no interval of the table of benches calls
// it quicker more often than it may, nor do benches rank the two differently.
func TestWhoLosesItsSlowRequestsIsNotQuickerOnBenches(t *testing.T) {
	studies := 1000
	if testing.Short() {
		studies = 200
	}
	for _, x := range []struct {
		words           string
		benches, blocks int
		of              [2]lossy
	}{
		{"the slowest 2 %", 4, 12, [2]lossy{{scale: 1, slow: 0.04, slowest: 0.02}, {scale: 1, slow: 0.04}}},
		{"the slowest 2 %, no slow ones", 4, 12, [2]lossy{{scale: 1, slowest: 0.02}, {scale: 1}}},
		{"the slowest 10 %", 4, 12, [2]lossy{{scale: 1, slowest: 0.1}, {scale: 1}}},
		{"none", 4, 12, [2]lossy{{scale: 1, slow: 0.04}, {scale: 1, slow: 0.04}}},
	} {
		rnd := rand.New(rand.NewPCG(29, 34))
		var quicker, slower [2]int
		for range studies {
			r := lossyReport(t, rnd, x.blocks, 200, x.of)
			r.onSeveral(t, rnd, x.benches)
			p, ok := r.benchPanel(Panel{measure.Client, "rtt", "s"})
			if !ok || len(p.Contrasts) != 1 {
				t.Fatalf("%s: got %+v", x.words, p)
			}
			if said := strings.Join(p.Fails, ""); (p.Contrasts[0].Best == 0 && x.of[0].slowest > 0) != strings.HasSuffix(said,
				" of the requests of a failed, and none of those of b") {
				t.Errorf("%s: best %d, says %q", x.words, p.Contrasts[0].Best, said)
			}
			for k, c := range []stat.Comparison{p.Contrasts[0].These, p.Contrasts[0].Like} {
				switch {
				case c.Lo > 1 && p.Contrasts[0].Best == 0:
					quicker[k]++
				case c.Lo > 1:
					slower[k]++
				}
			}
		}
		limit := 0.05*float64(studies) + 3*math.Sqrt(0.05*0.95*float64(studies))
		for k, kind := range []string{"for these benches", "for benches like these"} {
			t.Logf("%s, %s: who loses them is quicker in %.1f %% of %d studies, the other one in %.1f %%", x.words, kind,
				100*float64(quicker[k])/float64(studies), studies, 100*float64(slower[k])/float64(studies))
			if float64(quicker[k]+slower[k]) > limit {
				t.Errorf("%s, %s: equals are told apart in %d + %d of %d studies", x.words, kind, quicker[k], slower[k], studies)
			}
		}
	}
}

// Of results on disk the table of benches says of what it is; where the median of a treatment is a request that failed,
// and where nobody looked among all requests, benches are not compared by that time, and the report says why.
func TestTableOfBenchesSaysWhoFails(t *testing.T) {
	for _, tt := range []struct {
		fail   int
		first  bool // a first look
		panels int
		says   string
	}{
		{0, false, 1, ""},
		{3, false, 1, "Requests failed: medians among all requests are compared, with those as the slowest"},
		{60, false, 0, "RTT at the client: so many requests failed that the median among all of a trial is one of them, so " +
			"benches are not compared by it"},
		{3, true, 0, "RTT at the client: requests failed, and the exchanges that tell of all are not read here, so benches " +
			"are not compared by it"},
		{0, true, 1, ""},
	} {
		dir := filepath.Join(t.TempDir(), "results")
		losing(t, dir, tt.fail, "b1", "b2", "b3")
		r := reportOf(t, dir)
		if tt.first {
			s, err := store.OpenReadOnly(dir)
			if err != nil {
				t.Fatal(err)
			}
			r, err = ReadUnverified(s)
			if s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		all := strings.Join(r.Warnings, "\n")
		for _, table := range r.benchTables() {
			all += "\n" + strings.Join(table.Notes, "\n")
		}
		if len(r.Benches.Panels) != tt.panels || !strings.Contains(all, tt.says) ||
			strings.Contains(all, "equests failed") != (tt.fail > 0) {
			t.Errorf("%+v: got %d panels, %s", tt, len(r.Benches.Panels), all)
		}
		for _, p := range r.Benches.Panels {
			if r.benchesJSON().Panels[0].OfAll != (tt.fail > 0) || p.OfAll != (tt.fail > 0) {
				t.Errorf("%+v: of all: %v", tt, p.OfAll)
			}
		}
	}
}

// Twenty runs of equal stacks, of which some give up their slowest requests: no level of the history moves more often
// than where none does.
func TestRunsThatLoseTheirSlowRequestsAreNoOtherLevel(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const histories = 200
	losing := lossy{scale: 1, slow: 0.04, slowest: 0.02}
	whole := lossy{scale: 1, slow: 0.04}
	for _, x := range []struct {
		words     string
		old, last lossy
	}{
		{"the last five give up", whole, losing},
		{"the last five give up no more", losing, whole},
		{"none gives up", whole, whole},
		{"none gives up, none is slow", lossy{scale: 1}, lossy{scale: 1}},
	} {
		rnd := rand.New(rand.NewPCG(29, 35))
		moved := 0
		for range histories {
			var all []Past
			for run := range 20 {
				of := x.old
				if run >= 15 {
					of = x.last
				}
				r := lossyReport(t, rnd, 6, 200, [2]lossy{of, of}).aloneAs(0, "a")
				r.Started, r.Dir = time.Unix(int64(1000*run), 0), string(rune('a'+run))
				all = append(all, PastOf(r, nil))
			}
			h, err := MakeHistory(all, "", ByDate, nil)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(h.Series[0].Marks, func(m history.Mark) bool { return m.Kind != history.Odd }) {
				moved++
			}
			if got := h.Series[0].OfAll; got != (x.old.slowest+x.last.slowest > 0) || len(h.Series[0].Points) != 20 {
				t.Fatalf("%s: of all requests: %v, %d points", x.words, got, len(h.Series[0].Points))
			}
		}
		t.Logf("%s: the level moves in %d of %d histories", x.words, moved, histories)
		if moved > 30 { // it is 9 % where some give up, and three standard deviations
			t.Errorf("%s: the level moves in %d of %d histories", x.words, moved, histories)
		}
	}
}

// A run of which nobody looked among all requests has no point in a history in which requests failed, and the others
// have theirs.
func TestRunsOfWhichNobodyKnowsAreLeftOut(t *testing.T) {
	rnd := rand.New(rand.NewPCG(29, 36))
	var all []Past
	for run := range 4 {
		of := lossy{scale: 1, slowest: map[int]float64{1: 0.02, 2: 0.6}[run]}
		r := lossyReport(t, rnd, 6, 200, [2]lossy{of, of}).aloneAs(0, "a")
		if r.Started, r.Dir = time.Unix(int64(1000*run), 0), string(rune('a'+run)); run == 1 {
			r.Cells[0].Points[3].AllMedian = math.NaN()
		}
		all = append(all, PastOf(r, nil))
	}
	h, err := MakeHistory(all, "", ByDate, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := h.Text(&text); err != nil {
		t.Fatal(err)
	}
	said := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{"a RTT (median of all requests), client",
		"b has no point of a rtt, client: requests failed, and the exchanges that tell of all of them are not read here",
		"c has no point of a rtt, client: among all requests of a trial of a the median is one that failed"} {
		if !strings.Contains(said, want) {
			t.Errorf("it lacks %q: %s", want, said)
		}
	}
	if len(h.Series[0].Points) != 2 {
		t.Errorf("%d points, want 2", len(h.Series[0].Points))
	}
}

// Of two equal versions one gives up its slowest requests: confirm calls neither the other one worse nor it better.
// What is slower in all its requests is worse all the same.
func TestConfirmJudgesAllRequests(t *testing.T) {
	const studies = 100
	losing, whole := lossy{scale: 1, slow: 0.04, slowest: 0.02}, lossy{scale: 1, slow: 0.04}
	for _, x := range []struct {
		words string
		of    [2]lossy // old, new
		wrong history.Verdict
		right bool // it is so
	}{
		{"the new version answers what the old one gave up", [2]lossy{losing, whole}, history.Worse, false},
		{"the new version gives up what the old one answered", [2]lossy{whole, losing}, history.Better, false},
		{"none gives up", [2]lossy{whole, whole}, history.Worse, false},
		{"slower, and it answers what the old one gave up", [2]lossy{losing, {scale: 1.6, slow: 0.04}}, history.Worse, true},
	} {
		rnd := rand.New(rand.NewPCG(29, 37))
		said, doubted := 0, 0
		for range studies {
			r := lossyReport(t, rnd, 16, 200, x.of)
			for i, name := range []string{"a@base", "a"} {
				r.Treatments[i].Levels = []string{name}
			}
			p := PastOf(r, &Confirms{Responses: []string{"rtt"}, Detect: 0.05})
			if len(p.Answers) != 1 {
				t.Fatalf("%s: %s", x.words, p.Failed)
			}
			if p.Verdict() == x.wrong {
				said++
			}
			if strings.Contains(strings.Join(p.Doubts, "\n"), "medians among all of them do not say so") {
				doubted++
			}
		}
		t.Logf("%s: %s in %d of %d confirmations, doubted in %d", x.words, x.wrong, said, studies, doubted)
		if x.right && said < studies*3/4 || !x.right && said > 6 {
			t.Errorf("%s: %s in %d of %d confirmations", x.words, x.wrong, said, studies)
		}
	}
}

// A stack as quick as its floor that gives up its slowest requests is no stack that beats it, and one that is quicker
// in all its requests is.
func TestWhoLosesItsSlowRequestsBeatsNoFloor(t *testing.T) {
	const studies = 400
	for _, x := range []struct {
		words string
		of    [2]lossy
		beats bool
	}{
		{"as quick, and gives up the slowest 10 %", [2]lossy{{scale: 1, slowest: 0.1}, {scale: 1}}, false},
		{"as quick", [2]lossy{{scale: 1}, {scale: 1}}, false},
		{"half as long, and gives up the slowest 2 %", [2]lossy{{scale: 0.5, slowest: 0.02}, {scale: 1}}, true},
	} {
		rnd := rand.New(rand.NewPCG(29, 38))
		said := 0
		for range studies {
			r := lossyReport(t, rnd, 12, 200, x.of)
			r.Treatments[0].Floor, r.Treatments[1].Stack = 1, "floor-tcp"
			r.aboveFloor()
			if r.checkFloors(); len(r.Alarms) > 0 {
				said++
			}
		}
		t.Logf("%s: it beats its floor in %d of %d studies", x.words, said, studies)
		if x.beats && said < studies*9/10 || !x.beats && said > 10 { // p < 0.01 is told
			t.Errorf("%s: it beats its floor in %d of %d studies", x.words, said, studies)
		}
	}
}

// Where benches lack treatments, contrasts are of all requests, too, and a treatment whose median is one that failed is
// left out of them.
func TestBenchesThatLackTreatmentsKnowWhoFails(t *testing.T) {
	rnd := rand.New(rand.NewPCG(29, 41))
	for _, fails := range []float64{0, 0.3, 0.6} {
		r := lossyReport(t, rnd, 24, 200, [2]lossy{{scale: 1, slowest: fails}, {scale: 1}})
		third := lossyReport(t, rnd, 24, 200, [2]lossy{{scale: 1}, {scale: 1}})
		c := third.Cells[0]
		c.Treatment, third.Treatments[0].Levels = 2, []string{"c"}
		r.Cells, r.Treatments = append(r.Cells, c), append(r.Treatments, third.Treatments[0])
		r.Study.Design.Incomplete = true
		own := &r.Cells[2].Points
		*own = slices.DeleteFunc(*own, func(p Point) bool { return p.Block%4 == 0 }) // the fourth bench lacks c
		r.onSeveral(t, rnd, 4)
		p, ok := r.benchPanel(Panel{measure.Client, "rtt", "s"})
		if want := map[bool]int{true: 1, false: 2}[fails > 0.5]; !ok || len(p.Contrasts) != want || !r.holed(p.Panel) ||
			p.OfAll != (fails > 0) {
			t.Fatalf("%g fail: got %+v, want %d", fails, p, want)
		}
		for _, x := range p.Contrasts {
			if !(math.Abs(math.Log(x.These.Estimate)) < 0.1) || fails > 0.5 && min(x.Treatment, x.Best) == 0 {
				t.Errorf("%g fail: equals: %+v", fails, x)
			}
		}
	}
}
