package report

import (
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// A response that some trials lack is shown of the others, and said; one that
// all lack is no figure.
func TestTrialsWithoutAValue(t *testing.T) {
	n := 0
	some := func(at map[string]string, side measure.Side, response string) (float64, float64) {
		mean, sd := twoTruths(at, side, response)
		if response == "rtt" && at["stack"] == "rest" {
			if n++; n%4 == 0 {
				return mean, math.NaN()
			}
		}
		if response == "throughput" && at["stack"] == "twin" {
			return mean, math.NaN()
		}
		return mean, sd
	}
	r := reportOf(t, simulated(t, twoFactors, some))
	for _, c := range r.Cells {
		name, text := r.Treatments[c.Treatment].Name(), strings.Join(c.Warnings, "; ")
		if math.IsNaN(c.Mean.Center) {
			t.Errorf("%s of %s is NaN", c.Response, name)
		}
		if lacks := c.Response == "rtt" && strings.HasPrefix(name, "rest"); lacks != strings.Contains(text,
			"of 8 valid trials have no value;") {
			t.Errorf("%s of %s: %d points, %q", c.Response, name, len(c.Points), text)
		}
		if c.Response == "throughput" && strings.HasPrefix(name, "twin") {
			t.Errorf("throughput of %s has %d points", name, len(c.Points))
		}
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"),
		"twin ipv4: no valid trial has a value of throughput at the client") {
		t.Errorf("got %q", r.Warnings)
	}
	for name, write := range Formats {
		var b strings.Builder
		if err := write(r, &b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(shown(b.String()), "NaN") {
			t.Errorf("%s has a NaN", name)
		}
	}
}

// Every format writes what little there is, and no NaN.
func TestFormatsOfPoorResults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	same := func(at map[string]string, side measure.Side, response string) (float64, float64) {
		mean, _ := piesAsPublished(at, side, response)
		return mean, 0
	}
	for words, dir := range map[string]string{
		"one trial":     simulated(t, strings.Replace(pies, "replications: 8", "replications: 1", 1), piesAsPublished),
		"zero variance": simulated(t, pies, same),
		"all failed": simulated(t, pies, func(map[string]string, measure.Side, string) (float64,
			float64) {
			return math.NaN(), 0
		}),
		"all zero": simulated(t, pies, func(at map[string]string, side measure.Side, response string) (float64, float64) {
			mean, _ := piesAsPublished(at, side, response)
			return 0 * mean, 0
		}),
		"one treatment": simulated(t, "study: x\nservice: monitor\nstack: a\n",
			func(_ map[string]string, side measure.Side, response string) (float64, float64) {
				return map[string]float64{"rtt": 1}[response] +
					math.Log(map[bool]float64{true: 1, false: math.NaN()}[response == "rtt"]), 0.1
			}),
		"negative energy": simulated(t, pies, func(at map[string]string, side measure.Side,
			response string) (float64, float64) {
			mean, sd := piesAsPublished(at, side, response)
			return -mean, sd
		}, store.Measured),
	} {
		r := reportOf(t, dir)
		for name, write := range Formats {
			var b strings.Builder
			if err := write(r, &b); err != nil {
				t.Errorf("%s, %s: %v", words, name, err)
			}
			for _, bad := range []string{"NaN", "Inf", "±0 ", "±0%"} {
				if strings.Contains(shown(b.String()), bad) {
					t.Errorf("%s, %s: has %s:\n%s", words, name, bad, b.String()[:min(len(b.String()), 2000)])
				}
			}
		}
	}
}
