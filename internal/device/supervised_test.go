package device

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
)

// within fails if f takes so long that it must be taken for hanging.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("it hangs")
	}
}

// A supervisor that dies, or says nothing, before its first word ends the start.
func TestSupervisorWithoutAWord(t *testing.T) {
	for text, want := range map[string]string{
		"kill -9 $$":               "exited without an answer",
		"echo hello >&3":           `said "hello\n"`,
		"exec sleep 1000":          "the lab's patience",
		"setsid sleep 1000 & wait": "the lab's patience",
		"kill -STOP $$; exit":      "the lab's patience",
	} {
		t.Run(text, func(t *testing.T) {
			within(t, func() {
				ctx, cancel := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, fmt.Errorf("the lab's patience"))
				if !strings.Contains(want, "patience") {
					ctx = t.Context()
				}
				defer cancel()
				p, err := Local{Exe: kerneltest.Script(t, text)}.Start(ctx, Command{Argv: []string{"true"}})
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, %v, want %q", p, err, want)
				}
			})
		})
	}
}

// family starts a program with a grandchild in a session of its own.
func family(t *testing.T, d Device) (p *Process, grandchild int) {
	t.Helper()
	p, err := d.Start(t.Context(), Command{Argv: []string{"sh", "-c",
		"trap '' TERM INT HUP; setsid sleep 1000 & echo $!; sleep 1000"}})
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(p.Stdout).ReadString('\n')
	grandchild, err = strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Kill(grandchild, unix.SIGKILL) })
	return p, grandchild
}

// gone waits until processes have ended.
func gone(t *testing.T, pids ...int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		left := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return !alive(pid) })
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%v are left", left)
		}
	}
}

// A stopped supervisor, or a stopped program, keeps neither Kill nor Stop.
func TestStoppedSupervisor(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"kill", "stop"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			p, grandchild := family(t, local(t))
			own := p.supervisor.(*localSupervisor).cmd.Process
			own.Signal(unix.SIGSTOP)
			unix.Kill(p.PID, unix.SIGSTOP)
			within(t, func() {
				if how == "kill" {
					p.Kill()
				} else if _, killed := p.Stop(t.Context(), 10*time.Millisecond); !killed {
					t.Error("it says that it ended by itself")
				}
			})
			gone(t, p.PID, grandchild, own.Pid)
		})
	}
}

// The processes of a killed supervisor's program are found in their group.
func TestKilledSupervisorLeavesNothing(t *testing.T) {
	group := newTracker()
	group.remove()
	if group == "" {
		if os.Getenv("CI") != "" && os.Geteuid() == 0 {
			t.Fatal("root may make control groups, in the freezer's hierarchy or one without controllers")
		}
		t.Skip("needs a control group: root, or a delegated one")
	}
	for name, d := range map[string]Device{"local": local(t),
		"constrained": Constrained{Local: local(t), Limits: Limits{Memory: 64 << 20}}} {
		t.Run(name, func(t *testing.T) {
			p, grandchild := family(t, d)
			p.supervisor.(*localSupervisor).cmd.Process.Kill()
			var e Exit
			within(t, func() { e = p.Wait() })
			if !strings.Contains(e.Err, "supervisor was killed") {
				t.Errorf("got %+v", e)
			}
			gone(t, p.PID, grandchild)
		})
	}
	own, _ := os.ReadFile("/proc/self/cgroup")
	for _, base := range trackerBases(cgroupRoot, own) {
		if left, _ := filepath.Glob(filepath.Join(base, trackerPrefix+kernel.Owner()+"-*")); len(left) > 0 {
			t.Errorf("groups are left: %v", left)
		}
	}
}

// What a lab left that was killed together with its supervisors, a later one ends.
func TestTrackersOfKilledLabsAreSwept(t *testing.T) {
	mine := newTracker()
	if mine == "" {
		t.Skip("needs a control group: root, or a delegated one")
	}
	defer mine.remove()
	p, err := local(t).Start(t.Context(), Command{Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	below := func(name string) tracker {
		return tracker(filepath.Join(filepath.Dir(string(mine)), trackerPrefix+"4194304.1-"+name))
	}
	left, elsewhere := below(kernel.OwnNamespace()+"-1"), below("7-1") // in a container, where its lab may live
	if err := os.Mkdir(string(elsewhere), 0o755); err != nil {
		t.Fatal(err)
	}
	defer elsewhere.remove()
	if err := os.Mkdir(string(left), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(string(left), "cgroup.procs"), []byte(strconv.Itoa(p.PID)), 0); err != nil {
		t.Fatal(err)
	}
	sweepTrackers(filepath.Dir(string(mine)))
	if e := p.Wait(); e.Signal != "SIGKILL" {
		t.Errorf("got %+v, want it killed", e)
	}
	if _, err := os.Stat(string(left)); err == nil {
		t.Error("the group is left")
	}
	if _, err := os.Stat(string(mine)); err != nil {
		t.Errorf("a living lab's group was swept: %v", err)
	}
	if _, err := os.Stat(string(elsewhere)); err != nil {
		t.Errorf("the group of a lab in another PID namespace was swept: %v", err)
	}
}

// Below a group whose children have controllers a group of ours would change how
// the CPU is shared, so there is none.
func TestTrackerBases(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"a/cgroup.subtree_control": "\n", "b/cgroup.subtree_control": "cpu memory\n", "unified/c/cgroup.subtree_control": "",
	} {
		os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755)
		os.WriteFile(filepath.Join(root, file), []byte(text), 0o644)
	}
	for own, want := range map[string]string{
		"0::/a\n": "a", "0::/b\n": "", "4:freezer:/x\n0::/c\n": "unified/c freezer/x",
		"0::/none\n3:cpu,cpuacct:/y\n": "", "": "",
	} {
		var got []string
		for _, b := range trackerBases(root, []byte(own)) {
			b, _ = filepath.Rel(root, b)
			got = append(got, b)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %q, want %q", own, got, want)
		}
	}
}

