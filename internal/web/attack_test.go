package web

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
)

var wildcard = regexp.MustCompile(`\{(\w+)\}`)

// addresses are one of each route of a method, each wildcard filled in.
func addresses(s *Server, method string, fill func(name string) string) map[string]string {
	all := map[string]string{}
	for pattern := range s.routes() {
		verb, to, _ := strings.Cut(pattern, " ")
		if verb == method {
			all[pattern] = wildcard.ReplaceAllStringFunc(strings.TrimSuffix(to, "{$}"),
				func(w string) string { return fill(w[1 : len(w)-1]) })
		}
	}
	return all
}

// sealed fails if an answer lacks what every answer has.
func sealed(t *testing.T, what string, h http.Header) {
	t.Helper()
	if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") ||
		strings.Contains(csp, "unsafe") ||
		!strings.Contains(csp, "frame-ancestors 'none'") {
		t.Errorf("%s: the policy is %q", what, csp)
	}
	for k, v := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
		if h.Get(k) != v {
			t.Errorf("%s: %s is %q", what, k, h.Get(k))
		}
	}
}

// Whatever stands in place of a part of an address, no route leads out of the folders, fails, or sends to another host.
func TestRoutesStayInTheirFolders(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "results")
	wired(t, filepath.Join(dir, "wired/001"))
	for _, name := range []string{"secret", "study.yaml", "serve.log"} { // what ../ could lead to
		ok(t, os.WriteFile(filepath.Join(above, name), []byte("swordfish"), 0o644))
	}
	attempt := filepath.Join(dir, "wired/001/trials/0001")
	ok(t, os.Symlink(filepath.Join(above, "secret"), filepath.Join(attempt, "link.log")))
	ok(t, os.Symlink(above, filepath.Join(attempt, "up")))
	ok(t, os.Symlink("loop.log", filepath.Join(attempt, "loop.log")))
	ok(t, syscall.Mkfifo(filepath.Join(attempt, "pipe.log"), 0o644))
	s, _, _ := controlled(t, dir)
	v := visitor{t, s}
	good := map[string]string{"id": id(t, s, "wired/001"), "trial": "1", "seq": "7", "attempt": "1", "file": "serve.log"}
	bad := []string{"..", "%2e%2e", "..%2f..%2f..%2fsecret", "..%2fstudy.yaml",
		"%2e%2e%2f%2e%2e%2fserve.log", "..%5c..%5csecret",
		"%2fetc%2fpasswd", "%252e%252e%252fsecret", "..%00", "serve.log%00.html", ".", "%2e", "~", "-1", "0",
		"1e9", "9223372036854775808",
		"18446744073709551616", "0x1", "+1", "%F0%80%80%AF", "%e2%80%ae", "%0d%0aSet-Cookie:%20x=y",
		"link.log", "loop.log", "pipe.log",
		"up%2fsecret", "up", "%3Cscript%3Ealert(1)%3C%2fscript%3E", strings.Repeat("x", 30_000),
		strings.Repeat("..%2f", 5000)}
	asked := 0
	for pattern := range s.routes() {
		method, _, _ := strings.Cut(pattern, " ")
		for _, m := range wildcard.FindAllStringSubmatch(pattern, -1) {
			for _, evil := range bad {
				to := addresses(s, method, func(name string) string {
					if name == m[1] {
						return evil
					}
					return good[name]
				})[pattern]
				asked++
				w := v.ask(method, to, url.Values{}, nil)
				body := w.Body.String()
				if w.Code >= 500 || strings.Contains(body, "swordfish") || strings.Contains(body, "root:x:") ||
					strings.Contains(body, "<script>") {
					t.Errorf("%s %.100s: %d: %.300s", method, to, w.Code, body)
				}
				if at := w.Header().Get("Location"); at != "" && (!strings.HasPrefix(at, "/") || strings.HasPrefix(at, "//")) {
					t.Errorf("%s %.100s leads to %.100s", method, to, at)
				}
				if w.Header().Get("Set-Cookie") != "" {
					t.Errorf("%s %.100s sets a cookie", method, to)
				}
				sealed(t, fmt.Sprintf("%s %.100s", method, to), w.Result().Header)
			}
		}
	}
	if asked < 15*len(bad) {
		t.Errorf("only %d addresses were tried", asked)
	}
}

