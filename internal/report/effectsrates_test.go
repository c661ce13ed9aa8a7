package report

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
)

// What is said of levels in studies whose truth is known, and how often: four stacks over two protocols, ten blocks
// that differ by 10 %. doc/method.md has the rows.
func TestSentencesOnLevelsErr(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	s, err := study.Parse("study.yaml", []byte("study: s\nservice: monitor\n"+
		"factors: {stack: [a, b, c, d], ip: [ipv4, ipv6]}\ndesign: {replications: 10}\n"), study.Vocabulary{})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../doc/method.md")
	if err != nil {
		t.Fatal(err)
	}
	const studies, confidence = 400, 0.95
	r := &Report{Study: s}
	r.Study.Design.Confidence = confidence
	rnd := rand.New(rand.NewPCG(27, 11))
	drawn := func(truth func(stack string) float64, spread float64) []LevelContrast {
		e := Effects{Panel: Panel{measure.Client, "rtt", "s"}, Log: true}
		var series []advise.Series
		var blocks [10]float64
		for b := range blocks {
			blocks[b] = 0.1 * rnd.NormFloat64()
		}
		for _, stack := range []string{"a", "b", "c", "d"} {
			for _, ip := range []string{"ipv4", "ipv6"} {
				x := advise.Series{Factors: []string{"stack", "ip"}, Levels: []string{stack, ip}, Side: measure.Client,
					Response: "rtt", Unit: "s"}
				for b, of := range blocks {
					v := 1e-3 * math.Exp(of+spread*rnd.NormFloat64())
					if ip == "ipv6" {
						v *= truth(stack)
					}
					x.Trials = append(x.Trials, advise.TrialSummary{ID: b + 1, Block: b + 1, Mean: v, Median: v})
				}
				series = append(series, x)
			}
		}
		r.levels(&e, series)
		return e.Levels
	}
	equal := func(string) float64 { return 1 }
	times := func(ratio float64, stacks string) func(string) float64 {
		return func(stack string) float64 {
			if strings.Contains(stacks, stack) {
				return ratio
			}
			return 1
		}
	}
	turned := func(stack string) float64 { return map[bool]float64{true: 1.5, false: 1 / 1.5}[stack < "c"] }
	some := func(says func(LevelContrast) bool) func([]LevelContrast) bool {
		return func(all []LevelContrast) bool { return slices.ContainsFunc(all, says) }
	}
	ofIP := func(says func(LevelContrast) bool) func([]LevelContrast) bool {
		return some(func(c LevelContrast) bool { return c.Factor == "ip" && says(c) })
	}
	// where a level is said to be better in some strata, in one in which it is not
	wrongly := func(truth func(string) float64) func([]LevelContrast) bool {
		return ofIP(func(c LevelContrast) bool {
			if !advise.Differ(c.Strata) {
				return false
			}
			w := c.where()
			wrong := func(all []advise.Stratum, better string) bool {
				return slices.ContainsFunc(all, func(x advise.Stratum) bool {
					return (truth(x.Levels[0]) <= 1 && better == "ipv4") || (truth(x.Levels[0]) >= 1 && better == "ipv6")
				})
			}
			return wrong(w.best, c.Best) || wrong(w.other, c.Other)
		})
	}
	for _, x := range []struct {
		words     string
		truth     func(stack string) float64
		spread    float64
		says      func([]LevelContrast) bool
		low, high float64 // per cent
	}{
		{"all equal, trials ±5 %: a level is said to be better", equal, 0.05,
			some(func(c LevelContrast) bool { return c.Clear(confidence) || c.Disagree }), 0, 5},
		{"IPv6 takes 10 % longer, trials ±5 %: said", times(1.1, "abcd"), 0.05,
			ofIP(func(c LevelContrast) bool { return c.Clear(confidence) && c.Best == "ipv4" }), 95, 100},
		{"all equal, trials ±1 %: all are said to be alike within 5 %", equal, 0.01,
			func(all []LevelContrast) bool { return !some(func(c LevelContrast) bool { return !c.Alike })(all) }, 95, 100},
		{"IPv6 takes 1.05 times as long with one stack, trials ±1 %: alike", times(1.05, "a"), 0.01,
			ofIP(func(c LevelContrast) bool { return c.Alike }), 0, 5},
		{"IPv6 takes 1.5 times as long with two stacks, 1/1.5 with two, trials ±5 %: it turns round", turned, 0.05,
			ofIP(func(c LevelContrast) bool { return c.Disagree }), 95, 100},
		{"the same: the wrong one is said to be better somewhere", turned, 0.05, wrongly(turned), 0, 5},
		{"IPv6 takes 1.3 times as long with one stack, trials ±5 %: better with another", times(1.3, "a"), 0.05,
			wrongly(times(1.3, "a")), 0, 5},
	} {
		hits := 0.0
		for range studies {
			if x.says(drawn(x.truth, x.spread)) {
				hits++
			}
		}
		got := 100 * hits / studies
		slack := 200 * math.Sqrt(0.05*0.95/studies) // two standard errors of a count
		t.Logf("| %s | %.1f | %d |", x.words, got, studies)
		if got < x.low-slack || got > x.high+slack {
			t.Errorf("%s: %.1f %%, want %g to %g", x.words, got, x.low, x.high)
		}
		if row := "| " + x.words + " | "; !strings.Contains(string(doc), row) {
			t.Errorf("doc/method.md has no row %q; got %.1f %%", row, got)
		}
	}
}

