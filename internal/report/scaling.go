package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"

	"edgegauge.example/edgegauge/internal/capacity"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
)

// A Scaling tells how the throughput of a server grows with the requests under way.
type Scaling struct{ capacity.Scaling }

// Headline is the answer in a sentence.
func (s *Scaling) Headline() string {
	u := s.Law
	if u.PeakHi == 1 {
		return fmt.Sprintf("The throughput is highest with one request under way, %s requests/s, and falls with more.",
			significant(u.At(1)))
	}
	if math.IsNaN(u.Peak) {
		return fmt.Sprintf("No peak within reach: up to %g requests under way, the trials do not show that the throughput "+
			"falls.", u.Largest)
	}
	return fmt.Sprintf("The throughput is highest with %s requests under way (%s to %s, %s interval): %s requests/s.",
		significant(u.Peak), significant(u.PeakLo), significant(u.PeakHi), percentOf(u.Confidence), significant(u.At(u.Peak)))
}

// Says are the sentences below the headline.
func (s *Scaling) Says() []string {
	u := s.Law
	out := []string{fmt.Sprintf("Universal Scalability Law: contention α = %.3g (standard error %.2g), coherency "+
		"β = %.3g (%.2g), %s requests/s (%s) with one under way.", u.Alpha, u.AlphaSE, u.Beta, u.BetaSE, significant(u.Gamma),
		significant(u.GammaSE))}
	if !u.Fits() {
		out = append(out, fmt.Sprintf("The law does not fit these trials (p = %.2g): take its figures for a summary.",
			u.Misfit))
	}
	if !math.IsNaN(u.Peak) && u.Peak > u.Largest {
		out = append(out, fmt.Sprintf("The peak lies beyond the %g that were measured: raise --most.", u.Largest))
	}
	n, d := s.furthest()
	return append(out, fmt.Sprintf("A queue at one resource (%s of it a request, %s elsewhere) differs most with %g "+
		"under way: it predicts %+.0f %%.", Format(s.Queue.Demand, "s"), Format(s.Queue.Elsewhere, "s"), n, 100*d),
		"All of it is of the server and its clients together: how many requests/s the clients themselves can do was not "+
			"measured.")
}

// levels are the means, by requests under way.
func (s *Scaling) levels() ([]float64, map[float64]float64) {
	sum, n := map[float64]float64{}, map[float64]float64{}
	for _, t := range s.Trials {
		sum[t.N] += t.Throughput
		n[t.N]++
	}
	for k := range sum {
		sum[k] /= n[k]
	}
	return slices.Sorted(maps.Keys(sum)), sum
}

// furthest is where the queue differs most from what was measured, relative.
func (s *Scaling) furthest() (n, difference float64) {
	levels, means := s.levels()
	for _, k := range levels {
		if d := s.Queue.At(int(k))/means[k] - 1; math.Abs(d) >= math.Abs(difference) {
			n, difference = k, d
		}
	}
	return n, difference
}

// Text writes the answer for people.
func (s *Scaling) Text(w io.Writer) error {
	fmt.Fprintf(w, "%s: throughput by requests under way, trials of %s\n\n%s\n", s.Study, study.DurationText(s.Length),
		s.Headline())
	for _, x := range s.Says() {
		fmt.Fprintln(w, x)
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "under way\trequests/s\tthe law\ta queue\t")
	levels, means := s.levels()
	for _, n := range levels {
		fmt.Fprintf(tw, "%g\t%s\t%s\t%s\t\n", n, significant(means[n]), significant(s.Law.At(n)),
			significant(s.Queue.At(int(n))))
	}
	return tw.Flush()
}

// JSON writes the answer for programs.
func (s *Scaling) JSON(w io.Writer) error {
	type estimate struct {
		Value float64 `json:"value"`
		Error float64 `json:"standard_error"`
	}
	type level struct {
		N        float64 `json:"in_flight"`
		Measured float64 `json:"requests_per_s"`
		Law      float64 `json:"law_requests_per_s"`
		Queue    float64 `json:"queue_requests_per_s"`
	}
	u := s.Law
	out := struct {
		Format     int           `json:"format"`
		Study      string        `json:"study"`
		Results    string        `json:"results"`
		Alpha      estimate      `json:"alpha"`
		Beta       estimate      `json:"beta"`
		Gamma      estimate      `json:"gamma_requests_per_s"`
		Peak       stat.Number   `json:"peak_in_flight"` // null: none within reach
		Interval   stat.Interval `json:"interval"`
		Confidence float64       `json:"confidence"`
		Fits       bool          `json:"fits"`
		Length     float64       `json:"trial_s"`
		Levels     []level       `json:"levels"`
		Says       []string      `json:"says"`
	}{capacityFormat, s.Study, s.Dir, estimate{u.Alpha, u.AlphaSE}, estimate{u.Beta, u.BetaSE},
		estimate{u.Gamma, u.GammaSE}, stat.Number(u.Peak), stat.Interval{u.PeakLo, u.PeakHi}, u.Confidence, u.Fits(),
		s.Length.Seconds(), nil, append([]string{s.Headline()}, s.Says()...)}
	levels, means := s.levels()
	for _, n := range levels {
		out.Levels = append(out.Levels, level{n, means[n], u.At(n), s.Queue.At(int(n))})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
