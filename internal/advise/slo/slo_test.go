package slo

import (
	"math"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

func TestParse(t *testing.T) {
	s, err := Parse(" response_time p99 < 200ms,failed<0.1%, rtt mean <= 1.5 s, total_time median < 20us ")
	if err != nil {
		t.Fatal(err)
	}
	want := []Condition{{ResponseTime, 0.99, 0.2, ""}, {Failed, 0, 0.001, ""}, {RTT, 0, 1.5, ""},
		{TotalTime, 0.5, 20e-6, ""}}
	for i, c := range s {
		c.Text = ""
		if math.Abs(c.Bound-want[i].Bound) > 1e-15 || c.Metric != want[i].Metric || c.Share != want[i].Share {
			t.Errorf("%d: %+v, not %+v", i, c, want[i])
		}
	}
	if s.Needs() != 10000 || s.Shortest() != 20*time.Microsecond || s.Longest() != 1500*time.Millisecond {
		t.Errorf("needs %d, %v to %v", s.Needs(), s.Shortest(), s.Longest())
	}
	for text, want := range map[string]string{
		"":                           "is empty",
		"response_time p99 < 200":    "is a time",
		"response_time p99 < 200kB":  "is a time",
		"response_time < 200ms":      "names no percentile",
		"response_time p0 < 200ms":   "no percentile",
		"response_time p100 < 2ms":   "no percentile",
		"respons_time p99 < 200ms":   "did you mean response_time",
		"failed < 0.1":               "in %",
		"failed p99 < 1%":            "has no p99",
		"failed < 100%":              "always kept",
		"failed < 0%":                "not above 0",
		"response_time p99 > 200ms":  "is not a condition",
		"failed < 1%, latency < 3ms": `unknown figure "latency"`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %q", text, err, want)
		}
	}
}

func TestJudge(t *testing.T) {
	s, err := Parse("response_time p99 < 200ms, failed < 2%")
	if err != nil {
		t.Fatal(err)
	}
	trial := func(failed int, slow ...time.Duration) *Tally {
		y := s.NewTally()
		for i := range 1000 {
			x := measure.Exchange{Due: time.Second, Sent: time.Second + 40*time.Millisecond, Done: time.Second +
				50*time.Millisecond}
			if i < failed {
				x = measure.Exchange{Failure: "503"}
			} else if k := i - failed; k < len(slow) {
				x.Done = x.Due + slow[k]
			}
			y.Add(x)
		}
		return y
	}
	slow := func(n int, d time.Duration) []time.Duration {
		out := make([]time.Duration, n)
		for i := range out {
			out[i] = d
		}
		return out
	}
	for _, tt := range []struct {
		what    string
		of      *Tally
		margin  float64
		binding int
	}{
		{"all quick", trial(0), 4, 0},
		{"ten of a thousand slow: p99 is that of the others", trial(0, slow(10, time.Second)...), 4, 0},
		{"eleven slow", trial(0, slow(11, time.Second)...), 0.2, 0},
		{"eight failed", trial(8), 2.5, 1},
		{"eleven failed: p99 was never answered", trial(11), 0, 0},
		{"five failed and six slow", trial(5, slow(6, 400*time.Millisecond)...), 0.5, 0},
	} {
		kept, binding := tt.of.Judge()
		if math.Abs(kept[binding].Margin-tt.margin) > 1e-9 || binding != tt.binding {
			t.Errorf("%s: margin %v of condition %d", tt.what, kept[binding].Margin, binding)
		}
		if got := tt.of.Trial(5); got.Rate != 5 || got.Margin != kept[binding].Margin {
			t.Errorf("%s: %+v", tt.what, got)
		}
	}
}

// A share is a little more than it says, as a double, and moves no rank: p99.9 of 10,000 is the 9,990th.
func TestSharesThatRoundUp(t *testing.T) {
	for _, text := range []string{"response_time p99.9 < 200ms", "response_time p7 < 200ms", "response_time p14 < 200ms",
		"response_time p28 < 200ms", "response_time p55 < 200ms", "response_time p56 < 200ms"} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		const n = 10_000
		within := int(math.Round(s[0].Share * n))
		y := s.NewTally()
		for i := range n {
			x := measure.Exchange{Due: time.Second, Sent: time.Second, Done: time.Second + 50*time.Millisecond}
			if i >= within {
				x = measure.Exchange{Failure: "503"}
			}
			y.Add(x)
		}
		if kept, _ := y.Judge(); math.Abs(kept[0].Margin-4) > 1e-9 {
			t.Errorf("%s: margin %v with %d of %d answered, want 4", text, kept[0].Margin, within, n)
		}
	}
	for text, want := range map[string]int{"rtt p99.9 < 1s": 10_000, "rtt p99.99 < 1s": 100_000,
		"rtt p99.999 < 1s": 1_000_000,
		"rtt p99 < 1s":     1000, "rtt p90 < 1s": 100, "failed < 0.1%": 10_000, "failed < 0.3%": 3334} {
		if s, err := Parse(text); err != nil || s.Needs() != want {
			t.Errorf("%s needs %d, want %d, %v", text, s.Needs(), want, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("response_time p99 < 200ms, failed < 0.1%")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(s.String())
		if err != nil || again.String() != s.String() || s.Needs() < 1 {
			t.Errorf("%q becomes %q: %v", text, s, err)
		}
	})
}