// Five levels take exactly 5 % more than the first: in one study of twenty at most, one of them is said to be alike
// with it within 5 %. Each by itself at that level, it would be one in six.
func TestLevelsAtTheBoundAreNotAlike(t *testing.T) {
	s, err := study.Parse("study.yaml", []byte("study: s\nservice: monitor\n"+
		"factors: {stack: [a, b, c, d, e, f]}\ndesign: {replications: 10}\n"), study.Vocabulary{})
	if err != nil {
		t.Fatal(err)
	}
	const confidence = 0.95
	studies := 600
	if testing.Short() {
		studies = 150
	}
	r := &Report{Study: s}
	r.Study.Design.Confidence = confidence
	rnd := rand.New(rand.NewPCG(29, 15))
	wrong, right := 0, 0
	for range studies {
		for _, times := range []float64{1.05, 1.001, 1.0515} {
			spread := 0.02
			if times > 1.05 { // more than 5 %, and less than 1/0.95 - 1, beyond doubt
				spread = 1e-4
			}
			e := Effects{Panel: Panel{measure.Client, "rtt", "s"}, Log: true}
			var series []advise.Series
			for i, stack := range []string{"a", "b", "c", "d", "e", "f"} {
				x := advise.Series{Factors: []string{"stack"}, Levels: []string{stack}, Side: measure.Client, Response: "rtt",
					Unit: "s"}
				for b := range 10 {
					v := 1e-3 * math.Exp(spread*rnd.NormFloat64())
					if i > 0 {
						v *= times
					}
					x.Trials = append(x.Trials, advise.TrialSummary{ID: b + 1, Block: b + 1, Mean: v, Median: v})
				}
				series = append(series, x)
			}
			r.levels(&e, series)
			alike := 0
			for _, c := range e.Levels {
				if c.Alike && (c.Best == "a" || times < 1.05) {
					alike++
				}
			}
			switch {
			case times < 1.05 && alike == 5:
				right++
			case times == 1.05 && alike > 0:
				wrong++
			case times > 1.05 && alike > 0:
				t.Fatalf("%g times as long is alike within 5 %%", times)
			}
		}
	}
	t.Logf("said to be alike: %.1f %% at the bound, all in %.1f %% of equals", 100*float64(wrong)/float64(studies),
		100*float64(right)/float64(studies))
	if stat.AtLeast(wrong, studies, 1-confidence) < 1e-4 || right < studies/2 {
		t.Errorf("alike within 5 %% in %d of %d studies of levels 5 %% apart, in %d of equals", wrong, studies, right)
	}
}
