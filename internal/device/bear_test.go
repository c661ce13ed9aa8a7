package device

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A program is pinned from its birth; its supervisor, which another program's must not wait for, is not.
func TestTheSupervisorIsNotPinned(t *testing.T) {
	all := kernel.AllowedCPUs()
	if len(all) < 2 {
		t.Skip("needs two CPUs")
	}
	p, err := local(t).Start(t.Context(), Command{Argv: []string{"sleep", "1000"}, CPUs: all[1:2]})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	cpus := func(pid int) (on []int) {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(pid, &set); err != nil {
			t.Fatal(err)
		}
		for _, cpu := range all {
			if set.IsSet(cpu) {
				on = append(on, cpu)
			}
		}
		return on
	}
	if got := cpus(p.PID); !slices.Equal(got, all[1:2]) {
		t.Errorf("the program runs on %v, want %v", got, all[1:2])
	}
	if got := cpus(p.supervisor.(*localSupervisor).cmd.Process.Pid); !slices.Equal(got, all) {
		t.Errorf("its supervisor runs on %v, want %v", got, all)
	}
}

// A program begins its life in its group. Where the kernel cannot do that, as in cgroup v1 and in what is no
// group, it begins nevertheless.
func TestBear(t *testing.T) {
	group := newTracker()
	defer group.remove()
	for _, g := range []string{string(group), t.TempDir(), "/no/such/group", ""} {
		pid, err := bear(g, "/bin/sleep", []string{"sleep", "1000"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{}})
		if err != nil {
			t.Errorf("%q: %v", g, err)
			continue
		}
		if there := slices.Contains(tracker(g).pids(), pid); there != strings.Contains(g, trackerPrefix) {
			t.Errorf("%q: in it: %v", g, there)
		}
		unix.Kill(pid, unix.SIGKILL)
		var ws unix.WaitStatus
		unix.Wait4(pid, &ws, 0, nil)
	}
	if b, _ := os.ReadFile("/proc/self/cgroup"); strings.Contains(string(b), trackerPrefix) {
		t.Errorf("this process was left in a group: %s", b)
	}
}
