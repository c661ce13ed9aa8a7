package web

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/report/pagetest"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/testbed"
)

// A starter notes the orders that a server gives, and conducts none.
type starter struct {
	mu     sync.Mutex
	orders []Order
	ended  []chan int
}

func (s *starter) start(o Order) (<-chan int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders, s.ended = append(s.orders, o), append(s.ended, make(chan int, 1))
	return s.ended[len(s.ended)-1], nil
}

// end has the nth study that was started end with a code.
func (s *starter) end(n, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended[n-1] <- code
}

func (s *starter) last(t *testing.T, n int) Order {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.orders) != n {
		t.Fatalf("%d studies were started, want %d: %+v", len(s.orders), n, s.orders)
	}
	return s.orders[n-1]
}

// bench is a testbed that finds what is inside this program, those of this repository, and a
// stranger's stack s.
func bench(t testing.TB) *testbed.Testbed {
	o, err := testbed.Local("test")
	ok(t, err)
	strange := t.TempDir()
	ok(t, os.Mkdir(filepath.Join(strange, "s"), 0o755))
	ok(t, os.WriteFile(filepath.Join(strange, "s/stack.yaml"), []byte("title: Of a stranger\nversion: 1\nlanguage: Go\n"+
		"serve: {command: [./s, serve]}\ncall: {command: [./s, call]}\nserves:\n  - services: [monitor]\n    encodings: [json]\n"+
		"    security: [none]\n    transports: [http]\n    sides: [server, client]\n    connections: [keep-alive]\n"), 0o644))
	o.Stacks = append(o.Stacks, testbed.Folder{Path: strange})
	o.Stacks = append(o.Stacks, testbed.Folder{Path: "../../stacks"})
	return testbed.New(o)
}

// controlled is a server that lets pages start studies, and what they start.
func controlled(t *testing.T, dirs ...string) (*Server, *starter, string) {
	t.Helper()
	mine := t.TempDir()
	st := new(starter)
	return served(t, Options{Folders: dirs, Token: token, Bed: bench(t), Version: "test",
		Control: &Control{Start: st.start, Studies: mine}}), st, mine
}

// A visitor is a browser without a window, that has shown the token.
type visitor struct {
	*testing.T
	s *Server
}

func (v visitor) ask(method, to string, f url.Values, header map[string]string) *httptest.ResponseRecorder {
	v.Helper()
	r := httptest.NewRequest(method, to, strings.NewReader(f.Encode()))
	r.Host = "127.0.0.1:8642"
	r.AddCookie(&http.Cookie{Name: "edgegauge-8642", Value: v.s.pass()})
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for k, x := range header {
		if r.Header.Set(k, x); x == "" {
			r.Header.Del(k)
		}
	}
	w := httptest.NewRecorder()
	v.s.Handler().ServeHTTP(w, r)
	return w
}

var formKeyField = regexp.MustCompile(`name="key" value="([^"]+)"`)

// key is that of a form on a page.
func (v visitor) key(page string) string {
	v.Helper()
	w := v.ask("GET", page, nil, nil)
	m := formKeyField.FindStringSubmatch(w.Body.String())
	if w.Code != 200 || m == nil {
		v.Fatalf("%s has no form: %d: %.400s", page, w.Code, w.Body)
	}
	return m[1]
}

const tea = "study: tea\nservice: monitor\nfactors: {stack: [rest-json, coap-cbor]}\nrequests: 20\n" +
	"design: {replications: 2, cooldown: 1s}\n"

const brewed = "study: brewed\nservice: temperature\nsensor: 'program:/bin/true of a stranger'\n" +
	"factors: {stack: [rest-json, coap-cbor]}\nrequests: 20\ndesign: {replications: 2}\n"

