package main

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A controller is a browser that has shown a page's token.
type controller struct {
	*testing.T
	client http.Client
	url    string
}

func enter(t *testing.T, address string) *controller {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	bare, _, found := strings.Cut(address, "?token=")
	c := &controller{t, http.Client{Jar: jar, Timeout: time.Minute}, bare}
	if code, page := c.do("GET", strings.TrimPrefix(address, bare), nil); code != 200 || !found {
		t.Fatalf("%s: %d %.300s", address, code, page)
	}
	return c
}

func (c *controller) do(method, to string, f url.Values) (int, string) {
	c.Helper()
	r, err := http.NewRequest(method, c.url+to, strings.NewReader(f.Encode()))
	if err != nil {
		c.Fatal(err)
	}
	if method == "POST" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", strings.TrimSuffix(c.url, "/"))
	}
	a, err := c.client.Do(r)
	return answered(c.T, a, err)
}

var pageKey = regexp.MustCompile(`name="key" value="([^"]+)"`)

// send sends the form of a page.
func (c *controller) send(to string, f url.Values) string {
	c.Helper()
	code, page := c.do("GET", to, nil)
	m := pageKey.FindStringSubmatch(page)
	if m == nil {
		c.Fatalf("%s: %d: %.500s", to, code, page)
	}
	f.Set("key", m[1])
	code, page = c.do("POST", to, f)
	if code != 200 {
		c.Fatalf("%s: %d: %.500s", to, code, page)
	}
	return page
}

// until waits for Now to say something.
func (c *controller) until(what string) string {
	c.Helper()
	so := regexp.MustCompile(what)
	for range 600 {
		if _, page := c.do("GET", "now/", nil); so.MatchString(page) {
			return page
		}
		time.Sleep(100 * time.Millisecond)
	}
	_, page := c.do("GET", "now/", nil)
	c.Fatalf("Now does not say %s: %s", what, page)
	return ""
}

// scheduled is a process's scheduling policy and its session (proc_pid_stat(5)).
func scheduled(t *testing.T, pid int) (policy, session string) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	return f[38], f[3]
}

// childWith finds a child of a process by an argument.
func childWith(parent int, arg string) int {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		args, _ := os.ReadFile(name)
		b, err := os.ReadFile(filepath.Dir(name) + "/stat")
		if err != nil || !strings.Contains(string(args), arg) {
			continue
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(rest); f[1] == fmt.Sprint(parent) {
			var pid int
			fmt.Sscan(filepath.Base(filepath.Dir(name)), &pid)
			return pid
		}
	}
	return 0
}

