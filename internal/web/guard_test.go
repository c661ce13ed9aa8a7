package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/report"
)

const token = "0123456789abcdef"

// Every row of what is refused, and what is let in, with its code.
func TestGuard(t *testing.T) {
	dir := t.TempDir()
	open, asks := served(t, Options{Folders: []string{dir}}), served(t, Options{Folders: []string{dir}, Token: token,
		Hosts: []string{"lab.example"}})
	pass := &http.Cookie{Name: "edgegauge-8642", Value: asks.pass()}
	for _, tt := range []struct {
		what, method, to, host string
		header                 map[string]string
		cookie                 *http.Cookie
		body                   io.Reader
		server                 *Server
		want                   int
	}{
		{what: "own page", want: 200},
		{what: "another name of loopback", host: "localhost:9000", want: 200},
		{what: "over IPv6", host: "[::1]:8642", want: 200},
		{what: "no port", host: "127.0.0.1", want: 200},
		{what: "a stranger's name that leads here", host: "evil.example:8642", want: 421},
		{what: "a name that begins like ours", host: "localhost.evil.example", want: 421},
		{what: "no name", host: " ", want: 421},
		{what: "own name", host: "lab.example:8642", server: asks, cookie: pass, want: 200},
		{what: "own name, nobody gave it", host: "lab.example:8642", want: 421},
		{what: "no token", server: asks, want: 403},
		{what: "a wrong token", to: "/?token=x", server: asks, want: 403},
		{what: "the token is exchanged", to: "/?token=" + token, server: asks, want: 303},
		{what: "the cookie", server: asks, cookie: pass, want: 200},
		{what: "a wrong cookie", server: asks, cookie: &http.Cookie{Name: "edgegauge-8642", Value: "x"}, want: 403},
		{what: "the cookie of another port", server: asks,
			cookie: &http.Cookie{Name: "edgegauge-1", Value: asks.pass()}, want: 403},
		{what: "the token is no cookie", server: asks, cookie: &http.Cookie{Name: "edgegauge-8642", Value: token}, want: 403},
		{what: "the style of the form", to: "/assets/web.css", server: asks, want: 200},
		{what: "watching without token", to: "/now/events", server: asks, want: 403},
		{what: "the token by a form", method: "POST", to: "/enter", server: asks, body: strings.NewReader("token=" + token),
			header: map[string]string{"Origin": "http://127.0.0.1:8642"}, want: 303},
		{what: "a wrong token by a form", method: "POST", to: "/enter", server: asks,
			body: strings.NewReader("token=x"), want: 403},
		{what: "a form of a stranger's page", method: "POST", to: "/enter", server: asks,
			body: strings.NewReader("token=" + token), header: map[string]string{"Sec-Fetch-Site": "cross-site"}, want: 403},
		{what: "a form of another port", method: "POST", to: "/enter", server: asks,
			body: strings.NewReader("token=" + token), header: map[string]string{"Sec-Fetch-Site": "same-site"}, want: 403},
		{what: "the same, of an old browser", method: "POST", to: "/enter", server: asks,
			body: strings.NewReader("token=" + token), header: map[string]string{"Origin": "http://127.0.0.1:9999"}, want: 403},
		{what: "a huge body", method: "POST", to: "/enter", server: asks,
			body: strings.NewReader(strings.Repeat("x", mostBody+1)), want: 413},
		{what: "a huge body of unknown length", method: "POST", to: "/enter", server: asks,
			body: io.LimitReader(endless{}, 2*mostBody), want: 413},
		{what: "nothing can be changed", method: "POST", want: 405},
		{what: "nothing can be removed", method: "DELETE", to: "/r/x/", want: 405},
		{what: "no such page", to: "/nothing", want: 404},
		{what: "no such result", to: "/r/x/", want: 404},
		{what: "out of the assets", to: "/assets/..%2fpage%2fall.html", want: 404},
	} {
		if tt.server == nil {
			tt.server = open
		}
		r := httptest.NewRequest(orElse(tt.method, "GET"), orElse(tt.to, "/"), tt.body)
		r.Host = orElse(tt.host, "127.0.0.1:8642")
		for k, v := range tt.header {
			r.Header.Set(k, v)
		}
		if tt.method == "POST" {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		if tt.cookie != nil {
			r.AddCookie(tt.cookie)
		}
		w := httptest.NewRecorder()
		tt.server.Handler().ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("%s: got %d, want %d: %.200s", tt.what, w.Code, tt.want, w.Body)
		}
		h := w.Result().Header
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") ||
			strings.Contains(csp, "unsafe") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("%s: the policy is %q", tt.what, csp)
		}
		for k, v := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
			if h.Get(k) != v {
				t.Errorf("%s: %s is %q", tt.what, k, h.Get(k))
			}
		}
		if strings.Contains(w.Body.String(), token) {
			t.Errorf("%s: the answer has the token", tt.what)
		}
	}
}

