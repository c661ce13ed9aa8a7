package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
	"edgegauge.example/edgegauge/internal/store"
)

var (
	wreckings = flag.Int("wreckings", 8, "how many commands TestWrecking breaks")
	wreckSeed = flag.Uint64("wreckseed", 102, "the first one's seed, the others follow; 0: any")
)

// wreckStudy is small, and ends in spite of a busy machine.
const wreckStudy = `study: wreck
service: monitor
factors:
  stack: [phantom, reference/rest-json]
requests: 20
retries: 20
responses: [rtt]
design: {replications: 4, warmup: 5}
`

// searchStudy asks a server of the test's own.
const searchStudy = `study: bears
server: {url: "%s"}
request: {path: /}
rate: 3000
concurrency: 8
duration: 100ms
retries: 20
design: {warmup: 0}
`

// A wreckable is a command that is broken. What measures writes results, what does not reads those that are kept.
type wreckable struct {
	args     string
	measures bool
	blocks   int      // that it measures; 0: as many as it takes
	answers  []string // words of what it says where its answer is no good one
	pace     int64    // how much later it is broken than others; 0: no later
}

// wreckables are broken in turn, as seeds follow each other: one of each row, the next time another. The last row's
// have no true hub.
var wreckables = [][]wreckable{
	{{args: "run s.yaml --out out", measures: true, blocks: 4},
		{args: "run s.yaml --out out --benches 2", measures: true, blocks: 4}},
	{{args: "report kept"}, {args: "report kept --format html --out page.html"}, {args: "choose kept --minimize rtt"},
		{args: "compare kept other --fail-if rtt>5%"}, {args: "history kept other"},
		{args: "publish kept --out packed.zip"}},
	{{args: "capacity bears.yaml --slo failed<5% --length 100ms --late 2s --budget 10 --out out", measures: true,
		answers: []string{"no interval within the budget", "not kept to at", "more than half of what the driver"}, pace: 4},
		{args: "confirm kept other --base ./edgegauge --pilot 3 --max-time 1s --detect 900% --out out", measures: true,
			answers: []string{"confirmed worse"}, pace: 2}},
	{{args: "run s.yaml --out out --benches 2", measures: true, blocks: 4}},
}

// A fakeHub is what stands for edgegauge-hub: a script, in which $URL is that of a server that says something.
type fakeHub struct {
	name, script string
	says         func(c net.Conn) // nil: there is no server
}

const saysURL = `echo "{\"url\":\"$URL\"}"; exec cat`

// fakeHubs say and carry nonsense, the quick ones first.
var fakeHubs = []fakeHub{
	{"a hub that says nonsense", `printf '\033[2J{"url": 5}'; exec cat`, nil},
	{"a hub that carries nonsense", saysURL, func(c net.Conn) { rave(c) }},
	{"a hub that ends", `exit 0`, nil},
	{"a hub that hangs up", saysURL, func(net.Conn) {}},
	{"a hub that says too much", `exec yes nonsense`, nil},
	{"a hub that carries nothing", saysURL, func(c net.Conn) { io.Copy(io.Discard, c) }},
	{"a hub that greets and raves", saysURL, func(c net.Conn) {
		io.WriteString(c, `INFO {"server_id":"x","version":"2.15.0","proto":1,"max_payload":1048576,"nonce":"abc"}`+"\r\n")
		rave(c)
	}},
	{"a hub that says nothing", `exec sleep 1000`, nil},
}

// rave says nonsense until nobody hears it.
func rave(c net.Conn) {
	go io.Copy(io.Discard, c)
	for {
		if _, err := io.WriteString(c, "\x1b[2J MSG {[(\r\n"); err != nil {
			return
		}
	}
}

// breaking is that of a command whose hub this is. It ends by itself, or waits and is told to end.
func (h fakeHub) breaking() breaking {
	return breaking{name: h.name, hub: &h, do: func(w *wrecking) {
		select {
		case <-w.done:
			if w.cmd.ProcessState.ExitCode() == exitDone {
				w.t.Errorf("%s: it ended well", w.what)
			}
		case <-time.After(20 * time.Second):
			w.cmd.Process.Signal(syscall.SIGINT)
		}
	}}
}

