package web

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

func itoa(n int) string { return strconv.Itoa(n) }

// trialPath is a trial's page, from the top.
func trialPath(p place, trial int) string { return fmt.Sprintf("r/%s/t/%d/", p.id, trial) }

// A trialAt is a trial of a report, with its store open.
type trialAt struct {
	*held
	kept      *store.Store
	index     int // among the report's trials
	state     store.TrialState
	treatment int // place among the report's; -1: none
	close     func()
}

// trialOf finds the trial that an address names. Close it.
func (s *Server) trialOf(r *http.Request) (*trialAt, error) {
	p, err := s.find(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	h, err := s.reports.of(r.Context(), p, false)
	if err != nil {
		return nil, err
	}
	id, _ := strconv.Atoi(r.PathValue("trial")) // no number: no trial has 0
	i, ok := h.at[id]
	if !ok {
		return nil, notFound("%s has no trial %.20q.", p.shown(), r.PathValue("trial"))
	}
	kept, closed, err := s.opened(p)
	if err != nil {
		return nil, err
	}
	return &trialAt{h, kept, i, h.Trials[i], h.TreatmentOf(h.Trials[i].Treatment), closed}, nil
}

// opened gives the store of results whose folders were looked through for their report, and what
// closes it. An export keeps it open: looking through a ledger takes as long as it is large.
func (s *Server) opened(p place) (*store.Store, func(), error) {
	if kept := s.stores[p.id]; kept != nil {
		return kept, func() {}, nil
	}
	kept, err := p.store(false)
	if err != nil {
		return nil, nil, err
	}
	if s.static {
		s.stores[p.id] = kept
		return kept, func() {}, nil
	}
	return kept, func() { kept.Close() }, nil
}

// page is the trial's, from the top.
func (t *trialAt) page() string { return trialPath(t.place, t.state.ID) }

// name is the trial's treatment in words.
func (t *trialAt) name() string {
	if t.treatment < 0 {
		return levelsOf(t.state)
	}
	return t.Treatments[t.treatment].Name()
}

// trail leads to the trial.
func (t *trialAt) trail() []crumb {
	return []crumb{{t.Study.Name + " " + t.shown(), "r/" + t.id + "/"}, {"trial " + itoa(t.state.ID), t.page()}}
}

type trialView struct {
	Frame
	Shown, Name    string
	Trial          store.TrialState
	Facts          [][2]string
	Attempts       []attemptView
	Sides          []sideView
	Traces         []traceView
	Power          *courseView // requests over time, with the power beneath; nil: there is none, or
	PowerSays      string      // why
	Warnings       []string
	Quality        []store.Quality
	Captures       []fileLink
	Before, Behind *crumb // the trials beside, in the order of the plan
	Path           string
	Missing        []string // what cannot be shown, and why
}

type attemptView struct {
	store.AttemptState
	Logs []fileLink
}

type fileLink struct {
	Name, To string
	Size     int64
}

// A sideView is what one side's clock and counters saw of a trial.
type sideView struct {
	Side     measure.Side
	Phases   *report.Picture
	Courses  []courseView
	Slowest  []pick
	Requests int
	Failed   int
}

type courseView struct {
	Title          string
	Spread, Course report.Picture
	Drawn, Of      int
	Off            string // how far the power beneath may lie to either side
}

// A pick is a request worth a look.
type pick struct {
	Seq   int64
	Value string
	To    string
}

type traceView struct{ Picture report.Picture }

func (s *Server) trial(r *http.Request) (string, any, error) {
	t, err := s.trialOf(r)
	if err != nil {
		return "", nil, err
	}
	defer t.close()
	v := trialView{Frame: s.frame(r, fmt.Sprintf("Trial %d of %s", t.state.ID, t.shown())), Shown: t.shown(),
		Name: t.name(), Trial: t.state, Path: t.page(), Facts: t.facts(), Warnings: t.warnings()}
	v.Trail = t.trail()[:1]
	v.Before, v.Behind = s.neighbours(t)
	if v.Attempts, err = t.attempts(); err != nil {
		return "", nil, unreadable(err)
	}
	if s.static {
		v.onlyTexts()
	}
	if t.state.State != store.Valid {
		return "trial", v, nil
	}
	if v.Quality, err = t.kept.Quality(t.state.ID, t.state.Attempt); err != nil {
		return "", nil, unreadable(err)
	}
	if v.Captures, err = t.captures(); err != nil {
		return "", nil, unreadable(err)
	}
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		x, err := t.side(side)
		switch {
		case errors.Is(err, store.ErrNoData):
		case err != nil:
			v.Missing = append(v.Missing, fmt.Sprintf("The %s's records: %v", side, err))
		default:
			v.Sides = append(v.Sides, x)
		}
	}
	traces, err := t.ReadTracesOf(t.kept, t.state)
	if err != nil {
		v.Missing = append(v.Missing, fmt.Sprintf("Power: %v", err))
	}
	for _, x := range traces {
		v.Traces = append(v.Traces, traceView{x.Picture(t.Report)})
	}
	if v.Power, v.PowerSays, err = t.powerOverCourse(traces); err != nil {
		v.Missing = append(v.Missing, fmt.Sprintf("Power over the requests: %v", err))
	}
	return "trial", v, nil
}