// Two studies are started from two browsers. The page and who started it are killed; both
// studies go on, another page finds them, and stops and resumes them.
func TestWebControl(t *testing.T) {
	if testing.Short() {
		t.Skip("conducts studies")
	}
	o := newOwn(t)
	serve := func() (*exec.Cmd, *controller) {
		c, address := begun(t, o, (*exec.Cmd).StdoutPipe, "web", "--control", "--listen", "127.0.0.1:0")
		return c, enter(t, address)
	}
	server, one := serve()
	_, other := server, enterAgain(one)
	study := func(name string) url.Values {
		return url.Values{"do": {"start"}, "beside": {"1"}, "text": {"study: " + name + "\nservice: monitor\n" +
			"factors: {stack: [rest-json, coap-cbor]}\nrequests: 20\nretries: 100\ndesign: {replications: 400, cooldown: " +
			"50ms}\n"}}
	}
	one.send("new/", study("left"))
	other.send("new/", study("right"))
	one.until(`left</a> <span class="state running"(?s).*>[1-9]\d* of 800<(?s).*right</a>|right</a> <span class="state running"(?s).*left</a>`)
	page := childWith(server.Process.Pid, pageVerb)
	own, _ := scheduled(t, os.Getpid())
	if policy, _ := scheduled(t, page); policy != "5" { // SCHED_IDLE
		t.Errorf("the page has policy %s", policy)
	}
	for _, name := range []string{"left", "right"} {
		pid := childWith(server.Process.Pid, "--out="+o.dir+"/results/"+name+"/001")
		if pid == 0 {
			t.Fatalf("no process measures %s", name)
		}
		t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
		if policy, session := scheduled(t, pid); policy != own || session != fmt.Sprint(pid) {
			t.Errorf("%s has policy %s, want %s, and session %s", name, policy, own, session)
		}
	}

	t.Log("the page dies, and the process that started it says so; again, with both killed")
	syscall.Kill(page, syscall.SIGKILL)
	if err := server.Wait(); err == nil || server.ProcessState.ExitCode() != exitUnmeasured {
		t.Errorf("it ended with %v", err)
	}
	server, _ = serve()
	server.Process.Kill()
	server.Wait()
	server, one = serve()
	links := regexp.MustCompile(`href="\.\./(r/[^"/]+/stop/)"`)
	found := links.FindAllStringSubmatch(one.until(`left</a> <span class="state running"(?s).*right</a>|right</a> <span class="state running"(?s).*left</a>`), -1)
	if len(found) != 2 {
		t.Fatalf("Now offers to stop %v", found)
	}
	for _, m := range found {
		one.send(m[1], url.Values{})
	}
	one.until("No study is running")
	for _, name := range []string{"left", "right"} {
		b, err := os.ReadFile(lastLog(t, o, name))
		if err != nil || !strings.Contains(string(b), "stopped; results so far are in") {
			t.Errorf("%s printed %v: %s", name, err, b)
		}
	}

	t.Log("resume")
	resume := regexp.MustCompile(`href="\.\./(r/[^"/]*left[^"/]*/resume/)"`)
	m := resume.FindStringSubmatch(one.until(`left[^"/]*/resume/`))
	_, before := one.do("GET", strings.TrimSuffix(m[1], "resume/")+"t/1/", nil)
	one.send(m[1], url.Values{})
	again := links.FindStringSubmatch(one.until(`left</a> <span class="state running"`))
	one.send(again[1], url.Values{})
	one.until(`ended with code 3(?s).*stopped; results so far`)
	if _, after := one.do("GET", strings.TrimSuffix(m[1], "resume/")+"t/1/",
		nil); attemptsOf(after) != attemptsOf(before) {
		t.Error("the first trial was measured again")
	}

	t.Log("a study with a meter of the user's: asked for, then its power as it comes")
	o.write(t, "meter.sh", `echo '{"type":"meter","name":"test counter","clock":"host","kind":"cumulative","rate":50}'
while sleep 0.015; do awk '{printf "{\"t\":%.3f,\"J\":%.3f}\n", $1, 2*$1}' /proc/uptime; done
`)
	metered := url.Values{"do": {"start"}, "text": {"study: metered\nservice: monitor\nstack: phantom\noptions: " +
		"{processing: 20ms}\n" +
		`client: {meter: 'exec:["sh", "meter.sh"]'}` + "\nrequests: 300\ndesign: {replications: 20, warmup: 5}\n" +
		"responses: [rtt, power]\nretries: 100\n"}}
	asked := one.send("new/", metered)
	m = regexp.MustCompile(`name="trust" value="([^"]+)"`).FindStringSubmatch(asked)
	if m == nil || !strings.Contains(asked, "meter.sh") {
		t.Fatalf("it does not ask: %s", asked)
	}
	metered.Set("trust", m[1])
	one.send("new/", metered)
	shown := one.until(`<dt>power, client</dt><dd>[\d.]+ m?W`)
	watts := regexp.MustCompile(`<dt>power, client</dt><dd>([\d.]+) W`).FindStringSubmatch(shown)
	var w float64
	if watts != nil {
		fmt.Sscan(watts[1], &w)
	}
	if w < 1.8 || w > 2.2 { // it always gives 2 W
		t.Errorf("the page shows %v", watts)
	}
	if !regexp.MustCompile(`<b>Step:</b> [a-z]`).MatchString(shown) {
		t.Error("the page does not show the step")
	}
	one.send(links.FindStringSubmatch(shown)[1], url.Values{})
	one.until(`metered <span class="state interrupted">ended with code 3`)

	t.Log("many devices: how they are, while they run")
	one.send("new/", url.Values{"do": {"start"}, "text": {"study: crowd\nservice: monitor\nstack: " +
		"coap-protobuf\ndevices: 50\n" +
		"period: 1s\nduration: 4s\nlateness: 20s\nretries: 100\ndesign: {replications: 50}\n"}})
	shown = one.until(`<dt>devices up</dt><dd>50 of 50(?s).*<dt>failed requests</dt><dd>0 of [1-9]`)
	one.send(links.FindStringSubmatch(shown)[1], url.Values{})
	one.until(`crowd <span class="state interrupted">ended with code 3`)

	t.Log("a study that cannot run says why")
	bad := study("bad")
	bad.Set("text", strings.Replace(bad.Get("text"), "requests: 20",
		"requests: 20\nclient.meter: avr:/dev/nothing-here\nresponses: [energy]", 1))
	one.send("new/", bad)
	one.until(`bad <span(?s).*ended with code \d(?s).*nothing-here`)
	if entries, err := os.ReadDir(o.dir + "/results/bad"); err == nil && len(entries) > 0 {
		t.Errorf("a refused study left %v", entries)
	}
	server.Process.Signal(syscall.SIGTERM)
	if err := server.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// enterAgain is another browser with its own cookie.
func enterAgain(c *controller) *controller {
	jar, err := cookiejar.New(nil)
	if err != nil {
		c.Fatal(err)
	}
	at, err := url.Parse(c.url)
	if err != nil {
		c.Fatal(err)
	}
	jar.SetCookies(at, c.client.Jar.Cookies(at))
	return &controller{c.T, http.Client{Jar: jar, Timeout: time.Minute}, c.url}
}

func lastLog(t *testing.T, o own, name string) string {
	t.Helper()
	logs, _ := filepath.Glob(filepath.Join(o.dir, "results/.web/*-"+name+".log"))
	if len(logs) == 0 {
		t.Fatalf("%s has no log", name)
	}
	return logs[len(logs)-1]
}

var attemptRow = regexp.MustCompile(`(?s)<section id="attempts">.*?</section>`)

func attemptsOf(page string) string { return attemptRow.FindString(page) }

// A suspect of a history is confirmed from its page: both versions are measured, the page says
// how far it is, and afterwards what came of it.
func TestWebConfirms(t *testing.T) {
	if testing.Short() {
		t.Skip("conducts studies")
	}
	o := newOwn(t)
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git",
			append([]string{"-c", "user.name=a", "-c", "user.email=a@h", "-c", "init.defaultBranch=main"}, args...)...)
		c.Dir = o.dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	measure := func(dir string) { // again where programs starved: such a run is no point of a history
		t.Helper()
		for range 20 {
			out, code := o.run(t, "run", "gate.yaml", "--trust", "--out", dir)
			if code != exitDone {
				t.Fatalf("%s: exit code %d: %s", dir, code, out)
			}
			if !strings.Contains(strings.Join(strings.Fields(out), " "), "ready to run and had no CPU") {
				return
			}
			if err := os.RemoveAll(filepath.Join(o.dir, dir)); err != nil {
				t.Fatal(err)
			}
		}
		t.Fatalf("%s: programs starved in 20 runs", dir)
	}
	git("init", "--quiet", ".")
	if out, code := o.run(t, "stacks", "new", "mine", "--lang", "python"); code != exitDone {
		t.Fatal(out)
	}
	// Slow enough that waits for a CPU matter to no trial.
	written, err := os.ReadFile(filepath.Join(o.dir, "stacks/mine/stack.py"))
	if err != nil {
		t.Fatal(err)
	}
	takes := func(s string) {
		o.write(t, "stacks/mine/stack.py", strings.Replace(string(written), "        def do_POST(self):",
			"        def do_POST(self):\n            time.sleep("+s+")", 1))
	}
	takes("0.1")
	o.write(t, "gate.yaml", "study: gate\nservice: monitor\nstack: mine\nrequests: 2\ndesign: {warmup: 1, "+
		"replications: 3}\nretries: 20\n")
	git("add", ".")
	git("commit", "--quiet", "-m", "one")
	for i := range 5 { // a history in which a step is found needs some runs before and behind it
		measure(fmt.Sprintf("results/gate/%03d", i+1))
	}
	takes("0.3")
	git("commit", "--quiet", "-a", "-m", "two")
	for i := 5; i < 9; i++ {
		measure(fmt.Sprintf("results/gate/%03d", i+1))
	}
	server, address := begun(t, o, (*exec.Cmd).StdoutPipe, "web", "--control", "--listen", "127.0.0.1:0")
	one := enter(t, address)
	history := func() string {
		_, page := one.do("GET", "history/?study=gate", nil)
		return page
	}
	link := regexp.MustCompile(`class="act confirm" href="\.\./(history/confirm/\?[^"]+)"`)
	m := link.FindStringSubmatch(history())
	if m == nil {
		t.Fatalf("the history offers nothing to confirm: %s", history())
	}
	to := strings.ReplaceAll(m[1], "&amp;", "&")
	_, asked := one.do("GET", to, nil)
	field := func(name string) string {
		m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(asked)
		if m == nil {
			t.Fatalf("the form has no %s: %s", name, asked)
		}
		return m[1]
	}
	f := url.Values{"trust": {field("trust")}, "detect": {"100%"}, "minutes": {"1"}}
	for _, name := range []string{"old", "new", "response", "base"} {
		f.Set(name, field(name))
	}
	if len(f.Get("base")) < 7 {
		t.Errorf("the older version is %q", f.Get("base"))
	}
	one.send(to, f)
	seen := map[string]bool{}
	so := regexp.MustCompile(`(?s)data-confirms="gate-010[^"]*".*?<span class="state \w+">(\w+)</span>.*?(?:<b>\d+ of (\d+)</b>)?`)
	for range 1200 {
		page := history()
		x := so.FindStringSubmatch(page)
		if x == nil {
			break
		}
		seen[x[1]] = true
		if x[1] == "running" && !strings.Contains(page, "It is being measured again") {
			t.Error("the suspect does not say that it is being measured again")
		}
		if x[1] == "failed" {
			t.Fatalf("the confirmation failed: %s", page)
		}
		time.Sleep(100 * time.Millisecond)
	}
	page := history()
	if !seen["running"] || !strings.Contains(page, "1 confirmed regression") ||
		!strings.Contains(page, "The results that say so") ||
		strings.Contains(page, "data-confirms") {
		t.Errorf("it was %v, then: %s", seen, page)
	}
	if out, code := o.run(t, "confirm", "results/gate/010"); code != exitWorse ||
		!strings.HasPrefix(out, "confirmed worse") {
		t.Errorf("the command says, with code %d: %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(o.dir, "results/gate/010/confirming.json")); err == nil {
		t.Error("it says that it goes on")
	}
	server.Process.Signal(syscall.SIGTERM)
	if err := server.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// A page that is stopped, as a debugger or a full memory would, keeps nobody from ending.
func TestStoppedPagesAreNotWaitedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a deadline of 10 s")
	}
	t.Parallel()
	o := newOwn(t)
	ok(t, os.Mkdir(filepath.Join(o.dir, "results"), 0o755))
	o.write(t, "watched.yaml", "study: watched\nservice: monitor\nstack: rest-json\nrequests: 20\n"+
		"design: {replications: 300, cooldown: 100ms}\n")
	for _, x := range []struct{ verb, line string }{
		{pageVerb, "web results --listen=127.0.0.1:0"},
		{pageVerb, "web results --listen=127.0.0.1:0 --control"},
		{watchVerb, "run watched.yaml --web=127.0.0.1:0 --out r"},
	} {
		t.Run(x.line, func(t *testing.T) {
			t.Parallel()
			said := (*exec.Cmd).StdoutPipe
			if x.verb == watchVerb {
				said = (*exec.Cmd).StderrPipe
			}
			c, _ := begun(t, o, said, strings.Fields(x.line)...)
			var page int
			for range 600 {
				if page = childWith(c.Process.Pid, x.verb); page != 0 {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			if page == 0 {
				t.Fatal("it has no page")
			}
			ok(t, syscall.Kill(page, syscall.SIGSTOP))
			ok(t, c.Process.Signal(os.Interrupt))
			late := time.AfterFunc(6*pageEnds, func() { c.Process.Kill() })
			_ = c.Wait() // its code says little here
			if !late.Stop() {
				t.Error("it waits for its page for ever")
			}
			if syscall.Kill(page, 0) == nil {
				t.Error("the page is left")
			}
		})
	}
}

// A page whose address nobody can read is not served.
func TestWebSaysItsAddressOrEnds(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	ok(t, err)
	defer full.Close()
	ok(t, os.Mkdir(filepath.Join(o.dir, "results"), 0o755))
	c := exec.CommandContext(t.Context(), o.exe, "web", "results", "--listen=127.0.0.1:0")
	c.Dir, c.Stdout = o.dir, full
	late := time.AfterFunc(time.Minute, func() { c.Process.Kill() })
	_ = c.Run() // its code is looked at
	if !late.Stop() || c.ProcessState.ExitCode() != exitUnmeasured {
		t.Errorf("it ended with %v", c.ProcessState)
	}
}

// A page that may start studies is served in a fresh folder: it is there to measure first. One that only shows is not.
func TestControlInAFreshFolder(t *testing.T) {
	o := newOwn(t)
	if out, code := o.run(t, "web"); code != exitUsage || !strings.Contains(out,
		"measure first, for example with edgegauge web --control") {
		t.Errorf("exit code %d: %s", code, out)
	}
	ok(t, os.Mkdir(filepath.Join(o.dir, "studies"), 0o755))
	c := exec.CommandContext(t.Context(), o.exe, "web", "--control", "--listen", "127.0.0.1:0")
	c.Dir = o.dir
	said, err := c.StdoutPipe()
	ok(t, err)
	ok(t, c.Start())
	defer func() {
		ok(t, c.Process.Signal(os.Interrupt))
		_ = c.Wait() // its code is that of an interrupt
	}()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil || !strings.Contains(line, "http://127.0.0.1:") {
		t.Errorf("got %q, %v", line, err)
	}
}