// install puts the fake hub before the true one, for what has this environment.
func (h fakeHub) install(t *testing.T, dir string) (environment []string) {
	t.Helper()
	url := ""
	if h.says != nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		url = "nats://" + l.Addr().String()
		go serveEach(l, h.says)
	}
	script := "#!/bin/sh\nURL=" + url + "\n" + h.script + "\n"
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	kerneltest.WriteProgram(t, filepath.Join(dir, "bin", "edgegauge-hub"), script)
	return append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
}

// A breaking is how; measures: only a command that measures.
type breaking struct {
	name     string
	shell    string // around the command, "$@"; empty: none
	measures bool
	hub      *fakeHub // in place of the true one
	do       func(w *wrecking)
}

var breakings = []breaking{
	{name: "kill -9", do: func(w *wrecking) { w.after(1500); w.cmd.Process.Kill() }},
	{name: "SIGTERM", do: func(w *wrecking) { w.after(1500); w.cmd.Process.Signal(syscall.SIGTERM) }},
	{name: "stopped for a while", do: func(w *wrecking) {
		w.after(1000)
		w.cmd.Process.Signal(syscall.SIGSTOP)
		w.after(3000)
		w.cmd.Process.Signal(syscall.SIGCONT)
	}},
	{name: "a process of it stopped, then Ctrl-C", measures: true, do: func(w *wrecking) {
		w.after(1000)
		if all := kernel.Descendants(w.cmd.Process.Pid); len(all) > 0 {
			syscall.Kill(all[w.dice.IntN(len(all))], syscall.SIGSTOP)
		}
		w.after(1000)
		w.cmd.Process.Signal(syscall.SIGINT)
	}},
	{name: "few descriptors", shell: `ulimit -n $((8 + $0 % 57)); exec "$@"`},
	{name: "full output", shell: `exec "$@" >/dev/full`},
	{name: "closed output", shell: `exec "$@" >&-`},
	{name: "results removed", measures: true, do: func(w *wrecking) {
		w.after(1500)
		gone := filepath.Join(w.t.TempDir(), "gone")
		os.Rename(filepath.Join(w.dir, "out"), gone) // it may not be there yet
	}},
	{name: "two at once", measures: true, do: func(w *wrecking) { w.second() }},
}

// A wrecking is one command that is broken once.
type wrecking struct {
	own
	t    *testing.T
	dice *rand.Rand
	what string
	args []string
	pace int64
	cmd  *exec.Cmd
	said bytes.Buffer
	done chan struct{}
}

// after waits for up to so many ms, or until the command has ended.
func (w *wrecking) after(ms int64) {
	select {
	case <-w.done:
	case <-time.After(time.Duration(w.dice.Int64N(ms*max(w.pace, 1))) * time.Millisecond):
	}
}

func (w *wrecking) second() {
	w.after(300)
	out, code := w.run(w.t, w.args...)
	if code != exitDone && strings.TrimSpace(out) == "" {
		w.t.Errorf("%s: the second one ended with %d and no word", w.what, code)
	}
}

// start starts the command as it is broken.
func (w *wrecking) start(how breaking) {
	args := append([]string{w.exe}, w.args...)
	if how.shell != "" {
		args = append([]string{"sh", "-c", how.shell, fmt.Sprint(w.dice.IntN(1 << 20))}, args...)
	}
	w.cmd = exec.Command(args[0], args[1:]...)
	w.cmd.Dir, w.cmd.Stderr, w.done = w.dir, &w.said, make(chan struct{})
	if how.hub != nil {
		w.cmd.Env = how.hub.install(w.t, w.t.TempDir())
	}
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		w.cmd.Wait()
		close(w.done)
	}()
}

