package web

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
)

// A held report is one in memory, with the parts of its page.
type held struct {
	place
	*report.Report
	at    map[int]int // where a trial is among Trials
	whole bool        // its raw files have been read, and compared with their checksums
	rows  int64
	parts template.HTML
	read  time.Time
}

// reports remembers the last that were made, the newest first.
type reports struct {
	server *Server
	most   int64         // records that are read without being asked for
	faults time.Duration // see faultsLast
	mu     sync.Mutex
	last   []*held
}

// mostReports is how many stay in memory.
const mostReports = 8

// mostTreatments is how many a result may have to be shown: each is compared with the others.
const mostTreatments = 1000

// mostRows is how many records are read in about a second.
const mostRows = 2_000_000

// of gives the report of a result: with its raw files if that was asked for, if they
// are few, or if they have been read already.
func (c *reports) of(ctx context.Context, p place, whole bool) (*held, error) {
	h := c.known(p, whole)
	if h != nil && (len(h.Damage) == 0 || time.Since(h.read) < c.faults) {
		return h, nil
	}
	whole = whole || h != nil && h.whole
	s, err := p.store(true)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	h = &held{place: p, read: time.Now()}
	if h.rows, err = s.Rows(); err != nil {
		return nil, unreadable(err)
	}
	trials, err := s.Trials()
	if err != nil {
		return nil, unreadable(err)
	}
	treatments := 0
	for _, t := range trials {
		if t.Block == trials[0].Block {
			treatments++
		}
	}
	if treatments > mostTreatments && !c.server.static {
		return nil, fault{http.StatusUnprocessableEntity, fmt.Sprintf("%s has %d treatments, and pages compare at most %d. "+
			"edgegauge report %s --format csv writes the figures of all.", p.shown(), treatments, mostTreatments,
			report.QuotedPath(p.shown()))}
	}
	e := c.server.index.of([]place{p})[0]
	h.whole = whole || h.rows <= c.most && !e.running(p)
	if h.Report, err = c.read(ctx, s, h.whole); err != nil {
		return nil, unreadable(err)
	}
	h.Report.Dir = p.shown()
	h.at = make(map[int]int, len(h.Trials))
	for i, t := range h.Trials {
		h.at[t.ID] = i
	}
	if c.server.Finish != nil {
		c.server.Finish(p.shown(), h.Report)
	}
	var b bytes.Buffer
	if err := h.Parts(&b); err != nil {
		return nil, unreadable(err)
	}
	h.parts = template.HTML(b.String())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = slices.DeleteFunc(c.last, func(old *held) bool { return old.id == p.id })
	c.last = append([]*held{h}, c.last[:min(len(c.last), mostReports-1)]...)
	return h, nil
}

// read reads the whole until it is done, or nobody waits for it.
func (c *reports) read(ctx context.Context, s *store.Store, whole bool) (r *report.Report, err error) {
	if !whole {
		return report.ReadUnverified(s)
	}
	s.Until(ctx.Done())
	err = c.server.aside(ctx, func() error {
		if r, err = report.Read(s); err == nil {
			err = r.ReadRaw(s, report.PageTraces)
		}
		return cmp.Or(ctx.Err(), err)
	})
	return r, err
}

// known is a report in memory that is still true; nil: there is none.
func (c *reports) known(p place, whole bool) *held {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.last, func(h *held) bool {
		return h.id == p.id && h.key == p.key && (h.whole || !whole)
	})
	if i < 0 {
		return nil
	}
	return c.last[i]
}

type resultView struct {
	Frame
	ID, Shown  string
	Parts      template.HTML
	Whole      bool
	Rows       int64
	Running    bool
	Resumes    bool // a page goes on with it
	Treatments []treatmentRow
	Last       int       // number of the last trial
	Cut        bool      // not all trials are listed
	Searched   *searched // nil: it is no search
}

// A treatmentRow leads from a treatment to its trials.
type treatmentRow struct {
	Name   string
	Trials []trialMark
}

// A trialMark is a trial in a row or a strip.
type trialMark struct {
	ID    int
	State store.State
	Says  string
	To    string // its page, from the top; empty: it has none
}

func (s *Server) result(r *http.Request) (string, any, error) {
	p, err := s.find(r.PathValue("id"))
	if err != nil {
		return "", nil, err
	}
	h, err := s.reports.of(r.Context(), p, r.URL.Query().Get("whole") != "" || s.static)
	if err != nil {
		return "", nil, err
	}
	rows, cut := s.trialRows(h)
	v := resultView{Frame: s.frame(r, h.Study.Name+" "+p.shown()), ID: p.id, Shown: p.shown(), Parts: h.parts,
		Whole: h.whole, Rows: h.rows, Treatments: rows, Cut: cut, Last: len(h.Trials), Searched: p.searched()}
	e := s.index.of([]place{p})[0]
	v.Running, v.Resumes = e.running(p), p.resumes(e.state(p))
	return "result", v, nil
}

// mostListed is how many trials a result's page leads to.
const mostListed = 5000

// trialRows lists the trials by treatment, in the order of the plan; of very many the first of each,
// unless the pages are exported.
func (s *Server) trialRows(h *held) (_ []treatmentRow, cut bool) {
	most := mostListed / max(1, len(h.Treatments))
	if s.static {
		most = len(h.Trials)
	}
	rows := make([]treatmentRow, len(h.Treatments))
	for i, t := range h.Treatments {
		rows[i].Name = t.Name()
	}
	for at, t := range h.Trials {
		i := h.TreatmentOf(t.Treatment)
		if i >= 0 && len(rows[i].Trials) == most {
			cut = true
		} else if i >= 0 {
			m := mark(h.place, t)
			if !s.hasPage(at) {
				m.To = ""
			}
			rows[i].Trials = append(rows[i].Trials, m)
		}
	}
	return rows, cut
}

// goToTrial leads from the form of a result's page to a trial.
func (s *Server) goToTrial(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.ParseUint(r.URL.Query().Get("trial"), 10, 31)
	if err != nil {
		n = 1
	}
	http.Redirect(w, r, fmt.Sprintf("%d/", n), http.StatusSeeOther)
}

// hasPage says whether the trial at some place of the plan has a page.
func (s *Server) hasPage(at int) bool { return !s.static || at < s.trials }

func mark(p place, t store.TrialState) trialMark {
	return trialMark{t.ID, t.State, trialSays(t), trialPath(p, t.ID)}
}

// trialSays is a trial in words.
func trialSays(t store.TrialState) string {
	text := "trial " + itoa(t.ID)
	if levels := levelsOf(t); levels != "" {
		text += ": " + levels
	}
	text += ", " + string(t.State)
	if t.Refused > 0 {
		text += ", " + plural.Count(t.Refused, "invalid attempt") + ", the last: " + t.Reason
	}
	return text
}

// levelsOf is a trial's treatment in words.
func levelsOf(t store.TrialState) string {
	var levels []string
	for _, l := range t.Treatment {
		levels = append(levels, l.Text)
	}
	return strings.Join(levels, " ")
}