// facts are what was wanted of the trial.
func (t *trialAt) facts() [][2]string {
	out := [][2]string{{"block", itoa(t.state.Block)}, {"replication", itoa(t.state.Replication)}}
	for _, l := range t.state.Treatment {
		out = append(out, [2]string{l.Factor, l.Text})
	}
	if t.treatment < 0 {
		return out
	}
	x := t.Treatments[t.treatment].Setup()
	concurrency := itoa(x.Concurrency)
	if p := x.Population; p.Devices > 0 {
		concurrency = ""
		out = append(out, [2]string{"devices", itoa(p.Devices)}, [2]string{"phase", p.Phase})
		if p.Period > 0 {
			out = append(out, [2]string{"period", study.DurationText(p.Period)})
		}
	}
	for _, f := range [][2]string{{"service", x.Service}, {"client", x.Client.Stack + " on " + x.Client.Device},
		{"server", x.Server.Stack + " on " + x.Server.Device}, {"server at", x.URL}, {"encoding", x.Encoding},
		{"security", x.Security}, {"transport", x.Transport}, {"connection", x.Connection}, {"link", x.Link.Text},
		{"concurrency", concurrency}, {"placement", x.Placement}} {
		known := slices.ContainsFunc(out, func(o [2]string) bool { return o[0] == f[0] })
		if f[1] != "" && !strings.HasPrefix(f[1], " on ") && !known {
			out = append(out, f)
		}
	}
	if j, err := t.kept.Joint(store.AttemptID{Trial: t.state.ID, Attempt: t.state.Attempt}); err == nil {
		for _, b := range j.Benches {
			out = append(out, [2]string{"driven from " + b.Bench, fmt.Sprintf("%d requests, from %d", b.Requests, b.First)})
		}
		out = append(out, [2]string{"began", fmt.Sprintf("at most %v apart", j.Apart)})
	}
	return out
}

// warnings are those of the figures that the trial is part of.
func (t *trialAt) warnings() []string {
	var out []string
	for _, c := range t.Cells {
		if c.Treatment == t.treatment {
			for _, w := range c.Warnings {
				out = addOnce(out, fmt.Sprintf("%s at the %s, over all trials of this treatment: %s",
					report.Words(c.Response), c.Side, w))
			}
		}
	}
	return out
}

func (s *Server) neighbours(t *trialAt) (before, behind *crumb) {
	to := func(i int) *crumb {
		if i < 0 || i >= len(t.Trials) || !s.hasPage(i) {
			return nil
		}
		return &crumb{"trial " + itoa(t.Trials[i].ID), trialPath(t.place, t.Trials[i].ID)}
	}
	return to(t.index - 1), to(t.index + 1)
}