// Every route, by what the server itself lists, refuses strangers' names, browsers without the cookie and, where
// it changes something, pages of strangers, forms without a key and huge ones.
func TestEveryRouteIsGuarded(t *testing.T) {
	l := underWay(t, 3)
	past := t.TempDir()
	gates(t, filepath.Join(past, "gate"))
	s, st, mine := controlled(t, l.dir, past)
	v := visitor{t, s}
	mark := make(chan os.Signal, 8)
	signal.Notify(mark, os.Interrupt) // a stop that is not refused would reach this process
	defer signal.Stop(mark)
	fill := func(name string) string {
		return map[string]string{"id": id(t, s, "run/001"), "trial": "1", "seq": "1", "attempt": "1", "file": "x"}[name]
	}
	gets, posts := addresses(s, "GET", fill), addresses(s, "POST", fill)
	if len(gets)+len(posts) != len(s.routes()) || len(posts) < 5 {
		t.Fatalf("%d and %d of %d routes", len(gets), len(posts), len(s.routes()))
	}
	expect := func(what string, w *httptest.ResponseRecorder, codes ...int) {
		t.Helper()
		if !slices.Contains(codes, w.Code) {
			t.Errorf("%s: %d, want %d: %.200s", what, w.Code, codes, w.Body)
		}
		sealed(t, what, w.Result().Header)
	}
	rebound := func(method, to string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, to, nil)
		r.Host = "rebound.example:8642"
		r.AddCookie(&http.Cookie{Name: "edgegauge-8642", Value: s.pass()})
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w
	}
	for pattern, to := range gets {
		expect(pattern+" of a name that was bound anew", rebound("GET", to), 421)
		open := strings.HasPrefix(to, "/assets/")
		codes := []int{403}
		if open {
			codes = []int{404}
		}
		expect(pattern+" without cookie", v.ask("GET", to, nil, map[string]string{"Cookie": ""}), codes...)
		expect(pattern+" with a wrong cookie", v.ask("GET", to, nil,
			map[string]string{"Cookie": "edgegauge-8642=x"}), codes...)
		for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
			expect(method+" "+to, v.ask(method, to, nil, nil), 405)
		}
	}
	for pattern, to := range posts {
		form := func(key string) url.Values {
			return url.Values{"key": {key}, "do": {"start"}, "text": {tea}, "beside": {"1"}, "study": {"gate"}, "token": {"x"}}
		}
		expect(pattern+" of a name that was bound anew", rebound("POST", to), 421)
		for _, h := range []map[string]string{{"Origin": "http://evil.example"}, {"Origin": "null"},
			{"Origin": "http://127.0.0.1:9"},
			{"Origin": "http://localhost:8642.evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
			{"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1:8642"}, {"Sec-Fetch-Site": "none of ours"}} {
			expect(fmt.Sprint(pattern, h), v.ask("POST", to, form(s.keys.next()), h), 403)
		}
		for _, cookie := range []string{"", "edgegauge-8642=x", "edgegauge-8642=" + token, "edgegauge-1=" + s.pass()} {
			expect(pattern+" with the cookie "+cookie,
				v.ask("POST", to, form(s.keys.next()), map[string]string{"Cookie": cookie}), 403)
		}
		for _, key := range []string{"", "x", strings.Repeat("0", 64)} {
			expect(pattern+" with the key "+key, v.ask("POST", to, form(key), nil), 403)
			expect(pattern+" with the key in the address", v.ask("POST", to+"?key="+s.keys.next(), form(key), nil), 403)
		}
		for _, size := range []int64{mostBody + 1, -1} { // -1: it does not say
			r := httptest.NewRequest("POST", to, io.LimitReader(endless{}, 3*mostBody))
			r.Host, r.ContentLength = "127.0.0.1:8642", size
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.AddCookie(&http.Cookie{Name: "edgegauge-8642", Value: s.pass()})
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			expect(fmt.Sprintf("%s of %d B", pattern, size), w, 413)
		}
	}
	select {
	case <-mark:
		t.Error("a lab was stopped")
	default:
	}
	if files, _ := os.ReadDir(mine); len(st.orders) > 0 || len(files) != 0 {
		t.Errorf("%d studies started, %d files saved", len(st.orders), len(files))
	}
}

