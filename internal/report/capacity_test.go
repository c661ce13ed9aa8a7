package report

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/capacity"
	"edgegauge.example/edgegauge/internal/stat"
)

// A rate that was met once and not met once is no range.
func TestCapacityNotFound(t *testing.T) {
	for hi, want := range map[float64]string{14000: "between 12710 and 14000 requests/s",
		12710: "of trials of 10s at 12710 requests/s, some"} {
		c := Capacity{capacity.Answer{Length: 10 * time.Second, Step: stat.CapacityStep{Lo: 12710, Hi: hi}}}
		if got := c.Headline(); !strings.Contains(got, want) {
			t.Errorf("up to %g: got %q, want %q", hi, got, want)
		}
	}
}

// A line that was not fitted does not fail to fit.
func TestCapacityWithoutALine(t *testing.T) {
	for _, tt := range []struct {
		of   stat.Capacity
		want string
	}{
		{stat.Capacity{}, "null"},
		{stat.Capacity{Trials: 9, Lo: math.NaN(), Bent: 0.5}, "true"},
		{stat.Capacity{Trials: 9, Lo: math.NaN()}, "false"},
	} {
		c := Capacity{capacity.Answer{Step: stat.CapacityStep{Stage: stat.AboveMost, Capacity: tt.of}}}
		var b bytes.Buffer
		if err := c.JSON(&b); err != nil || !strings.Contains(b.String(), `"fits": `+tt.want) {
			t.Errorf("%v: want %s in %s", err, tt.want, b.String())
		}
	}
}
