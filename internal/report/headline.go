package report

import (
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// skewFrom is the share from which mean and median differ so much that a few slow
// requests or trials weigh more than all others.
const skewFrom = 0.10

// skewed reports whether the mean is not typical: in a third of the trials it lies far
// from the median of their requests, or the mean of the trials far from their median.
func (c *Cell) skewed(means []float64) bool {
	far := 0
	for _, p := range c.Points {
		if !math.IsNaN(p.SD) && apart(p.Mean, p.Median) {
			far++
		}
	}
	if far > 0 && 3*far >= len(c.Points) {
		return true
	}
	m, err := stat.Median(means, 0.95)
	return err == nil && len(means) > 2 && apart(sum64(means)/float64(len(means)), m.Center)
}

func apart(mean, median float64) bool {
	return median != 0 && math.Abs(mean/median-1) >= skewFrom
}

// chooseHeadlines decides, for each response of a side and each group, whether its
// figure is the median of trial medians: where trials are skewed or in clusters. All
// treatments of a group have the same, or they could not be compared. Results of
// earlier versions keep the mean, and so does a response that a paper printed: papers
// print means, and a median beside one compares two things. Shares of requests are means.
func (r *Report) chooseHeadlines() error {
	if r.Facts.Placement == nil {
		return nil
	}
	_, printed, err := r.beside()
	if err != nil {
		return err
	}
	type panel struct {
		side     measure.Side
		response string
		group    int
	}
	groups := r.groups()
	of := func(c Cell) panel { return panel{c.Side, c.Response, r.groupOf(groups, c.Treatment)} }
	wanted, unfit := map[panel]bool{}, map[panel]bool{}
	for _, c := range r.Cells {
		p := of(c)
		wanted[p] = wanted[p] || c.Skewed || c.Clustered
		unfit[p] = unfit[p] || !c.Median.HasInterval() && c.Mean.HasInterval()
	}
	for _, b := range printed {
		unfit[of(r.Cells[b.Series])] = true
	}
	for i, c := range r.Cells {
		p := of(c)
		x, _ := measure.FindResponse(c.Response)
		r.Cells[i].ByMedian = wanted[p] && !unfit[p] && !x.Share()
	}
	return nil
}

// Headline is the figure that is shown and, unless requests failed, ranked.
func (c *Cell) Headline() stat.Summary {
	if c.ByMedian {
		return c.Median
	}
	return c.Mean
}

// center is what the headline is of the trials.
func (c *Cell) center() string {
	if c.ByMedian {
		return "median"
	}
	return "mean"
}

// beside is the center that is not the headline.
func (c *Cell) beside() stat.Summary {
	if c.ByMedian {
		return c.Mean
	}
	return c.Median
}

// value is a trial's, of which the headline is made.
func (c *Cell) value(p Point) float64 {
	if c.ByMedian {
		return p.Median
	}
	return p.Mean
}

// HasP95 reports whether every treatment, floors aside, that has a response at the client has a p95 of it.
func (r *Report) HasP95(response string) bool {
	has := false
	for _, c := range r.Cells {
		if c.Side == measure.Client && c.Response == response && !r.isFloor(r.Treatments[c.Treatment].Stack) {
			if has = !math.IsNaN(c.P95); !has {
				return false
			}
		}
	}
	return has
}

// centers are what a panel's figures are of trials.
func (r *Report) centers(p Panel) string {
	switch r.byMedian(p.Side, p.Response) {
	case "":
		return "mean"
	case allMedian:
		return "median"
	}
	return "mean or median"
}

// besideCenters are what beside gives of a panel's figures.
func (r *Report) besideCenters(p Panel) string {
	return map[string]string{"mean": "median", "median": "mean", "mean or median": "median or mean"}[r.centers(p)]
}

// allMedian is what byMedian says where all figures are medians.
const allMedian = " (median)"

// byMedian says how a response's figures are titled that are medians, and of which
// groups they are where not of all.
func (r *Report) byMedian(side measure.Side, response string) string {
	groups, all := r.groups(), true
	var by []string
	for _, c := range r.Cells {
		if c.Side != side || c.Response != response {
			continue
		}
		all = all && c.ByMedian
		name := "other floors"
		if g := r.groupOf(groups, c.Treatment); g >= 0 {
			name = groups[g].name
		}
		if c.ByMedian && !slices.Contains(by, name) {
			by = append(by, name)
		}
	}
	switch {
	case len(by) == 0:
		return ""
	case all:
		return allMedian
	}
	return " (median: " + list(by, mostNames) + ")"
}
