package labbench

import (
	"os/exec"
	"runtime"
	"testing"
)

// A program's peak is its own, not what the program that starts it has in memory.
func TestPeakIsTheProgramsOwn(t *testing.T) {
	const ours = 256 << 20
	b := make([]byte, ours)
	for i := range b {
		b[i] = 1
	}
	cmd := exec.Command("sleep", "0.5")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	peak := WatchPeak(cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := peak(); got == 0 || got > ours/2 {
		t.Errorf("the peak of sleep is %d B", got)
	}
	runtime.KeepAlive(b)
}
