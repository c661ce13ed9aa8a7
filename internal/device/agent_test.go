package device

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/device/rpc"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// board is an agent in a process of its own, as a device has it.
type board struct {
	*Remote
	dir string
	cmd *exec.Cmd
}

// pipes are the stdin and stdout of a process.
type pipes struct {
	io.Reader
	io.WriteCloser
}

func (p pipes) Close() error {
	return errors.Join(p.WriteCloser.Close(), p.Reader.(io.Closer).Close())
}

func startBoard(t *testing.T, silence time.Duration) board {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := board{dir: filepath.Join(t.TempDir(), AgentPrefix+"1")}
	b.cmd = exec.Command(exe, AgentVerb, b.dir)
	b.cmd.Stderr = os.Stderr
	in, err := b.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if b.Remote, err = Connect(t.Context(), "board", pipes{out, in}, "lab", silence); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.end(t) })
	return b
}

// end ends the agent, which must leave nothing.
func (b board) end(t *testing.T) {
	t.Helper()
	b.Close()
	kill := time.AfterFunc(20*time.Second, func() { b.cmd.Process.Kill() })
	defer kill.Stop()
	b.cmd.Wait()
	if _, err := os.Stat(b.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the agent left %s: %v", b.dir, err)
	}
}

func (b board) sh(t *testing.T, script string) *Process {
	t.Helper()
	p, err := b.Start(t.Context(), Command{Argv: []string{"sh", "-c", script}, Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProcessOnABoard(t *testing.T) {
	b := startBoard(t, 0)
	if b.Build != "test" {
		t.Errorf("got build %q", b.Build)
	}
	log := filepath.Join(t.TempDir(), "log")
	p, err := b.Start(t.Context(), Command{Argv: []string{"sh", "-c",
		"while read x; do echo got $x; echo note $x >&2; done; echo $COLOUR; exit 7"}, Env: []string{"COLOUR=red"}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(p.Stdout)
	for _, word := range []string{"one", "two"} {
		fmt.Fprintln(p.Stdin, word)
		if line, err := out.ReadString('\n'); line != "got "+word+"\n" {
			t.Errorf("got %q, %v", line, err)
		}
	}
	if u, err := p.Usage(); err != nil || u.PeakRSS < 100_000 {
		t.Errorf("got %+v, %v", u, err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	want := []kernel.Connection{{Client: client.LocalAddr().(*net.TCPAddr).AddrPort(), Open: true}}
	known, err := p.Connections(l.Addr().(*net.TCPAddr).AddrPort()) // its network is this process's
	if err != nil || !slices.Equal(known, want) {
		t.Errorf("got connections %v, %v, want %v", known, err, want)
	}
	p.Stdin.Close()
	if rest, err := io.ReadAll(out); string(rest) != "red\n" || err != nil {
		t.Errorf("got %q, %v", rest, err)
	}
	if e := p.Wait(); e.Code != 7 || e.Err != "" {
		t.Errorf("got %+v", e)
	}
	if got, _ := os.ReadFile(log); string(got) != "note one\nnote two\n" {
		t.Errorf("got log %q", got)
	}
}

// What a program prints faster than the lab reads waits in the program.
func TestManyLinesFromABoard(t *testing.T) {
	b := startBoard(t, 0)
	p := b.sh(t, "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done")
	time.Sleep(100 * time.Millisecond)
	if _, err := b.Facts(t.Context()); err != nil { // nothing else has to wait
		t.Fatal(err)
	}
	n := 0
	for lines := bufio.NewScanner(p.Stdout); lines.Scan(); n++ {
		if want := "line " + strconv.Itoa(n); lines.Text() != want {
			t.Fatalf("got %q, want %q", lines.Text(), want)
		}
	}
	if n != 20000 {
		t.Errorf("got %d lines", n)
	}
	if e := p.Wait(); e.Code != 0 {
		t.Errorf("got %+v", e)
	}
}

func TestBoardRefuses(t *testing.T) {
	b := startBoard(t, 0)
	for _, tt := range []struct {
		c    Command
		want string
	}{
		{Command{Argv: []string{"no-such-program-at-all"}}, "executable file not found"},
		{Command{Argv: []string{"true"}, CPUs: []int{4000}}, "pin to CPU 4000"},
		{Command{Argv: []string{"true"}, Dir: "/no/such"}, "no such file"},
		{Command{Argv: []string{"true"}, Namespace: os.Stdin}, "remove link"},
	} {
		if _, err := b.Start(t.Context(), tt.c); err == nil || !strings.Contains(err.Error(), tt.want) ||
			!strings.Contains(err.Error(), "board") {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
	if err := b.call(t.Context(), "dance", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "same edgegauge at both ends") {
		t.Errorf("got %v", err)
	}
	if err := b.Get(t.Context(), "../../../etc/hostname", io.Discard); err == nil {
		t.Error("a file outside the agent's folder was read")
	}
	if err := b.Put(t.Context(), "../escaped", 0o644, strings.NewReader("x")); err != nil { // inside, whatever was written
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(b.dir), "escaped")); err == nil {
		t.Error("a file was written outside the agent's folder")
	}
}

func TestFilesToAndFromABoard(t *testing.T) {
	b := startBoard(t, 0)
	here := t.TempDir()
	big := bytes.Repeat([]byte("edge"), 100_000)
	os.MkdirAll(filepath.Join(here, "build/lib"), 0o755)
	os.WriteFile(filepath.Join(here, "build/lib/a.jar"), big, 0o644)
	os.WriteFile(filepath.Join(here, "run.sh"), []byte("#!/bin/sh\nwc -c <build/lib/a.jar\n"), 0o755)
	at, err := b.PutAll(t.Context(), here, []string{"build", "run.sh"}, "stacks/x")
	if err != nil || at != filepath.Join(b.dir, "stacks/x") {
		t.Fatal(at, err)
	}
	out, code, err := b.Run(t.Context(), at, nil, "./run.sh")
	if err != nil || code != 0 || strings.TrimSpace(out) != strconv.Itoa(len(big)) {
		t.Errorf("got %q, %d, %v", out, code, err)
	}
	var back bytes.Buffer
	if err := b.Get(t.Context(), "stacks/x/build/lib/a.jar", &back); err != nil || !bytes.Equal(back.Bytes(), big) {
		t.Errorf("got %d bytes back, %v", back.Len(), err)
	}
	if err := b.Get(t.Context(), "no-such", &back); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v", err)
	}
	if err := b.Put(t.Context(), "half", 0o644, io.MultiReader(strings.NewReader("x"), broken{})); err == nil ||
		!strings.Contains(err.Error(), "a broken disk") {
		t.Errorf("got %v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("a broken disk") }

// The agent's end, of whatever kind, ends what it started and removes its folder.
func TestAgentLeavesNothing(t *testing.T) {
	for _, tt := range []struct {
		how string
		end func(b board)
	}{
		{"the lab says farewell", func(b board) { b.Close() }},
		{"the agent is told to end", func(b board) { b.cmd.Process.Signal(unix.SIGTERM) }},
		{"the terminal hangs up", func(b board) { b.cmd.Process.Signal(unix.SIGHUP) }},
	} {
		b := startBoard(t, 0)
		p := b.sh(t, "trap '' TERM HUP INT; setsid sleep 1000 & echo $!; sleep 1000")
		line, _ := bufio.NewReader(p.Stdout).ReadString('\n')
		grandchild, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Kill(grandchild, unix.SIGKILL) })
		tt.end(b)
		if e := p.Wait(); e.Code != -1 || !strings.Contains(e.Err, "connection was lost") {
			t.Errorf("%s: got %+v", tt.how, e)
		}
		b.end(t)
		if alive(grandchild) {
			t.Errorf("%s: process %d outlived its agent", tt.how, grandchild)
		}
		if _, err := p.Usage(); err == nil {
			t.Errorf("%s: usage of a lost process", tt.how)
		}
	}
}

// A killed agent leaves its folder, which the next one removes; its processes
// die at once.
func TestKilledAgentIsSweptUp(t *testing.T) {
	b := startBoard(t, 0)
	p := b.sh(t, "echo $$; sleep 1000")
	line, _ := bufio.NewReader(p.Stdout).ReadString('\n')
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	b.cmd.Process.Kill()
	p.Wait()
	for end := time.Now().Add(time.Minute); alive(pid) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if alive(pid) {
		t.Errorf("process %d outlived its killed agent", pid)
	}
	parent := filepath.Dir(b.dir)
	young, other := filepath.Join(parent, AgentPrefix+"2"), filepath.Join(parent, "somebody-elses")
	os.Mkdir(young, 0o700)
	os.Mkdir(other, 0o700)
	var a agent
	release, err := a.settle(filepath.Join(parent, AgentPrefix+"3"))
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{b.dir: false, young: true, other: true,
		filepath.Join(parent, AgentPrefix+"3"): true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", dir, err == nil, want)
		}
	}
	SweepAgents(parent, "") // from elsewhere: the living one's folder is locked
	if _, err := os.Stat(filepath.Join(parent, AgentPrefix+"3")); err != nil {
		t.Error(err)
	}
	release()
}

// A lab that is not heard any more is dead.
func TestSilentLab(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const silence = 4 * time.Second // a busy machine may stand still for some of them
	b := startBoard(t, silence)
	p := b.sh(t, "sleep 1000")
	time.Sleep(silence + 2*time.Second) // pings keep it
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	b.cmd.Process.Signal(unix.SIGSTOP)
	e := p.Wait()
	b.cmd.Process.Signal(unix.SIGCONT)
	if !strings.Contains(e.Err, "nothing was received") {
		t.Errorf("got %+v", e)
	}
}

// counter emits a sample each millisecond.
type counter struct{}

func openCounter(_ context.Context, spec string) (measure.Instrument, error) {
	if spec != "counter" {
		return nil, errors.New("no such instrument; there is counter")
	}
	return counter{}, nil
}

func (counter) Describe() measure.Description { return measure.Description{Name: "counter"} }

func (counter) Observe(ctx context.Context, emit func(measure.Sample)) error {
	for began := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Millisecond):
			emit(measure.Sample{Quantity: measure.Quantity{Name: "power", Unit: "W"}, At: time.Since(began), Value: 2})
		}
	}
}

func TestSamplesComeAfterwards(t *testing.T) {
	b := startBoard(t, 0)
	p := b.sh(t, "while :; do :; done")
	defer p.Kill()
	for instrument, want := range map[string]string{"counter": "power", UsageInstrument: "cpu"} {
		early := 0
		var got []measure.Sample
		var err error
		few := func() bool { // on a busy machine neither may have had a CPU yet
			return len(got) < 4 || instrument == UsageInstrument && got[len(got)-2].Value <= got[0].Value
		}
		for length := 500 * time.Millisecond; err == nil && few() && length < time.Minute; length *= 2 {
			ctx, cancel := context.WithTimeout(t.Context(), length)
			got = nil
			err = b.Observe(ctx, instrument, func(m measure.Sample) {
				if ctx.Err() == nil {
					early++
				}
				got = append(got, m)
			})
			cancel()
		}
		if err != nil || len(got) < 4 || early > 0 || got[0].Quantity.Name != want {
			t.Errorf("%s: got %d samples, %d of them while it was watched, %v", instrument, len(got), early, err)
		}
		if instrument == UsageInstrument {
			if used := got[len(got)-2].Value - got[0].Value; used <= 0 || got[1].Value < 100_000 {
				t.Errorf("a busy shell used %g s of CPU, %g B resident", used, got[1].Value)
			}
		}
	}
	if err := b.Observe(t.Context(), "nonsense", nil); err == nil || !strings.Contains(err.Error(), "there is counter") {
		t.Errorf("got %v", err)
	}
}

// When an observation began there is known here, within the round trip.
func TestClockOfABoard(t *testing.T) {
	b := startBoard(t, 0)
	asked := time.Now()
	zero, off, err := b.Clock(t.Context())
	if err != nil || off <= 0 || off > time.Since(asked) {
		t.Fatal(off, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	before := time.Now()
	var began time.Time
	if err := b.Watch(ctx, "counter", func(at time.Duration) { began = zero.Add(at); cancel() }, func(measure.Sample) {},
		nil); err != nil {
		t.Fatal(err)
	}
	if began.Before(before.Add(-off)) || began.After(time.Now().Add(off)) {
		t.Errorf("it began %v after it was asked for, clocks are within %v", began.Sub(before), off)
	}
	var told map[string]string
	if d, err := b.Describe(t.Context(), "counter", &told); err != nil || d.Name != "counter" || told["health"] != "good" {
		t.Errorf("got %+v, %v, %v", d, told, err)
	}
}

func (counter) Tell() any { return map[string]string{"health": "good"} }

// An agent at rest takes 5 MB at most of its own, this test's packages included:
// anonymous pages. What is resident of its file is the kernel's choice.
func TestAgentIsSmall(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes several times the memory; make test runs it without")
	}
	b := startBoard(t, 0)
	p := b.sh(t, "sleep 1000")
	defer p.Kill()
	if _, err := p.Usage(); err != nil {
		t.Fatal(err)
	}
	const most = 5_000_000
	own := kernel.StatusBytes(b.cmd.Process.Pid, "RssAnon")
	t.Logf("%d B of its own, %d B of its file", own, kernel.StatusBytes(b.cmd.Process.Pid, "RssFile"))
	if own > most || own < 500_000 {
		t.Errorf("got %d B of its own, want at most %d", own, most)
	}
}

// Pages of the program's file are given back: most of those that were there. What
// runs meanwhile takes some at once again, more of them on a busy machine.
func TestBinaryGivesItsPagesBack(t *testing.T) {
	b := findBinary()
	resident := func() int64 { // where /tmp is in memory, so is this test's program
		return kernel.StatusBytes(os.Getpid(), "RssFile") + kernel.StatusBytes(os.Getpid(), "RssShmem")
	}
	for range 20 {
		for _, r := range b { // all of it is there; kernels before 5.14 know no such advice, and some of it is
			unix.Syscall(unix.SYS_MADVISE, r[0], r[1]-r[0], unix.MADV_POPULATE_READ)
		}
		before := resident()
		b.giveBack()
		after := resident()
		t.Logf("%d B before, %d B after", before, after)
		if after <= before/2 {
			return
		}
	}
	t.Error("in each of 20 tries more than half was still there")
}

func TestConnectSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		script, want string
		patience     time.Duration
	}{
		{"echo 'edgegauge-agent {\"protocol\":99,\"build\":\"v9\"}'; cat >/dev/null",
			"speaks protocol 99, this program 1; use the same edgegauge at both ends", time.Minute},
		{"echo ./edgegauge: Permission denied", "Permission denied", time.Minute},
		{"exec sleep 1000", "did not greet", time.Second},
	} {
		cmd := exec.Command("sh", "-c", tt.script)
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), tt.patience)
		if _, err := Connect(ctx, "board", pipes{out, in}, "", 0); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.script, err, tt.want)
		}
		cancel()
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// A board that hangs while a program runs keeps nobody: not who reads, waits, kills
// or observes. Nothing is sent in silence, so nothing else would find out.
func TestHungBoard(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	t.Parallel()
	b := startBoard(t, 0)
	p := b.sh(t, "echo up; sleep 1000")
	if line, err := bufio.NewReader(p.Stdout).ReadString('\n'); line != "up\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	observed := make(chan error, 1)
	go func() {
		observed <- b.Watch(ctx, UsageInstrument, func(time.Duration) { stop() }, func(measure.Sample) {}, nil)
	}()
	<-ctx.Done()
	b.cmd.Process.Signal(unix.SIGSTOP)
	defer b.cmd.Process.Signal(unix.SIGCONT)
	within(t, func() {
		if e := p.Kill(); !strings.Contains(e.Err, "did not stop a program") {
			t.Errorf("got %+v, want its connection given up", e)
		}
		<-observed
	})
}

// Commands that run at once each have their own words.
func TestRunsAtOnce(t *testing.T) {
	b := startBoard(t, 0)
	const n = 8
	got := make([]string, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			out, _, err := b.Run(t.Context(), "", nil, "sh", "-c",
				fmt.Sprintf("echo begin %d >&2; sleep 0.2; echo end %d >&2", i, i))
			if err != nil {
				t.Error(err)
			}
			got[i] = out
		})
	}
	all.Wait()
	for i, out := range got {
		if want := fmt.Sprintf("begin %d\nend %d\n", i, i); out != want {
			t.Errorf("run %d says %q, want %q", i, out, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(b.dir, "run-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// An agent whose lab never greets ends, and so does one on a board where anybody
// has made folders with such names.
func TestAgentAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), AgentPrefix+"1")
	ours, theirs := net.Pipe()
	defer ours.Close()
	go io.Copy(io.Discard, ours)
	a := newAgent("test", nil)
	a.greeting = 50 * time.Millisecond
	within(t, func() {
		if err := a.serve(theirs, dir); !errors.Is(err, rpc.ErrLost) {
			t.Errorf("got %v", err)
		}
	})
	if _, err := os.Stat(dir); err == nil {
		t.Error("its folder is left")
	}
}

// What others put into the folder where agents work stops no agent and is left
// alone; what this user's agents left goes.
func TestSweepAmongStrangers(t *testing.T) {
	parent := t.TempDir()
	make := func(name string, fill func(dir string) error) string {
		dir := filepath.Join(parent, AgentPrefix+name)
		if err := errors.Join(os.Mkdir(dir, 0o755), fill(dir)); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-2 * time.Hour)
		os.Chtimes(dir, old, old)
		return dir
	}
	lock := func(dir string) string { return filepath.Join(dir, lockFile) }
	pipe := make("pipe", func(dir string) error { return unix.Mkfifo(lock(dir), 0o666) })
	dead := make("dead", func(dir string) error { return os.WriteFile(lock(dir), []byte("4194304.1"), 0o600) })
	uploading := make("uploading", func(dir string) error { return nil })
	os.Chtimes(uploading, time.Now(), time.Now())
	precious := filepath.Join(t.TempDir(), "precious")
	os.Mkdir(precious, 0o755)
	os.Symlink(precious, filepath.Join(parent, AgentPrefix+"link"))
	gone, kept := []string{pipe, dead}, []string{uploading, precious, filepath.Join(parent, AgentPrefix+"link")}
	if os.Geteuid() == 0 {
		kept = append(kept, make("other", func(dir string) error {
			return errors.Join(os.WriteFile(lock(dir), nil, 0o600), os.Chown(dir, 12345, 12345))
		}))
	}
	within(t, func() { SweepAgents(parent, "") })
	for _, dir := range gone {
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%s is left", dir)
		}
	}
	for _, dir := range kept {
		if _, err := os.Lstat(dir); err != nil {
			t.Errorf("%s is gone", dir)
		}
	}
}