// Pipes, devices, folders and links in place of the files of results are named, and nobody waits for them.
func TestNothingWaitsForPipes(t *testing.T) {
	dir := t.TempDir()
	pristine := filepath.Join(t.TempDir(), "001")
	wired(t, pristine)
	put := map[string]func(string) error{
		"pipe":   func(f string) error { return syscall.Mkfifo(f, 0o644) },
		"loop":   func(f string) error { return os.Symlink(filepath.Base(f), f) },
		"zero":   func(f string) error { return os.Symlink("/dev/zero", f) },
		"folder": func(f string) error { return os.MkdirAll(f, 0o755) },
	}
	files := []string{ledgerFile, ledgerFile + "-wal", "study.yaml", "plan.csv", "facts.json",
		"exchanges/0001-1-client.parquet",
		"trials/0001/serve.log", "trials/0001/ready.json", "lock"}
	for kind, f := range put {
		for i, name := range files {
			made := filepath.Join(dir, kind, fmt.Sprint(i))
			ok(t, os.CopyFS(made, os.DirFS(pristine)))
			ok(t, os.RemoveAll(filepath.Join(made, name)))
			ok(t, f(filepath.Join(made, name)))
		}
	}
	around := filepath.Join(dir, "around/a/b")
	ok(t, os.MkdirAll(around, 0o755))
	ok(t, os.Symlink(filepath.Join(dir, "around"), filepath.Join(around, "c")))
	s, _, _ := controlled(t, dir)
	v := visitor{t, s}
	ids := s.IDs()
	if len(ids) < 3*len(files) {
		t.Fatalf("%d results", len(ids))
	}
	began := kernel.OwnCPUTime()
	for _, to := range []string{"/", "/now/", "/compare/?r=" + ids[0] + "&r=" + ids[1], "/history/?study=wired"} {
		if w := v.ask("GET", to, nil, nil); w.Code >= 500 {
			t.Errorf("%s: %d: %.300s", to, w.Code, w.Body)
		}
	}
	for _, i := range ids {
		for _, to := range []string{"", "?whole=1", "t/1/", "t/1/x/7/", "t/1/a/1/serve.log", "t/1/a/1/ready.json",
			"t/1/packets/0001-1-lo.pcapng",
			"stop/", "resume/"} {
			w := v.ask("GET", "/r/"+i+"/"+to, nil, nil)
			if w.Code >= 500 || w.Body.Len() > 3_000_000 {
				t.Errorf("%s %s: %d, %d B: %.300s", i, to, w.Code, w.Body.Len(), w.Body)
			}
		}
	}
	if took := kernel.OwnCPUTime() - began; took > 2*time.Minute {
		t.Errorf("all of them took %v of CPU time", took)
	}
}

