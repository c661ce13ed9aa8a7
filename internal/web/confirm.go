package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/study"
)

// A ConfirmOrder is what an order measures again: two results of one study, each in the
// version of its own (edgegauge confirm).
type ConfirmOrder struct {
	Old      string        `json:"old"`      // results directory of the earlier run
	New      string        `json:"new"`      // likewise, of the later
	Base     string        `json:"base"`     // the version of Old: a revision, a folder or a binary
	Response string        `json:"response"` // with its side
	Detect   string        `json:"detect"`   // the least change that matters, such as 5%
	Most     time.Duration `json:"most"`     // ns that all blocks may take
	Another  bool          `json:"another"`  // the programs here need not be those of New
}

// confirmsIn reads what results confirm, or are to; nil: nothing.
func confirmsIn(p place, file string) (*report.Confirms, error) {
	f, err := p.open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil, err
	}
	c, err := report.ReadConfirms(text)
	return &c, err
}

// confirming is what results are to confirm whose confirmation has not ended; nil: nothing.
func (p place) confirming() *report.Confirms {
	if _, err := p.folder.root.Lstat(p.dir + "/" + report.ConfirmationFile); err == nil {
		return nil
	}
	c, err := confirmsIn(p, report.ConfirmingFile)
	if err != nil {
		return nil // a stranger's: it is a comparison, and the history says so
	}
	return c
}

// A confirmRow is a confirmation that has not ended.
type confirmRow struct {
	ID                         string // of its results
	Study, What, Path          string // Path: of its results, from the top; empty: there are none yet
	State                      string // prepares, running, stopping, stopped, failed
	Valid, Total               int
	Said                       string
	old, new                   time.Time // when the runs began, or
	oldDir, newDir, responseOf string    // where they are
}

// Class is the state's in the style.
func (c confirmRow) Class() string {
	switch c.State {
	case "stopped":
		return "unfinished"
	case "failed":
		return "interrupted"
	case "prepares":
		return "whole"
	}
	return "running"
}

// Stoppable says whether a lab works for it that can be asked to stop.
func (c confirmRow) Stoppable() bool { return c.State == "running" && c.Path != "" }

// about says whether a row is about two runs and a response.
func (c confirmRow) about(old, new report.Past, oldPath, newPath, response string) bool {
	runs := c.oldDir != "" && c.oldDir == oldPath && c.newDir == newPath ||
		!c.old.IsZero() && c.old.Equal(old.Began) && c.new.Equal(new.Began)
	return runs && slices.Contains(strings.Fields(c.responseOf), response)
}

// comparing are the results that compare two versions of a stack.
func comparing(all []found) []found {
	base := func(name string) bool { _, ok := study.IsBase(name); return ok }
	var out []found
	for _, f := range all {
		if f.Fault == "" && slices.ContainsFunc(f.Stacks, base) {
			out = append(out, f)
		}
	}
	return out
}

// confirmations are those of results and of this server's orders that have not ended.
func (s *Server) confirmations(compared []found) []confirmRow {
	var out []confirmRow
	for _, f := range compared {
		c := f.place.confirming()
		if c == nil {
			continue
		}
		x := confirmRow{ID: f.id, Study: f.Study, Path: f.Path(), State: "stopped", Valid: f.Valid, Total: f.Trials,
			What: confirmWords(c.OldDir, c.NewDir, c.Responses), old: c.Old, new: c.New,
			responseOf: strings.Join(c.Responses, " ")}
		if f.State == "running" {
			x.State = "running"
		}
		if s.orders.stops(f.path()) {
			x.State = "stopping"
		}
		out = append(out, x)
	}
	s.orders.mu.Lock()
	defer s.orders.mu.Unlock()
	for k, o := range s.orders.all {
		c := o.Order.Confirm
		later := slices.ContainsFunc(s.orders.all[k+1:], func(x *started) bool { return x.Order.Out == o.Order.Out })
		if c == nil || later || o.Ended && o.Code == 0 || o.Order.hasConfirmed() {
			continue
		}
		id := idOf(o.Order.Out)
		i := slices.IndexFunc(out, func(x confirmRow) bool { return x.ID == id })
		if i < 0 {
			i = len(out)
			out = append(out, confirmRow{ID: id, Study: o.Name, What: confirmWords(c.Old, c.New, []string{c.Response}),
				State: "failed", oldDir: c.Old, newDir: c.New, responseOf: c.Response})
		}
		switch x := &out[i]; {
		case o.Ended && x.State != "running": // else it was begun again, from elsewhere
			x.Said = o.Said
		case !o.Ended && (x.State == "stopped" || x.State == "failed"):
			x.State = "prepares"
		}
	}
	return out
}

