package web

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
)

type historyView struct {
	Frame
	Studies   []string // to choose from
	Study     string
	By        string
	Bys       []string
	Responses []responseChoice
	Base      string // id of the run that is pinned; empty: none
	Unpin     string // address without it
	Answer    string
	Charts    []chart
	Began     []report.Beginning
	LeftOut   []string
	Problem   string
	// Confirming are the confirmations that have not ended.
	Confirming []confirmRow
}

type responseChoice struct {
	Name, Says string
	Asked      bool
}

// A chart is a series with all that is said of it.
type chart struct {
	Title   string
	Figure  template.HTML
	Between string // how runs differ beyond their own errors; empty: it is not judged
	Why     string
	Marks   []markRow
	Rows    []historyRow
	Based   bool // rows are set against a baseline
}

// A markRow is a mark in words.
type markRow struct {
	Sign, Class, Says string
	To                string // results of its confirmation, from the top; empty: there are none
	Command           string // that confirms it
	Confirm           string // page that starts it, from the top; empty: this page starts nothing
	Now               bool   // it is being measured again
	Unstarted         bool   // edgegauge does not start what is measured: its user starts both versions
}

// A historyRow is a run of a chart.
type historyRow struct {
	Label, Path, Value, Interval, Marks string
	OfBase                              string // times the baseline, with an interval
	Base                                bool
	Pin                                 string // the address that makes it the baseline
}

// A pasts remembers what histories need of results, for as long as their ledgers do not change.
type pasts struct {
	mu    sync.Mutex
	known map[string]keptPast // by path
}

type keptPast struct {
	key  string
	past report.Past
}

// of reads what is not known, on all CPUs.
func (k *pasts) of(places []place) []report.Past {
	out := make([]report.Past, len(places))
	var group sync.WaitGroup
	next := make(chan int)
	for range min(runtime.NumCPU(), len(places)) {
		group.Go(func() {
			for i := range next {
				out[i] = k.one(places[i])
			}
		})
	}
	for i := range places {
		next <- i
	}
	close(next)
	group.Wait()
	return out
}

func (k *pasts) one(p place) report.Past {
	key := p.key
	if st, err := p.folder.root.Lstat(p.dir + "/" + report.ConfirmationFile); err == nil { // it comes after the last trial
		key += fmt.Sprint(" ", st.ModTime().UnixNano())
	}
	k.mu.Lock()
	kept, ok := k.known[p.path()]
	k.mu.Unlock()
	if ok && kept.key == key {
		return kept.past
	}
	past, err := readPast(p)
	if past.Dir = p.shown(); err != nil {
		past.Failed = err.Error()
	}
	for i := range past.Answers {
		past.Answers[i].Dir = past.Dir
	}
	if err != nil { // it may be mended while the ledger stays as it is
		return past
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = map[string]keptPast{}
	}
	k.known[p.path()] = keptPast{key, past}
	return past
}

// readPast reads a result's ledger, and what its programs said of themselves. Its raw files are read by its own page,
// but for the exchanges of trials of which requests failed, if they are few.
func readPast(p place) (report.Past, error) {
	confirms, err := confirmsIn(p, report.ConfirmationFile)
	if err != nil {
		return report.Past{}, err
	}
	s, err := p.store(true)
	if err != nil {
		return report.Past{}, err
	}
	defer s.Close()
	rows, err := s.Rows()
	if err != nil {
		return report.Past{}, err
	}
	read := report.ReadUnverified
	if rows <= mostRows {
		read = report.ReadPast
	}
	r, err := read(s)
	if err != nil {
		return report.Past{}, err
	}
	past := report.PastOf(r, confirms)
	if confirms == nil && p.confirming() != nil {
		past.Failed = "it is a confirmation that has not ended"
	}
	lists := [][]string{past.Versions, past.Commits}
	for _, f := range past.Figures {
		lists = append(lists, f.Machine)
	}
	for _, list := range lists { // they are a stranger's, each is shown with every run, and all are held
		for i, text := range list {
			list[i] = clipped(text)
		}
	}
	return past, nil
}

// mostName is how much of a version, a fact or a setting is shown, in B.
const mostName = 1000

func clipped(text string) string {
	if len(text) > mostName {
		return strings.ToValidUTF8(text[:mostName], "") + " …"
	}
	return text
}

// mostSeries is how many series a history's page draws.
const mostSeries = 200

func (s *Server) history(r *http.Request) (string, any, error) {
	q := r.URL.Query()
	v := historyView{Frame: s.frame(r, "History"), Study: q.Get("study"), By: q.Get("by"), Base: q.Get("base"),
		Bys: []string{report.ByDate, report.ByCommit, report.ByVersion}}
	v.Where = "history"
	if !slices.Contains(v.Bys, v.By) {
		v.By = report.ByDate
	}
	ids := map[string]found{} // by how a directory is shown
	var places []place
	found := s.results()
	for _, f := range found {
		if f.Fault != "" {
			continue
		}
		v.Studies = addOnce(v.Studies, f.Study)
		ids[f.Shown()] = f
	}
	slices.Sort(v.Studies)
	if v.Study == "" && len(v.Studies) == 1 {
		v.Study = v.Studies[0]
	}
	if v.Study == "" {
		return "history", v, nil
	}
	for _, f := range ids {
		switch {
		case f.Study != v.Study:
		case f.Treatments > mostTreatments:
			v.Problem = fmt.Sprintf("%s has %d treatments, and is left out here; edgegauge history judges all.", f.Shown(),
				f.Treatments)
		default:
			places = append(places, f.place)
		}
	}
	all := s.pasts.of(places)
	slices.SortFunc(all, func(a, b report.Past) int { // of a run and its copy the same is left out each time
		return cmp.Or(a.Began.Compare(b.Began), strings.Compare(a.Dir, b.Dir))
	})
	var terms []advise.Term
	var asked []string // every link of the page has them
	for _, name := range q["response"] {
		if t, err := advise.ParseTerm(name); err == nil && !slices.Contains(asked, name) { // another is passed over
			terms, asked = append(terms, t), append(asked, name)
		}
	}
	q["response"] = asked
	if len(all) == 0 && v.Problem != "" {
		return "history", v, nil
	}
	h, err := report.MakeHistory(all, v.Study, v.By, terms)
	if err != nil {
		v.Problem = err.Error()
		return "history", v, nil
	}
	v.Answer, v.Began, v.LeftOut, v.Confirming = h.Answer(), h.Began(), h.LeftOut, s.confirmations(comparing(found))
	v.responses(h)
	if len(h.Runs) < 2 {
		v.Problem = "A history needs two runs or more that ask the same; there is one."
		return "history", v, nil
	}
	if n := len(h.Series); n > mostSeries {
		v.Problem = fmt.Sprintf("Only the first %d of %d series are shown; edgegauge history judges all.", mostSeries, n)
		h.Series = h.Series[:mostSeries]
	}
	v.charts(h, ids, q)
	return "history", v, nil
}

