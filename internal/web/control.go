package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/internal/testbed"
)

// A Control lets pages stop, resume and start studies, and save them. Who shows the token
// may run programs as the user that the server runs as.
type Control struct {
	// Start conducts a study in a process that outlives this one. The channel gives its
	// exit code when it has ended.
	Start   func(Order) (<-chan int, error)
	Studies string // folder in which studies are saved
}

// An Order is a study to be conducted, or a suspect to be confirmed.
type Order struct {
	Study string   `json:"study"` // its file; empty where there is a Confirm
	Out   string   `json:"out"`   // results directory, made or resumed
	Sets  []string `json:"sets"`  // overrides
	Trust bool     `json:"trust"` // the reader has seen what it runs besides, and wants it run
	Log   string   `json:"log"`   // file for what the process prints
	// Confirm is the suspect; nil: the order is a study's.
	Confirm *ConfirmOrder `json:"confirm,omitempty"`
}

// A started study is one that this server began.
type started struct {
	Name  string
	Order Order
	Ended bool
	Code  int
	Said  string // the end of what it printed
}

// orders are those of this server, the oldest first, and the labs that were asked to stop.
type orders struct {
	mu       sync.Mutex
	all      []*started
	stopping map[string]int // process by results directory
}

// mostStarted of the studies that were begun last are remembered.
const mostStarted = 20

// formKeys are the secrets of the forms that were shown. Each may be used once, so that
// neither a stranger's page nor a second click does anything.
type formKeys struct {
	mu    sync.Mutex
	shown []formKey // the oldest first
}

type formKey struct {
	key string
	at  time.Time
}

// How many forms may be open, and for how long.
const (
	mostForms  = 4096
	formsLast  = 12 * time.Hour
	mostOutput = 4000 // B of what a process printed that are shown
)

func (k *formKeys) next() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.shown) == mostForms {
		k.shown = slices.Delete(k.shown, 0, 1)
	}
	x := formKey{rand.Text(), time.Now()}
	k.shown = append(k.shown, x)
	return x.key
}

// again is the key of a form that is shown once more, with nothing done: the same, while it lasts long enough. So a
// form that is asked about at every letter takes no room from others.
func (k *formKeys) again(key string) string {
	k.mu.Lock()
	i := slices.IndexFunc(k.shown, func(x formKey) bool { return same(x.key, key) })
	lasts := i >= 0 && time.Since(k.shown[i].at) < formsLast/2
	if i >= 0 && !lasts {
		k.shown = slices.Delete(k.shown, i, i+1)
	}
	k.mu.Unlock()
	if lasts {
		return key
	}
	return k.next()
}

// take uses a key, or says that it is none.
func (k *formKeys) take(key string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.shown, func(x formKey) bool { return same(x.key, key) })
	if i < 0 {
		return fault{http.StatusForbidden, "This form has been sent already, or is older than the server. Open the page " +
			"again, and look whether it was done."}
	}
	old := time.Since(k.shown[i].at) > formsLast
	k.shown = slices.Delete(k.shown, i, i+1)
	if old {
		return fault{http.StatusForbidden, "This form is older than twelve hours. Open the page again."}
	}
	return nil
}

// readForm reads what a form sends. Only bodies are read, never the address.
func readForm(r *http.Request) error {
	err := r.ParseForm()
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		return fault{http.StatusRequestEntityTooLarge, "The form has more than 1 MiB."}
	}
	if err != nil {
		return fault{http.StatusBadRequest, "This is not a form of these pages."}
	}
	return nil
}

// acted answers a form that changes something: it leads to another page.
func (s *Server) acted(act func(*http.Request) (to string, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := readForm(r)
		if err == nil {
			err = s.keys.take(r.PostForm.Get("key"))
		}
		var to string
		if err == nil {
			to, err = act(r)
		}
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		http.Redirect(w, r, s.frame(r, "").To(to), http.StatusSeeOther)
	}
}

// A controlView asks whether to stop or to resume a study.
type controlView struct {
	Frame
	Key          string
	Stop         bool
	Study, Shown string
	Path         string
	Foreign      []string // programs that did not come with edgegauge
	Seen         string   // stands for them
	Beside       []string // studies that run now
	Valid, Total int
}

func (s *Server) stopPage(r *http.Request) (string, any, error) {
	p, err := s.find(r.PathValue("id"))
	if err != nil {
		return "", nil, err
	}
	e := s.index.of([]place{p})[0]
	v := controlView{Frame: s.frame(r, "Stop "+e.Study), Key: s.keys.next(), Stop: true, Study: e.Study, Shown: p.shown(),
		Path: "r/" + p.id + "/", Valid: e.Valid, Total: e.Trials}
	if _, err := store.Writer(p.path()); err != nil {
		return "", nil, notRunning(p, err)
	}
	return "control", v, nil
}