// What would start, save, stop or resume a study is refused, unless all that belongs to it is there.
func TestControlRefuses(t *testing.T) {
	l := underWay(t, 3)
	s, st, mine := controlled(t, l.dir)
	v := visitor{t, s}
	run := "/r/" + id(t, s, "run/001") + "/"
	ok(t, os.WriteFile(filepath.Join(mine, "there.yaml"), []byte("study: there\n"), 0o644))
	ok(t, os.Symlink("/etc/passwd", filepath.Join(mine, "link.yaml")))
	mark := make(chan os.Signal, 8)
	signal.Notify(mark, os.Interrupt) // a stop that is not refused would reach this process
	defer signal.Stop(mark)
	spent := v.key("/new/")
	ok(t, s.keys.take(spent))
	form := func(more ...string) url.Values {
		f := url.Values{"text": {tea}, "do": {"start"}, "beside": {"1"}, "key": {"fresh"}}
		for i := 0; i < len(more); i += 2 {
			f.Set(more[i], more[i+1])
		}
		return f
	}
	bomb := "study: bomb\na: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%[1]c [%s]\n", c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 9))
	}
	for _, tt := range []struct {
		what, to string
		form     url.Values
		header   map[string]string
		want     int
		says     string
	}{
		{"another origin", "/new/", form(), map[string]string{"Origin": "http://evil.example"}, 403, "cross-origin"},
		{"another site", run + "stop/", form(), map[string]string{"Sec-Fetch-Site": "cross-site"}, 403, "cross-origin"},
		{"another port", run + "stop/", form(), map[string]string{"Origin": "http://127.0.0.1:9"}, 403, "cross-origin"},
		{"a page of another name", "/new/", form(), map[string]string{"Cookie": ""}, 403, "Token"},
		{"a wrong token", "/new/", form(), map[string]string{"Cookie": "edgegauge-8642=" + token}, 403, "Token"},
		{"no form key", run + "stop/", form("key", ""), nil, 403, "sent already"},
		{"a form key of nobody", run + "stop/", form("key", "x"), nil, 403, "sent already"},
		{"a form key that was used", run + "stop/", form("key", spent), nil, 403, "sent already"},
		{"the same, of a start", "/new/", form("key", spent), nil, 403, "sent already"},
		{"the same, of a save", "/new/", form("key", spent, "do", "save"), nil, 403, "sent already"},
		{"a key in the address", run + "stop/?key=fresh", form("key", ""), nil, 403, "sent already"},
		{"resume what runs", run + "resume/", form(), nil, 409, "measured already"},
		{"stop what is not there", "/r/x/stop/", form(), nil, 404, "no such result"},
		{"start beside another", "/new/", form("beside", ""), nil, 200, "two studies disturb each other"},
		{"a program of a stranger", "/new/", form("text", brewed), nil, 200, "did not come with edgegauge"},
		{"the same, ticked for another", "/new/", form("text", brewed, "trust", digest([]string{"x"})), nil, 200,
			"did not come with edgegauge"},
		{"a study with a fault", "/new/", form("text", tea+"retries: many\n"), nil, 200, "the text has faults"},
		{"out of the folder", "/new/", form("file", "../tea.yaml"), nil, 200, "is no name for a file"},
		{"an absolute path", "/new/", form("file", "/tmp/tea.yaml"), nil, 200, "is no name for a file"},
		{"a hidden file", "/new/", form("file", ".tea.yaml"), nil, 200, "is no name for a file"},
		{"no YAML file", "/new/", form("file", "Makefile"), nil, 200, "is no name for a file"},
		{"another study's file", "/new/", form("file", "there.yaml"), nil, 200, "is there already"},
		{"a link's place", "/new/", form("file", "link.yaml"), nil, 200, "is there already"},
		{"a bomb", "/new/", form("text", bomb), nil, 200, "the text has faults"},
		{"a bomb to look at", "/new/", form("text", bomb, "do", "check"), nil, 200, "values"},
		{"a bomb to edit", "/new/", form("text", bomb, "do", "apply", "add", "retries", "value", "3"), nil, 200, "values"},
		{"a huge form", "/new/", form("text", strings.Repeat("x", mostBody)), nil, 413, ""},
		{"a text too long", "/new/", form("text", "study: x\nnotes: "+strings.Repeat("y", 900_000)), nil,
			200, "the text has faults"},
		{"a form that is none", "/new/", form(), map[string]string{"Content-Type": "application/x-www-form-urlencoded; x"},
			403, ""},
	} {
		if tt.form.Get("key") == "fresh" {
			tt.form.Set("key", s.keys.next())
		}
		if tt.to == run+"stop/?key=fresh" {
			tt.to = run + "stop/?key=" + s.keys.next()
		}
		began := kernel.OwnCPUTime()
		w := v.ask("POST", tt.to, tt.form, tt.header)
		if w.Code != tt.want && tt.what != "a form that is none" || !strings.Contains(w.Body.String(), tt.says) {
			t.Errorf("%s: %d, want %d and %q: %.600s", tt.what, w.Code, tt.want, tt.says, w.Body)
		}
		if took := kernel.OwnCPUTime() - began; took > 20*time.Second {
			t.Errorf("%s took %v of CPU time", tt.what, took)
		}
	}
	select {
	case <-mark:
		t.Error("a lab was stopped")
	default:
	}
	if files, _ := os.ReadDir(mine); len(st.orders) > 0 || len(files) != 2 {
		t.Errorf("%d studies started, %d files saved", len(st.orders), len(files))
	}
	open := served(t, Options{Folders: []string{l.dir}, Bed: bench(t)})
	w := visitor{t, open}.ask("POST", "/new/", form("do", "save"), nil)
	if !strings.Contains(w.Body.String(), "only reads") {
		t.Errorf("without control: %d: %.300s", w.Code, w.Body)
	}
	for _, to := range []string{run + "stop/", run + "resume/"} {
		if w := (visitor{t, open}).ask("POST", to, form(), nil); w.Code != 404 && w.Code != 405 {
			t.Errorf("%s without control: %d", to, w.Code)
		}
	}
	if _, err := New(Options{Folders: []string{l.dir}, Bed: bench(t), Control: &Control{}}); err == nil {
		t.Error("control without a token was served")
	}
}

