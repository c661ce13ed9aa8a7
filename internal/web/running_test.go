package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// An ongoing study: this process holds its lock.
type ongoing struct {
	*testing.T
	kept *store.Store
	plan study.Plan
	dir  string // of the folder
	next int
}

func underWay(t *testing.T, replications int) *ongoing {
	t.Helper()
	dir := t.TempDir()
	kept, plan, err := fabricated.Create(filepath.Join(dir, "run/001"), fabricated.Study(2, replications, 20))
	ok(t, err)
	t.Cleanup(func() { kept.Close() })
	return &ongoing{t, kept, plan, dir, 0}
}

// conduct conducts the next trials.
func (l *ongoing) conduct(n int) {
	l.Helper()
	for range n {
		ok(l.T, fabricated.Trial(l.kept, l.plan.Trials[l.next], 20, nil))
		l.next++
	}
}

// fail has an attempt of the next trial fail.
func (l *ongoing) fail(why string) {
	l.Helper()
	a, err := l.kept.Begin(l.plan.Trials[l.next].ID)
	ok(l.T, err)
	ok(l.T, a.Invalidate(why, "", nil))
}

// What is written in two steps and looked at between them is read again at once, and what changes all the time once in
// a period.
func TestPace(t *testing.T) {
	start := time.Now()
	var p pace
	var read []int
	for at := 0; at < 10_000; at += 200 { // ms; it changes all the time but from 3,000 to 6,000
		now := start.Add(time.Duration(at) * time.Millisecond)
		if (at < 3000 || at >= 6000) && p.due(now, time.Second) {
			p.took(now)
			read = append(read, at)
		}
	}
	if want := []int{0, 200, 1200, 2200, 6000, 6200, 7200, 8200, 9200}; !slices.Equal(read, want) {
		t.Errorf("read at %v, want %v", read, want)
	}
}

// A ledger that was written just now is read again, and that puts nothing off that happens next.
func TestLookingAgainTakesNoTurn(t *testing.T) {
	l := underWay(t, 3)
	s := served(t, Options{Folders: []string{l.dir}})
	l.conduct(1)
	var w watch
	s.live(&w, stepOf{}, false)
	turn := w.read.last
	if turn.IsZero() {
		t.Fatal("the ledger was not read")
	}
	s.live(&w, stepOf{}, false)
	if !w.read.last.Equal(turn) {
		t.Error("looking again took a turn")
	}
	l.conduct(1)
	s.live(&w, stepOf{}, false)
	if w.read.last.Equal(turn) {
		t.Error("a trial that ended took no turn")
	}
}

func TestNowShowsTheLedger(t *testing.T) {
	l := underWay(t, 3)
	s := served(t, Options{Folders: []string{l.dir}})
	shows(t, s, "/now/", "report-bench", "<dd>0 of 6</dd>", `class="mark planned"`)
	l.conduct(3)
	l.fail("the rain <b>")
	a, err := l.kept.Begin(l.plan.Trials[l.next].ID)
	ok(t, err)
	body := shows(t, s, "/now/", "<dd>3 of 6</dd>", "<dt>invalid attempts</dt><dd>1</dd>",
		"the rain &lt;b&gt;", "<dt>left</dt>",
		fmt.Sprintf(">trial %d</a>, attempt 2", a.Trial), "RTT, client", "RTT, client, so far")
	for class, want := range map[string]int{"valid": 3, "running": 1, "planned": 2} {
		// one more of each is the legend's
		if got := strings.Count(body, `class="mark `+class+`"`); got != want+1 {
			t.Errorf("%d marks are %s, want %d", got-1, class, want)
		}
	}
	shows(t, s, "/", "1 running now", ">1 invalid attempt<")
	if !strings.Contains(body, ", 1 invalid attempt, the last: ") {
		t.Error("the mark of a trial does not say how many of its attempts were invalid")
	}
	ok(t, l.kept.Close())
	shows(t, s, "/now/", "No study is running", "unfinished")
}

// Two studies that run have pictures of their own: a name is read to who does not see them, and is found by its id.
func TestNowHasEachIDOnce(t *testing.T) {
	left, right := underWay(t, 3), underWay(t, 3)
	left.conduct(2)
	right.conduct(2)
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(shows(t, served(t, Options{
		Folders: []string{left.dir, right.dir}}), "/now/", "t-so-far-"), -1) {
		if seen[m[1]] {
			t.Errorf("two elements have the id %s", m[1])
		}
		seen[m[1]] = true
	}
}