// ends waits for the command, which must end, say why, and leave no process.
func (w *wrecking) ends() {
	select {
	case <-w.done:
	case <-time.After(2 * time.Minute):
		w.cmd.Process.Signal(syscall.SIGQUIT)
		<-w.done
		w.t.Errorf("%s: it did not end: %s", w.what, w.said.String())
	}
	code := w.cmd.ProcessState.ExitCode()
	if code > exitDone && strings.TrimSpace(w.said.String()) == "" {
		w.t.Errorf("%s: it ended with %d and no word", w.what, code)
	}
	if strings.ContainsAny(w.said.String(), "\x1b\x01") || strings.Contains(w.said.String(), "goroutine ") {
		w.t.Errorf("%s: it crashed, or passed on what a stranger said: %q", w.what, w.said.String())
	}
	var left []string
	for range 500 {
		if left = processesBelow(w.dir); len(left) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.t.Errorf("%s: left over: %v", w.what, left)
}

// whole runs the command again until it is done, and counts: each trial has one valid attempt, and nothing lies about.
func (w *wrecking) whole(c wreckable) {
	out, code, answered := "", -1, false
	for range 3 {
		out, code = w.run(w.t, w.args...)
		answered = code == exitDone || slices.ContainsFunc(c.answers, func(a string) bool { return strings.Contains(out, a) })
		if answered {
			break
		}
	}
	s, err := store.OpenReadOnly(filepath.Join(w.dir, "out"))
	if err != nil {
		w.t.Errorf("%s: run again it ended with %d: %s: %v", w.what, code, out, err)
		return
	}
	defer s.Close()
	blocks, wrong, states, err := countBlocks(s)
	if err != nil || !answered || c.blocks > 0 && blocks != c.blocks || blocks == 0 || wrong+states[store.Running] > 0 ||
		len(s.Verify()) > 0 {
		w.t.Errorf("%s: run again it ended with %d, of %d blocks %d are wrong, %v, %v, %v: %s", w.what, code, blocks, wrong,
			states, err, s.Verify(), out)
	}
	left, _ := filepath.Glob(filepath.Join(w.dir, "out", "*.partial"))
	temporary, _ := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	if left = append(left, temporary...); len(left) > 0 {
		w.t.Errorf("%s: run again it left %q", w.what, left)
	}
}

// digest is that of all files below a folder. SQLite may touch its own beside a ledger that is read.
func digest(t *testing.T, dir string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, "-shm") || strings.HasSuffix(path, "-wal") {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n", path, len(text))
		sum.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// Commands that are killed, stopped, starved of descriptors or of output, or whose results are taken away, at random
// instants, and fleets whose hub talks nonsense: each ends, says why, leaves no process, and the same command again
// gives whole results, each trial once, and leaves no file. What only is read does not change. make chaos breaks more.
func TestWrecking(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	o := newOwn(t)
	t.Cleanup(mourn(t, o.dir))
	server := httptest.NewServer(&refusing{bears: 500}) // in 100 ms
	t.Cleanup(server.Close)
	temporary := filepath.Join(t.TempDir(), "temporary")
	if err := os.Mkdir(temporary, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temporary)
	t.Setenv("EDGEGAUGE_TOGETHER", temporary)
	o.write(t, "s.yaml", wreckStudy)
	o.write(t, "bears.yaml", fmt.Sprintf(searchStudy, server.URL))
	for _, dir := range []string{"kept", "other"} {
		if out, code := o.run(t, "run", "s.yaml", "--out", dir); code != exitDone {
			t.Fatalf("%d: %s", code, out)
		}
	}
	sums := func() string {
		return digest(t, filepath.Join(o.dir, "kept")) + digest(t, filepath.Join(o.dir, "other"))
	}
	kept := sums()
	seed := *wreckSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) >> 20
	}
	count := map[string]int{}
	for i := range uint64(*wreckings) {
		dice := rand.New(rand.NewPCG(seed+i, 0))
		round, turn := int((seed+i)/uint64(len(wreckables))%1000), int((seed+i)%uint64(len(wreckables)))
		c := wreckables[turn][round%len(wreckables[turn])]
		how := breakings[dice.IntN(len(breakings))]
		for how.measures && !c.measures {
			how = breakings[dice.IntN(len(breakings))]
		}
		if turn == len(wreckables)-1 {
			how = fakeHubs[round%len(fakeHubs)].breaking()
		}
		for _, made := range []string{"out", "packed.zip", "page.html"} {
			if err := os.RemoveAll(filepath.Join(o.dir, made)); err != nil {
				t.Fatal(err)
			}
		}
		w := &wrecking{own: o, t: t, dice: dice, args: strings.Fields(c.args), pace: c.pace,
			what: fmt.Sprintf("seed %d: %s: %s", seed+i, c.args, how.name)}
		w.start(how)
		if how.do != nil {
			how.do(w)
		}
		w.ends()
		if c.measures {
			w.whole(c)
		}
		if sums() != kept {
			t.Errorf("%s: results that are only read have changed", w.what)
		}
		line, _, _ := strings.Cut(strings.TrimSpace(w.said.String()), "\n")
		t.Logf("%s: exit code %d, %.200s", w.what, w.cmd.ProcessState.ExitCode(), line)
		verb, _, _ := strings.Cut(c.args, " ")
		count[fmt.Sprintf("%s, %s", verb, how.name)]++
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%3d × %s", count[name], name)
	}
}
