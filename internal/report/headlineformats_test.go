package report

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

// Every format gives the headline that text shows with its interval, and those of figures say which of the two it is.
func TestFormatsGiveTheHeadline(t *testing.T) {
	for _, mixed := range []bool{false, true} {
		r := fakeReport(t, 2, 1, 10)
		for i := range r.Cells {
			c := &r.Cells[i]
			for k := range c.Points {
				c.Points[k].Median = c.Points[k].Mean * 0.8
			}
			if err := c.summarize(0.95); err != nil {
				t.Fatal(err)
			}
			c.ByMedian = c.Response == "rtt" && (!mixed || c.Treatment == 0)
		}
		var table, object, text, tex strings.Builder
		if err := errors.Join(r.CSV(&table), r.JSON(&object), r.Markdown(&text), r.LaTeX(&tex)); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(table.String())).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var out struct {
			Cells []struct {
				Headline string
				MedianCI []float64 `json:"median_ci"`
			}
		}
		if err := json.Unmarshal([]byte(object.String()), &out); err != nil {
			t.Fatal(err)
		}
		for i, c := range r.Cells {
			want := "mean"
			if c.ByMedian {
				want = "median"
			}
			got := func(column string) string { return rows[i+1][slices.Index(rows[0], column)] }
			if got("headline") != want || out.Cells[i].Headline != want {
				t.Errorf("%s: csv says %s, json %s, want %s", c.Response, got("headline"), out.Cells[i].Headline, want)
			}
			if got("median_low") != number(c.Median.Lo) || got("median_high") != number(c.Median.Hi) ||
				!slices.Equal(out.Cells[i].MedianCI, ci(c.Median)) {
				t.Errorf("%s: csv has %s to %s, json %v, want %v", c.Response, got("median_low"), got("median_high"),
					out.Cells[i].MedianCI, ci(c.Median))
			}
			if c.Response != "rtt" {
				continue
			}
			head, other := c.Headline(), c.Mean
			if !c.ByMedian {
				other = c.Median
			}
			cells := []string{r.Treatments[c.Treatment].Name(), Format(head.Center, c.Unit), range2(head, c.Unit),
				Format(c.SD, c.Unit), Format(other.Center, c.Unit)}
			if want := markdownRow(cells); !strings.Contains(text.String(), want) {
				t.Errorf("markdown lacks %s\n%s", want, text.String())
			}
			if want := latexText(cells[1]) + " & {}" + latexText(cells[2]); !strings.Contains(tex.String(), want) {
				t.Errorf("latex lacks %s", want)
			}
		}
		title := "| treatment | median | interval | sd | mean | p95 | trials |"
		if mixed {
			title = "| treatment | mean or median | interval | sd | median or mean | p95 | trials |"
		}
		if !strings.Contains(text.String(), title) ||
			!strings.Contains(text.String(), "| treatment | mean | interval | sd | median | p95 | trials |") {
			t.Errorf("no %s in\n%s", title, text.String())
		}
	}
}

func markdownRow(cells []string) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString("| " + markdownText(c) + " ")
	}
	return b.String()
}
