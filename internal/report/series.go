package report

import (
	"fmt"
	"slices"

	"edgegauge/internal/advise"
	"edgegauge/internal/store"
)

// Series are the report's cells in the words of advise.
func (r *Report) Series() []advise.Series {
	var out []advise.Series
	for _, c := range r.Cells {
		t := r.Treatments[c.Treatment]
		s := advise.Series{Factors: r.Factors, Levels: t.Levels, Stack: t.Stack, Floor: isFloor(t.Stack), Side: c.Side, Response: c.Response, Unit: c.Unit, Modelled: c.Method == store.Modelled}
		for _, p := range c.Points {
			s.Trials = append(s.Trials, advise.Trial{ID: p.Trial, Block: p.Block, Mean: p.Mean, Median: p.Median, P95: p.P95, SD: p.SD})
		}
		out = append(out, s)
	}
	return out
}

// SetupDifferences says in what two results differ besides their figures.
func SetupDifferences(old, new *Report) []string {
	var out []string
	add := func(what, a, b string) {
		if a != b {
			out = append(out, fmt.Sprintf("%s: %s before, %s now", what, orNone(a), orNone(b)))
		}
	}
	add("study", old.Study.Name, new.Study.Name)
	keys := map[string][2]string{}
	for i, r := range []*Report{old, new} {
		for _, s := range r.Study.Fixed {
			k := keys[s.Key]
			k[i] = s.Value.Text
			keys[s.Key] = k
		}
		for _, o := range r.Study.Overrides {
			k := keys[o.Path]
			k[i] = o.Value
			keys[o.Path] = k
		}
	}
	for _, k := range sortedKeys(keys) {
		add(k, keys[k][0], keys[k][1])
	}
	if old.Study.Design.WarmUp != new.Study.Design.WarmUp {
		add("warm-up", fmt.Sprint(old.Study.Design.WarmUp), fmt.Sprint(new.Study.Design.WarmUp))
	}
	for _, name := range sortedKeys(new.Facts.Devices) {
		a, b := old.Facts.Devices[name], new.Facts.Devices[name]
		add("device "+name, a.Model+", "+a.Kernel, b.Model+", "+b.Kernel)
	}
	return slices.Compact(out)
}

func orNone(s string) string {
	if s == "" {
		return "not set"
	}
	return s
}
