package report

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
)

// Of a repetition that cannot tell, each row says why, with its p, and no sum of what differs reads as if all were
// alike.
func TestARepetitionThatCannotTellSaysWhy(t *testing.T) {
	trials := func(run, i int, times, waiting float64, n int) advise.Series {
		s := advise.Series{Factors: []string{"stack"}, Levels: []string{fmt.Sprint("t", i)}, Side: measure.Client,
			Response: "rtt", Unit: "s", Waiting: waiting}
		for k := range n {
			v := 1e-2 * times * (1 + 0.12*math.Sin(float64(5*k+3*i+7*run)))
			s.Trials = append(s.Trials, advise.TrialSummary{ID: k + 1, Block: k + 1, Mean: v, Median: v, P95: v})
		}
		return s
	}
	var old, now []advise.Series
	for i := range 30 {
		old, now = append(old, trials(1, i, 1, 0, 6)), append(now, trials(2, i, 1, 0, 6))
	}
	now[7], now[8] = trials(2, 7, 1.2, 0, 6), trials(2, 8, 1.6, 0.4, 6)
	old[9], now[9] = trials(1, 9, 1, 0, 1), trials(2, 9, 1, 0, 1)
	x, err := advise.Repeat(old, now, 0.95, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := (Repeated{Like: "kept", Again: "again", Repetition: x, Confidence: 0.95}).Text(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`^cannot tell: figures: 0 agree, 0 shown to differ, 30 undecided`,
		`(?m)^t7 rtt, client .* 0\.[0-9]+ +undecided: Holm$`, `(?m)^t8 rtt, client .* [01]\.[0-9]+ +undecided: waiting$`,
		`(?m)^t9 rtt, client .* – +undecided: no test$`, `(?m)^t1 rtt, client .* [01]\.[0-9]+ +undecided: interval$`,
		`Undecided does not mean alike: t8 (over t0 )?rtt, client may be 1\.[0-9]+ to [12]\.[0-9]+ times what was kept\.`,
		`(?m)^Holm \([12]\): by itself shown to differ, but of 57 differences`, `(?m)^No test \([1-9]\): t9 rtt, client`} {
		if !regexp.MustCompile(want).MatchString(strings.TrimPrefix(out.String(),
			"Same study, settings and kind of machine as kept.\n")) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), " of 0 ") {
		t.Errorf("a share of none in\n%s", out.String())
	}
}