// notRunning is what there is to say where no process is to be signalled.
func notRunning(p place, err error) error {
	if errors.Is(err, store.ErrElsewhere) {
		return fault{http.StatusConflict, p.shown() + ": " + err.Error() + ". Stop it there."}
	}
	return fault{http.StatusConflict, "No lab of this user on this machine measures " + p.shown() + " now."}
}

// written says whether a lab writes to the results, here or on another machine.
func (p place) written() bool {
	lab, err := store.Writer(p.path())
	if err == nil {
		lab.Release()
	}
	return err == nil || errors.Is(err, store.ErrElsewhere)
}

// stop asks a lab to stop in order, as one Ctrl-C does. It asks once: a second Ctrl-C would
// end the lab at once.
func (s *Server) stop(r *http.Request) (string, error) {
	p, err := s.find(r.PathValue("id"))
	if err != nil {
		return "", err
	}
	lab, err := store.Writer(p.path())
	if err != nil {
		return "", notRunning(p, err)
	}
	defer lab.Release()
	s.orders.mu.Lock()
	defer s.orders.mu.Unlock()
	if s.orders.stopping[p.path()] == lab.Pid {
		return "now/", nil
	}
	if err := lab.Signal(os.Interrupt); err != nil {
		return "", notRunning(p, err)
	}
	s.orders.stopping[p.path()] = lab.Pid
	return "now/", nil
}

// stops says whether the lab that writes to a directory was asked to stop. One that has
// ended is forgotten.
func (o *orders) stops(dir string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	pid, asked := o.stopping[dir]
	if !asked {
		return false
	}
	lab, err := store.Writer(dir)
	if err == nil {
		defer lab.Release()
	}
	if err != nil || lab.Pid != pid {
		delete(o.stopping, dir)
		return false
	}
	return true
}

// resuming reads the study of unfinished results, and what it would run.
func (s *Server) resuming(p place) (o Order, foreign []string, err error) {
	kept, err := p.store(false)
	if err != nil {
		return o, nil, err
	}
	defer kept.Close()
	runs, err := kept.Runs()
	if err != nil {
		return o, nil, unreadable(err)
	}
	text, overrides, err := kept.Study()
	if err != nil {
		return o, nil, unreadable(err)
	}
	name := runs[len(runs)-1].StudyFile
	if filepath.Base(name) != name { // the ledger is a stranger's
		return o, nil, unreadable(leadsElsewhere(name))
	}
	o = Order{Study: filepath.Join(p.path(), name), Out: p.path(), Sets: overrides}
	plan, _, err := s.Bed.ReadAvailable(context.Background(), o.Study, text, overrides)
	if err != nil {
		return o, nil, unreadable(err)
	}
	return o, linesOf(s.Bed.Foreign(plan)), nil
}

func linesOf(list study.Errors) []string {
	var lines []string
	for _, e := range list {
		lines = append(lines, e.Error())
	}
	return lines
}

// digest stands for lines that a reader has seen; empty: there were none.
func digest(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])
}

// beside names the studies that run now, but for one directory's.
func (s *Server) beside(dir string) []string {
	var names []string
	for _, f := range s.results() {
		if f.State == "running" && f.path() != dir {
			names = append(names, f.Study)
		}
	}
	s.orders.mu.Lock()
	defer s.orders.mu.Unlock()
	for _, x := range s.orders.all {
		if !x.Ended && x.Order.Out != dir && !slices.Contains(names, x.Name) {
			names = append(names, x.Name)
		}
	}
	return names
}

func (s *Server) resumePage(r *http.Request) (string, any, error) {
	p, err := s.find(r.PathValue("id"))
	if err != nil {
		return "", nil, err
	}
	if p.written() {
		return "", nil, fault{http.StatusConflict, p.shown() + " is being measured already."}
	}
	if err := resumable(p); err != nil {
		return "", nil, err
	}
	_, foreign, err := s.resuming(p)
	if err != nil {
		return "", nil, err
	}
	e := s.index.of([]place{p})[0]
	return "control", controlView{Frame: s.frame(r, "Resume "+e.Study), Key: s.keys.next(), Study: e.Study,
		Shown: p.shown(), Path: "r/" + p.id + "/", Foreign: foreign, Seen: digest(foreign), Beside: s.beside(p.path()),
		Valid: e.Valid, Total: e.Trials}, nil
}

