package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/store"
)

var (
	wreckings = flag.Int("wreckings", 5, "how many commands TestWrecking breaks")
	wreckSeed = flag.Uint64("wreckseed", 14, "the first one's seed, the others follow; 0: any")
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

// A wreckable is a command that is broken. What measures writes results, what does not reads those that are kept.
type wreckable struct {
	args     string
	measures bool
}

var wreckables = []wreckable{
	{"run s.yaml --out out", true}, {"run s.yaml --out out --benches 2", true},
	{"report kept", false}, {"report kept --format html --out page.html", false}, {"choose kept --minimize rtt", false},
	{"compare kept other --fail-if rtt>5%", false}, {"history kept other", false},
	{"publish kept --out packed.zip", false},
}

// A breaking is how; measures: only a command that measures.
type breaking struct {
	name     string
	shell    string // around the command, "$@"; empty: none
	measures bool
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
	cmd  *exec.Cmd
	said bytes.Buffer
	done chan struct{}
}

// after waits for up to so many ms, or until the command has ended.
func (w *wrecking) after(ms int64) {
	select {
	case <-w.done:
	case <-time.After(time.Duration(w.dice.Int64N(ms)) * time.Millisecond):
	}
}

func (w *wrecking) second() {
	w.after(300)
	out, code := w.run(w.t, w.args...)
	if code != exitDone && strings.TrimSpace(out) == "" {
		w.t.Errorf("%s: the second one ended with %d and no word", w.what, code)
	}
}

// start starts the command, within a shell if one is given.
func (w *wrecking) start(shell string) {
	args := append([]string{w.exe}, w.args...)
	if shell != "" {
		args = append([]string{"sh", "-c", shell, fmt.Sprint(w.dice.IntN(1 << 20))}, args...)
	}
	w.cmd = exec.Command(args[0], args[1:]...)
	w.cmd.Dir, w.cmd.Stderr, w.done = w.dir, &w.said, make(chan struct{})
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
	if strings.Contains(w.said.String(), "goroutine ") {
		w.t.Errorf("%s: it crashed: %s", w.what, w.said.String())
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

// whole runs the command again until it is done, and counts: each trial has one valid attempt.
func (w *wrecking) whole() {
	out, code := "", -1
	for range 3 {
		if out, code = w.run(w.t, w.args...); code == exitDone {
			break
		}
	}
	s, err := store.OpenReadOnly(filepath.Join(w.dir, "out"))
	if err != nil {
		w.t.Errorf("%s: run again it ended with %d: %s: %v", w.what, code, out, err)
		return
	}
	defer s.Close()
	blocks, wrong, _, err := countBlocks(s)
	if err != nil || code != exitDone || blocks != 4 || wrong > 0 || len(s.Verify()) > 0 {
		w.t.Errorf("%s: run again it ended with %d, of %d blocks %d are wrong, %v, %v: %s", w.what, code, blocks, wrong, err,
			s.Verify(), out)
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
// instants: each ends, says why, leaves no process, and the same command again gives whole results, each trial once.
// What only reads changes nothing. make chaos breaks more of them.
func TestWrecking(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	o := newOwn(t)
	t.Cleanup(mourn(t, o.dir))
	o.write(t, "s.yaml", wreckStudy)
	for _, dir := range []string{"kept", "other"} {
		if out, code := o.run(t, "run", "s.yaml", "--out", dir); code != exitDone {
			t.Fatalf("%d: %s", code, out)
		}
	}
	kept := digest(t, filepath.Join(o.dir, "kept"))
	seed := *wreckSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) >> 20
	}
	count := map[string]int{}
	for i := range uint64(*wreckings) {
		dice := rand.New(rand.NewPCG(seed+i, 0))
		c := wreckables[dice.IntN(2)] // every other one measures
		if i%2 == 1 {
			c = wreckables[2+dice.IntN(len(wreckables)-2)]
		}
		how := breakings[dice.IntN(len(breakings))]
		for how.measures && !c.measures {
			how = breakings[dice.IntN(len(breakings))]
		}
		for _, made := range []string{"out", "packed.zip", "page.html"} {
			if err := os.RemoveAll(filepath.Join(o.dir, made)); err != nil {
				t.Fatal(err)
			}
		}
		w := &wrecking{own: o, t: t, dice: dice, args: strings.Fields(c.args),
			what: fmt.Sprintf("seed %d: %s: %s", seed+i, c.args, how.name)}
		w.start(how.shell)
		if how.do != nil {
			how.do(w)
		}
		w.ends()
		if c.measures {
			w.whole()
		} else if digest(t, filepath.Join(o.dir, "kept")) != kept {
			t.Errorf("%s: results that are only read have changed", w.what)
		}
		line, _, _ := strings.Cut(strings.TrimSpace(w.said.String()), "\n")
		t.Logf("%s: exit code %d, %.200s", w.what, w.cmd.ProcessState.ExitCode(), line)
		verb, _, _ := strings.Cut(c.args, " ")
		count[fmt.Sprintf("%s, %s", map[bool]string{true: strings.ReplaceAll(c.args, "s.yaml --out out", ""),
			false: verb}[c.measures], how.name)]++
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%3d × %s", count[name], name)
	}
}
