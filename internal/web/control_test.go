package web

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
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
	"edgegauge.example/edgegauge/internal/report/pagetest"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/testbed"
)

// A starter notes the orders that a server gives, and conducts none.
type starter struct {
	mu     sync.Mutex
	orders []Order
	ended  chan int
}

func (s *starter) start(o Order) (<-chan int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders = append(s.orders, o)
	return s.ended, nil
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

// bench is a testbed that finds what is inside this program only.
func bench(t testing.TB) *testbed.Testbed {
	o, err := testbed.Local("test")
	ok(t, err)
	o.Stacks = append(o.Stacks, testbed.Folder{Path: "../../stacks"})
	return testbed.New(o)
}

// controlled is a server that lets pages start studies, and what they start.
func controlled(t *testing.T, dir string) (*Server, *starter, string) {
	t.Helper()
	mine := t.TempDir()
	st := &starter{ended: make(chan int)}
	return served(t, Options{Folders: []string{dir}, Token: token, Bed: bench(t), Version: "test",
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
		{"a text too long", "/new/", form("text", "study: x\nnotes: "+strings.Repeat("y", 900_000)), nil, 200, "the text has faults"},
		{"a form that is none", "/new/", form(), map[string]string{"Content-Type": "application/x-www-form-urlencoded; x"}, 403, ""},
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

// A person stops a study that runs, and resumes it; writes one with a fault, mends it, saves
// and starts it; at two widths, in both schemes.
func TestControlInBrowser(t *testing.T) {
	pagetest.Need(t)
	b := pagetest.Start(t)
	for _, l := range looks {
		controlInBrowser(t, b, l)
	}
}

func controlInBrowser(t *testing.T, b *pagetest.Browser, as look) {
	l := underWay(t, 6)
	l.conduct(3)
	s, st, mine := controlled(t, l.dir)
	h := httptest.NewServer(s.Handler())
	defer h.Close()
	defer s.hub.end()
	r := reader{t, b, h.URL + "/"}
	r.as(as)
	everywhere := func(what string) {
		t.Helper()
		if as != looks[0] { // it was looked at
			return
		}
		defer r.as(as)
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int{360, 1280} {
				r.b.Scheme(t, scheme)
				r.b.Size(t, width, 900)
				r.b.Accessible(t, fmt.Sprintf("%s-%s-%d", what, scheme, width), width)
				r.b.Shoot(t, fmt.Sprintf("%s-%s-%d", what, scheme, width), true)
			}
		}
	}
	stopped := make(chan os.Signal, 8)
	signal.Notify(stopped, os.Interrupt) // this process holds the results' lock
	defer signal.Stop(stopped)

	t.Log("stop")
	r.open("now/?token=" + token)
	r.b.Await(t, func() bool { return strings.Contains(r.text("#live"), "3 of 12") }, "3 trials")
	r.follow("a.stop")
	r.says("h1", "Stop report-bench")
	everywhere("stop")
	r.send(".orders button")
	r.b.Await(t, func() bool { return r.count(".state.running") == 1 && strings.Contains(r.text("#live"), "stopping") },
		"the page to say that it stops")
	<-stopped
	ok(t, l.kept.Close())
	r.b.Await(t, func() bool { return r.count("a.resume") > 0 }, "the study to have ended")
	if len(stopped) > 0 {
		t.Error("it was asked twice, which ends a lab at once")
	}

	t.Log("resume")
	r.follow("a.resume")
	r.says("main", "3 of 12 trials are valid")
	r.send(".orders button")
	o := st.last(t, 1)
	if dir, _ := filepath.EvalSymlinks(filepath.Join(l.dir, "run/001")); o.Out != dir || o.Study != dir+"/study.yaml" || o.Trust {
		t.Errorf("it was resumed by %+v", o)
	}
	r.b.Await(t, func() bool { return strings.Contains(r.text("#live"), "prepares") }, "the study to prepare")
	ok(t, os.WriteFile(o.Log, []byte("1/2  x\nno room on the <disk>\n"), 0o644))
	st.ended <- 3
	r.b.Await(t, func() bool {
		return r.count(".said") == 1 && strings.Contains(r.text(".said"), "no room on the <disk>")
	},
		"the page to say why it failed")
	r.says("#live", "ended with code 3")
	everywhere("now")

	t.Log("write a study with a fault, and mend it")
	r.open("new/")
	turn := func(act string) {
		t.Helper()
		before := r.b.Text(t, `document.getElementById("study").dataset.turn`)
		r.b.Eval(t, nil, act)
		r.b.Await(t, func() bool { return r.b.Text(t, `document.getElementById("study").dataset.turn`) != before }, act)
	}
	r.b.Await(t, func() bool { return r.b.Text(t, `document.getElementById("study").dataset.words > 30`) == "true" }, "the words")
	write := func(text string) string {
		return fmt.Sprintf(`{const x = document.getElementById("text"); x.value = %q; x.dispatchEvent(new Event("input"))}`, text)
	}
	turn(write("study: tea # green\nservice: monitro\nfactors:\n  stack: [rest-json, coap-cbor] # two\nrequests: 20\n" +
		"design: {replications: 2, cooldown: 1s}\n"))
	r.says(".faults", "line 2, column 10")
	r.says(".faults", "monitor")
	everywhere("fault")
	r.b.Eval(t, nil, `document.querySelector(".faults a").click()`)
	if got := r.b.Text(t, `getSelection().toString() || document.getElementById("text").value.slice(...`+
		`[document.getElementById("text").selectionStart, document.getElementById("text").selectionEnd])`); got != "service: monitro" {
		t.Errorf("the fault leads to %q", got)
	}
	set := func(path, value string) string {
		return fmt.Sprintf(`{const x = document.querySelector("[name='set.%s']"); x.value = %q; x.dispatchEvent(new Event("change", `+
			`{bubbles: true}))}`, path, value)
	}
	turn(set("service", "monitor"))
	r.says("#answer", "2 treatments, 4 trials")
	r.says("#answer", "at least 4s")
	turn(set("design.replications", "3"))
	turn(set("factors.stack", "[rest-json, coap-cbor, soap]"))
	want := "study: tea # green\nservice: monitor\nfactors:\n  stack: [rest-json, coap-cbor, soap] # two\nrequests: 20\n" +
		"design: {replications: 3, cooldown: 1s}\n"
	if got := r.b.Text(t, `document.getElementById("text").value`); got != want {
		t.Errorf("the form made of the text\n%s", got)
	}
	r.says("#answer", "3 treatments, 9 trials")

	t.Log("suggestions")
	r.b.Eval(t, nil, `{const x = document.getElementById("text"); x.value += "retr"; x.setSelectionRange(x.value.length, x.value.length)}`)
	r.b.Eval(t, nil, `document.getElementById("text").dispatchEvent(new Event("input"))`)
	if got := r.text("#suggest"); got != "retries" {
		t.Errorf("it suggests %q", got)
	}
	r.b.Eval(t, nil, `document.querySelector("#suggest button").click()`)
	turn(`{const x = document.getElementById("text"); x.setRangeText("4\nconnection: per", x.value.length, x.value.length, "end"); x.dispatchEvent(new Event("input"))}`)
	if got := r.text("#suggest"); got != "per-request" {
		t.Errorf("it suggests %q", got)
	}
	turn(`document.querySelector("#suggest button").click()`)
	want += "retries: 4\nconnection: per-request"

	t.Log("save and start")
	r.send(`button[value=start]`)
	o = st.last(t, 2)
	if text, err := os.ReadFile(o.Study); err != nil || string(text) != want || o.Study != filepath.Join(mine, "tea.yaml") {
		t.Errorf("saved in %s, %v:\n%s", o.Study, err, text)
	}
	if !strings.HasSuffix(o.Out, "/tea/001") || o.Trust {
		t.Errorf("started by %+v", o)
	}
	r.says("h1", "Now")

	t.Log("a program of a stranger, asked for")
	r.open("new/?file=tea.yaml")
	turn(write(brewed))
	r.says("#agree", "runs /bin/true of a stranger")
	r.says("#agree", "tea runs now")
	everywhere("agree")
	r.b.Eval(t, nil, `document.querySelectorAll("#agree input").forEach((x) => x.checked = true); `+
		`document.querySelector("[name=file]").value = "brewed.yaml"`)
	r.send(`button[value=start]`)
	if o = st.last(t, 3); !o.Trust || !strings.HasSuffix(o.Out, "/brewed/001") {
		t.Errorf("started by %+v", o)
	}

	t.Log("print")
	r.open("r/" + id(t, s, "run/001") + "/")
	r.b.Must(t, nil, "Emulation.setEmulatedMedia", map[string]any{"media": "print"})
	if got := r.b.Text(t, `getComputedStyle(document.querySelector(".site")).display`); got != "none" {
		t.Errorf("the navigation is printed: %s", got)
	}
	var printed struct{ Data string }
	r.b.Must(t, &printed, "Page.printToPDF", map[string]any{"paperWidth": 8.27, "paperHeight": 11.69})
	if len(printed.Data) < 20_000 {
		t.Errorf("the print has %d characters", len(printed.Data))
	}

	t.Log("without JavaScript")
	r.b.Must(t, nil, "Emulation.setScriptExecutionDisabled", map[string]any{"value": true})
	r.as(as)
	r.open("new/?from=quickstart")
	r.b.Must(t, nil, "Emulation.setScriptExecutionDisabled", map[string]any{"value": false})
	r.b.Eval(t, nil, `document.getElementById("text").value = "study: tea\nservice: tee\n"`)
	r.send(`button[value=check]`)
	r.says(".faults", "line 2, column 10")
	r.open("")
	if as == looks[len(looks)-1] {
		r.b.Clean(t, "http://127.0.0.1:")
	}
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
		s.hub.now.data = fmt.Appendf(nil, `{"html": "%0500d"}`, i)
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