// A lock file's word is not believed: only a process that has that very file open is stopped.
func TestOnlyALabIsStopped(t *testing.T) {
	l := underWay(t, 3)
	dir := filepath.Join(l.dir, "run/001")
	if p, err := store.Writer(dir); err != nil || p.Pid != os.Getpid() {
		t.Errorf("this process is not taken for the lab: %v", err)
	}
	ok(t, l.kept.Close())
	if _, err := store.Writer(dir); err == nil {
		t.Error("a lab that has ended is taken for one")
	}
	victim := exec.Command("sleep", "100")
	ok(t, victim.Start())
	defer victim.Wait()
	defer victim.Process.Kill()
	lock := filepath.Join(dir, "lock")
	text, err := os.ReadFile(lock)
	ok(t, err)
	lie := strings.Replace(string(text), fmt.Sprint("pid ", os.Getpid()), fmt.Sprint("pid ", victim.Process.Pid), 1)
	if lie == string(text) {
		t.Fatalf("the lock says %q", text)
	}
	ok(t, os.WriteFile(lock, []byte(lie), 0o644))
	if p, err := store.Writer(dir); err == nil {
		t.Errorf("process %d is taken for a lab", p.Pid)
	}
}

// A study is written with suggestions, one that runs a stranger's program is asked for, and
// all of it works without JavaScript.
func TestControlInBrowser(t *testing.T) {
	pagetest.Need(t)
	s, st, _ := controlled(t, t.TempDir())
	h := httptest.NewServer(s.Handler())
	defer h.Close()
	defer s.hub.end()
	r := reader{T: t, b: pagetest.Start(t), url: h.URL + "/", look: looks[0]}
	r.as(r.look)
	r.open("new/?token=" + token)

	t.Log("suggestions")
	r.b.Await(t, func() bool { return r.b.Text(t, `document.getElementById("study").dataset.words > 30`) == "true" },
		"the words")
	r.turn(func() { r.write("#text", tea) })
	r.b.Eval(t, nil, `{const x = document.getElementById("text"); x.value += "retr"; x.setSelectionRange(x.value.length, x.value.length)}`)
	r.b.Eval(t, nil, `document.getElementById("text").dispatchEvent(new Event("input"))`)
	if got := r.text("#suggest"); got != "retries" {
		t.Errorf("it suggests %q", got)
	}
	r.b.Eval(t, nil, `document.querySelector("#suggest button").click()`)
	r.turn(func() {
		r.b.Eval(t, nil, `{const x = document.getElementById("text"); x.setRangeText("4\nconnection: per", x.value.length, x.value.length, `+
			`"end"); x.dispatchEvent(new Event("input"))}`)
	})
	if got := r.text("#suggest"); got != "per-request" {
		t.Errorf("it suggests %q", got)
	}
	r.turn(func() { r.click("#suggest button") })
	if got := r.b.Text(t, `document.getElementById("text").value`); got != tea+"retries: 4\nconnection: per-request" {
		t.Errorf("the suggestions made of the text\n%s", got)
	}
	r.send(`button[value=start]`)
	st.last(t, 1)

	t.Log("a program of a stranger, asked for")
	r.open("new/?file=tea.yaml")
	r.turn(func() { r.write("#text", brewed) })
	r.says("#agree", "runs /bin/true of a stranger")
	r.says("#agree", "tea runs now")
	for _, l := range everyLook {
		r.look = l
		r.as(l)
		r.fine("agree")
	}
	r.b.Eval(t, nil, `document.querySelectorAll("#agree input").forEach((x) => x.checked = true); `+
		`document.querySelector("[name=file]").value = "brewed.yaml"`)
	r.send(`button[value=start]`)
	if o := st.last(t, 2); !o.Trust || !strings.HasSuffix(o.Out, "/brewed/001") {
		t.Errorf("started by %+v", o)
	}

	t.Log("without JavaScript")
	r.b.Must(t, nil, "Emulation.setScriptExecutionDisabled", map[string]any{"value": true})
	r.as(looks[0])
	r.open("new/?from=quickstart")
	r.b.Must(t, nil, "Emulation.setScriptExecutionDisabled", map[string]any{"value": false})
	r.b.Eval(t, nil, `document.getElementById("text").value = "study: tea\nservice: tee\n"`)
	r.send(`button[value=check]`)
	r.says(".faults", "line 2, column 10")
	r.open("")
	r.b.Clean(t, r.url)
}

