package report

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	made "edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// Of every response that only answered requests have, of exchanges and of captured packets, the median and p95 among
// all requests are found, and of no other; where the samples of packets are gone, nobody knows those.
func TestEveryResponseOfAnsweredRequestsHasQuantilesAmongAll(t *testing.T) {
	const requests, fail = 100, 4 // every 25th fails
	var names []string
	for _, r := range measure.Responses() {
		if r.OfRequests() && slices.Contains(r.Sides, measure.Client) {
			names = append(names, r.Name)
		}
	}
	for _, sampled := range []bool{true, false} {
		dir := filepath.Join(t.TempDir(), "results")
		kept, plan, err := made.Create(dir, []byte("study: s\nservice: echo\nn: 5\nfactors: {stack: [a, b]}\nrequests: 100\n"+
			"failures: 20%\ndesign: {replications: 2, seed: 1}\nresponses: ["+strings.Join(names, ", ")+"]\n"))
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range plan.Trials {
			a, err := kept.Begin(trial.ID)
			if err != nil {
				t.Fatal(err)
			}
			var xs []measure.Exchange
			for i := range requests {
				d := time.Duration(1000 * (i + 1))
				x := measure.Exchange{Seq: uint64(i + 1), Due: time.Duration(i) * time.Second, Connection: d, Total: d}
				x.Sent, x.Done = x.Due, x.Due+d
				if i%25 == 7 {
					x.Done, x.Total, x.Failure = 0, 0, "no answer in time"
				}
				xs = append(xs, x)
			}
			w, err := a.Exchanges(measure.Client)
			if err != nil || w.Append(xs) != nil || w.Close() != nil {
				t.Fatal("exchanges cannot be written", err)
			}
			var results []store.Result
			var samples []measure.Sample
			for _, name := range names {
				r, _ := measure.FindResponse(name)
				var own []float64
				for i, x := range xs {
					if x.Failure != "" || strings.HasPrefix(name, "jitter") && (i == 0 || xs[i-1].Failure != "") {
						continue
					}
					v := float64(i+1) * 1e-6
					own = append(own, v)
					if r.Packets {
						samples = append(samples, measure.Sample{Quantity: r.Quantity, Value: v, Seq: x.Seq})
					}
				}
				in, err := stat.WithinTrial(own)
				if err != nil {
					t.Fatal(err)
				}
				results = append(results, store.Result{Side: measure.Client, Response: name, Unit: r.Unit, N: int64(in.N),
					Method: store.Measured, Mean: in.Mean, SD: in.SD, Median: in.Median, P95: in.P95, Min: in.Min, Max: in.Max})
			}
			if sampled {
				to, err := a.Samples(store.Source{Side: measure.Client, Instrument: "packet", Method: store.Measured})
				if err != nil || to.Append(samples) != nil || to.Close() != nil {
					t.Fatal("samples cannot be written", err)
				}
			}
			if err := a.Commit(results, []store.Quality{{Key: "requests", Unit: "1", Value: requests},
				{Key: "failures", Unit: "1", Value: fail}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := kept.Close(); err != nil {
			t.Fatal(err)
		}
		r := reportOf(t, dir)
		seen := 0
		for _, c := range r.Cells {
			x, _ := measure.FindResponse(c.Response)
			var own []float64 // in order
			for i := range requests {
				if i%25 != 7 && (!strings.HasPrefix(c.Response, "jitter") || i > 0 && (i-1)%25 != 7) {
					own = append(own, float64(i+1)*1e-6)
				}
			}
			of := requests
			if strings.HasPrefix(c.Response, "jitter") {
				of--
			}
			at := func(q float64) float64 {
				k := q * float64(of-1)
				i := int(k)
				if i+1 >= len(own) {
					return math.Inf(1)
				}
				return own[i] + (k-float64(i))*(own[i+1]-own[i])
			}
			want := [2]float64{at(0.5), at(0.95)}
			switch {
			case !x.OfAnswered():
				want = [2]float64{}
			case x.Packets && !sampled:
				want = [2]float64{math.NaN(), math.NaN()}
			}
			for _, p := range c.Points {
				for i, got := range []float64{p.AllMedian, p.AllP95} {
					seen++
					if got != want[i] && !(math.Abs(got-want[i]) < 1e-12) && !(math.IsNaN(got) && math.IsNaN(want[i])) {
						t.Errorf("%s, samples %v: got %g, want %g", c.Response, sampled, got, want[i])
					}
				}
			}
		}
		if seen != 2*4*len(names) {
			t.Errorf("%d figures of %d responses", seen, len(names))
		}
	}
}
