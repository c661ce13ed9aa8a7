package device

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

func BenchmarkUsage(b *testing.B) {
	for b.Loop() {
		if _, err := usage(os.Getpid(), ""); err != nil {
			b.Fatal(err)
		}
	}
}

// negligentPart names what the test binary plays: a program that waits for no child, as mod_cgid does, or its child.
const negligentPart = "DEVICE_TEST_NEGLIGENT"

const burnt = 100 * time.Millisecond // by the child

func playNegligent(part string) {
	if part == "child" {
		for spent := time.Duration(0); spent < burnt; spent, _ = kernel.CPUTime(os.Getpid()) {
		}
		os.Exit(0)
	}
	signal.Ignore(syscall.SIGCHLD)
	child := exec.Command("/proc/self/exe")
	child.Env = []string{negligentPart + "=child"}
	err := child.Run() // until it has ended; its status is lost
	fmt.Println("over:", err)
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// What children used that nobody waited for is counted by the control group, and where there is none, Usage says so.
func TestUsageOfChildrenThatNobodyWaitsFor(t *testing.T) {
	l := local(t)
	p, err := l.Start(t.Context(), Command{Argv: []string{l.Exe}, Env: []string{negligentPart + "=parent"},
		Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	if _, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	alone, err := usage(p.PID, "")
	if err != nil || !alone.Uncounted || alone.CPU >= burnt {
		t.Errorf("without a group: %v of CPU time, uncounted %v, %v", alone.CPU, alone.Uncounted, err)
	}
	if u, err := usage(p.PID, groupLike(t, 0)); err != nil || !u.Uncounted {
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
	u, err := usage(os.Getpid(), groupLike(t, 1000*time.Hour), groupLike(t, 10*time.Hour, os.Getpid()))
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
	if u, err := usage(os.Getpid(), ""); err != nil || u.Uncounted {
		t.Errorf("uncounted %v, %v", u.Uncounted, err)
	}
}