// A day of events to a page that watches leaves nothing behind in the server.
func TestStreamsADayLong(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a day of states")
	}
	s := served(t, Options{Folders: []string{t.TempDir()}})
	h := httptest.NewServer(s.Handler())
	defer h.Close()
	defer s.hub.end()
	a, err := http.Get(h.URL + "/now/events")
	ok(t, err)
	defer a.Body.Close()
	const day = 24 * 60 * 60 // a state each second
	events := make(chan int, day)
	go func() {
		defer close(events)
		for in, n := bufio.NewScanner(a.Body), 0; in.Scan(); {
			if in.Text() == "event: state" {
				n++
				events <- n
			}
		}
	}()
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	state := func(i int) {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		close(s.hub.now.next)
		s.hub.now.number++
		s.hub.now.data = fmt.Appendf(nil, `{"live": "%0500d"}`, i)
		s.hub.now.next = make(chan struct{})
	}
	for i := range 1000 {
		state(i)
	}
	<-events
	before, goroutines := heap(), runtime.NumGoroutine()
	read := 0
	for i := range day {
		state(i)
		if i%10 == 9 { // a reader that is slow misses states, so that it is waited for
			read = <-events
		}
	}
	if grown := int64(heap()) - int64(before); grown > 2_000_000 {
		t.Errorf("a day of events left %d B behind", grown)
	}
	if n := runtime.NumGoroutine(); n > goroutines+2 {
		t.Errorf("%d goroutines became %d", goroutines, n)
	}
	if read < day/10 {
		t.Errorf("the page got %d events", read)
	}
}

// With a certificate the page speaks TLS, its cookie is for TLS only, and pages in the clear are refused.
func TestTLS(t *testing.T) {
	donor := httptest.NewTLSServer(nil)
	donor.Close()
	dir := t.TempDir()
	cert := filepath.Join(dir, "cert.pem")
	key := filepath.Join(dir, "key.pem")
	pair := donor.TLS.Certificates[0]
	ok(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600))
	ok(t, os.WriteFile(key, keyPEM(t, pair), 0o600))
	s := served(t, Options{Folders: []string{dir}, Token: token, Hosts: []string{"example.com"}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	started := make(chan *http.Server, 1)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l, cert, key, func(h *http.Server) { started <- h }) }()
	roots := x509.NewCertPool()
	roots.AddCert(donor.Certificate())
	c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer c.CloseIdleConnections()
	a, err := c.Get("https://" + l.Addr().String() + "/?token=" + token)
	ok(t, err)
	a.Body.Close()
	if k := a.Cookies(); a.StatusCode != 303 || len(k) != 1 || !k[0].Secure || !k[0].HttpOnly {
		t.Errorf("%d %+v", a.StatusCode, k)
	}
	req, _ := http.NewRequest("GET", "https://"+l.Addr().String()+"/", nil)
	req.AddCookie(a.Cookies()[0])
	if a, err = c.Do(req); err != nil || a.StatusCode != 200 || a.ProtoMajor != 2 || a.TLS.Version < tls.VersionTLS12 {
		t.Errorf("%v %+v", err, a)
	}
	if a != nil {
		a.Body.Close()
	}
	clear, err := http.Get("http://" + l.Addr().String() + "/")
	if err == nil {
		clear.Body.Close()
		if clear.StatusCode != 400 {
			t.Errorf("in the clear: %d", clear.StatusCode)
		}
	}
	(<-started).Close()
	ok(t, <-done)
}

