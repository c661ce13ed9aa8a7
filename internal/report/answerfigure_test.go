package report

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// The answer ranks by the figure that the table shows, and calls it a median where it is one: of times and of shares,
// of many trials and of few, of today and of before placements existed, however trials fall.
func TestAnswerRanksByTheHeadline(t *testing.T) {
	const file = "study: s\nservice: monitor\nrequests: 60\nfactors: {stack: [a, b]}\nresponses: [RESPONSE]\n" +
		"design: {replications: TRIALS, seed: 1}\n"
	rnd := rand.New(rand.NewPCG(4, 1))
	seen := map[string]int{}
	for n := range 120 {
		response, head := "rtt", "Quickest: "
		if n%2 == 1 {
			response, head = "failed_share", "Least failed share of the client: "
		}
		trials := []string{"5", "6", "15"}[n%3]
		draw := map[string][]float64{}
		for _, stack := range []string{"a", "b"} {
			often := rnd.Float64() / 2
			for range 16 {
				v := 1e-3 * (1 + 0.01*rnd.NormFloat64())
				if slow := rnd.Float64() < often; slow {
					v *= 2
				}
				if response == "failed_share" {
					v = math.Floor(v*1000) / 30
				}
				draw[stack] = append(draw[stack], v)
			}
		}
		w := exactly(nil)
		w.exact = func(at map[string]string, block int) []store.Result {
			v := draw[at["stack"]][block]
			x, _ := measure.FindResponse(response)
			return []store.Result{{Side: measure.Client, Response: response, Unit: x.Unit, N: 60, Mean: v, SD: v / 10, Median: v,
				P95: v, Min: v, Max: v, Method: store.Measured}}
		}
		r := reportOf(t, w.write(t, strings.NewReplacer("RESPONSE", response, "TRIALS", trials).Replace(file)))
		if n%5 > 0 {
			r.Facts.Placement = map[string]study.Pin{}
		}
		if err := r.chooseHeadlines(); err != nil {
			t.Fatal(err)
		}
		says := r.Verdict()[0]
		if !strings.HasPrefix(says, head) {
			t.Fatalf("got %q", says)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(says, head), ",")
		var best *Cell
		for i := range r.Cells {
			if c := &r.Cells[i]; r.Treatments[c.Treatment].Name() == name {
				best = c
			}
		}
		if best == nil {
			continue // nothing failed at all
		}
		for _, c := range r.Cells {
			if c.Headline().Center < best.Headline().Center {
				t.Errorf("study %d: %s has less in the table: %s", n, r.Treatments[c.Treatment].Name(), says)
			}
		}
		if want := head + name + ", " + Format(best.Headline().Center, best.Unit); !strings.HasPrefix(says, want) ||
			strings.Contains(says, "(medians") != best.ByMedian {
			t.Errorf("study %d: the table shows a %s of %s; got %q", n, best.center(),
				Format(best.Headline().Center, best.Unit), says)
		}
		if why := r.Whole().byMedian(measure.Client, response); (why != "") != best.ByMedian {
			t.Errorf("study %d: choose goes by medians since %q, the table shows a %s", n, why, best.center())
		}
		for _, c := range r.Cells {
			if response == "failed_share" && strings.Contains(strings.Join(c.Warnings, "\n"), "read the median") {
				t.Errorf("study %d: a share: %q", n, c.Warnings)
			}
		}
		kind := response + " by " + best.center()
		if best.Clustered || r.Cells[0].Clustered {
			kind += ", clustered"
		}
		seen[kind]++
	}
	for _, kind := range []string{"rtt by median, clustered", "rtt by mean, clustered",
		"failed_share by mean, clustered"} {
		if seen[kind] < 4 {
			t.Errorf("%d studies of %s, of %v", seen[kind], kind, seen)
		}
	}
}
