package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

type nowView struct {
	Frame
	Live liveView
}

// A liveView is what runs now.
type liveView struct {
	Frame
	Running []*running
	Ended   []*running // while somebody watched
	Newest  []found    // where nothing runs
	Over    bool       // the lab that opened this page has ended
	Begun   []started  // by this server, and not running
	// Confirming are the confirmations that have not ended, for histories.
	Confirming []confirmRow
}

// Says is the state in a sentence, for those who hear the page.
func (v liveView) Says() string {
	var parts []string
	for _, r := range v.Running {
		said := fmt.Sprintf("%s: %d of %d trials valid, %s invalid", r.Study, r.Valid, r.Total,
			plural.Count(r.Refused, "attempt"))
		if r.Silent != "" {
			said += ", nothing heard of its lab"
		}
		parts = append(parts, said)
	}
	for _, r := range v.Ended {
		parts = append(parts, r.Study+" has ended")
	}
	if len(parts) == 0 {
		return "No study is running."
	}
	return strings.Join(parts, "; ")
}

// A running study, as its ledger has it.
type running struct {
	place                         place
	Study, Question               string
	Shown, Path                   string
	Total, Valid, Refused, Blocks int
	Left, Wanted, Step            string
	Current                       *currentTrial
	Strip                         []trialMark
	Each                          int // trials that a mark of the strip stands for
	Failures                      []failureRow
	Head                          []string
	Rows                          [][]string
	MoreRows                      int // treatments that are not listed
	Picture                       *report.Picture
	Drawn                         string // what the picture shows
	Unknown                       string // a figure that takes more benches or blocks, and why; empty: none does
	Without                       string // why there are no figures so far; empty: there are
	Stopping                      bool   // it was asked to
	Silent                        string // for how long nothing was heard of its lab; empty: it runs
	Resumes                       bool   // it has ended, and a page goes on with it
	Live                          []liveRow
	Benches                       []benchRow
	MoreBenches                   int
	Disagree                      []string // in what benches differ so far
	Searches                      string   // for the capacity at which a server keeps this
	Fault                         string
	pace                          time.Duration // of an attempt, those that were lost among them
}

type currentTrial struct {
	ID, Attempt, Block int
	Name               string
	Began              time.Time
	To                 string
}

type failureRow struct {
	Trial, Attempt int
	To, Reason     string
}

// A watch remembers what was found running, so that not every look searches all folders.
type watch struct {
	places   []place
	search   time.Time
	known    map[string]*running // by id
	ended    []*running
	resting  []found
	compared []found // results that compare two versions, as they were found
	read     pace    // of ledgers
	cpu      cpuClock
	courses  map[string]*labCourse // by id
}

// A pace is how often something may be done: once in a period, and once more right after a
// pause, since what is written in two steps is often looked at between them.
type pace struct{ last, before time.Time }

func (p *pace) took(now time.Time) { p.before, p.last = p.last, now }

// due says whether it may be done again.
func (p *pace) due(now time.Time, every time.Duration) bool {
	return now.Sub(p.last) >= every || now.Sub(p.before) >= 2*every
}

// stirred says whether the ledger of a running study has changed since it was read.
func (w *watch) stirred() bool {
	return slices.ContainsFunc(w.places, func(p place) bool {
		r := w.known[p.id]
		st, err := p.folder.root.Lstat(p.dir + "/" + ledgerFile)
		return r != nil && err == nil && p.folder.place(p.dir, st).key != r.place.key
	})
}

// newest are the results that compare two versions, as they are now.
func (w *watch) newest(now []*running) []found {
	all := slices.Clone(w.compared)
	for i := range all {
		f := &all[i]
		f.State = "unfinished"
		for _, r := range append(slices.Clone(w.ended), now...) {
			if r.place.id == f.id {
				f.Valid, f.Trials = r.Valid, r.Total
			}
		}
		if slices.ContainsFunc(now, func(r *running) bool { return r.place.id == f.id }) {
			f.State = "running"
		}
	}
	return all
}

// mostEnded of the studies that ended while somebody watched are shown, the last ones.
const mostEnded = 5

// end notes that a study has ended, maybe not for the first time. What its ledger says is under way is not any more.
func (w *watch) end(r *running) {
	r.Current, r.Left = nil, ""
	w.ended = append(slices.DeleteFunc(w.ended, func(x *running) bool { return x.place.id == r.place.id }), r)
	w.ended = slices.Clone(w.ended[max(0, len(w.ended)-mostEnded):])
}

