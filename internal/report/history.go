package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/plural"
)

// The orders of a history.
const (
	ByDate    = "date"
	ByCommit  = "commit"
	ByVersion = "version"
)

// A History is one study over its runs.
type History struct {
	Study   string
	By      string
	Runs    []Past // in their order
	Labels  []string
	Series  []history.Judged
	LeftOut []string // results that are not in it, each with the reason
	Confirm []Past   // confirmations of its runs
	Others  []string // other studies among the results

	confirmed []history.Confirmation // what Confirm says of its series
	pointless map[int]string         // runs of which a series has no point, and why
	began     []Beginning
	time      string // in the first sentence: what is not the time by which a report ranks, and why; empty: nothing
}

// ErrNoHistory says that results make no history.
var ErrNoHistory = errors.New("no history")

// ErrUnreadable says that none of the results can be read.
var ErrUnreadable = errors.New("no history")

// MakeHistory puts results into one history of a study (empty: the only one there is). What asks something else
// than the newest result is left out. The terms say which responses; nil: the time by which a report of the newest
// ranks, or what it has instead.
func MakeHistory(all []Past, studyName, by string, terms []advise.Term) (History, error) {
	h := History{Study: studyName, By: by, pointless: map[int]string{}}
	runs, err := h.runsOf(all)
	if err != nil {
		return h, err
	}
	h.keep(runs)
	if err := h.label(); err != nil {
		return h, err
	}
	h.collect(terms)
	h.confirmed = h.confirmations(all, runs[len(runs)-1])
	judged := make([]history.Series, len(h.Series))
	for i, j := range h.Series {
		judged[i] = j.Series
	}
	h.Series = history.Judge(judged, h.confirmed)
	h.began = h.beginnings()
	return h, nil
}

// runsOf are the results that are runs of the study, in the order in which they began.
func (h *History) runsOf(all []Past) ([]Past, error) {
	var runs []Past
	for _, p := range all {
		switch {
		case p.Failed != "":
			h.LeftOut = append(h.LeftOut, p.Dir+": "+p.Failed)
		case p.Confirms != nil:
		default:
			h.Others = addWord(h.Others, p.Study)
			if h.Study == "" || p.Study == h.Study {
				runs = append(runs, p)
			}
		}
	}
	if h.Study == "" && len(h.Others) > 1 {
		return nil, fmt.Errorf("%w: the results are of %d studies; choose one with --study: %s", ErrNoHistory, len(h.Others),
			strings.Join(h.Others, ", "))
	}
	if len(h.Others) == 0 && len(h.LeftOut) > 0 {
		return nil, fmt.Errorf("%w: no result can be used: %s", ErrUnreadable, strings.Join(h.LeftOut, "; "))
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("%w: no result is of study %q; there are: %s", ErrNoHistory, h.Study,
			orNone(strings.Join(h.Others, ", ")))
	}
	slices.SortStableFunc(runs, func(a, b Past) int { return a.Began.Compare(b.Began) })
	return runs, nil
}

// keep takes the runs that ask what the newest, which is the last, does, each once.
func (h *History) keep(runs []Past) {
	newest := runs[len(runs)-1]
	h.Study = newest.Study
	h.Others = slices.DeleteFunc(h.Others, func(s string) bool { return s == h.Study })
	seen := map[time.Time]string{}
	for _, p := range runs {
		diff := p.differs(newest)
		switch first, twice := seen[p.Began]; {
		case diff != "":
			h.LeftOut = append(h.LeftOut, fmt.Sprintf("%s asks something else than the newest, %s: %s", p.Dir, newest.Dir, diff))
		case twice:
			h.LeftOut = append(h.LeftOut, fmt.Sprintf("%s is the same run as %s", p.Dir, first))
		default:
			seen[p.Began] = p.Dir
			h.Runs = append(h.Runs, p)
		}
	}
}

// confirmations are what was said of two of its runs, named as the newest run names its figures.
func (h *History) confirmations(all []Past, newest Past) []history.Confirmation {
	var out []history.Confirmation
	place := func(began time.Time) int {
		return slices.IndexFunc(h.Runs, func(p Past) bool { return p.Began.Equal(began) })
	}
	for _, p := range all {
		if p.Confirms == nil || p.Failed != "" {
			continue
		}
		old, new := place(p.Confirms.Old), place(p.Confirms.New)
		copied := slices.ContainsFunc(h.Confirm, func(q Past) bool { return q.Began.Equal(p.Began) })
		if old < 0 || new <= old || copied {
			continue
		}
		h.Confirm = append(h.Confirm, p)
		for _, a := range p.Answers {
			for _, f := range newest.Figures {
				if f.setup == a.setup && f.Side == a.Side && f.Response == a.Response {
					a.Old, a.New, a.Treatment = old, new, f.Treatment
					out = append(out, a.Confirmation)
				}
			}
		}
	}
	return out
}