// A study that ends, is resumed and ends again is listed once, with nothing under way; of many the last are.
func TestNowListsOnceWhatEnded(t *testing.T) {
	l := underWay(t, 3)
	s := served(t, Options{Folders: []string{l.dir}})
	dir := filepath.Join(l.dir, "run/001")
	var w watch
	look := func() liveView {
		w.search = time.Time{}
		return s.live(&w, stepOf{}, false)
	}
	l.conduct(1)
	_, err := l.kept.Begin(l.plan.Trials[1].ID) // the lab ends in the midst of it
	ok(t, err)
	if v := look(); len(v.Running) != 1 || v.Running[0].Current == nil || v.Running[0].Left == "" {
		t.Fatalf("got %+v", v)
	}
	ok(t, l.kept.Close())
	for n := range 2 {
		v := look()
		if len(v.Running) != 0 || len(v.Ended) != 1 {
			t.Fatalf("%d running, %d ended", len(v.Running), len(v.Ended))
		}
		if x := v.Ended[0]; x.Valid != n+1 || x.Current != nil || x.Left != "" {
			t.Errorf("%d valid, want %d; now %+v, left %q", x.Valid, n+1, x.Current, x.Left)
		}
		again, err := store.Open(dir, header(t, dir))
		ok(t, err)
		if v := look(); len(v.Running) != 1 || len(v.Ended) != 0 {
			t.Errorf("resumed: %d running, %d ended", len(v.Running), len(v.Ended))
		}
		ok(t, fabricated.Trial(again, l.plan.Trials[n+1], 20, nil))
		ok(t, again.Close())
	}
	for i := range 2 * mostEnded {
		w.end(&running{place: place{id: fmt.Sprint(i)}})
	}
	if len(w.ended) != mostEnded || w.ended[mostEnded-1].place.id != fmt.Sprint(2*mostEnded-1) {
		t.Errorf("%d are kept, the last is %s", len(w.ended), w.ended[len(w.ended)-1].place.id)
	}
}

// What a lab says of itself is shown while it is new: its step, and its power in W.
func TestNowShowsTheNotice(t *testing.T) {
	l := underWay(t, 3)
	s := served(t, Options{Folders: []string{l.dir}})
	n, err := kernel.NewNotice(NoticeName)
	ok(t, err)
	defer n.Close()
	says := func(age time.Duration) {
		b, err := json.Marshal(LabNotice{Step: "measure <it>", Watts: map[measure.Side]float64{measure.Server: 2.5},
			At:      time.Now().Add(-age).UnixMilli(),
			Devices: &population.State{Devices: 1000, Down: 30, Requests: 5000, Failed: 40, Rate: 16.7, Lateness: 2e6}})
		ok(t, err)
		n.Write(b)
	}
	says(0)
	shows(t, s, "/now/", "<b>Step:</b> measure &lt;it&gt;", "<dt>power, server</dt><dd>2.50 W",
		"<dt>devices up</dt><dd>970 of 1000", "<dt>failed requests</dt><dd>40 of 5000", "<dt>requests sent</dt><dd>16.7",
		"<dt>lateness of the driver, p99</dt><dd>2.00 ms")
	says(time.Minute)
	if body := shows(t, s, "/now/", "measure &lt;it&gt;"); strings.Contains(body, "2.50 W") {
		t.Error("the power of a minute ago is shown as now")
	}
	n.Write([]byte("{"))
	if body := shows(t, s, "/now/", "report-bench"); strings.Contains(body, "<b>Step:") {
		t.Error("a notice that is none is shown")
	}
	var c labCourse
	for i := range 500 {
		c.cpu = last(append(c.cpu, float64(i)))
	}
	if len(c.cpu) != mostPoints || c.cpu[0] != 440 || strings.Count(polyline(c.cpu), ",") != mostPoints {
		t.Errorf("%d points, the first %v", len(c.cpu), c.cpu[0])
	}
}

