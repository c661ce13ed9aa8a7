package report

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// What compare says of an undecided answer is true of the data that lead to it: it blames the
// interval only where that contains the bound, and spikes, p95 or a busy machine where they do it.
func TestUndecidedIsExplainedTruly(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 1))
	made := func(center, spread float64, n int) advise.Series {
		s := advise.Series{Factors: []string{"stack"}, Levels: []string{"A"}, Stack: "A", Side: measure.Client,
			Response: "rtt", Unit: "s"}
		for i := range n {
			m := center * math.Exp(spread*r.NormFloat64())
			s.Trials = append(s.Trials, advise.TrialSummary{ID: i + 1, Block: i + 1, Mean: m, Median: m, P95: 2 * m})
		}
		return s
	}
	spiked := made(0.7, 0.01, 30)
	spiked.Trials[3].Mean = 1.2
	slowTail := made(0.9, 0.01, 10)
	for i := range slowTail.Trials {
		slowTail.Trials[i].P95 *= 2 + 0.3*float64(i%3)
	}
	busy := made(1.4, 0.01, 10)
	busy.Waiting = 0.4
	even := func(center, waiting float64) advise.Series {
		s := made(1, 0, 6)
		for i, by := range []float64{1, 1.06, 0.94, 1.02, 0.98, 1} {
			s.Trials[i].Mean, s.Trials[i].Median, s.Trials[i].P95 = center*by, center*by, 2*center*by
		}
		s.Waiting = waiting
		return s
	}
	for _, tt := range []struct {
		what            string
		old, new        advise.Series
		detect          bool
		says, next, not string // in the first sentence, in the line of the treatment, in neither
	}{
		{"near the bound", made(1, 0.03, 10), made(1.055, 0.03, 10), false,
			"the intervals contain the bound; more trials would decide",
			" contains the bound; about ", "spikes"},
		{"one spike, quicker", made(1, 0.01, 30), spiked, false, "there are more spikes than before",
			"(1 of 30 trials, 0 of 30), which chance may explain (p ", "contain"},
		{"one spike, looked for", made(1, 0.01, 30), spiked, true, "there are more spikes than before",
			"judge the typical trial alone: --detect 'rtt.median > 5%'", "contains both"},
		{"slow tail, looked for", made(1, 0.01, 10), slowTail, true, "but the p95 may be", "the p95 is 2.0", "contain"},
		{"wide, looked for", made(1, 0.3, 6), made(1.02, 0.3, 6), true, "the intervals contain the bound",
			"the interval contains both no change and the bound; ", "spikes"},
		{"busy", made(1, 0.01, 10), busy, false, "programs waited for a CPU",
			"more trials on a machine so busy would not help", "contain"},
		{"one trial", made(1, 0.01, 10), made(1, 0.01, 1), false, "a figure cannot be tested",
			"one value shows no spread", "contain"},
		{"waiting reaches the bound", even(1, 0), even(1.06*advise.Slower(0.4), 0.4), false,
			"the intervals alone would decide, but programs waited for a CPU",
			"which may explain a ratio of up to 1.92; measure again on a quieter machine", "contain"},
	} {
		k, err := advise.ParseChange("rtt > 5%")
		if err != nil {
			t.Fatal(err)
		}
		k.Detect = tt.detect
		tt.old.Interleaved, tt.new.Interleaved = tt.detect, tt.detect
		c, err := advise.Compare([]advise.Series{tt.old}, []advise.Series{tt.new}, []advise.Condition{k}, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		out := Compared{Comparison: c, Confidence: 0.95}
		said, next := out.Says(), whatNext(c.Outcomes[0])
		if !strings.HasPrefix(said, "undecided: ") || !strings.Contains(said, tt.says) || !strings.Contains(next,
			tt.next) ||
			strings.Contains(said+next, tt.not) {
			t.Errorf("%s:\n%s\n%s", tt.what, said, next)
		}
		var b strings.Builder
		if err := out.JSON(&b); err != nil || !strings.Contains(b.String(), `"why": "`) {
			t.Errorf("%s: %v\n%s", tt.what, err, b.String())
		}
	}
}

// Who reads that conditions are judged together reads what that means.
func TestTogetherIsSaidInWords(t *testing.T) {
	o := advise.Outcome{Verdict: stat.Undecided, Doubt: advise.Doubt{Why: advise.Together, P: 0.03, Holm: 0.06, Among: 4,
		Needed: 9}}
	o.Contrast.Trials = [2]int{6, 6}
	for _, said := range []string{reason(o), whatNext(o)} {
		if !strings.Contains(said, "4 answers are judged at once, one of each condition, treatment and side, so that each "+
			"needs stronger evidence") {
			t.Errorf("got %q", said)
		}
	}
	if got := whatNext(o); !strings.HasSuffix(got, "(p 0.06 among all); about 9 trials per side would decide (there are 6 "+
		"and 6)") {
		t.Errorf("got %q", got)
	}
}

// A history of results none of which can be read says why, and is no question of another study.
func TestHistoryOfNothingReadable(t *testing.T) {
	_, err := MakeHistory([]Past{{Dir: "a", Failed: "not a database"}}, "", ByDate, nil)
	if !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), "a: not a database") {
		t.Errorf("got %v", err)
	}
}
