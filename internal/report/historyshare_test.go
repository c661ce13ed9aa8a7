package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// sharesOfRuns is a history of the share of requests that failed, of 12 trials of 30 requests a run, of which one fails
// as often as share says of its run.
func sharesOfRuns(t *testing.T, r *rand.Rand, runs int, share func(run int) float64) History {
	t.Helper()
	h := History{Study: "s", By: ByDate, pointless: map[int]string{}}
	for run := range runs {
		s := advise.Series{Side: measure.Client, Response: "failed_share", Unit: "1"}
		var failed []stat.Share
		for range 12 {
			x, p := stat.Share{N: 30}, share(run)
			for range x.N {
				if r.Float64() < p {
					x.Hits++
				}
			}
			failed = append(failed, x)
			s.Trials = append(s.Trials, advise.TrialSummary{ID: len(failed), Mean: x.Of()})
		}
		f := PastFigure{Series: s}
		f.Requests, f.Failed = stat.Pooled(failed).N, stat.Pooled(failed).Of()
		f.Point, f.Why = pointOf(s)
		h.Runs = append(h.Runs, Past{Figures: []PastFigure{f}})
		h.Labels = append(h.Labels, fmt.Sprint("run", run))
	}
	h.collect([]advise.Term{{Response: "failed_share"}})
	h.Series = history.Judge([]history.Series{h.Series[0].Series}, nil)
	return h
}

// A share that is 0 has a point, and its steps are found on its own scale; of equal histories no more have a suspect
// than of other figures.
func TestAShareThatBeginsWith0(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 5))
	step := sharesOfRuns(t, r, 12, func(run int) float64 { return map[bool]float64{true: 0.1}[run >= 7] })
	j := step.Series[0]
	if len(j.Points) != 12 || j.Why != "" || len(j.Marks) != 1 || j.Marks[0].At != 7 || !j.Marks[0].Worse ||
		!(j.Marks[0].Ratio > 0.05 && j.Marks[0].Ratio < 0.15) {
		t.Errorf("a step from 0: got %+v", j)
	}
	var text, doc strings.Builder
	step.Runs[0].Began = time.Now()
	if step.Text(&text) != nil || step.JSON(&doc) != nil {
		t.Fatal("cannot be written")
	}
	if flat := strings.Join(strings.Fields(text.String()), " "); !strings.Contains(flat, "above the level before (") ||
		!strings.Contains(doc.String(), `"linear": true`) || strings.Contains(doc.String(), "logarithm") {
		t.Errorf("got %s\n%s", text.String(), doc.String())
	}
	if testing.Short() {
		return
	}
	for _, runs := range []int{5, 20, 100} {
		repeats := 3000 / max(1, runs/10)
		for _, tt := range []struct {
			what  string
			share func(run int) float64
		}{
			{"0.1 %", func(int) float64 { return 0.001 }}, {"0.01 %", func(int) float64 { return 0.0001 }},
			{"3 %", func(int) float64 { return 0.03 }},
			{"a trial's together", func(int) float64 { return map[bool]float64{true: 0.5}[r.IntN(10) == 0] }},
		} {
			suspects := 0
			for range repeats {
				if history.Suspects(sharesOfRuns(t, r, runs, tt.share).Series) > 0 {
					suspects++
				}
			}
			share := float64(suspects) / float64(repeats)
			if t.Logf("%d runs, equal, %s: a suspect in %.1f %%", runs, tt.what, 100*share); share > 0.12 {
				t.Errorf("%d runs, %s: a suspect in %d of %d", runs, tt.what, suspects, repeats)
			}
		}
	}
}