func (t *trialAt) attempts() ([]attemptView, error) {
	all, err := t.kept.Attempts(t.state.ID)
	var out []attemptView
	for _, a := range all {
		x := attemptView{AttemptState: a}
		entries, _ := t.list(t.logFolder(a.Attempt)) // none: it wrote nothing
		for _, e := range entries {
			if st, err := e.Info(); err == nil && st.Mode().IsRegular() {
				x.Logs = append(x.Logs, fileLink{e.Name(), fmt.Sprintf("%sa/%d/%s", t.page(), a.Attempt, e.Name()), st.Size()})
			}
		}
		slices.SortFunc(x.Logs, func(a, b fileLink) int { return strings.Compare(a.Name, b.Name) })
		out = append(out, x)
	}
	return out, err
}

// onlyTexts takes the links from files that a browser may take for more than text where no server says what they are: a
// stranger's program may have left a page with scripts beside its log.
func (v *trialView) onlyTexts() {
	for _, a := range v.Attempts {
		for i := range a.Logs {
			if !slices.Contains([]string{".log", ".json", ".txt"}, path.Ext(a.Logs[i].Name)) {
				a.Logs[i].To = ""
			}
		}
	}
}

// logFolder is where an attempt's logs are, below the results.
func (t *trialAt) logFolder(attempt int) string {
	return path.Join("trials", filepath.Base(t.kept.TrialDir(t.state.ID, attempt)))
}

func (t *trialAt) captures() ([]fileLink, error) {
	paths, err := t.kept.Captures(t.state.ID)
	var out []fileLink
	for _, p := range paths {
		x := fileLink{Name: path.Base(p), To: t.page() + "packets/" + path.Base(p)}
		if f, err := t.open(p); err == nil {
			if st, err := f.Stat(); err == nil {
				x.Size = st.Size()
			}
			f.Close()
		}
		out = append(out, x)
	}
	return out, err
}

// mostDots is how many exchanges a figure draws.
const mostDots = 2000

// mostPicks is how many slow requests are named.
const mostPicks = 10

// drawnFields are the fields whose course and spread are drawn, by side.
var drawnFields = map[measure.Side][]string{
	measure.Client: {"rtt", "total", "serialization", "deserialization"},
	measure.Server: {"total", "processing", "serialization", "deserialization"},
}

func (t *trialAt) side(side measure.Side) (sideView, error) {
	c, err := t.columns(side)
	if err != nil {
		return sideView{}, err
	}
	defer c.Close()
	v := sideView{Side: side, Requests: c.Rows(), Failed: c.Rows() - c.Answered()}
	if v.Phases, err = phases(side, c); err != nil {
		return v, err
	}
	var values []int64
	for _, name := range drawnFields[side] {
		f, _ := measure.FindField(name)
		values, err = c.Read(values[:0], name)
		if errors.Is(err, store.ErrNoData) || len(values) == 0 || slices.Max(values) == 0 {
			continue
		}
		if err != nil {
			return v, err
		}
		places := report.Thinned(values, mostDots)
		id := fmt.Sprintf("%s-%s", name, side)
		title := fmt.Sprintf("%s at the %s", report.Words(f.Response.Name), side)
		v.Courses = append(v.Courses, courseView{Title: title, Drawn: len(places), Of: len(values),
			Spread: report.Spread(id+"-spread", title, f, values),
			Course: report.Scatter(id+"-course", title, f, values, places)})
		if side == measure.Client && len(v.Slowest) == 0 { // a request's page is found by the client's number
			if v.Slowest, err = t.slowest(c, f, values); err != nil {
				return v, err
			}
		}
	}
	return v, nil
}

// slowest names the requests that took longest, and the first.
func (t *trialAt) slowest(c *store.Columns, f *measure.Field, values []int64) ([]pick, error) {
	seqs, err := c.Read(nil, "seq")
	if err != nil {
		return nil, err
	}
	places := make([]int, 0, mostPicks+1)
	for i, v := range values {
		at, _ := slices.BinarySearchFunc(places, v, func(p int, v int64) int {
			return int(min(max(v-values[p], -1), 1))
		})
		if at < mostPicks {
			places = slices.Insert(places, at, i)[:min(len(places)+1, mostPicks)]
		}
	}
	var out []pick
	for _, p := range places {
		out = append(out, pick{seqs[p], report.Format(float64(values[p])*f.Scale(), f.Response.Unit),
			fmt.Sprintf("%sx/%d/", t.page(), seqs[p])})
	}
	return out, nil
}

