package device

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

func BenchmarkUsage(b *testing.B) {
	for b.Loop() {
		if _, err := (&Process{PID: os.Getpid()}).used(""); err != nil {
			b.Fatal(err)
		}
	}
}

// negligentPart names what the test binary plays: a program that waits for no child, as mod_cgid does; one whose
// child leaves it, as daemons do; or the child, which may stay.
const negligentPart = "DEVICE_TEST_NEGLIGENT"

const (
	burnt = 100 * time.Millisecond // by the child
	ticks = 80 * time.Millisecond  // of it as the kernel counts what ended: in ticks, for user and system
	stays = " that stays"
)

func playNegligent(part string) {
	kind, staying := strings.CutSuffix(part, stays)
	again := func(kind string) *exec.Cmd {
		child := exec.Command("/proc/self/exe")
		child.Env = []string{negligentPart + "=" + kind}
		if staying {
			child.Env[0] += stays
		}
		return child
	}
	var err error
	switch kind {
	case "child":
		for spent := time.Duration(0); spent < burnt; spent, _ = kernel.CPUTime(os.Getpid()) {
		}
		if staying {
			os.NewFile(3, "pipe").Close()
			time.Sleep(time.Hour)
		}
		os.Exit(0)
	case "parent":
		signal.Ignore(syscall.SIGCHLD)
		err = again("child").Run() // until it has ended; its status is lost
	case "between":
		child := again("child")
		child.ExtraFiles = []*os.File{os.NewFile(3, "pipe")}
		if err := child.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "daemon":
		r, w, bad := os.Pipe()
		if err = bad; err != nil {
			break
		}
		between := again("between")
		between.ExtraFiles = []*os.File{w}
		err = between.Run()
		w.Close()
		io.Copy(io.Discard, r) // until the child closes it
	}
	fmt.Println("over:", err)
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// played starts a part, and waits until it has done what it does.
func played(t *testing.T, l Local, part string) *Process {
	t.Helper()
	p, err := l.Start(t.Context(), Command{Argv: []string{l.Exe}, Env: []string{negligentPart + "=" + part},
		Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	if _, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return p
}

// What children used that nobody waited for is counted by the control group, and where there is none, Usage says so.
func TestUsageOfChildrenThatNobodyWaitsFor(t *testing.T) {
	p := played(t, local(t), "parent")
	alone, err := p.used("")
	if err != nil || !alone.Uncounted || alone.CPU >= burnt {
		t.Errorf("without a group: %v of CPU time, uncounted %v, %v", alone.CPU, alone.Uncounted, err)
	}
	if u, err := p.used(groupLike(t, 0)); err != nil || !u.Uncounted {
		t.Errorf("in a group that it could not be moved to: uncounted %v, %v", u.Uncounted, err)
	}
	u, err := p.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if _, counts := p.group.spent(); !counts {
		if !u.Uncounted {
			t.Error("no group counts here, and Usage does not say that CPU time is lost")
		}
		return // of cgroup v2 there is none here
	}
	if u.Uncounted || u.CPU < burnt || u.CPU > 20*burnt {
		t.Errorf("%v of CPU time, uncounted %v: the child alone used %v", u.CPU, u.Uncounted, burnt)
	}
}

// What left its parent, as daemons do, counts while it lives and when it has ended, also where no group counts.
func TestUsageOfAProcessThatLeftItsParent(t *testing.T) {
	for part, want := range map[string]int{"daemon": 1, "daemon" + stays: 2} {
		t.Run(part, func(t *testing.T) {
			p := played(t, local(t), part)
			var u Usage
			var err error
			// The child may not have ended yet, or its supervisor may not have waited for it.
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
				u, err = p.used()
				if err != nil || u.CPU >= ticks && len(p.family()) == want {
					break
				}
			}
			if err != nil || u.CPU < ticks || u.CPU > 20*burnt || u.Uncounted {
				t.Errorf("%v of CPU time, uncounted %v, %v: the child alone used %v", u.CPU, u.Uncounted, err, burnt)
			}
			if got := p.family(); len(got) != want || got[0] != p.PID {
				t.Errorf("its processes are %v, want %d and %d in all", got, p.PID, want)
			}
		})
	}
}

// What a supervisor has waited for before is not its next program's.
func TestUsageOfTheNextProgram(t *testing.T) {
	l := local(t)
	l.Spares = new(Spares)
	defer l.Spares.Close()
	first, err := l.Start(t.Context(), Command{Argv: []string{l.Exe}, Env: []string{negligentPart + "=child"}})
	if err != nil {
		t.Fatal(err)
	}
	if e := first.Wait(); e.CPU < burnt {
		t.Fatalf("the first ended with %+v, want %v of CPU time", e, burnt)
	}
	next, err := l.Start(t.Context(), Command{Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Kill()
	if u, err := next.used(); err != nil || u.CPU >= ticks || next.adopter != first.adopter {
		t.Errorf("%v of CPU time, %v, below supervisor %d; the one before was below %d", u.CPU, err, next.adopter,
			first.adopter)
	}
}

// groupLike is a folder with the files of a control group that has counted so much, and that has these processes.
func groupLike(t *testing.T, spent time.Duration, pids ...int) tracker {
	t.Helper()
	dir := t.TempDir()
	procs := ""
	for _, pid := range pids {
		procs += fmt.Sprintln(pid)
	}
	for name, text := range map[string]string{"cgroup.procs": procs,
		"cpu.stat": fmt.Sprintf("usage_usec %d\nuser_usec 1\n", spent.Microseconds())} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return tracker(dir)
}

// What a program used in one group, before it was moved to another, is of it, too: else the other would have to count
// as much of lost children's before one of them shows.
func TestUsageOfOneGroupAfterTheOther(t *testing.T) {
	p := &Process{PID: os.Getpid()}
	u, err := p.used(groupLike(t, 1000*time.Hour), groupLike(t, 10*time.Hour, os.Getpid()))
	if err != nil || u.CPU != 1010*time.Hour || u.Uncounted {
		t.Errorf("got %v, uncounted %v, %v, want 1010 h", u.CPU, u.Uncounted, err)
	}
}

// The sampler of a board counts as Usage does.
func TestSamplerCountsByTheGroup(t *testing.T) {
	pid := os.Getpid()
	a := &agent{procs: map[int]*Process{pid: {PID: pid, group: groupLike(t, 1000*time.Hour, pid)}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // it samples once
	var got []measure.Sample
	err := usageInstrument{a, time.Second}.Observe(ctx, func(s measure.Sample) { got = append(got, s) })
	if err != nil || len(got) != 2 || got[0].Quantity != cpuTime || got[0].Value != (1000*time.Hour).Seconds() ||
		got[1].Value <= 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A program whose children are waited for, or that has none, is counted.
func TestUsageIsCounted(t *testing.T) {
	if u, err := (&Process{PID: os.Getpid()}).used(""); err != nil || u.Uncounted {
		t.Errorf("uncounted %v, %v", u.Uncounted, err)
	}
}

// Where the kernel does not say how long a program waited for a CPU, that is said: its waits would be read as none.
func TestUsageSaysThatWaitingIsUntold(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may hide a file of /proc")
	}
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	p := &Process{PID: child.Process.Pid}
	if u, err := p.used(""); err != nil || u.WaitingUntold {
		t.Fatalf("untold %v, %v: this kernel says it", u.WaitingUntold, err)
	}
	got := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: its thread, with what it sees, ends with it
		got <- func() error {
			if err := errors.Join(unix.Unshare(unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
				unix.Mount("/dev/null", fmt.Sprintf("/proc/%d/task/%[1]d/schedstat", p.PID), "", unix.MS_BIND, "")); err != nil {
				return err
			}
			u, err := p.used("")
			if err == nil && !u.WaitingUntold {
				err = errors.New("its waits are told, of which the kernel says nothing")
			}
			return err
		}()
	}()
	if err := <-got; err != nil {
		t.Error(err)
	}
}
