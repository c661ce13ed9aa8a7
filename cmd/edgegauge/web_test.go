package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// begun starts edgegauge in the background and returns the first line that it prints
// where said tells.
func begun(t *testing.T, o own, said func(*exec.Cmd) (io.ReadCloser, error), args ...string) (*exec.Cmd, string) {
	t.Helper()
	c := exec.Command(o.exe, args...)
	own := t.TempDir() // else it tells what killed labs left, and that other tests measure
	c.Dir, c.Env = o.dir, append(os.Environ(), "TMPDIR="+own, "EDGEGAUGE_TOGETHER="+own)
	out, err := said(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	in := bufio.NewReader(out)
	line, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, in)
	return c, strings.TrimSpace(line)
}

func fetched(t *testing.T, address string) (int, string) {
	t.Helper()
	a, err := http.Get(address)
	return answered(t, a, err)
}

// answered is the code and the text of an answer.
func answered(t *testing.T, a *http.Response, err error) (int, string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(b)
}

// The page is served until it is asked to end, and asks for a token if told to.
func TestWebServes(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	stageResults(t, o)
	c, address := begun(t, o, (*exec.Cmd).StdoutPipe, "web", "--listen", "127.0.0.1:0")
	if code, page := fetched(t, address); code != 200 || !strings.Contains(page, "1 of 1 results") ||
		!strings.Contains(page, ">earlier</a>") {
		t.Errorf("%s: %d %.300s", address, code, page)
	}
	if policy, _ := scheduled(t, childWith(c.Process.Pid, pageVerb)); policy != "5" { // SCHED_IDLE
		t.Errorf("the page has policy %s", policy)
	}
	c.Process.Signal(syscall.SIGTERM)
	if err := c.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	_, asks := begun(t, o, (*exec.Cmd).StdoutPipe, "web", "results/earlier/001", "--token", "--listen", "127.0.0.1:0")
	bare, _, found := strings.Cut(asks, "?token=")
	if code, _ := fetched(t, bare); !found || code != 403 {
		t.Errorf("%s: %d without its token", asks, code)
	}
	pages := filepath.Join(o.dir, "pages")
	if out, code := o.run(t, "web", "export", pages, "results/earlier/001"); code != exitDone ||
		!strings.Contains(out, "pages/index.html") {
		t.Errorf("export: exit code %d: %s", code, out)
	}
	if trials, _ := filepath.Glob(pages + "/r/*/t/*/index.html"); len(trials) != 6 {
		t.Errorf("got %d pages of trials, want 6", len(trials))
	}
}

// What would let others read the page in the clear, and what is no folder, is refused.
func TestWebRefuses(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	if err := os.Mkdir(filepath.Join(o.dir, "there"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"web", "there", "--listen", "0.0.0.0:0"}, exitUsage, "needs --tls-cert"},
		{[]string{"web", "there", "--listen", "lab.example:80"}, exitUsage, "needs --tls-cert"},
		{[]string{"web", "there", "--listen", "8642"}, exitUsage, "write ADDRESS:PORT"},
		{[]string{"web", "there", "--tls-cert", "x"}, exitUsage, "belong together"},
		{[]string{"web", "there", "--tls-cert", "no.pem", "--tls-key", "no.pem"}, exitUsage, "open no.pem: no such file"},
		{[]string{"web", "there", "--tls-cert", "/dev/zero", "--tls-key", "x"}, exitUsage, "more than 1048576 bytes"},
		{[]string{"web", "nowhere"}, exitUsage, "nowhere: no such folder"},
		{[]string{"web"}, exitUsage, "results: no such folder; edgegauge run makes it"},
		{[]string{"web", "export", "page"}, exitUsage, "export"},
		{[]string{"web", "export", "page", "there"}, exitUsage, "no results"},
		{[]string{"run", "quickstart", "--web=0.0.0.0:1", "--out", "x"}, exitUsage, "a port of this machine"},
	} {
		if out, code := o.run(t, tt.args...); code != tt.code || !strings.Contains(out, tt.says) {
			t.Errorf("%v: exit code %d: %s", tt.args, code, out)
		}
	}
}

// A run with a page shows its trials and steps, its page only idles, and both end together.
func TestRunWithAPage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	o := newOwn(t)
	o.write(t, "watched.yaml", "study: watched\nservice: monitor\nfactors: {stack: [rest-json, coap-cbor]}\n"+
		"requests: 20\nretries: 60\ndesign: {replications: 600, cooldown: 100ms}\n")
	c, line := begun(t, o, (*exec.Cmd).StderrPipe, "run", "watched.yaml", "--web=127.0.0.1:0", "--out", "r")
	address, found := strings.CutPrefix(line, "watch it at ")
	if !found {
		t.Fatalf("it says %q", line)
	}
	step := regexp.MustCompile(`<b>Step:</b> ([a-z ]+)`)
	valid := regexp.MustCompile(`<dd>(\d+) of 1200</dd>`)
	for { // until the run has ended, if it never is so
		_, page := fetched(t, address)
		time.Sleep(20 * time.Millisecond)
		n := 0
		if m := valid.FindStringSubmatch(page); m != nil {
			fmt.Sscan(m[1], &n)
		}
		if n > 2 && step.MatchString(page) {
			break
		}
	}
	policies := 0
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, err := os.ReadFile(name)
		args, _ := os.ReadFile(filepath.Dir(name) + "/cmdline")
		if err != nil || !strings.Contains(string(args), watchVerb+"\x00"+"r") {
			continue
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(rest); f[1] == fmt.Sprint(c.Process.Pid) { // its parent
			policies++
			if f[38] != "5" { // SCHED_IDLE; field 41 of proc_pid_stat(5)
				t.Errorf("the page has policy %s", f[38])
			}
		}
	}
	if policies != 1 {
		t.Errorf("found %d pages of the run", policies)
	}
	c.Process.Signal(os.Interrupt)
	c.Wait()
	if _, err := http.Get(address); err == nil {
		t.Error("the page outlived the run")
	}
}

// The page of a study that benches share shows each of them, and what it measures.
func TestSharedRunWithAPage(t *testing.T) {
	o := newOwn(t)
	exe, err := os.Executable()
	if err == nil {
		err = os.Symlink(exe, filepath.Join(o.dir, "edgegauge-hub")) // by this name the test binary is the hub
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", o.dir+":"+os.Getenv("PATH"))
	o.write(t, "shared.yaml", "study: shared\nservice: monitor\nfactors: {stack: [rest-json, coap-cbor]}\n"+
		"requests: 20\nretries: 60\ndesign: {replications: 200, cooldown: 100ms}\n")
	c, line := begun(t, o, (*exec.Cmd).StderrPipe, "run", "shared.yaml", "--benches", "2", "--web=127.0.0.1:0",
		"--out", "r")
	address, found := strings.CutPrefix(line, "watch it at ")
	if !found {
		t.Fatalf("it says %q", line)
	}
	up := regexp.MustCompile(`(?s)here-1</th><td><span class="state up">up</span></td><td>.*here-2</th><td><span class="state up">`)
	busy := regexp.MustCompile(`<td>block \d+`)
	for { // until the run has ended, if it never is so
		if _, page := fetched(t, address); up.MatchString(page) && busy.MatchString(page) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.Process.Signal(os.Interrupt)
	c.Wait()
}