// live says what runs now.
func (s *Server) live(w *watch, step stepOf, over bool) liveView {
	if w.known == nil {
		w.known, w.courses = map[string]*running{}, map[string]*labCourse{}
	}
	if time.Since(w.search) >= searchEvery || s.changing() {
		w.search, w.places, w.resting = time.Now(), nil, nil
		all := s.results()
		w.compared = comparing(all)
		for _, f := range all {
			switch {
			case f.State == "running":
				w.places = append(w.places, f.place)
			case len(w.resting) < 5:
				f.Resumes = f.resumes(f.State)
				w.resting = append(w.resting, f)
			}
		}
	}
	v := liveView{Over: over}
	busy, read := -1.0, false
	if len(w.places) > 0 && time.Since(w.cpu.at) > renewEvery*9/10 {
		busy = w.cpu.since()
	}
	for _, old := range w.places {
		st, err := old.folder.root.Lstat(old.dir + "/" + ledgerFile)
		if err != nil {
			continue
		}
		p := old.folder.place(old.dir, st)
		r := w.known[p.id]
		if r == nil || r.place.key != p.key {
			// One that is only looked at again takes nobody's turn.
			read = read || r == nil || r.place.state != p.state
			r = readRunning(p)
			w.known[p.id] = r
		}
		shown := *r
		shown.Stopping = s.orders.stops(p.path())
		c := w.courses[p.id]
		if c == nil {
			c = new(labCourse)
			w.courses[p.id] = c
		}
		said := c.renew(p, busy)
		shown.Step, shown.Live = said.Step, c.rows()
		if shown.Silent = said.silent(time.Now()); shown.Silent != "" {
			shown.Left = ""
		}
		shown.Benches, shown.MoreBenches = heardOf(r.Benches, said.Benches, said.MoreBenches), said.MoreBenches
		if len(r.Benches) > 1 {
			shown.Disagree = s.agreed.of(p, r.Valid)
		}
		if step.Dir == p.path() {
			shown.Step = step.Step
		}
		v.Running = append(v.Running, &shown)
	}
	if read {
		w.read.took(time.Now())
	}
	for id, r := range w.known {
		if !slices.ContainsFunc(v.Running, func(x *running) bool { return x.place.id == id }) {
			last, e := readRunning(r.place), readEntry(r.place)
			last.Resumes = r.place.resumes(e.state(r.place))
			w.end(last)
			delete(w.known, id)
			delete(w.courses, id)
		}
	}
	v.Ended = slices.DeleteFunc(slices.Clone(w.ended), func(r *running) bool { return w.known[r.place.id] != nil })
	v.Begun = s.begun(v.Running)
	v.Confirming = s.confirmations(w.newest(v.Running))
	if len(v.Running)+len(v.Ended) == 0 {
		v.Newest = w.resting
	}
	return v
}

func (s *Server) now(r *http.Request) (string, any, error) {
	v := nowView{Frame: s.frame(r, "Now")}
	v.Where = "now"
	s.hub.mu.Lock()
	step, over := s.hub.step, s.hub.ended
	s.hub.mu.Unlock()
	v.Live = s.live(new(watch), step, over)
	v.Live.Frame = v.Frame
	return "now", v, nil
}

// readRunning reads a running study's ledger. What is wrong with it is its Fault.
func readRunning(p place) *running {
	r := &running{place: p, Study: p.shown(), Shown: p.shown(), Path: "r/" + p.id + "/"}
	if err := r.read(); err != nil {
		r.Fault = err.Error()
	}
	return r
}

func (r *running) read() error {
	s, err := r.place.store(false)
	if err != nil {
		return err
	}
	defer s.Close()
	runs, err := s.Runs()
	if err != nil {
		return err
	}
	last := runs[len(runs)-1]
	y, err := readStudy(s, last)
	if err != nil {
		return err
	}
	r.Study, r.Question = y.Name, y.Question
	trials, err := s.Trials()
	if err != nil {
		return err
	}
	attempts, err := s.Attempts(0)
	if err != nil {
		return err
	}
	r.count(y, trials, attempts)
	if r.Benches = benchesOf(trials, attempts); r.Benches != nil {
		r.Current = nil // each bench has its own
	}
	r.foresee(trials, attempts, last, y)
	if slo := r.place.searches(); slo != "" {
		r.Searches, r.Left = slo, ""
	}
	if n := y.Treatments(); n > mostTreatments {
		r.Without = fmt.Sprintf("It has %d treatments: edgegauge report %s prints the figures of the trials so far.", n,
			report.QuotedPath(r.Shown))
	} else if err := r.summarize(s); err != nil {
		r.Without = "The figures of the trials so far cannot be shown: " + err.Error()
	}
	return nil
}