// responses are those that the newest run has.
func (v *historyView) responses(h report.History) {
	newest := h.Runs[len(h.Runs)-1]
	for _, x := range measure.Responses() {
		if slices.ContainsFunc(newest.Figures, func(f report.PastFigure) bool { return f.Response == x.Name }) {
			v.Responses = append(v.Responses, responseChoice{x.Name, report.Words(x.Name),
				slices.ContainsFunc(h.Series, func(j history.Judged) bool { return j.Response == x.Name })})
		}
	}
}

// with is the address of the view with another baseline.
func (v *historyView) with(q url.Values, base string) string {
	out := url.Values{"study": {v.Study}, "by": {v.By}}
	if len(q["response"]) > 0 {
		out["response"] = q["response"]
	}
	if base != "" {
		out.Set("base", base)
	}
	return "?" + out.Encode()
}

// suspect says how a suspect is confirmed.
func (v *historyView) suspect(row *markRow, x report.Suspicion, ids map[string]found) {
	row.Command, row.Unstarted = x.Command(), x.New.Unstarted() != ""
	old, new := ids[x.Old.Dir], ids[x.New.Dir]
	response := string(x.Series.Side) + "." + x.Series.Response
	row.Now = slices.ContainsFunc(v.Confirming, func(c confirmRow) bool {
		return c.State != "stopped" && c.State != "failed" && c.about(x.Old, x.New, old.path(), new.path(), response)
	})
	if v.Control && !row.Now && !row.Unstarted {
		row.Confirm = "history/confirm/?" + url.Values{"old": {old.id}, "new": {new.id}, "response": {response}}.Encode()
	}
}

func (v *historyView) charts(h report.History, ids map[string]found, q url.Values) {
	base := slices.IndexFunc(h.Runs, func(p report.Past) bool { return v.Base != "" && ids[p.Dir].id == v.Base })
	if base >= 0 {
		v.Unpin = v.with(q, "")
	}
	suspicions := map[string]report.Suspicion{} // by series and place
	key := func(j history.Judged, m history.Mark) string {
		return fmt.Sprint(j.Treatment, " ", j.Side, " ", j.Response, " ", m.At)
	}
	for _, s := range h.Suspicions() {
		suspicions[key(s.Series, s.Mark)] = s
	}
	for i, j := range h.Series {
		c := chart{Title: fmt.Sprintf("%s: %s, %s", j.Treatment, report.ResponseWords(j), j.Side), Why: j.Why,
			Based: base >= 0}
		if j.Why == "" {
			c.Figure = figure(h.Picture(fmt.Sprintf("history-%d", i), j, base))
			c.Between = report.RoughPercent(j.Between)
		}
		for _, m := range j.Marks {
			row := markRow{Says: h.MarkWords(j, m)}
			row.Sign, row.Class = report.MarkSign(m)
			if x, ok := suspicions[key(j, m)]; ok && m.Kind == history.Suspect {
				v.suspect(&row, x, ids)
			}
			if m.Confirmation != nil {
				row.To = ids[m.Confirmation.Dir].Path()
			}
			c.Marks = append(c.Marks, row)
		}
		for _, x := range h.Unmarked(j) {
			row := markRow{Says: h.UnmarkedWords(x), To: ids[x.Dir].Path()}
			row.Sign, row.Class = report.MarkSign(history.Mark{Kind: history.Confirmed, Worse: x.Verdict == history.Worse})
			if x.Verdict != history.Worse && x.Verdict != history.Better {
				row.Sign, row.Class = report.MarkSign(history.Mark{Kind: history.Dismissed})
			}
			c.Marks = append(c.Marks, row)
		}
		baseAt := slices.IndexFunc(j.Points, func(p history.Point) bool { return p.Run == base })
		for k, cells := range h.HistoryRows(j) {
			run := j.Points[k].Run
			id := ids[h.Runs[run].Dir].id
			row := historyRow{Label: cells[0], Path: "r/" + id + "/", Value: cells[1], Interval: cells[2], Marks: cells[3],
				Base: run == base, Pin: v.with(q, id)}
			switch {
			case k == baseAt:
				row.OfBase = "1"
			case baseAt >= 0:
				row.OfBase = report.TimesBase(j, j.Points[k], j.Points[baseAt])
			}
			c.Rows = append(c.Rows, row)
		}
		slices.Reverse(c.Rows) // the newest first
		v.Charts = append(v.Charts, c)
	}
}
