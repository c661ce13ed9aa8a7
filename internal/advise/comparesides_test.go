package advise

import (
	"errors"
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// A response of which each trial has one value has no p95, however many requests there are: such a condition could
// never be met, and a gate would never fail.
func TestConditionOnAFigureThatNoTrialCanHave(t *testing.T) {
	single := series("rest", "throughput", 10, 11, 10)
	for i := range single.Trials {
		single.Trials[i].SD, single.Trials[i].P95 = math.NaN(), math.NaN()
	}
	few := series("rest", "rtt", 10, 11, 10) // of few requests
	for i := range few.Trials {
		few.Trials[i].SD, few.Trials[i].P95 = 1, math.NaN()
	}
	for text, tt := range map[string]struct {
		of   Series
		want string
	}{
		"throughput.p95 < -5%": {single, "has one value of throughput, and so no p95; name client.throughput"},
		"throughput < -5%":     {single, ""}, "rtt.p95 > 5%": {few, ""},
	} {
		text = strings.Replace(text, "throughput.", "client.throughput.", 1)
		_, err := Compare([]Series{tt.of}, []Series{tt.of}, []Condition{mustChange(t, text)}, 0.95, 0.05)
		if wrong := tt.want != ""; wrong != errors.Is(err, ErrNothingInCommon) ||
			wrong && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What is said of one of two results names it as the others do: old or new.
func TestDoubtsNameOldAndNew(t *testing.T) {
	one, many := series("rest", "rtt", 10), series("rest", "rtt", 10, 11, 10, 12)
	alike := series("rest", "rtt", 10, 10, 10, 10)
	for _, tt := range []struct {
		old, new Series
		want     string
	}{
		{one, many, "old: " + stat.ErrTooFew.Error()}, {many, one, "new: " + stat.ErrTooFew.Error()},
		{alike, many, "old: "}, {many, alike, "new: "},
	} {
		c, err := Compare([]Series{tt.old}, []Series{tt.new}, nil, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		said := c.Contrasts[0].Doubt
		for _, w := range append(c.Contrasts[0].Ratio.Warnings, nil) {
			if w != nil {
				said += w.Error()
			}
		}
		if !strings.HasPrefix(said, tt.want) {
			t.Errorf("%v and %v: %q, want %q", tt.old.Trials, tt.new.Trials, said, tt.want)
		}
	}
}
