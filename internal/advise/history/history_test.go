package history

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// fabricate makes a series of runs whose logarithms have these levels, with a spread
// between runs and standard errors of a third of it.
func fabricate(seed uint64, spread float64, levels ...float64) Series {
	r := rand.New(rand.NewPCG(seed, 7))
	s := Series{Treatment: "rest", Side: measure.Client, Response: "rtt", Unit: "s"}
	for i, l := range levels {
		s.Points = append(s.Points, Point{Run: i, Log: math.Log(1e-3) + l + spread*r.NormFloat64() + spread/3*r.NormFloat64(),
			SE: spread / 3, Trials: 10, Machine: []string{"local: kernel=6.1"}})
	}
	return s
}

// steps are n levels, then m that are by higher.
func steps(n, m int, by float64) []float64 {
	out := make([]float64, n+m)
	for i := n; i < n+m; i++ {
		out[i] = by
	}
	return out
}

func kinds(j Judged) string {
	var out []string
	for _, m := range j.Marks {
		out = append(out, string(m.Kind))
	}
	return strings.Join(out, ", ")
}

// one judges a series alone.
func one(s Series, c ...Confirmation) Judged { return Judge([]Series{s}, c)[0] }

func TestJudgesFabricatedTruths(t *testing.T) {
	if got := kinds(one(fabricate(1, 0.01, steps(20, 0, 0)...))); got != "" {
		t.Errorf("a quiet history: %s", got)
	}
	fresh := one(fabricate(1, 0.01, steps(20, 3, 0.08)...))
	if kinds(fresh) != "suspect" || fresh.Marks[0].At != 20 || !fresh.Marks[0].Worse || !(fresh.Marks[0].Lo < 1.083 &&
		fresh.Marks[0].Hi > 1.083 && fresh.Marks[0].Lo > 1.04) {
		t.Errorf("8 %% slower in the last three runs: %+v", fresh.Marks)
	}
	if got := kinds(one(fabricate(1, 0.01, steps(20, 2, -0.025)...))); got != "" {
		t.Errorf("2.5 %% quicker in the last two runs, which nobody must be told at once: %s", got)
	}
	quicker := one(fabricate(1, 0.01, steps(20, 12, -0.08)...))
	if kinds(quicker) != "suspect" || quicker.Marks[0].Worse || quicker.Marks[0].At != 20 {
		t.Errorf("8 %% quicker for twelve runs: %+v", quicker.Marks)
	}
	up := fabricate(1, 0.01, steps(20, 3, 0.08)...)
	up.Higher = true
	if j := one(up); kinds(j) != "suspect" || j.Marks[0].Worse {
		t.Errorf("a throughput that rises: %+v", j.Marks)
	}
	both := one(fabricate(1, 0.01, append(steps(20, 12, 0.1), steps(0, 12, 0.2)...)...))
	if kinds(both) != "suspect, suspect" || both.Marks[0].At != 20 || both.Marks[1].At != 32 || len(both.Levels) != 3 {
		t.Errorf("two steps: %+v", both.Marks)
	}
}

// A machine that changes is no regression, and its level is estimated anew.
func TestMachineIsAKindOfItsOwn(t *testing.T) {
	s := fabricate(3, 0.01, steps(15, 15, 0.3)...)
	for i := 15; i < 30; i++ {
		s.Points[i].Machine = []string{"local: kernel=6.6"}
	}
	j := one(s)
	if kinds(j) != string(Machine) || j.Marks[0].At != 15 || j.Marks[0].Facts[0] != "local: kernel: 6.1 → 6.6" ||
		math.Abs(j.Marks[0].Ratio-math.Exp(0.3)) > 0.02 {
		t.Errorf("another kernel: %+v", j.Marks)
	}
	for i := range s.Points {
		s.Points[i].Machine = nil
	}
	if got := kinds(one(s)); got != string(Suspect) {
		t.Errorf("the same without a change of facts: %s", got)
	}
	for i := range s.Points {
		s.Points[i].Program = "same"
	}
	if got := kinds(one(s)); got != string(Surroundings) {
		t.Errorf("the same with equal programs: %s", got)
	}
}

