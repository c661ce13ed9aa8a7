package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/slo"
	"edgegauge.example/edgegauge/internal/measure"
)

// TestConditionsReadWhatReportsPrint: a figure of any response and size, as a report prints it, is a bound.
func TestConditionsReadWhatReportsPrint(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, r := range measure.Responses() {
		for range 300 {
			v := math.Pow(10, -18+30*rng.Float64())
			if !hasPrefixes(r.Unit) {
				v = math.Pow(10, -6+12*rng.Float64())
			}
			if r.AtMostOne() {
				v = math.Pow(10, -6*rng.Float64())
			}
			text := Format(v, r.Unit)
			c, err := advise.ParseRequirement(r.Name + " < " + text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if printed := Format(c.Bound, r.Unit); math.Abs(c.Bound-v) > 0.01*v+1e-9 && printed != text {
				t.Fatalf("%s is read as %v (%s), of %v", text, c.Bound, printed, v)
			}
			if r.Unit != "s" || Format(v, "s") == "0 s" {
				continue
			}
			o, err := slo.Parse("rtt p99 < " + text)
			if c.Bound > 0 && (err != nil || math.Abs(o[0].Bound-c.Bound) > 1e-9*c.Bound) {
				t.Fatalf("an objective of %s: %v, %v", text, o, err)
			}
		}
	}
}