func confirmWords(old, new string, responses []string) string {
	var words []string
	for _, text := range responses {
		if t, err := advise.ParseTerm(text); err == nil {
			text = report.Words(t.Response)
			if t.Side != "" {
				text += ", " + string(t.Side)
			}
		}
		words = append(words, text)
	}
	return fmt.Sprintf("%s, in the versions of %s and %s", strings.Join(words, "; "), old, new)
}

// A confirmView asks whether to confirm a suspect.
type confirmView struct {
	Frame
	Key, Problem string
	Study, What  string
	Old, New     found
	Response     string // with its side
	Base, Detect string
	Minutes      string
	Another      bool
	Foreign      []string
	Seen         string
	Beside       []string
	Kept         string // path of what was measured before it was stopped; empty: nothing
	Valid, Total int
	out          string // results directory that it goes on in; empty: a new one
	Back         string
}

// The least and the most minutes that all blocks may take.
const leastMinutes, mostMinutes = 1, 24 * 60

// suspect reads which suspect an address or a form is about.
func (s *Server) suspect(r *http.Request, v url.Values) (c confirmView, err error) {
	c = confirmView{Frame: s.frame(r, "Confirm a suspect"), Response: v.Get("response"), Detect: "5%", Minutes: "30"}
	c.Where = "history"
	t, err := advise.ParseTerm(c.Response)
	if err != nil || t.Side == "" {
		return c, notFound("There is no such response; open this page from a history.")
	}
	c.What = report.Words(t.Response) + ", " + string(t.Side)
	for _, x := range []struct {
		to *found
		id string
	}{{&c.Old, v.Get("old")}, {&c.New, v.Get("new")}} {
		p, err := s.find(x.id)
		if err != nil {
			return c, err
		}
		e := s.index.of([]place{p})[0]
		if *x.to = (found{place: p, entry: e, State: e.state(p)}); e.Fault != "" {
			return c, fault{http.StatusUnprocessableEntity, e.Fault}
		}
	}
	c.Study = c.New.Study
	c.Title = "Confirm " + c.Study
	c.Back = "history/?" + url.Values{"study": {c.Study}}.Encode()
	if c.Old.Study != c.Study || !c.Old.Began.Before(c.New.Began) {
		return c, fault{http.StatusConflict, "The first of the two must be an earlier run of the same study."}
	}
	if s.pasts.one(c.New.place).Unstarted() != "" {
		return c, fault{http.StatusConflict, "The study measures a service that edgegauge does not start, so it cannot " +
			"start another version; the history says how to measure both."}
	}
	c.Base = s.pasts.one(c.Old.place).Commit()
	if _, c.Foreign, err = s.resuming(c.New.place); err != nil {
		return c, err
	}
	c.Seen = digest(c.Foreign)
	return c, s.before(&c)
}

// before looks for a confirmation of the same that was stopped.
func (s *Server) before(c *confirmView) error {
	for _, f := range s.results() {
		x := f.place.confirming()
		if x == nil || !x.Old.Equal(c.Old.Began) || !x.New.Equal(c.New.Began) ||
			!slices.Equal(x.Responses, []string{c.Response}) {
			continue
		}
		if f.written() {
			return fault{http.StatusConflict, "This is being measured again already, in " + f.Shown() + "."}
		}
		c.out, c.Kept, c.Valid, c.Total = f.path(), f.Path(), f.Valid, f.Trials
		c.Detect = fmt.Sprintf("%g%%", 100*x.Detect)
		if report.IsCommit(x.Base) { // a path of a stranger's would be a program that is run
			c.Base = x.Base
		}
	}
	s.orders.mu.Lock()
	defer s.orders.mu.Unlock()
	for _, o := range s.orders.all {
		if x := o.Order.Confirm; x != nil && !o.Ended && x.Old == c.Old.path() && x.New == c.New.path() &&
			x.Response == c.Response {
			return fault{http.StatusConflict, "This is being measured again already."}
		}
	}
	return nil
}

