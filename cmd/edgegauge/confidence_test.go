package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// What is judged has the confidence that its study asks for, unless --confidence says another, and names it. Of two
// studies that differ the higher counts, which is said.
func TestVerdictsHaveTheConfidenceOfTheStudy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	of := func(confidence, stacks string) string {
		path := filepath.Join(dir, strings.NewReplacer(",", "", " ", "-", "%", "").Replace(confidence+stacks))
		kept, plan, err := fabricated.Create(path, fmt.Appendf(nil, "study: s\nservice: echo\nn: 5\n"+
			"factors: {stack: [%s]}\nrequests: 20\ndesign: {replications: 6, seed: 1, confidence: %s}\nresponses: [rtt]\n",
			stacks, confidence))
		ok(t, err)
		for _, trial := range plan.Trials {
			ok(t, fabricated.Trial(kept, trial, 20, nil))
		}
		ok(t, kept.Close())
		return path
	}
	usual, high, both := of("95%", "a, b"), of("99%", "a, b"), of("99%", "s@base, s")
	for dir, want := range map[string]float64{usual: 0.95, high: 0.99} {
		f := chooseFlags{minimize: []string{"rtt"}, need: []string{"battery > 1y"},
			batteryFlags: batteryFlags{battery: "2xAA", link: "nb-iot", period: time.Hour}}
		c, err := choose(dir, f)
		ok(t, err)
		f.confidence = want
		given, err := choose(dir, f)
		ok(t, err)
		got, asked := c.Levels[0], given.Levels[0]
		a, b := got.Candidates[0].Objectives[0].Center, asked.Candidates[0].Objectives[0].Center
		if need := got.Candidates[0].Checks[0].Figure.Center.Confidence; need != want {
			t.Errorf("choose --need: confidence %v, want %v", need, want)
		}
		if got.Confidence != want || a.Lo != b.Lo || a.Hi != b.Hi || a.Lo >= a.Hi {
			t.Errorf("choose: confidence %v, %v to %v; with --confidence %v %v to %v", got.Confidence, a.Lo, a.Hi, want, b.Lo,
				b.Hi)
		}
		var text, data strings.Builder
		ok(t, c.Text(&text))
		ok(t, c.JSON(&data))
		if says := fmt.Sprintf("Intervals and verdicts: %g %% confidence.", 100*want); !strings.Contains(text.String(),
			says) || !strings.Contains(data.String(), fmt.Sprintf("%q: %g,", "confidence", want)) {
			t.Errorf("choose does not say %q, or not in JSON: %s%s", says, text.String(), data.String())
		}
	}
	const differ = "design.confidence was 95 % in the old results and is 99 % in the new ones: all is judged at the higher"
	for _, x := range []struct {
		old, new    string
		given, want float64
		says        bool
	}{{usual, usual, 0, 0.95, false}, {high, high, 0, 0.99, false}, {usual, high, 0, 0.99, true},
		{usual, high, 0.9, 0.9, false}, {both, "", 0, 0.99, false}, {both, "", 0.9, 0.9, false}} {
		f := compareFlags{margin: equalWithin, confidence: x.given}
		c, err := compareWithin(x.old, f)
		if x.new != "" {
			c, err = compare(x.old, x.new, f)
		}
		ok(t, err)
		var text strings.Builder
		ok(t, c.Text(&text))
		said := strings.Join(strings.Fields(text.String()), " ")
		if c.Confidence != x.want || !strings.Contains(said, fmt.Sprintf("with %g %% intervals", 100*x.want)) ||
			slices.Contains(c.Warnings, differ) != x.says {
			t.Errorf("%+v: confidence %v, warnings %q: %s", x, c.Confidence, c.Warnings, said)
		}
	}
	detect, err := advise.ParseDetect("5%")
	ok(t, err)
	s, err := sizeOf(both, []advise.Condition{detect}, compareFlags{versionFlags: versionFlags{power: 0.8}})
	ok(t, err)
	if math.Abs(s.alpha-0.01) > 1e-9 {
		t.Errorf("a comparison is sized for a level of %v", s.alpha)
	}
}

// Where requests failed, and no exchanges are there that say where the median of all of them lies, one of the answered
// decides for whoever allows losses, and nothing is decided for others.
func TestLossesThatAreAllowedAreNoneOfTheFigure(t *testing.T) {
	t.Parallel()
	of := func(name, stacks string, rtt map[string]float64) string {
		path := filepath.Join(t.TempDir(), name)
		kept, plan, err := fabricated.Create(path, fmt.Appendf(nil, "study: s\nservice: echo\nn: 5\n"+
			"factors: {stack: [%s]}\nrequests: 200\ndesign: {replications: 6, seed: 1}\nresponses: [rtt]\n", stacks))
		ok(t, err)
		for _, trial := range plan.Trials {
			a, err := kept.Begin(trial.ID)
			ok(t, err)
			mean := rtt[trial.Treatment[0].Text] * (1 + 0.01*float64(trial.Block%3))
			ok(t, a.Commit([]store.Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 190, Method: store.Measured,
				Mean: mean, SD: mean / 10, Median: mean, P95: mean * 1.2, Min: mean / 2, Max: mean * 2}},
				[]store.Quality{{Key: "requests", Unit: "1", Value: 200}, {Key: "failures", Unit: "1", Value: 10}}))
		}
		ok(t, kept.Close())
		return path
	}
	old := of("old", "a, b", map[string]float64{"a": 1e-3, "b": 1e-3})
	new := of("new", "a, b", map[string]float64{"a": 2e-3, "b": 2e-3})
	both := of("both", "s@base, s", map[string]float64{"s@base": 1e-3, "s": 2e-3})
	for lost, want := range map[bool]stat.Verdict{true: stat.Confirmed, false: stat.Undecided} {
		f := compareFlags{margin: equalWithin, lost: lost, failIf: []string{"rtt.median > 5%"}}
		c, err := compare(old, new, f)
		ok(t, err)
		within, err := compareWithin(both, f)
		ok(t, err)
		if c.Comparison.Verdict() != want || within.Comparison.Verdict() != want {
			t.Errorf("losses allowed: %v: got %s of two results, %s of one; want %s", lost, c.Comparison.Verdict(),
				within.Comparison.Verdict(), want)
		}
	}
}
