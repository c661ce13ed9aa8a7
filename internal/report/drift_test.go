package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// A JVM compiles while it is measured: requests fall from five times their time
// to it within some dozens, among noise that has a tail. Measured from the first
// request on, the report warns; after the warm-up of the study
// frameworks-on-raspberry-pi it does not, and a run that slows down is told from
// one that warms up.
func TestDriftOfACompilingMachine(t *testing.T) {
	compiling := func(i int) float64 { return 1 + 4*math.Exp(-float64(i)/25) }
	for _, tt := range []struct {
		what           string
		warmup, trials int
		slowness       func(request int) float64
		want           string
	}{
		{"no warm-up", 0, 8, compiling, "still warming up; raise design.warmup"},
		{"no warm-up, and too few trials for a test to be sure", 0, 3, compiling, "still warming up; raise design.warmup"},
		{"a warm-up that is too short", 30, 8, compiling, "still warming up; raise design.warmup"},
		{"the study's warm-up", 200, 8, compiling, ""},
		{"the study's warm-up, twice the trials", 200, 16, compiling, ""},
		{"a heap that fills", 200, 8, func(i int) float64 { return 1 + float64(i-200)/50 }, "something fills up or heats up"},
	} {
		r := rand.New(rand.NewPCG(3, 7))
		w := world{value: twoTruths, method: store.Measured, quality: func(at map[string]string, block int) []store.Quality {
			series := make([]float64, 50)
			for i := range series {
				series[i] = 0.004 * math.Exp(0.15*r.NormFloat64())
				if r.IntN(50) == 0 {
					series[i] *= 3 // a collection
				}
				if at["stack"] == "soap" {
					series[i] *= tt.slowness(tt.warmup + i)
				}
			}
			first, last, err := stat.Thirds(series)
			if err != nil {
				t.Fatal(err)
			}
			return []store.Quality{{Key: "rtt_first_third", Unit: "s", Value: first},
				{Key: "rtt_last_third", Unit: "s", Value: last}}
		}}
		study := strings.Replace(twoFactors, "replications: 8", fmt.Sprintf("replications: %d", tt.trials), 1)
		report := reportOf(t, w.write(t, study))
		for _, c := range report.Cells {
			text := strings.Join(c.Warnings, "; ")
			drifts := tt.want != "" && report.Treatments[c.Treatment].Levels[0] == "soap" && c.Response != "message_size"
			if got := strings.Contains(text, "not steady"); got != drifts {
				t.Errorf("%s: %s %s warns of drift: %v, want %v", tt.what, report.Treatments[c.Treatment].Name(),
					c.Response, got, drifts)
			}
			if drifts && !strings.Contains(text, tt.want) {
				t.Errorf("%s: got %q, want %q", tt.what, text, tt.want)
			}
		}
		soap := 0
		for _, x := range report.Treatments {
			if x.Levels[0] == "soap" {
				soap++
			}
		}
		said, want := unsteady(report), fmt.Sprintf("Not steady: in %d of %d treatments", soap, len(report.Treatments))
		if tt.want == "" && said != "" || tt.want != "" && !strings.HasPrefix(said, want) {
			t.Errorf("%s: the findings say %q", tt.what, said)
		}
	}
}