// Who waited long for a page has time to take it all the same.
func TestPageThatTookLong(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	s := served(t, Options{Folders: []string{t.TempDir()}})
	s.patience = 4 * time.Second // as long as a busy machine may stand still
	h := httptest.NewServer(s.guard(s.page(func(r *http.Request) (string, any, error) {
		time.Sleep(s.patience + 200*time.Millisecond)
		return "fault", faultView{s.frame(r, "Late"), "but there"}, nil
	})))
	defer h.Close()
	a, err := http.Get(h.URL)
	ok(t, err)
	defer a.Body.Close()
	if body, err := io.ReadAll(a.Body); err != nil || !strings.Contains(string(body), "but there") {
		t.Errorf("got %.200s, %v", body, err)
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// The token leaves the address, and the cookie is for this server's pages alone.
func TestTokenIsExchangedForACookie(t *testing.T) {
	s := served(t, Options{Folders: []string{t.TempDir()}, Token: NewToken()})
	w := get(t, s, "/compare/?r=a&token="+s.Token)
	if to := w.Header().Get("Location"); to != "/compare/?r=a" {
		t.Errorf("led to %q", to)
	}
	c := w.Result().Cookies()
	if len(c) != 1 || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode || c[0].Name != "edgegauge-8642" ||
		c[0].Value == s.Token || c[0].Path != "/" {
		t.Errorf("got %+v", c)
	}
	if w := get(t, s, "//evil.example/?token="+s.Token); strings.HasPrefix(w.Header().Get("Location"), "//") {
		t.Errorf("led to %q", w.Header().Get("Location"))
	}
	if len(s.Token) < 43 || NewToken() == s.Token { // 256 bits in base 64 have 43 characters, in base 32 52
		t.Errorf("the token has %d characters", len(s.Token))
	}
}

// Sixty-four pages may watch, not more, and those that leave make room.
func TestStreamsAreLimited(t *testing.T) {
	s := served(t, Options{Folders: []string{t.TempDir()}})
	h := httptest.NewServer(s.Handler())
	defer h.Close()
	defer s.hub.end()
	watch := func() (int, net.Conn) {
		c, err := net.Dial("tcp", h.Listener.Addr().String())
		ok(t, err)
		fmt.Fprintf(c, "GET /now/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		a, err := http.ReadResponse(bufio.NewReader(c), nil)
		ok(t, err)
		return a.StatusCode, c
	}
	var first net.Conn
	for i := range mostStreams {
		code, c := watch()
		defer c.Close()
		if i == 0 {
			first = c
		}
		if code != http.StatusOK {
			t.Fatalf("stream %d: %d", i+1, code)
		}
	}
	code, c := watch()
	c.Close()
	if code != http.StatusServiceUnavailable {
		t.Errorf("stream %d: %d", mostStreams+1, code)
	}
	first.Close()
	for code != http.StatusOK { // go test ends it if it never is
		code, c = watch()
		c.Close()
	}
}

// hostile are results of strangers: what their texts are, and what must not be in any page.
func hostile(t *testing.T, dir string) {
	t.Helper()
	const bad = `<script>alert(1)</script><img src=x onerror=alert(2)>`
	made := filepath.Join(dir, "hostile")
	kept, plan, err := fabricated.Create(made, fmt.Appendf(nil,
		"study: hostile\nquestion: \"\\u202e\\u009b31m%s\"\nnotes: '%[1]s'\n"+
			"service: echo\n"+
			"factors: {\"options.x\": ['%[1]s', b]}\nstack: s\nrequests: 20\ndesign: {replications: 2}\n", bad))
	ok(t, err)
	a, err := kept.Begin(plan.Trials[0].ID)
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(a.Dir(), `"><svg onload=alert(3)>.log`), []byte(bad), 0o644))
	ok(t, a.Invalidate(bad, bad, nil))
	for _, trial := range plan.Trials {
		ok(t, fabricated.Trial(kept, trial, 20, nil))
	}
	ok(t, kept.Close())
	ok(t, os.WriteFile(filepath.Join(made, "facts-2.json"), []byte(bad), 0o644))
}

// What strangers wrote is shown as text, and what is no results is not opened.
func TestResultsOfStrangersAreData(t *testing.T) {
	dir := t.TempDir()
	hostile(t, dir)
	ok(t, fabricated.Make(filepath.Join(dir, "damaged"), 2, 2, 20))
	ok(t, os.Truncate(filepath.Join(dir, "damaged", ledgerFile), 5000))
	ok(t, fabricated.Make(filepath.Join(dir, "huge"), 2, 2, 20))
	ok(t, os.Truncate(filepath.Join(dir, "huge/study.yaml"), 20<<20))
	ok(t, os.Truncate(filepath.Join(dir, "huge/plan.csv"), 1<<40)) // with holes
	secret := filepath.Join(t.TempDir(), "secret")
	ok(t, os.WriteFile(secret, []byte("swordfish"), 0o644))
	for _, linked := range []string{"facts.json", "study.yaml", "exchanges/0001-1-client.parquet",
		"trials/0001/serve.log"} {
		made := filepath.Join(dir, "linked-"+strings.ReplaceAll(linked, "/", "-"))
		ok(t, fabricated.Make(made, 2, 2, 20))
		os.Remove(filepath.Join(made, linked))
		ok(t, os.Symlink(secret, filepath.Join(made, linked)))
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	ok(t, fabricated.Make(elsewhere, 2, 2, 20))
	ok(t, os.Symlink(elsewhere, filepath.Join(dir, "link")))
	s := served(t, Options{Folders: []string{dir}})
	list := shows(t, s, "/", "hostile", "cannot be read", "is a link", "more than any that edgegauge writes")
	if strings.Contains(list, "elsewhere") || strings.Contains(list, filepath.Join(dir, "link")+"<") {
		t.Error("a link to a folder was followed")
	}
	pages := []string{"/", "/now/", "/compare/", "/history/"}
	for _, f := range s.results() {
		pages = append(pages, "/history/?study="+url.QueryEscape(f.Study))
	}
	for _, p := range s.places() {
		for _, rest := range []string{"", "t/1/", "t/1/x/1/", "t/1/a/1/serve.log", "t/1/a/1/ready.json", "t/1/packets/x"} {
			pages = append(pages, "/r/"+p.id+"/"+rest)
		}
		pages = append(pages, "/compare/?r="+p.id+"&r="+id(t, s, "hostile"))
	}
	for _, to := range pages {
		w := get(t, s, to)
		if w.Code >= 500 {
			t.Errorf("%s: %d: %.200s", to, w.Code, w.Body)
		}
		if strings.Contains(w.Body.String(), "swordfish") {
			t.Errorf("%s shows what a link leads to", to)
		}
		if kind := w.Header().Get("Content-Type"); !strings.HasPrefix(kind, "text/html") {
			continue
		}
		for _, not := range []string{"<script>", "<img", "<svg onload", "alert(1)</script>", "\u202e", "\u009b"} {
			if strings.Contains(w.Body.String(), not) {
				t.Errorf("%s has %q", to, not)
			}
		}
	}
	log := "/r/" + id(t, s, "hostile") + "/t/1/a/1/" + url.PathEscape(`"><svg onload=alert(3)>.log`)
	if w := get(t, s, log); w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Errorf("the log: %d %s", w.Code, w.Header())
	}
}

// A history of strangers' results is shown as text, in bounded length, whatever their facts
// and confirmations are.
func TestHistoriesOfStrangersAreData(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	dir := t.TempDir()
	const bad = `<script>alert(1)</script><svg onload=alert(3)>`
	long := strings.Repeat(bad, 3<<20/len(bad))
	for i := range 6 {
		gate(t, filepath.Join(dir, fmt.Sprint("gate/", i)), "stack: s", fmt.Sprint(i/3, long), fmt.Sprint(i, long), 1e-3)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	ok(t, os.WriteFile(secret, []byte(`{"format": "swordfish"}`), 0o644))
	file := func(run int) string { return filepath.Join(dir, fmt.Sprint("gate/", run), report.ConfirmationFile) }
	ok(t, os.Symlink(secret, file(0)))
	ok(t, syscall.Mkfifo(file(1), 0o644))
	ok(t, os.WriteFile(file(2), []byte(`{"responses": ["`+bad+`"], "old": "`+bad), 0o644))
	ok(t, os.Truncate(filepath.Join(dir, "gate/3", ledgerFile), 9000))
	s := served(t, Options{Folders: []string{dir}, Bed: bench(t)})
	many := "/history/?study=gate" + strings.Repeat("&response=rtt&response=client.rtt&response="+
		url.QueryEscape(bad), 900)
	for _, to := range []string{"/history/", "/history/?study=gate&by=version", "/history/?study=gate&by=commit", many,
		"/history/?study=" + url.QueryEscape(bad), "/history/?base=" + url.QueryEscape(bad),
		"/new/?from=..%2f..%2fetc%2fpasswd",
		"/new/?file=..%2fsecret", "/new/?file=%2fetc%2fpasswd", "/new/?file=a.yaml", "/new/?like=" + url.QueryEscape(bad),
		"/new/?like=" + id(t, s, "gate/3"), "/new/?like=" + id(t, s, "gate/4")} {
		w := get(t, s, to)
		if w.Code >= 500 || w.Body.Len() > 200_000 {
			t.Errorf("%.80s: %d, %d B: %.300s", to, w.Code, w.Body.Len(), w.Body)
		}
		for _, not := range []string{"<script>", "<svg onload", "swordfish", "root:x:"} {
			if strings.Contains(w.Body.String(), not) {
				t.Errorf("%.80s has %q", to, not)
			}
		}
	}
}

// No address makes the server fail.
func FuzzAddress(f *testing.F) {
	dir := f.TempDir()
	wired(f, filepath.Join(dir, "wired/001"))
	ok(f, fabricated.Make(filepath.Join(dir, "alpha/001"), 2, 2, 20))
	s := served(f, Options{Folders: []string{dir}})
	one, other := id(f, s, "wired/001"), id(f, s, "alpha/001")
	for _, to := range []string{"", "?q=a+b&study=wired&page=-1&from=2026-13-77&to=x",
		"?page=99999999999999999999", "now/",
		"compare/?r=" + one + "&r=" + other + "&base=" + other + "&all=1", "compare/?r=" + one + "&r=" + one,
		"r/" + one + "/?whole=1", "r/" + one + "/t/1/", "r/" + one + "/t/-1/", "r/" + one + "/t/1/x/?seq=-5",
		"r/" + one + "/t/1/x/18446744073709551615/", "r/" + one + "/t/1/x/7/", "r/" + one + "/t/1/a/1/..%2f..%2fstudy.yaml",
		"r/" + one + "/t/1/packets/%2e%2e", "assets/%00",
		"history/?study=wired&by=commit&response=rtt&response=client.&base=" + one} {
		f.Add(to)
	}
	f.Fuzz(func(t *testing.T, to string) {
		u, err := url.ParseRequestURI("/" + to)
		if err != nil || u.Path == "/now/events" {
			return
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host, r.URL, r.RequestURI = "localhost", u, "/"+to
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%q: %d: %.300s", to, w.Code, w.Body)
		}
	})
}

// A stuckReader takes nothing of an answer until it is let.
type stuckReader struct {
	http.ResponseWriter
	reads chan struct{}
}

func (w stuckReader) Write(b []byte) (int, error) {
	<-w.reads
	return len(b), nil
}

// Readers that have stopped to read their page, more of them than there are CPUs, keep nobody waiting.
func TestSlowReadersKeepNobodyWaiting(t *testing.T) {
	s := served(t, Options{Folders: []string{t.TempDir()}})
	reads, made := make(chan struct{}), make(chan struct{}, cap(s.busy)+1)
	page := s.page(func(r *http.Request) (string, any, error) {
		made <- struct{}{}
		return "fault", faultView{s.frame(r, "x"), "x"}, nil
	})
	var all sync.WaitGroup
	defer all.Wait()
	defer close(reads)
	for range cap(s.busy) + 1 {
		all.Go(func() {
			page(stuckReader{httptest.NewRecorder(), reads}, httptest.NewRequest(http.MethodGet, "/", nil))
		})
		select {
		case <-made:
		case <-time.After(time.Minute):
			t.Fatal("a page is not made, since others are not read")
		}
	}
}

// Pages that read results whole, more of them than there are CPUs, keep no other page waiting; and reading ends when
// its reader goes.
func TestReadingWholeKeepsNobodyWaiting(t *testing.T) {
	s := served(t, Options{Folders: []string{t.TempDir()}})
	begun := make(chan struct{})
	ctx, leave := context.WithCancel(t.Context())
	reading := s.page(func(r *http.Request) (string, any, error) {
		err := s.aside(r.Context(), func() error {
			select {
			case begun <- struct{}{}:
				<-r.Context().Done()
			case <-r.Context().Done(): // the one that waited gets its turn when all leave
			}
			return r.Context().Err()
		})
		return "", nil, err
	})
	var all sync.WaitGroup
	defer all.Wait()
	defer leave()
	ask := func(page http.HandlerFunc, ctx context.Context) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		page(w, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
		return w
	}
	for range cap(s.reading) {
		all.Go(func() { ask(reading, ctx) })
		<-begun
	}
	all.Go(func() { ask(reading, ctx) }) // it waits for one of them
	made := make(chan int)
	go func() {
		made <- ask(s.page(func(r *http.Request) (string, any, error) {
			return "fault", faultView{s.frame(r, "x"), "x"}, nil
		}), t.Context()).Code
	}()
	select {
	case code := <-made:
		if code != http.StatusOK {
			t.Errorf("status %d", code)
		}
	case <-time.After(time.Minute):
		t.Error("a page waits until others have read results")
	}
}
