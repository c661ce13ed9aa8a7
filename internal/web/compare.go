package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
)

// mostCompared is how many results are compared at once.
const mostCompared = 8

type compareView struct {
	Frame
	Choice   []found // to choose from
	Asked    []chosen
	Base     string
	All      bool
	Settings [][]string // below a head
	Facts    [][]string
	Same     int // facts that do not differ
	Against  []comparison
	Problem  string
	Without  string // the address without the equal and undecided figures, or with them
}

// A chosen result is one that is compared.
type chosen struct {
	ID, Shown, Study, Path string
	Base                   bool
	Pin                    string // the address that makes it the baseline
}

// A comparison is one result against the baseline.
type comparison struct {
	Shown, Says string
	Head        []string
	Rows        [][]string
	Level       string   // of the intervals
	Notes       []string // what the verdict rests on less than that of edgegauge compare
	Differences []string
	Lost        []string
	Only        []string // what else to know of it
	Warnings    []string
	Cure        string
	Problem     string
}

func (s *Server) compare(r *http.Request) (string, any, error) {
	q := r.URL.Query()
	v := compareView{Frame: s.frame(r, "Compare"), All: q.Get("all") != "", Base: q.Get("base")}
	v.Where = "compare"
	ids := q["r"]
	if s.static { // those that are exported
		for _, p := range s.places() {
			ids = append(ids, p.id)
		}
		v.All = true
	} else {
		v.Choice = slices.DeleteFunc(s.results(), func(f found) bool { return f.Fault != "" })
		v.Choice = v.Choice[:min(len(v.Choice), perPage)]
	}
	var all []*held
	for _, id := range ids {
		if slices.ContainsFunc(all, func(h *held) bool { return h.id == id }) {
			continue
		}
		if len(all) == mostCompared {
			v.Problem = fmt.Sprintf("Only the first %d results are compared.", mostCompared)
			break
		}
		p, err := s.find(id)
		if err != nil {
			return "", nil, err
		}
		h, err := s.reports.of(r.Context(), p, false)
		if err != nil {
			return "", nil, err
		}
		all = append(all, h)
	}
	if len(all) < 2 {
		for _, h := range all {
			v.Asked = append(v.Asked, chosen{ID: h.id})
		}
		return "compare", v, nil
	}
	v.Title = "Compare " + all[0].shown() + " and " + all[1].shown()
	if more := len(all) - 2; more > 0 {
		v.Title += fmt.Sprintf(" and %d more", more)
	}
	base := max(0, slices.IndexFunc(all, func(h *held) bool { return h.id == v.Base }))
	all[0], all[base] = all[base], all[0]
	for i, h := range all {
		pin := url.Values{"r": ids, "base": {h.id}}
		v.Asked = append(v.Asked, chosen{h.id, h.shown(), h.Study.Name, "r/" + h.id + "/", i == 0, "?" + pin.Encode()})
	}
	other := url.Values{"r": ids, "base": {all[0].id}}
	if !v.All {
		other.Set("all", "1")
	}
	v.Without = "?" + other.Encode()
	v.Settings, v.Facts, v.Same = differences(all)
	for _, h := range all[1:] {
		v.Against = append(v.Against, s.against(all[0], h, v.All))
	}
	return "compare", v, nil
}