// heapAfter is the heap after a collection, in B.
func heapAfter() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// A thousand that connect and say nothing, a thousand that would watch and a hundred that send a byte now and then
// keep nobody else out, hold little memory, and are sent away.
func TestSlowVisitors(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for connections to be closed")
	}
	const many, slow = 1000, 100
	var said bytes.Buffer
	log.SetOutput(&said)
	defer log.SetOutput(os.Stderr)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	s := served(t, Options{Folders: []string{t.TempDir()}, Token: token})
	started, ended := make(chan *http.Server, 1), make(chan error, 1)
	go func() { ended <- s.Serve(l, "", "", func(h *http.Server) { started <- h }) }()
	h := <-started
	before := heapAfter()
	var conns []net.Conn
	dial := func(text string, args ...any) net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", l.Addr().String())
		ok(t, err)
		conns = append(conns, c)
		fmt.Fprintf(c, text, args...)
		return c
	}
	defer func() {
		for _, c := range conns {
			c.Close()
		}
		h.Close()
		ok(t, <-ended)
	}()
	name := cookieName(&http.Request{Host: l.Addr().String()})
	entered := fmt.Sprintf("Host: %s\r\nCookie: %s=%s\r\n", l.Addr(), name, s.pass())
	watching := 0
	for range many {
		dial("")
		c := dial("GET /now/events HTTP/1.1\r\n%s\r\n", entered)
		line, err := bufio.NewReader(c).ReadString('\n')
		ok(t, err)
		switch {
		case strings.Contains(line, " 200 "):
			watching++
		case !strings.Contains(line, " 503 "):
			t.Fatalf("one who would watch got %q", line)
		}
	}
	if watching != mostStreams {
		t.Errorf("%d watch, want %d", watching, mostStreams)
	}
	var dribblers []net.Conn
	for i := range slow {
		if i%2 == 0 {
			dribblers = append(dribblers, dial("GET / HTTP/1.1\r\nX: "))
		} else {
			dribblers = append(dribblers, dial("POST /enter HTTP/1.1\r\n%sContent-Type: application/x-www-form-urlencoded\r\n"+
				"Content-Length: %d\r\n\r\ntoken=", entered, mostBody))
		}
	}
	if grown := heapAfter() - before; grown > 100<<20 {
		t.Errorf("%d connections hold %d B, both ends", len(conns), grown)
	} else {
		t.Logf("%d connections hold %.1f MB, both ends", len(conns), float64(grown)/1e6)
	}
	a, err := http.Get("http://" + l.Addr().String() + "/?token=" + token)
	ok(t, err)
	a.Body.Close()
	for _, c := range dribblers { // go test ends it if they are never sent away
		for {
			if _, err := c.Write([]byte("x")); err != nil {
				break
			}
			_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err := c.Read(make([]byte, 1<<10)); err != nil && !os.IsTimeout(err) {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	if strings.Contains(said.String(), token) {
		t.Errorf("the log has the token: %s", said.String())
	}
}

// A result with a hundred thousand trials, or with tens of thousands of treatments, is shown in bounded pages and time.
func TestHugeResults(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a result of 100,000 trials")
	}
	dir := t.TempDir()
	for name, design := range map[string]string{"trials": "stack: s\ndesign: {replications: 100000}\n",
		"treatments": fmt.Sprintf("stack: s\nfactors: {requests: [%s]}\ndesign: {replications: 2}\n", manyNumbers())} {
		kept, plan, err := fabricated.Create(filepath.Join(dir, name), []byte("study: "+name+"\nservice: monitor\n"+design))
		ok(t, err)
		for _, trial := range plan.Trials[:3] {
			ok(t, fabricated.Trial(kept, trial, 20, nil))
		}
		defer kept.Close()
	}
	s := served(t, Options{Folders: []string{dir}, Bed: bench(t)})
	for _, name := range []string{"trials", "treatments"} {
		base := "/r/" + id(t, s, name) + "/"
		for _, to := range []string{"/", "/now/", base, base + "t/1/", base + "t/100000/", "/history/?study=" + name,
			"/new/?like=" + id(t, s, name),
			"/compare/?all=1&r=" + id(t, s, "trials") + "&r=" + id(t, s, "treatments")} {
			began := kernel.OwnCPUTime()
			w := get(t, s, to)
			took := kernel.OwnCPUTime() - began
			t.Logf("%s %s: %d, %.1f MB, %.1f s of CPU time", name, to, w.Code, float64(w.Body.Len())/1e6, took.Seconds())
			if w.Code >= 500 || w.Body.Len() > 16<<20 || took > 15*time.Second {
				t.Errorf("%s %s: %d, %d B, %v of CPU time: %.300s", name, to, w.Code, w.Body.Len(), took, w.Body)
			}
		}
	}
}

// manyNumbers are as many as a study may list, in words of YAML.
func manyNumbers() string {
	var b strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&b, "%d,", i+1)
	}
	return b.String()
}

// A link in the folder of results does not lead a study's results or its output elsewhere.
func TestResultsStayInTheirFolder(t *testing.T) {
	for _, link := range []string{"tea", ".web"} {
		dir, elsewhere := t.TempDir(), t.TempDir()
		ok(t, os.Symlink(elsewhere, filepath.Join(dir, link)))
		s, st, _ := controlled(t, dir)
		v := visitor{t, s}
		w := v.ask("POST", "/new/", url.Values{"text": {tea}, "do": {"start"}, "file": {"tea.yaml"},
			"key": {v.key("/new/")}}, nil)
		if !strings.Contains(w.Body.String(), "is a link") {
			t.Errorf("%s: %d: %.500s", link, w.Code, w.Body)
		}
		if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 || len(st.orders) > 0 {
			t.Errorf("%s: %d entries elsewhere, %d studies started, %v", link, len(entries), len(st.orders), err)
		}
	}
}
