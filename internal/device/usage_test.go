package device

import (
	"bufio"
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

// A program whose children are waited for, or that has none, is counted.
func TestUsageIsCounted(t *testing.T) {
	if u, err := usage(os.Getpid(), ""); err != nil || u.Uncounted {
		t.Errorf("uncounted %v, %v", u.Uncounted, err)
	}
}