func openFiles(t *testing.T) int {
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// A start that fails keeps no file open, whatever it fails at.
func TestFailedStartsKeepNoFile(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the collector closes files that nobody has
	exe := local(t)
	none := filepath.Join(t.TempDir(), "none")
	plain, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	fails := func() {
		for _, x := range []struct {
			l Local
			c Command
		}{
			{exe, Command{Argv: []string{"true"}, Log: none + "/log"}},
			{exe, Command{Argv: []string{"true"}, Dir: none}},
			{exe, Command{Argv: []string{"true"}, CPUs: []int{5000}}},
			{exe, Command{Argv: []string{none + "/program"}}},
			{exe, Command{Argv: []string{"true"}, Namespace: plain}},
			{Local{Exe: none}, Command{Argv: []string{"true"}}},   // no supervisor
			{Local{Exe: "true"}, Command{Argv: []string{"true"}}}, // one without a word
		} {
			if _, err := x.l.Start(t.Context(), x.c); err == nil {
				t.Errorf("%+v of %+v started", x.c, x.l)
			}
		}
	}
	fails() // what the runtime opens once
	before := openFiles(t)
	for range 20 {
		fails()
	}
	after := openFiles(t)
	for deadline := time.Now().Add(20 * time.Second); after > before+10 &&
		time.Now().Before(deadline); after = openFiles(t) {
		time.Sleep(20 * time.Millisecond) // the last of them are being shut
	}
	if after > before+10 {
		t.Errorf("%d files are open after failed starts, %d before", after, before)
	}
}

// To end a program while it ends by itself shuts no other file: for the race detector.
func TestKillDuringTheEnd(t *testing.T) {
	for range 30 {
		p, err := local(t).Start(t.Context(), Command{Argv: []string{"true"}})
		if err != nil {
			t.Fatal(err)
		}
		go p.supervisor.kill()
		within(t, func() { p.Wait() })
	}
}

// A program begins with the signals of a program: with one that a supervisor ignores it would not end, say, when
// nobody reads what it writes.
func TestAProgramIgnoresNoSignal(t *testing.T) {
	p, err := local(t).Start(t.Context(), Command{Argv: []string{"cat", "/proc/self/status"}})
	if err != nil {
		t.Fatal(err)
	}
	status, err := io.ReadAll(p.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	p.Wait()
	_, text, _ := strings.Cut(string(status), "SigIgn:\t")
	text, _, _ = strings.Cut(text, "\n")
	ignored, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		t.Fatalf("%v in %q", err, status)
	}
	for _, s := range []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGPIPE} {
		if ignored>>(s-1)&1 == 1 {
			t.Errorf("it ignores %v", s)
		}
	}
}

// The end of a start's context ends no wait for the program's end: it would be taken for the end of its supervisor.
func TestAnEndedStartEndsNoLaterWait(t *testing.T) {
	for i := range 5000 {
		ours, theirs, err := controlPair()
		if err != nil {
			t.Fatal(err)
		}
		s := &localSupervisor{control: ours, said: bufio.NewReader(ours)}
		ctx, cancel := context.WithCancel(t.Context())
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			theirs.Read(make([]byte, 4096)) // the order
			io.WriteString(theirs, `{"pid":1}`+"\n")
			for soon := time.Now().Add(time.Duration(i%150) * time.Microsecond); time.Now().Before(soon); {
			}
			cancel()
		}()
		_, err = s.begin(ctx, order{Argv: []string{"x"}}, ends{})
		<-answered
		if err == nil { // else the context has ended in time
			io.WriteString(theirs, "{}\n")
			if _, err := s.said.ReadBytes('\n'); err != nil {
				t.Fatalf("the word of its end: %v", err)
			}
		}
		ours.Close()
		theirs.Close()
	}
}
