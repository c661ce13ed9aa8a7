package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
)

// The interval of a p99 does not reach below that of the median of the same runs, and covers the truth as often as the
// symmetric one: fabricated probes of three runs of a service that never takes less than 1 ms.
func TestPercentilesLieAboveLowerOnes(t *testing.T) {
	const probes, runs, requests = 400, 3, 100
	r := rand.New(rand.NewPCG(99, 50))
	run := func() (x figures) {
		x = figures{sent: requests, last: time.Second, quality: drive.DriverStats{Elapsed: time.Second}}
		for range requests {
			d := int64(1e6 + 60e3*math.Exp(0.9*r.NormFloat64()))
			x.rtt, x.response = append(x.rtt, d), append(x.response, d)
		}
		return x
	}
	truth := 0.0
	for range 2000 {
		v, _ := bound{figure: "rtt", of: "p99"}.ofRun(run())
		truth += v / 2000
	}
	raised, covers, covered := 0, 0, 0
	for range probes {
		p := probe{confidence: 0.95}
		var all []figures
		var p99s []float64
		for range runs {
			all = append(all, run())
			v, _ := bound{figure: "rtt", of: "p99"}.ofRun(all[len(all)-1])
			p99s = append(p99s, v)
		}
		before, err := overRuns(p99s, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]probed{}
		for _, x := range p.table(all) {
			of[x.Name] = x
		}
		now := of["rtt p99"]
		if now.CI[0] < of["rtt median"].CI[0] || now.CI[0] < of["rtt p95"].CI[0] || now.CI[1] != before.CI[1] ||
			!slices.Equal(of["response time p99"].CI, now.CI) {
			t.Fatalf("p99 %v (before: %v), p95 %v, median %v", now.CI, before.CI, of["rtt p95"].CI, of["rtt median"].CI)
		}
		within := func(ci []float64) int {
			if ci[0] <= truth && truth <= ci[1] {
				return 1
			}
			return 0
		}
		covered, covers = covered+within(before.CI), covers+within(now.CI)
		if now.CI[0] > before.CI[0] {
			raised++
			// A condition says what the table says.
			at := (before.CI[0] + now.CI[0]) / 2
			if j := (bound{figure: "rtt", of: "p99", at: at}).held(all, 0.95); j.Verdict != "confirmed" || j.p >= 0.05 {
				t.Errorf("above %g: %+v", at, j)
			}
		}
	}
	t.Logf("raised in %d of %d; the truth is covered in %d, before in %d", raised, probes, covers, covered)
	if raised == 0 || covers < covered-probes/200 {
		t.Errorf("raised in %d of %d; the truth is covered in %d, before in %d", raised, probes, covers, covered)
	}
}