// against compares a result with the baseline, as edgegauge compare does.
func (s *Server) against(base, h *held, all bool) comparison {
	out := comparison{Shown: h.shown()}
	terms := report.Terms{Margin: 0.05}
	for _, x := range []*held{base, h} {
		if e := s.index.of([]place{x.place})[0]; e.running(x.place) {
			terms.AllowLost = true
			out.Notes = append(out.Notes, fmt.Sprintf("%s is being measured: %d of %d trials are valid so far. The others do "+
				"not count as lost, and failed requests are not judged yet.", x.shown(), e.Valid, e.Trials))
		}
		if !x.whole {
			out.Notes = append(out.Notes, fmt.Sprintf("Of %s only the ledger was read: its files were not compared with their "+
				"checksums, as edgegauge compare does.", x.shown()))
		}
	}
	if len(base.Damage)+len(h.Damage) > 0 {
		out.Problem = "One of the two has changed since the lab wrote it; no verdict is based on such figures."
		return out
	}
	c, err := report.Compare(base.Report, h.Report, terms)
	if err != nil {
		out.Problem = err.Error()
		return out
	}
	c.All = all
	rows, _ := c.Rows()
	out.Says, out.Head, out.Rows, out.Level = c.Says(), rows[0], rows[1:], c.Level()
	if why := s.noVerdict(base, h); why != "" {
		out.Says = "No verdict: " + why
	}
	out.Warnings, out.Cure = c.Warnings, c.Cure
	for _, text := range c.Differences {
		out.Differences = append(out.Differences, clipped(text))
	}
	for _, l := range c.Lost {
		out.Lost = append(out.Lost, l.Kind()+": "+l.String())
	}
	for _, f := range c.Failed {
		if text := f.Kind("failures") + ": " + f.String(); f.Verdict != stat.Contradicted {
			out.Lost = append(out.Lost, text)
		} else {
			out.Only = append(out.Only, text)
		}
	}
	if of := c.OfAnswered(); of != "" {
		out.Only = append(out.Only, of)
	}
	for _, x := range c.Contrasts {
		if all && x.Doubt != "" {
			out.Only = append(out.Only, fmt.Sprintf("%s %s, %s: %s", x.Treatment, x.Response, x.Side, x.Doubt))
		}
	}
	for _, x := range []struct {
		names []string
		where string
	}{{c.OnlyOld, base.shown()}, {c.OnlyNew, h.shown()}} {
		if len(x.names) > 0 {
			out.Only = append(out.Only, fmt.Sprintf("only in %s, so not compared: %s", x.where, strings.Join(x.names, ", ")))
		}
	}
	if len(c.Gone) > 0 {
		out.Only = append(out.Only, fmt.Sprintf("%s lacks, so not compared: %s", h.shown(), strings.Join(c.Gone, ", ")))
	}
	return out
}

// noVerdict says why figures of two results are no answer to whether it got worse: edgegauge compare refuses them.
func (s *Server) noVerdict(base, h *held) string {
	for _, x := range []*held{base, h} {
		if x.Search != "" {
			return "trials of a search for a capacity are at rates that it chose itself, most of them one at each."
		}
		if valid, of := x.Interrupted(); of > 0 && !s.index.of([]place{x.place})[0].running(x.place) {
			return fmt.Sprintf("%s is unfinished, %d of %s valid; resume it first.", x.shown(), valid, plural.Count(of, "trial"))
		}
	}
	if differ := report.LoadDifferences(base.Report, h.Report); len(differ) > 0 {
		return fmt.Sprintf("the two are of different loads, not of two versions under one: %s.", clipped(strings.Join(differ,
			"; ")))
	}
	return ""
}

// differences are the settings and the facts that are not the same in all results, each
// with its value in every one of them.
func differences(all []*held) (settings, facts [][]string, same int) {
	set := make([]map[string]string, len(all))
	known := make([]map[string]string, len(all))
	for i, h := range all {
		set[i], known[i] = settingsOf(h.Report), map[string]string{}
		var tree any
		facts := json.NewDecoder(bytes.NewReader(h.RawFacts))
		facts.UseNumber() // 16777216000 B, not 1.6777216e+10
		if facts.Decode(&tree) == nil {
			flatten(known[i], "", tree)
		}
	}
	settings, _ = table(set)
	facts, same = table(known)
	return settings, facts, same
}

func settingsOf(r *report.Report) map[string]string {
	d := r.Study.Design
	out := map[string]string{"study": r.Study.Name, "replications": itoa(d.Replications), "warm-up": fmt.Sprint(d.WarmUp),
		"time": fmt.Sprint(r.Study.Time)}
	for _, x := range r.Study.Fixed {
		out[x.Key] = x.Value.Text
	}
	for _, f := range r.Study.Factors {
		var levels []string
		for _, l := range f.Levels {
			levels = append(levels, l.Text)
		}
		out["factor "+f.Name] = strings.Join(levels, ", ")
	}
	for _, o := range r.Study.Overrides {
		out[o.Path] = o.Value
	}
	return out
}

// flatten turns a JSON tree into paths and values.
func flatten(to map[string]string, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			flatten(to, strings.TrimPrefix(at+"."+k, "."), x)
		}
	case []any:
		for i, x := range v {
			flatten(to, fmt.Sprintf("%s[%d]", at, i), x)
		}
	default:
		to[at] = fmt.Sprint(v)
	}
}

// mostDifferences is how many rows such a table has.
const mostDifferences = 300

// table lists the keys whose values are not the same everywhere, and counts the others.
func table(all []map[string]string) (rows [][]string, same int) {
	var keys []string
	for _, m := range all {
		for k := range m {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		row, differs := []string{clipped(k)}, false
		first, there := all[0][k]
		for _, m := range all {
			value, ok := m[k]
			differs = differs || ok != there || value != first
			if !ok {
				value = "not set"
			}
			row = append(row, clipped(value))
		}
		switch {
		case !differs:
			same++
		case len(rows) < mostDifferences:
			rows = append(rows, row)
		}
	}
	return rows, same
}