// One odd run is said to be odd, moves no level, and hides no step.
func TestOneOddRun(t *testing.T) {
	levels := steps(20, 0, 0)
	levels[10] = 0.3
	j := one(fabricate(5, 0.01, levels...))
	if kinds(j) != string(Odd) || j.Marks[0].At != 10 {
		t.Errorf("an odd run: %+v", j.Marks)
	}
	if off := math.Abs(j.Levels[0].Log - math.Log(1e-3)); off > 0.01 {
		t.Errorf("it moved the level by %.3f", off)
	}
	levels = append(levels, 0.08, 0.08, 0.08)
	if got := kinds(one(fabricate(5, 0.01, levels...))); got != "odd run, suspect" {
		t.Errorf("a step after it: %s", got)
	}
	levels = append(steps(20, 0, 0), 0.3)
	if got := kinds(one(fabricate(5, 0.01, levels...))); got != string(Odd) {
		t.Errorf("the newest run alone: %s", got)
	}
}

// ratio is that of blocks with a given centre and half-width, on logarithms.
func ratio(t *testing.T, center, spread float64) stat.Comparison {
	t.Helper()
	var a, b []float64
	for i := range 20 {
		a, b = append(a, math.Exp(center+spread*(float64(i%2)-0.5))), append(b, 1)
	}
	c, err := stat.RatioPaired(a, b, 0.999)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConfirmations(t *testing.T) {
	s := fabricate(1, 0.01, steps(20, 3, 0.08)...)
	c := Confirmation{Treatment: "rest", Side: measure.Client, Response: "rtt", Old: 18, New: 22, Dir: "c"}
	for verdict, want := range map[Verdict]Kind{Worse: Confirmed, NotConfirmed: Dismissed, CannotTell: Suspect} {
		c.Verdict, c.Ratio = verdict, ratio(t, 0.08, 0.01)
		j := one(s, c)
		if kinds(j) != string(want) || j.Marks[0].Confirmation == nil || j.Marks[0].At != 20 {
			t.Errorf("%s: %+v", verdict, j.Marks)
		}
		if n := Suspects([]Judged{j}); (n == 1) != (want == Suspect) {
			t.Errorf("%s: %d suspects", verdict, n)
		}
	}
	c.Verdict, c.Response = Worse, "cpu"
	if got := kinds(one(s, c)); got != string(Suspect) {
		t.Errorf("the confirmation of another response: %s", got)
	}
	// A suspect that was dismissed is not raised again; the next change is.
	c.Verdict, c.Response = NotConfirmed, "rtt"
	again := fabricate(1, 0.01, append(steps(20, 12, 0.08), 0.2, 0.2, 0.2)...)
	j := one(again, c)
	if kinds(j) != "not confirmed, suspect" || j.Marks[1].At != 32 {
		t.Errorf("after a dismissal: %+v", j.Marks)
	}
}

func TestDecide(t *testing.T) {
	for _, x := range []struct {
		center, spread, allowance float64
		higher                    bool
		want                      Verdict
	}{
		{0.08, 0.02, 1, false, Worse}, {-0.08, 0.02, 1, false, Better}, {0.08, 0.02, 1, true, Better},
		{0.001, 0.02, 1, false, NotConfirmed}, {0.03, 0.2, 1, false, CannotTell}, {0.08, 0.02, 1.5, false, CannotTell},
		{0.08, 0, 1, false, Worse}, {0, 0, 1, false, NotConfirmed},
	} {
		if got := Decide(ratio(t, x.center, x.spread), 0.05, x.allowance, x.higher); got != x.want {
			t.Errorf("%+v: got %s", x, got)
		}
	}
}

// The level of the test is shared by the series of a study.
func TestSeriesShareTheLevel(t *testing.T) {
	alone, among, n := 0, 0, 0
	for seed := range uint64(100) {
		var all []Series
		for k := range uint64(10) {
			all = append(all, fabricate(100+10*seed+k, 0.03, steps(20, 0, 0)...))
		}
		n++
		if Suspects(Judge(all[:1], nil)) > 0 {
			alone++
		}
		if Suspects(Judge(all, nil)) > 0 {
			among++
		}
	}
	// Ten looks at the same level would find one in about half of the histories.
	if got := float64(among) / float64(n); got > 0.2 {
		t.Errorf("%d of %d quiet histories of ten series have a suspect; of one series %d", among, n, alone)
	}
}