// mostMarks is how many marks a strip has.
const mostMarks = 1000

// mostFailures of those that failed last are named.
const mostFailures = 5

func (r *running) count(y study.Study, trials []store.TrialState, attempts []store.AttemptState) {
	names := map[int]store.TrialState{}
	r.Each = (len(trials) + mostMarks - 1) / mostMarks
	for i, t := range trials {
		names[t.ID] = t
		r.Refused += t.Refused
		r.Blocks = max(r.Blocks, t.Block)
		if t.State != store.Lacking && !report.Dropped(y, t) { // its bench need not run it, or nobody asks for it
			r.Total++
		}
		if t.State == store.Valid {
			r.Valid++
		}
		m := mark(r.place, t)
		if i%r.Each == 0 {
			r.Strip = append(r.Strip, m)
		} else if last := &r.Strip[len(r.Strip)-1]; urgency(t.State) > urgency(last.State) {
			*last = m // of several trials the mark shows the one to look at
		}
	}
	for _, a := range slices.Backward(attempts) {
		t := names[a.Trial]
		switch {
		case a.State == store.Running && r.Current == nil:
			r.Current = &currentTrial{a.Trial, a.Attempt, t.Block, levelsOf(t), a.Began, trialPath(r.place, a.Trial)}
		case a.State == store.Invalid && len(r.Failures) < mostFailures:
			r.Failures = append(r.Failures, failureRow{a.Trial, a.Attempt, trialPath(r.place, a.Trial), a.Reason})
		}
	}
}

// urgency orders the states of trials by what a reader must see first.
func urgency(s store.State) int {
	return slices.Index([]store.State{store.Lacking, store.Planned, store.Valid, store.Invalid, store.Running}, s)
}

// foresee estimates the time left from the pace of this run: attempts that were lost count.
func (r *running) foresee(trials []store.TrialState, attempts []store.AttemptState, run store.Run, y study.Study) {
	if r.pace = paceOfRun(attempts, run); r.Benches != nil {
		r.pace = paceOfBenches(attempts)
	}
	if r.pace > 0 {
		left := r.pace * time.Duration(r.Total-r.Valid)
		r.Left = "about " + study.DurationText(left.Round(time.Second))
	}
	if d := y.Design; d.Precision > 0 {
		r.Wanted = fmt.Sprintf("blocks are added until every interval is within %.3g %% of its mean", 100*d.Precision)
		if d.Budget.Blocks > 0 {
			r.Wanted += fmt.Sprintf(", at most %d", d.Budget.Blocks)
		} else if d.Budget.Time > 0 {
			r.Wanted += ", for at most " + study.DurationText(d.Budget.Time)
		}
	}
}

// paceOfRun is what an attempt took in this run, with all between two; 0: none has ended.
func paceOfRun(attempts []store.AttemptState, run store.Run) time.Duration {
	var ended int
	var first, last time.Time
	for _, a := range attempts {
		if a.Began.Before(run.Started) || a.Ended.IsZero() {
			continue
		}
		if ended++; first.IsZero() {
			first = a.Began
		}
		last = a.Ended
	}
	return last.Sub(first) / time.Duration(max(ended, 1))
}

// paceOfBenches is that of benches, which measure beside each other. Each has a clock of its own, so that only what an
// attempt took can be told from it.
func paceOfBenches(attempts []store.AttemptState) time.Duration {
	var took time.Duration
	ended, busy := 0, map[string]bool{}
	for _, a := range attempts {
		switch {
		case a.State == store.Running:
			busy[a.Bench.Name] = true
		case a.State != store.Interrupted && !a.Ended.IsZero(): // of those nobody knows when they ended
			took += a.Ended.Sub(a.Began)
			ended++
		}
	}
	return took / time.Duration(max(ended, 1)*max(len(busy), 1))
}