func (s *Server) confirmPage(r *http.Request) (string, any, error) {
	v, err := s.suspect(r, r.URL.Query())
	if err != nil {
		return "", nil, err
	}
	v.Key, v.Beside = s.keys.next(), s.beside("")
	return "confirm", v, nil
}

var detectText = lazy.Regexp(`^(\d{1,3}(?:\.\d{1,3})?) ?%?$`)

// confirm answers the form: it starts the confirmation, or says what is wrong with the form.
func (s *Server) confirm(w http.ResponseWriter, r *http.Request) {
	err := readForm(r)
	if err == nil {
		err = s.keys.take(r.PostForm.Get("key"))
	}
	var v confirmView
	if err == nil {
		v, err = s.suspect(r, r.PostForm)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	f := r.PostForm
	v.Base, v.Detect = strings.TrimSpace(f.Get("base")), strings.TrimSpace(f.Get("detect"))
	v.Minutes, v.Another = f.Get("minutes"), f.Get("another") != ""
	var refused fault
	if err := s.beginConfirm(r, v); errors.As(err, &refused) {
		s.page(func(r *http.Request) (string, any, error) {
			v.Problem, v.Key, v.Beside = refused.text, s.keys.next(), s.beside("")
			return "confirm", v, nil
		})(w, r)
		return
	}
	http.Redirect(w, r, v.To(v.Back), http.StatusSeeOther)
}

func (s *Server) beginConfirm(r *http.Request, v confirmView) error {
	wrong := func(format string, args ...any) error {
		return fault{http.StatusConflict, fmt.Sprintf(format, args...)}
	}
	var minutes int
	percent := detectText().FindStringSubmatch(v.Detect)
	switch _, err := fmt.Sscanf(v.Minutes+"\n", "%d\n", &minutes); {
	case v.Base == "":
		return wrong("The older version is not named: write a git revision, or the path of a folder or a binary.")
	case strings.HasPrefix(v.Base, "-") || len(v.Base) > 4096 ||
		strings.ContainsFunc(v.Base, func(c rune) bool { return c < ' ' }):
		return wrong("%.40q is no name of a version: write a git revision, or the path of a folder or a binary.", v.Base)
	case percent == nil || strings.Trim(percent[1], "0.") == "":
		return wrong("%.20q is no change: write a percentage above 0, such as 5%%.", v.Detect)
	case err != nil || minutes < leastMinutes || minutes > mostMinutes:
		return wrong("%.20q is no time limit: write minutes, %d to %d.", v.Minutes, leastMinutes, mostMinutes)
	}
	if err := agreed(r, v.Foreign, s.beside("")); err != nil {
		return err
	}
	out := v.out
	if out == "" {
		var err error
		if out, err = s.newResults(v.Study); err != nil {
			return wrong("%v", err)
		}
	}
	return s.begin(v.Study, Order{Out: out, Trust: len(v.Foreign) > 0, Confirm: &ConfirmOrder{Old: v.Old.path(),
		New: v.New.path(), Base: v.Base, Response: v.Response, Detect: percent[1] + "%",
		Most: time.Duration(minutes) * time.Minute, Another: v.Another}})
}

// hasConfirmed says whether an order's confirmation came to a verdict: its exit code says which.
func (o Order) hasConfirmed() bool {
	if o.Confirm == nil {
		return false
	}
	text, err := kernel.ReadFile(filepath.Join(o.Out, report.ConfirmationFile), 1<<20)
	return err == nil && json.Valid(text)
}

// stoppedConfirmation says why a study cannot be resumed by itself: its older version was put
// beside it by edgegauge confirm.
func stoppedConfirmation(p place) error {
	return fault{http.StatusConflict, p.shown() + " is a confirmation that was stopped. Its study's history has the " +
		"button that goes on with it."}
}
