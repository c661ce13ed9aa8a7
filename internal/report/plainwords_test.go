package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// Trials of which the interval contains 1 are not said to drift for sure.
func TestDriftOfFewTrialsIsNoCertainty(t *testing.T) {
	for _, x := range []struct {
		c    stat.Comparison
		want string
	}{
		{stat.Comparison{Estimate: 0.395, Lo: 0.148, Hi: 1.049}, "perhaps not steady: the last third of each trial takes " +
			"0.395 times as long as its first (0.148 to 1.049): by chance, or still warming up; raise design.warmup"},
		{stat.Comparison{Estimate: 1.268, Lo: 0.897, Hi: 1.791}, "perhaps not steady: the last third of each trial takes " +
			"1.268 times as long as its first (0.897 to 1.791): by chance, or something fills up or heats up; look at the time " +
			"course"},
		{stat.Comparison{Estimate: 0.417, Lo: 0.266, Hi: 0.654}, "not steady: the last third of each trial takes 0.417 times " +
			"as long as its first (0.266 to 0.654): still warming up; raise design.warmup"},
	} {
		if got := drifts(x.c); got != x.want {
			t.Errorf("got  %q,\nwant %q", got, x.want)
		}
	}
}

// A level that is a mere number is named with its factor, and where a sentence speaks of is in brackets.
func TestSentencesNameTheFactorOfANumber(t *testing.T) {
	c := LevelContrast{Factor: "n", Best: "10", Other: "1000", Wide: 1, Published: math.NaN(),
		PAdjusted:  1e-6,
		Comparison: stat.Comparison{Estimate: 92.8, Lo: 46.9, Hi: 183}}
	p := Panel{measure.Client, "serialization", "s"}
	if got, want := c.Sentence(p, 0.95), "n 1000 takes 92.8 times as long to serialize as n 10 (46.9 to 183)."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	c = LevelContrast{Factor: "stack", Best: "rest", Other: "soap", Wide: 1, Published: math.NaN(), Disagree: true}
	want := "Which of rest and soap has the lower peak RSS (at the server) depends on the other factors: "
	if got := c.Sentence(Panel{measure.Server, "peak_rss", "B"}, 0.95); !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A ratio is that of the greater figure, of whom it is said: "times less" means nothing that is certain.
func TestSentencesSayHowManyTimesAsMuch(t *testing.T) {
	for response, want := range map[string]string{
		"cpu":        "rest needs 1.643 times as much CPU time as coap (1.600 to 1.700).",
		"peak_rss":   "rest needs 1.643 times as much memory as coap (1.600 to 1.700).",
		"wire_bytes": "rest puts 1.643 times as many bytes on the wire as coap (1.600 to 1.700).",
		"throughput": "coap answers 1.643 times as many requests per second as rest (1.600 to 1.700).",
		"total_time": "rest takes 1.643 times as long as coap (1.600 to 1.700).",
	} {
		c := LevelContrast{Factor: "stack", Best: "coap", Other: "rest", Wide: 1, Published: math.NaN(),
			PAdjusted:  1e-6,
			Comparison: stat.Comparison{Estimate: 1.643, Lo: 1.6, Hi: 1.7}}
		if got := c.Sentence(Panel{measure.Client, response, ""}, 0.95); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for response, do := range doings {
		if !strings.Contains(do.times, "%s times as ") {
			t.Errorf("%s: %q", response, do.times)
		}
	}
}

// Where a sentence holds for more treatments than it names, it says so of the whole clause.
func TestClausesSayForHowManyMoreTheyHold(t *testing.T) {
	for n, want := range map[int]string{1: "a is slow", 2: "a is slow; b is slow",
		3: "a is slow; b is slow; and likewise for 1 more treatment",
		5: "a is slow; b is slow; and likewise for 3 more treatments"} {
		all := []string{"a is slow", "b is slow", "c is slow", "d is slow", "e is slow"}
		if got := clauses(all[:n]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Of many trials without a valid attempt the warnings give some reasons, and say where the others are.
func TestWarningsSayWhereFurtherReasonsAre(t *testing.T) {
	r := &Report{}
	for i := range 7 {
		r.Trials = append(r.Trials, store.TrialState{State: store.Invalid, Reason: fmt.Sprintf("trial %d: lost", i+1)})
	}
	r.doubts()
	if n := len(r.Warnings); n != mostReasons+1 || r.Warnings[n-1] != "2 more trials without a valid attempt; the "+
		"list of trials under Plan, in the HTML report, says why" {
		t.Errorf("got %q", r.Warnings)
	}
}