// label names the runs and puts those of one commit or version beside each other, in the order in which each was first
// measured. Commits stand as their repository has them, where it is known: one that is measured later, to find a change
// between two others, belongs between these. One that the repository lacks stands behind the one measured before it.
func (h *History) label() error {
	of := map[string]func(Past) string{
		ByDate:    func(p Past) string { return p.Began.Local().Format("2006-01-02 15:04") },
		ByCommit:  func(p Past) string { return strings.Join(p.Commits, " ") },
		ByVersion: func(p Past) string { return strings.Join(p.Versions, " ") },
	}[h.By]
	if of == nil {
		return fmt.Errorf("%w: --by %s: write date, commit or version", ErrNoHistory, h.By)
	}
	first := map[string]int{}
	for i, p := range h.Runs {
		l := of(p)
		if l == "" {
			return fmt.Errorf("%w by %s: %s does not say its %[2]s; use --by date. A stack's commit is kept where its folder "+
				"is in a git repository, its version where stack.yaml has one", ErrNoHistory, h.By, p.Dir)
		}
		if _, ok := first[l]; !ok {
			first[l] = i
		}
	}
	if h.By != ByDate {
		slices.SortStableFunc(h.Runs, func(a, b Past) int { return first[of(a)] - first[of(b)] })
	}
	if h.By == ByCommit {
		h.Runs = inRepository(h.Runs, of)
	}
	times := map[string]int{}
	for _, p := range h.Runs {
		h.Labels = append(h.Labels, of(p))
		times[of(p)]++
	}
	for i, p := range h.Runs {
		if h.By == ByDate && times[of(p)] > 1 {
			h.Labels[i] = p.Began.Local().Format("2006-01-02 15:04:05")
		}
	}
	return nil
}

// inRepository puts the runs of commits, which stand beside each other, in the order of the repository.
func inRepository(runs []Past, label func(Past) string) []Past {
	type group struct {
		place int
		runs  []Past
	}
	var groups []group // each of a commit whose place is known, but for the first, with those behind it
	for i, p := range runs {
		if last := len(groups) - 1; last >= 0 && (p.Place == 0 || i > 0 && label(runs[i-1]) == label(p)) {
			groups[last].runs = append(groups[last].runs, p)
			continue
		}
		groups = append(groups, group{p.Place, []Past{p}})
	}
	slices.SortStableFunc(groups, func(a, b group) int { return a.place - b.place })
	var out []Past
	for _, g := range groups {
		out = append(out, g.runs...)
	}
	return out
}

// collect makes the series of the terms.
func (h *History) collect(terms []advise.Term) {
	newest := h.Runs[len(h.Runs)-1]
	if terms == nil && len(newest.Figures) > 0 {
		terms = h.headline(newest)
	}
	for _, f := range newest.Figures {
		if !slices.ContainsFunc(terms, func(t advise.Term) bool { return t.Matches(f.Series) }) {
			continue
		}
		s := history.Series{Treatment: f.Treatment, Side: f.Side, Response: f.Response, Unit: f.Unit,
			Higher: moreIsBetter(f.Response), Linear: linear(f.Response)}
		is := func(x PastFigure) bool { return x.setup == f.setup && x.Side == f.Side && x.Response == f.Response }
		s.OfAll = slices.ContainsFunc(h.Runs, func(p Past) bool {
			return slices.ContainsFunc(p.Figures, func(x PastFigure) bool { return is(x) && x.OfAnswered() })
		})
		for i, p := range h.Runs {
			for _, x := range p.Figures {
				if !is(x) {
					continue
				}
				if s.OfAll {
					x.Log, x.SE, x.Point.Trials, x.Why = x.ofAll.Log, x.ofAll.SE, x.ofAll.Trials, x.ofAllWhy
				}
				if x.Modelled != f.Modelled {
					x.Why = "one is measured, the other modelled"
				}
				if x.Why != "" {
					h.pointless[i] = x.Why
					h.LeftOut = append(h.LeftOut, fmt.Sprintf("%s has no point of %s %s, %s: %s", p.Dir, x.Treatment, x.Response,
						x.Side, x.Why))
					continue
				}
				x.Point.Run = i
				s.Points = append(s.Points, x.Point)
			}
		}
		if s.Linear {
			h.atLeastByChance(s.Points, is)
		}
		if len(s.Points) < 2 {
			s.Why = plural.Count(len(s.Points), "run") + plural.Verb(len(s.Points), " has", " have") +
				" a figure; a history needs several"
		}
		if hasNoBetter(f.Response) {
			s.Why = "more of it is neither better nor worse"
		}
		h.Series = append(h.Series, history.Judged{Series: s})
	}
}