// phases draws the means of all phases that a side's answered requests recorded, whichever the study asks for, in their
// order and by that side's clock.
func phases(side measure.Side, c *store.Columns) (*report.Picture, error) {
	var values []int64
	mean := func(field string) (float64, error) {
		f, _ := measure.FindField(field)
		var err error
		if values, err = c.Read(values[:0], field); len(values) == 0 || errors.Is(err, store.ErrNoData) {
			return 0, nil
		}
		sum := 0.0
		for _, v := range values {
			sum += float64(v)
		}
		return sum / float64(len(values)) * f.Scale(), err
	}
	order := []string{"serialization", "connection", "rtt", "deserialization"}
	if side == measure.Server {
		order = []string{"deserialization", "processing", "serialization"}
	}
	var bars []report.Bar
	at := 0.0
	for _, name := range order {
		d, err := mean(name)
		if err != nil {
			return nil, err
		}
		if d > 0 {
			bars = append(bars, report.Bar{Name: phaseName(name), From: at, To: at + d, Class: "fig-phase"})
			at += d
		}
	}
	switch d, err := mean("total"); {
	case err != nil:
		return nil, err
	case d > 0:
		bars = append(bars, report.Bar{Name: "total", From: 0, To: d, Class: "fig-whole"})
	}
	if len(bars) == 0 {
		return nil, nil
	}
	p := report.Waterfall("phases-"+string(side), fmt.Sprintf("Mean phases at the %s, by its own clock", side), bars)
	return &p, nil
}

// phaseName says what an RTT is for the reader of a waterfall.
func phaseName(response string) string {
	if response == "rtt" {
		return "request and response on their way (RTT)"
	}
	return response
}

// log sends a log as text: whatever it holds, no browser takes it for a page.
func (s *Server) log(w http.ResponseWriter, r *http.Request) {
	s.send(w, r, "text/plain; charset=utf-8", func(t *trialAt) (string, error) {
		attempt, err := strconv.Atoi(r.PathValue("attempt"))
		if err != nil {
			return "", notFound("no such attempt")
		}
		all, err := t.kept.Attempts(t.state.ID)
		if err != nil {
			return "", unreadable(err)
		}
		if !slices.ContainsFunc(all, func(a store.AttemptState) bool { return a.Attempt == attempt }) {
			return "", notFound("no such attempt")
		}
		return path.Join(t.logFolder(attempt), path.Base(r.PathValue("file"))), nil
	})
}

// capture sends a capture file to be kept.
func (s *Server) capture(w http.ResponseWriter, r *http.Request) {
	s.send(w, r, "application/octet-stream", func(t *trialAt) (string, error) {
		paths, err := t.kept.Captures(t.state.ID)
		for _, p := range paths {
			if path.Base(p) == r.PathValue("file") {
				return p, err
			}
		}
		return "", notFound("no such capture")
	})
}

// attachment has a browser keep a file under its name, which may be a stranger's.
func attachment(name string) string {
	return mime.FormatMediaType("attachment", map[string]string{"filename": name})
}

// send answers with a file of a trial.
func (s *Server) send(w http.ResponseWriter, r *http.Request, kind string, which func(*trialAt) (string, error)) {
	t, err := s.trialOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer t.close()
	name, err := which(t)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	f, err := t.open(name)
	if err != nil {
		http.Error(w, "not there, or not a plain file", http.StatusNotFound)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", kind)
	if !strings.HasPrefix(kind, "text/") {
		w.Header().Set("Content-Disposition", attachment(path.Base(name)))
	}
	_, _ = io.Copy(&unhurried{w, http.NewResponseController(w)}, f) // the browser went away
}
