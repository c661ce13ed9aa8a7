package report

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/stat"
)

// CSV writes one row per treatment × side × response; doc/formats.md names the
// columns. What does not exist is empty.
func (r *Report) CSV(w io.Writer) error {
	c := csv.NewWriter(w)
	head := append(append([]string{}, r.Factors...), "side", "response", "unit", "trials", "mean", "ci_low", "ci_high",
		"sd", "median", "p95", "method", "warnings", "published", "times_published", "times_published_low",
		"times_published_high", "request_min", "request_sd", "median_low", "median_high",
		"headline", "ranked_by", "ranked", "ranked_low", "ranked_high")
	if r.Benches != nil {
		head = append(head, "benches", "intervals_for")
	}
	head = append(head, "confidence")
	if err := c.Write(printable.Row(head)); err != nil {
		return err
	}
	ranked := r.rankedFigures()
	for i, x := range r.Cells {
		row := append(append([]string{}, r.Treatments[x.Treatment].Levels...), string(x.Side), x.Response, x.Unit,
			strconv.Itoa(len(x.Points)),
			number(x.Mean.Center), number(x.Mean.Lo), number(x.Mean.Hi), number(x.SD), number(x.Median.Center), number(x.P95),
			string(x.Method), strings.Join(append(r.damage(), x.Warnings...), "; "))
		if b := x.Published; b != nil {
			row = append(row, number(b.Mean), number(b.Ratio.Estimate), number(b.Ratio.Lo), number(b.Ratio.Hi))
		} else {
			row = append(row, "", "", "", "")
		}
		row = append(row, number(x.Min), number(x.RequestSD), number(x.Median.Lo), number(x.Median.Hi), x.center())
		if k := ranked[&r.Cells[i]]; k.by != "" {
			row = append(row, k.by, number(k.Center), number(k.Lo), number(k.Hi))
		} else {
			row = append(row, "", "", "", "")
		}
		if r.Benches != nil {
			row = append(row, strconv.Itoa(len(r.Benches.Names)), string(r.Benches.Kind))
		}
		row = append(row, number(r.Study.Design.Confidence))
		if err := c.Write(printable.Row(row)); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// JSON writes the same, with the trials' means.
func (r *Report) JSON(w io.Writer) error {
	type cell struct {
		Treatment map[string]string `json:"treatment"`
		Side      string            `json:"side"`
		Response  string            `json:"response"`
		Unit      string            `json:"unit"`
		Method    string            `json:"method"`
		Trials    int               `json:"trials"`
		Mean      *float64          `json:"mean"`
		CI        []float64         `json:"ci"` // of the mean; null: there is none
		SD        *float64          `json:"sd"`
		Median    *float64          `json:"median"`
		MedianCI  []float64         `json:"median_ci"`
		P95       *float64          `json:"p95"`
		Headline  string            `json:"headline"`  // mean or median: the figure that tables show
		RankedBy  *string           `json:"ranked_by"` // null: it is not ranked
		Ranked    *float64          `json:"ranked"`
		RankedCI  []float64         `json:"ranked_ci"`
		Floor     *float64          `json:"times_floor,omitempty"`
		Means     []float64         `json:"trial_means"`
		Benches   []string          `json:"trial_benches,omitempty"` // of the same trials, where there are several
		Warnings  []string          `json:"warnings"`
		Published *publishedJSON    `json:"published,omitempty"`
		Predicted *predictedJSON    `json:"predicted,omitempty"` // of a board; no measurement
	}
	out := struct {
		Format     int                 `json:"format"`
		Study      string              `json:"study"`
		Question   string              `json:"question,omitempty"`
		Confidence float64             `json:"confidence"` // of every interval, 0 to 1
		Verdict    []string            `json:"verdict"`
		Cells      []cell              `json:"cells"`
		Warnings   []string            `json:"warnings"`
		Damage     []string            `json:"damage"` // the results are not as the lab wrote them: nothing is worth anything
		Effects    []effectsJSON       `json:"effects"`
		Claims     *scorecardJSON      `json:"claims,omitempty"`
		Facts      json.RawMessage     `json:"facts"`
		Runtimes   map[string][]string `json:"runtimes"` // by stack
		Benches    *benchesJSON        `json:"benches,omitempty"`
	}{1, r.Study.Name, r.Study.Question, r.Study.Design.Confidence, r.Verdict(), []cell{},
		append(r.damage(), append([]string{}, r.Warnings...)...), orEmpty(r.Damage), r.effectsJSON(), nil, r.RawFacts,
		r.Runtimes, r.benchesJSON()}
	if r.Published != nil {
		card := r.scorecardJSON()
		out.Claims = &card
	}
	ranked := r.rankedFigures()
	for i, x := range r.Cells {
		c := cell{map[string]string{}, string(x.Side), x.Response, x.Unit, string(x.Method), len(x.Points),
			exists(x.Mean.Center), ci(x.Mean),
			exists(x.SD), exists(x.Median.Center), ci(x.Median), exists(x.P95), x.center(), nil, nil, nil, nil, nil,
			nil, append([]string{}, x.Warnings...), publishedOf(x.Published), r.predictedJSON(i)}
		for i, l := range r.Treatments[x.Treatment].Levels {
			c.Treatment[r.Factors[i]] = l
		}
		if k := ranked[&r.Cells[i]]; k.by != "" {
			c.RankedBy, c.Ranked, c.RankedCI = &k.by, exists(k.Center), ci(k.Summary)
		}
		if x.HasFloor {
			c.Floor = exists(x.AboveFloor.Estimate)
		}
		for _, p := range x.Points {
			c.Means = append(c.Means, p.Mean)
			if r.Benches != nil {
				c.Benches = append(c.Benches, p.Bench)
			}
		}
		out.Cells = append(out.Cells, c)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func exists(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func ci(s stat.Summary) []float64 {
	if math.IsNaN(s.Lo) || math.IsNaN(s.Hi) {
		return nil
	}
	return []float64{s.Lo, s.Hi}
}

// publishedJSON is a published figure beside ours.
type publishedJSON struct {
	Mean      float64       `json:"mean"`
	HalfWidth stat.Number   `json:"half_width"`
	Unit      string        `json:"unit"`
	Ratio     stat.Number   `json:"ratio"` // ours over theirs
	RatioCI   stat.Interval `json:"ratio_ci"`
	Method    string        `json:"method,omitempty"`
	Why       string        `json:"why,omitempty"` // there is no ratio
}

func publishedOf(b *paper.Beside) *publishedJSON {
	if b == nil {
		return nil
	}
	return &publishedJSON{b.Mean, stat.Number(b.HalfWidth), b.Unit, stat.Number(b.Ratio.Estimate),
		stat.Interval{b.Ratio.Lo, b.Ratio.Hi}, b.Ratio.Method, b.Why}
}