func keyPEM(t *testing.T, pair tls.Certificate) []byte {
	t.Helper()
	b, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	ok(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b})
}

// Overrides that were kept with results are a stranger's as much as the study: what they name runs if the reader ticks
// that it may.
func TestKeptOverridesAreShownBeforeResuming(t *testing.T) {
	dir := t.TempDir()
	results := filepath.Join(dir, "run/001")
	const program = "program:/bin/true of a stranger"
	kept, _, err := fabricated.Create(results, []byte(strings.Replace(brewed, program, "fixed:20", 1)))
	ok(t, err)
	ok(t, kept.Close())
	db, err := sql.Open("sqlite", filepath.Join(results, "ledger.sqlite"))
	ok(t, err)
	_, err = db.Exec(`DELETE FROM meta WHERE key = 'run_digests'; UPDATE runs SET overrides = '["sensor=` + program + `"]'`)
	ok(t, errors.Join(err, db.Close(), store.Reseal(results)))
	s, st, _ := controlled(t, dir)
	v := visitor{t, s}
	resume := "/r/" + id(t, s, "run/001") + "/resume/"
	const asked = "override 1: sensor runs /bin/true of a stranger"
	if w := v.ask("GET", resume, nil, nil); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), asked) {
		t.Errorf("got %d: %.2000s", w.Code, w.Body)
	}
	w := v.ask("POST", resume, url.Values{"key": {s.keys.next()}}, nil)
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), asked) {
		t.Errorf("not ticked: got %d: %.2000s", w.Code, w.Body)
	}
	w = v.ask("POST", resume, url.Values{"key": {s.keys.next()}, "trust": {digest([]string{asked})}}, nil)
	if w.Code != http.StatusSeeOther || !st.last(t, 1).Trust {
		t.Errorf("ticked: got %d: %.2000s", w.Code, w.Body)
	}
}

// A study that another machine measures into a shared folder runs, and is neither resumed nor stopped here.
func TestALabOnAnotherMachineRuns(t *testing.T) {
	l := underWay(t, 3)
	l.conduct(1)
	lock := filepath.Join(l.dir, "run/001/lock")
	ok(t, os.WriteFile(lock, []byte("edgegauge results\npid 77 on elsewhere since 2026-01-01T00:00:00Z\nboot b\n"), 0o644))
	s, _, _ := controlled(t, l.dir)
	v := visitor{t, s}
	p, err := s.find(id(t, s, "run/001"))
	ok(t, err)
	e := entry{Host: "elsewhere", PID: 77, Trials: 6, Valid: 1}
	if got := e.state(p); got != "running" {
		t.Errorf("it is %s", got)
	}
	run := "/r/" + id(t, s, "run/001") + "/"
	for page, want := range map[string]string{"stop": "pid 77 on elsewhere", "resume": "is being measured already"} {
		w := v.ask("GET", run+page+"/", nil, nil)
		if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: got %d: %.300s", page, w.Code, w.Body)
		}
	}
	w := v.ask("POST", run+"resume/", url.Values{"key": {s.keys.next()}}, nil) // of who saw the form before
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "is being measured already") {
		t.Errorf("resume: got %d: %.300s", w.Code, w.Body)
	}
	ok(t, l.kept.Close())
	if got := e.state(p); got != "unfinished" {
		t.Errorf("ended, it is %s", got)
	}
}