// Of a lab that does not run it is said since when nothing was heard of it, whether it was told to stop or not, and no
// time is left.
func TestNowSaysThatALabIsSilent(t *testing.T) {
	l := underWay(t, 3)
	l.conduct(2)
	s := served(t, Options{Folders: []string{l.dir}})
	n, err := kernel.NewNotice(NoticeName)
	ok(t, err)
	defer n.Close()
	for _, tt := range []struct {
		what   string
		age    time.Duration
		silent bool
	}{{"it beats", 0, false}, {"a minute ago", time.Minute, true}, {"a lab that tells no beats", -1, false}} {
		x := LabNotice{Step: "measure"}
		if tt.age >= 0 {
			x.Beat = time.Now().Add(-tt.age).UnixMilli()
		}
		b, err := json.Marshal(x)
		ok(t, err)
		n.Write(b)
		body := get(t, s, "/now/").Body.String()
		if said := strings.Contains(body, "Nothing has been heard of its lab for 1m"); said != tt.silent ||
			strings.Contains(body, "Nothing has been heard") != tt.silent {
			t.Errorf("%s: silent %v", tt.what, said)
		}
		if left := strings.Contains(body, "<dt>left</dt>"); left == tt.silent {
			t.Errorf("%s: a time is left: %v", tt.what, left)
		}
	}
}

// Of more trials than marks each mark shows the one of its trials to look at first.
func TestStripIsBounded(t *testing.T) {
	trials := make([]store.TrialState, 2500)
	for i := range trials {
		trials[i] = store.TrialState{PlannedTrial: store.PlannedTrial{ID: i + 1, Block: 1}, State: store.Valid}
	}
	trials[1000].State, trials[2000].State = store.Invalid, store.Running
	var r running
	r.place = place{id: "x"}
	r.count(study.Study{Design: study.Design{Replications: 1000}}, trials, nil)
	if r.Each != 3 || len(r.Strip) != 834 || r.Strip[333].ID != 1001 || r.Strip[333].State != store.Invalid ||
		r.Strip[666].State != store.Running || r.Valid != 2498 {
		t.Errorf("each %d, %d marks, %+v", r.Each, len(r.Strip), r.Strip[333])
	}
}

// A stream is one that a test reads.
type stream struct {
	*testing.T
	c  net.Conn
	in *bufio.Reader
}

func watching(t *testing.T, h *httptest.Server, last string) stream {
	t.Helper()
	c, err := net.Dial("tcp", h.Listener.Addr().String())
	ok(t, err)
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "GET /now/events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: %s\r\n\r\n", last)
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	ok(t, err)
	if a.StatusCode != 200 || a.Header.Get("Content-Type") != "text/event-stream" ||
		a.Header.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("%d %v", a.StatusCode, a.Header)
	}
	return stream{t, c, bufio.NewReader(a.Body)}
}

// event waits for the next state.
func (s stream) event() (id, html, says string) {
	s.Helper()
	for {
		line, err := s.in.ReadString('\n')
		ok(s.T, err)
		line = strings.TrimRight(line, "\n")
		if rest, found := strings.CutPrefix(line, "id: "); found {
			id = rest
		}
		if rest, found := strings.CutPrefix(line, "data: "); found {
			var x struct{ Live, Says string }
			ok(s.T, json.Unmarshal([]byte(rest), &x))
			return id, x.Live, x.Says
		}
	}
}

// until reads states until one says something.
func (s stream) until(what string) (id, html string) {
	s.Helper()
	for {
		id, html, says := s.event()
		if strings.Contains(html, what) || strings.Contains(says, what) {
			return id, html
		}
	}
}

// Readers get the newest state when it changes; one that comes back what it lacks; and
// nobody looks when nobody watches.
func TestStreamTellsTheNewest(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	l := underWay(t, 20)
	s := served(t, Options{Folders: []string{l.dir}})
	h := httptest.NewServer(s.Handler())
	t.Cleanup(h.Close)
	t.Cleanup(s.hub.end)
	first := watching(t, h, "")
	first.until("0 of 40 trials valid")
	l.conduct(2)
	id, html := first.until("2 of 40 trials valid")
	if !strings.Contains(html, "<dd>2 of 40</dd>") || strings.Contains(html, "<script") {
		t.Errorf("got %.300s", html)
	}
	// A reader that slept has one event to read, not one for each trial.
	again := watching(t, h, id)
	l.conduct(1)
	if _, _, says := again.event(); !strings.Contains(says, "3 of 40") {
		t.Errorf("the first event after coming back says %q", says)
	}
	late := watching(t, h, "")
	if _, _, says := late.event(); !strings.Contains(says, " of 40 trials valid") {
		t.Errorf("who comes late is told %q", says)
	}
	ok(t, l.kept.Close())
	first.until("has ended")
	for _, x := range []stream{first, again, late} {
		x.c.Close()
	}
	for waited := 0; ; waited++ {
		s.hub.mu.Lock()
		readers := s.hub.readers
		s.hub.mu.Unlock()
		if readers == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond) // go test ends it if they never leave
	}
}

