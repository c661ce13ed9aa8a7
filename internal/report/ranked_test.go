package report

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// JSON and CSV give the figure by which the answer ranks, with its interval, and say which it is: where requests
// failed, the median among all of them, which is neither the mean nor the median that stand there.
func TestFormatsGiveWhatIsRanked(t *testing.T) {
	for _, tt := range []struct {
		what string
		of   [2]lossy
		by   [2]string
	}{
		{"none failed", [2]lossy{{scale: 1}, {scale: 2}}, [2]string{"mean", "mean"}},
		{"none failed, skewed", [2]lossy{{scale: 1, slow: 0.05}, {scale: 2}}, [2]string{"median", "median"}},
		{"some of one failed", [2]lossy{{scale: 1, slowest: 0.2}, {scale: 2}},
			[2]string{"median_of_all", "median_of_all"}},
		{"most of one failed", [2]lossy{{scale: 1, slowest: 0.7}, {scale: 2}}, [2]string{"", "median_of_all"}},
	} {
		r := lossyReport(t, rand.New(rand.NewPCG(3, 4)), 10, 200, tt.of)
		var table, object strings.Builder
		if err := errors.Join(r.CSV(&table), r.JSON(&object)); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(table.String())).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var out struct {
			Cells []struct {
				By     *string   `json:"ranked_by"`
				Ranked *float64  `json:"ranked"`
				CI     []float64 `json:"ranked_ci"`
			}
		}
		if err := json.Unmarshal([]byte(object.String()), &out); err != nil {
			t.Fatal(err)
		}
		said := r.sentencesOn(group{treatments: []int{0, 1}}, question{"rtt", "Quickest", measure.Client})[0].Best
		for i, by := range tt.by {
			got, cell := func(column string) string { return rows[i+1][slices.Index(rows[0], column)] }, out.Cells[i]
			if by == "" {
				if got("ranked_by") != "" || got("ranked") != "" || cell.By != nil || cell.Ranked != nil ||
					cell.CI != nil {
					t.Errorf("%s: %s is ranked by %s %s, %v %v", tt.what, r.Treatments[i].Name(), got("ranked_by"),
						got("ranked"), cell.By, cell.Ranked)
				}
				continue
			}
			if cell.By == nil || cell.Ranked == nil || len(cell.CI) != 2 || *cell.By != by || got("ranked_by") != by ||
				got("ranked") != number(*cell.Ranked) || got("ranked_low") != number(cell.CI[0]) ||
				got("ranked_high") != number(cell.CI[1]) {
				t.Errorf("%s: %s: CSV has %s %s, %s to %s; JSON %v %v %v; want %s", tt.what, r.Treatments[i].Name(),
					got("ranked_by"), got("ranked"), got("ranked_low"), got("ranked_high"), cell.By, cell.Ranked,
					cell.CI, by)
				continue
			}
			if strings.HasPrefix(said, "Quickest: "+r.Treatments[i].Name()+", ") &&
				!strings.Contains(said, Format(*cell.Ranked, "s")+" ("+Format(cell.CI[0], "s")+" to "+
					Format(cell.CI[1], "s")) {
				t.Errorf("%s: %v %v in JSON; the answer says %s", tt.what, *cell.Ranked, cell.CI, said)
			}
		}
	}
}

// A figure of choose that is a median stands under a key that calls it no mean.
func TestChoiceInJSONCallsAMedianNoMean(t *testing.T) {
	r := lossyReport(t, rand.New(rand.NewPCG(3, 4)), 10, 200, [2]lossy{{scale: 1, slowest: 0.2}, {scale: 2}})
	l := r.Levels()[0]
	least := []advise.Objective{{Term: l.Headline(advise.Term{Response: "rtt"})}}
	choice, err := advise.Choose(l.Series, least, nil, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	var object strings.Builder
	if err := (Chosen{Levels: []LevelChoice{{Choice: choice}}}).JSON(&object); err != nil {
		t.Fatal(err)
	}
	var out struct {
		Candidates []struct {
			Objectives []struct {
				Figure      string
				Value, Mean float64
			}
		}
	}
	if err := json.Unmarshal([]byte(object.String()), &out); err != nil {
		t.Fatal(err)
	}
	for i, x := range out.Candidates {
		got, want := x.Objectives[0], choice.Candidates[i].Objectives[0].Center.Center
		if !strings.HasSuffix(got.Figure, "rtt.median") || got.Value != want || got.Mean != want {
			t.Errorf("%+v; want a median of %v", got, want)
		}
	}
}

// The p beside a simultaneous interval is that of the interval, and has a key that says no more than that; its older
// key holds the same. Of three levels it is three times that of the paired t test by itself (Bonferroni), of one
// factor; Holm's would be that of the smallest alone.
func TestPOfSimultaneousIntervals(t *testing.T) {
	w := exactly(func(at map[string]string, block int) float64 {
		return map[string]float64{"a": 1e-3, "b": 1.02e-3, "c": 1.1e-3}[at["stack"]] *
			wobble(7*block+int(at["stack"][0]))
	})
	r := reportOf(t, w.write(t, "study: s\nservice: monitor\nrequests: 100\nfactors: {stack: [a, b, c]}\n"+
		"design: {replications: 8, seed: 1}\n"))
	r.Effects = r.effectsOfAll()
	values := map[string][]float64{}
	for _, c := range r.Cells {
		for _, p := range c.Points {
			values[r.Treatments[c.Treatment].Levels[0]] = append(values[r.Treatments[c.Treatment].Levels[0]], p.Mean)
		}
	}
	levels := 0
	for _, e := range r.effectsJSON() {
		for _, x := range e.Levels {
			levels++
			alone, err := stat.RatioOfBlocks(values[x.Other], values[x.Best], 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if want := min(1, 3*alone.P); x.PAdjusted != x.PHolm || !(math.Abs(float64(x.PAdjusted)/want-1) < 1e-9) {
				t.Errorf("%s to %s: p %v, by the older name %v; want %v", x.Other, x.Best, x.PAdjusted, x.PHolm, want)
			}
			if (x.PAdjusted < 0.05) != (x.CI[0] > 1) {
				t.Errorf("%s to %s: p %v, interval %v", x.Other, x.Best, x.PAdjusted, x.CI)
			}
		}
	}
	if levels != 2 {
		t.Errorf("%d levels compared", levels)
	}
	var object strings.Builder
	least := []advise.Objective{{Term: advise.Term{Response: "rtt", Figure: "mean"}}}
	choice, err := advise.Choose(r.Levels()[0].Series, least, nil, 0.95)
	if err := errors.Join(err, r.JSON(&object),
		(Chosen{Levels: []LevelChoice{{Choice: choice}}}).JSON(&object)); err != nil {
		t.Fatal(err)
	}
	n, m := strings.Count(object.String(), `"p_adjusted"`), strings.Count(object.String(), `"p_holm"`)
	if n != 2+3 || m != n {
		t.Errorf("p_adjusted %d times, p_holm %d times", n, m)
	}
}