func (s *Server) resume(r *http.Request) (string, error) {
	p, err := s.find(r.PathValue("id"))
	if err != nil {
		return "", err
	}
	if p.written() {
		return "", fault{http.StatusConflict, p.shown() + " is being measured already."}
	}
	if err := resumable(p); err != nil {
		return "", err
	}
	o, foreign, err := s.resuming(p)
	if err != nil {
		return "", err
	}
	if err := agreed(r, foreign, s.beside(o.Out)); err != nil {
		return "", err
	}
	o.Trust = len(foreign) > 0
	return "now/", s.begin(s.index.of([]place{p})[0].Study, o)
}

// agreed says whether the reader has seen, and wants, what a study would run and disturb.
func agreed(r *http.Request, foreign, beside []string) error {
	switch {
	case len(foreign) > 0 && r.PostForm.Get("trust") != digest(foreign):
		return fault{http.StatusConflict, "This study runs what did not come with edgegauge: " +
			strings.Join(foreign, "; ") + ". Go back, review it, and tick that it may run."}
	case len(beside) > 0 && r.PostForm.Get("beside") == "":
		return fault{http.StatusConflict, strings.Join(beside, ", ") + " runs now, and two studies disturb each other. Go " +
			"back, and tick that this one may run beside it, or wait."}
	}
	return nil
}

// begin conducts an order.
func (s *Server) begin(name string, o Order) error {
	logs, err := s.ownFolder(".web")
	if err != nil {
		return fault{http.StatusConflict, err.Error()}
	}
	log := name
	if o.Confirm != nil {
		log = "confirm-" + name
	}
	o.Log = filepath.Join(logs, time.Now().UTC().Format("20060102T150405.000")+"-"+log+".log")
	ended, err := s.Control.Start(o)
	if err != nil {
		return fault{http.StatusConflict, "It cannot be started: " + err.Error()}
	}
	x := &started{Name: name, Order: o}
	s.orders.mu.Lock()
	s.orders.all = append(s.orders.all, x)
	if over := len(s.orders.all) - mostStarted; over > 0 {
		s.orders.all = slices.Delete(s.orders.all, 0, over)
	}
	s.orders.mu.Unlock()
	go func() {
		code, known := <-ended
		said := tail(o.Log)
		if o.hasConfirmed() { // its code is the verdict
			code = 0
		}
		if known && code == 0 {
			os.Remove(o.Log) // the results have it all
		}
		os.Remove(o.Out) // only if it is empty: the study was refused
		s.orders.mu.Lock()
		defer s.orders.mu.Unlock()
		x.Ended, x.Code, x.Said = true, code, said
	}()
	return nil
}

var progressLine = lazy.Regexp(`(?m)^\d+/\d+\D.*\n?`)

// tail is the end of what a process printed, without its progress.
func tail(file string) string {
	b, err := kernel.ReadFile(file, 16<<20)
	if err != nil {
		return ""
	}
	text := strings.TrimSpace(progressLine().ReplaceAllString(string(b), ""))
	if over := len(text) - mostOutput; over > 0 {
		text = "… " + strings.ToValidUTF8(text[over:], "")
	}
	return text
}

// begun are the studies that this server began and that are not shown as running: those
// that prepare, and those that failed.
func (s *Server) begun(now []*running) []started {
	s.orders.mu.Lock()
	defer s.orders.mu.Unlock()
	var out []started
	for _, x := range slices.Backward(s.orders.all) {
		shown := slices.ContainsFunc(now, func(r *running) bool { return r.place.path() == x.Order.Out })
		if !shown && (!x.Ended || x.Code != 0) {
			out = append(out, *x)
		}
	}
	return out
}

// changing says whether a study is about to begin or to end: then all folders are looked
// through each time.
func (s *Server) changing() bool {
	s.orders.mu.Lock()
	defer s.orders.mu.Unlock()
	return len(s.orders.stopping) > 0 || slices.ContainsFunc(s.orders.all, func(x *started) bool {
		_, err := os.Stat(filepath.Join(x.Order.Out, ledgerFile))
		return !x.Ended && err != nil
	})
}

// newResults makes a results directory for a study in the first folder: NAME/NUMBER.
func (s *Server) newResults(name string) (string, error) {
	base, err := s.ownFolder(name)
	if err != nil {
		return "", err
	}
	for {
		dir := filepath.Join(base, fmt.Sprintf("%03d", testbed.LastNumber(base)+1))
		err := os.Mkdir(dir, 0o777)
		if !errors.Is(err, os.ErrExist) { // two browsers may start one study
			return dir, err
		}
	}
}

// ownFolder is a folder right below the first one, made if it is not there. A link, which may be
// a stranger's and lead anywhere, is refused.
func (s *Server) ownFolder(name string) (string, error) {
	f := s.folders[0]
	if err := f.root.Mkdir(name, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	whole := filepath.Join(f.path, name)
	if st, err := f.root.Lstat(name); err != nil || !st.IsDir() {
		return "", leadsElsewhere(whole)
	}
	return whole, nil
}