// Readers that never read cost the others nothing.
func TestSlowReadersHoldNobodyUp(t *testing.T) {
	l := underWay(t, 20)
	s := served(t, Options{Folders: []string{l.dir}})
	h := httptest.NewServer(s.Handler())
	t.Cleanup(h.Close)
	t.Cleanup(s.hub.end)
	for range 20 {
		c, err := net.Dial("tcp", h.Listener.Addr().String())
		ok(t, err)
		defer c.Close()
		fmt.Fprint(c, "GET /now/events HTTP/1.1\r\nHost: localhost\r\n\r\n") // and reads nothing
	}
	r := watching(t, h, "")
	for i := range 3 {
		l.conduct(1)
		r.until(fmt.Sprintf("%d of 40 trials valid", i+1))
	}
}

// The steps of a lab are shown, the newest only, until it ends.
func TestFollowShowsTheStep(t *testing.T) {
	l := underWay(t, 3)
	s := served(t, Options{Folders: []string{l.dir}})
	r, w, err := os.Pipe()
	ok(t, err)
	whole, err := filepath.EvalSymlinks(filepath.Join(l.dir, "run/001"))
	ok(t, err)
	tell := func(step string) {
		_, err := fmt.Fprintf(w, `{"dir": %q, "step": %q}`+"\n", whole, step)
		ok(t, err)
	}
	tell("warm up")
	tell("measure <it>")
	ended := make(chan struct{})
	go func() {
		s.Follow(r)
		close(ended)
	}()
	for { // go test ends it if it never comes
		if strings.Contains(get(t, s, "/now/").Body.String(), "<b>Step:</b> measure &lt;it&gt;") {
			break
		}
	}
	w.Close()
	<-ended
	shows(t, s, "/now/", "The lab that opened this page has ended")
	s.Follow(io.LimitReader(endless{}, 1<<20)) // no lines at all
}

// A look that is still under way when its last reader leaves does not tell the next one what is old.
func TestAStoppedLookTellsNothing(t *testing.T) {
	s := served(t, Options{Folders: []string{t.TempDir()}})
	stop := make(chan struct{})
	close(stop)
	s.hub.renew(new(watch), stop)
	if x := s.hub.newest(); x.number != 0 {
		t.Errorf("it told %.100s", x.data)
	}
	if s.hub.renew(new(watch), make(chan struct{})); s.hub.newest().number != 1 {
		t.Error("one that goes on told nothing")
	}
}

// Results are complete when the lab found that nothing is left: with trials that were abandoned, and not
// before it knows whether a precision takes more blocks. A lab that still has them runs only while something is left.
func TestHowFarResultsAre(t *testing.T) {
	for _, tt := range []struct {
		precision bool
		abandon   int // trials
		end       bool
		want      string
	}{{false, 0, false, "complete"}, {false, 0, true, "complete"}, {false, 1, false, "unfinished"},
		{false, 1, true, "complete"}, {true, 0, false, "unfinished"}, {true, 0, true, "complete"}} {
		dir := t.TempDir()
		text := fabricated.Study(2, 3, 20)
		if tt.precision {
			text = bytes.Replace(text, []byte("replications: 3"), []byte("replications: 3, precision: 2%"), 1)
		}
		kept, plan, err := fabricated.Create(filepath.Join(dir, "run/001"), text)
		ok(t, err)
		if tt.precision && plan.Study.Design.Precision == 0 {
			t.Fatalf("no precision in %s", text)
		}
		for i, trial := range plan.Trials {
			if i < tt.abandon {
				continue
			}
			ok(t, fabricated.Trial(kept, trial, 20, nil))
		}
		if tt.end {
			ok(t, kept.End(""))
		}
		s := served(t, Options{Folders: []string{dir}})
		p, err := s.find(id(t, s, "run/001"))
		ok(t, err)
		now := map[string]string{"complete": "complete", "unfinished": "running"}[tt.want]
		if e := s.index.of([]place{p})[0]; e.state(p) != now {
			t.Errorf("%+v: while a lab has them they are %s, want %s (%+v)", tt, e.state(p), now, e)
		}
		ok(t, kept.Close())
		if e := s.index.of([]place{p})[0]; e.state(p) != tt.want {
			t.Errorf("%+v: got %s (%+v)", tt, e.state(p), e)
		}
	}
}