// A stopped agent serves nobody: the next one ends it and what it started.
func TestStoppedAgentIsSwept(t *testing.T) {
	b := startBoard(t, 0)
	p := b.sh(t, "echo up; sleep 1000")
	bufio.NewReader(p.Stdout).ReadString('\n')
	SweepAgents(filepath.Dir(b.dir), "")
	if _, err := os.Stat(b.dir); err != nil {
		t.Fatalf("a living agent's folder was swept: %v", err)
	}
	b.cmd.Process.Signal(unix.SIGSTOP)
	for { // until the kernel says so
		if s, err := kernel.ReadProcess(b.cmd.Process.Pid); err != nil || s.State == 'T' {
			break
		}
		time.Sleep(time.Millisecond)
	}
	go b.cmd.Wait() // as its parent there, sshd, would
	SweepAgents(filepath.Dir(b.dir), "")
	if _, err := os.Stat(b.dir); err == nil {
		t.Error("its folder is left")
	}
	gone(t, p.PID)
}

// A device keeps no log, though it cannot be fetched, or nobody wants it.
func TestNoLogStays(t *testing.T) {
	b := startBoard(t, 0)
	for _, log := range []string{"", filepath.Join(t.TempDir(), "no", "such", "folder", "log")} {
		p, err := b.Start(t.Context(), Command{Argv: []string{"sh", "-c", "echo much >&2"}, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		p.Wait()
		if left, _ := filepath.Glob(filepath.Join(b.dir, "log-*")); len(left) > 0 {
			t.Errorf("log %q: the device has %v", log, left)
		}
	}
}

// All samples are kept as they were, in no more than the 8 MB that the agent may take.
func TestSampleLog(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var l sampleLog
	sample := func(i int) measure.Sample {
		q := measure.Quantity{Name: []string{"power", "voltage", "current"}[i%3], Unit: "W"}
		return measure.Sample{Quantity: q, At: time.Duration(i), Value: float64(i) / 3, Seq: uint64(i)}
	}
	for i := range mostSamples {
		if !l.add(sample(i)) {
			t.Fatalf("no room for sample %d", i)
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 8_000_000 {
		t.Errorf("it took %d B, what it outgrew included, want at most 8 MB", took)
	}
	if l.add(sample(0)) {
		t.Error("there is room for one more")
	}
	i := 0
	for m := range l.all() {
		if m != sample(i) {
			t.Fatalf("got %+v, want %+v", m, sample(i))
		}
		i++
	}
	if i != mostSamples {
		t.Errorf("got %d samples back", i)
	}
}
