package device

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A tracker is a control group without any controller that holds one program's
// processes and nothing else: it limits nothing, but a process leaves it by no fork
// and no new session, so all of them are found even when their supervisor was killed,
// and in cgroup v2 the CPU time of all is counted, of those that ended as well. Empty
// where the kernel or the user's rights allow none.
type tracker string

// trackerPrefix begins the name of each tracker: see groupName.
const trackerPrefix = "edgegauge-tracker-"

// newTracker makes a tracker below this process's own group, and ends and removes
// those that labs that are gone have left.
func newTracker() tracker {
	own, err := kernel.ReadProc("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	bases := trackerBases(cgroupRoot, own)
	for _, base := range bases {
		sweepTrackers(base)
	}
	for _, base := range bases {
		dir := filepath.Join(base, groupName(trackerPrefix))
		if os.Mkdir(dir, 0o755) == nil {
			return tracker(dir)
		}
	}
	return ""
}

// trackerBases are this process's groups below which one changes nothing: of
// cgroup v2 where its children have no controllers, then of v1 the freezer's.
//
// Subtle: a child with the CPU controller would share the CPU with its siblings as
// groups do, no longer as processes.
func trackerBases(root string, own []byte) (bases []string) {
	for line := range strings.Lines(string(own)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		switch f[1] {
		case "":
			for _, mount := range []string{filepath.Join(root, "unified"), root} {
				base := filepath.Join(mount, f[2])
				given, err := kernel.ReadProc(filepath.Join(base, "cgroup.subtree_control"))
				if err == nil && len(bytes.TrimSpace(given)) == 0 {
					bases = append([]string{base}, bases...) // first, since a program can be born there: see bear
				}
			}
		case "freezer":
			bases = append(bases, filepath.Join(root, "freezer", f[2]))
		}
	}
	return bases
}

// sweepTrackers ends and removes what labs that are gone have left.
func sweepTrackers(base string) {
	for _, dir := range kernel.Matching(base, trackerPrefix+"*") {
		if isLeft(dir, trackerPrefix) {
			t := tracker(dir)
			t.killAll()
			t.remove()
		}
	}
}

// groupName is the name of a new control group of this process: PREFIX OWNER-NAMESPACE-NUMBER.
func groupName(prefix string) string {
	return fmt.Sprintf("%s%s-%s-%d", prefix, kernel.Owner(), kernel.OwnNamespace(), groups.Add(1))
}

// isLeft says that whoever made a group of that name is gone. Of one in another PID
// namespace, such as a container's, nobody here can tell.
func isLeft(dir, prefix string) bool {
	f := strings.Split(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
	return len(f) == 3 && f[1] == kernel.OwnNamespace() && kernel.OwnerGone(f[0])
}

// pids are the processes in it.
func (t tracker) pids() (pids []int) {
	if t == "" {
		return nil
	}
	b, _ := kernel.ReadProc(filepath.Join(string(t), "cgroup.procs"))
	for _, f := range bytes.Fields(b) {
		if pid, err := strconv.Atoi(string(f)); err == nil && pid > 0 { // 0: of another PID namespace
			pids = append(pids, pid)
		}
	}
	return pids
}

// spent is the CPU time of all processes that were ever in it; not ok where the kernel
// does not count it (cgroup v1).
func (t tracker) spent() (_ time.Duration, ok bool) {
	if t == "" {
		return 0, false
	}
	b, _ := kernel.ReadProc(filepath.Join(string(t), "cpu.stat"))
	for line := range bytes.Lines(b) {
		if f := bytes.Fields(line); len(f) == 2 && string(f[0]) == "usage_usec" {
			us, err := strconv.ParseInt(string(f[1]), 10, 64)
			return time.Duration(us) * time.Microsecond, err == nil
		}
	}
	return 0, false
}

// killAll kills until none is left, within bounds: a fork bomb is not ours to win.
func (t tracker) killAll() {
	for range 100 {
		alive := false
		for _, pid := range t.pids() {
			if p, err := kernel.ReadProcess(pid); err == nil && !p.Ended() {
				alive = true
				unix.Kill(pid, unix.SIGKILL)
			}
		}
		if !alive {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// remove removes it. The kernel may take a moment longer to let go of processes
// than their parent takes to hear of their end; what stays, a later lab sweeps.
func (t tracker) remove() {
	for range 500 { // on a busy machine those that were killed are long in ending
		if t == "" || !errors.Is(unix.Rmdir(string(t)), unix.EBUSY) {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// bear starts a program that begins its life in a group, where the kernel can do that (clone3(2),
// CLONE_INTO_CGROUP; cgroup v2). To move a process takes the kernel some 14 ms, in which nothing on the machine forks.
func bear(group, path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	if group != "" {
		if dir, err := os.Open(group); err == nil {
			defer dir.Close()
			within, sys := *attr, *attr.Sys
			sys.UseCgroupFD, sys.CgroupFD = true, int(dir.Fd())
			within.Sys = &sys
			if pid, err := syscall.ForkExec(path, argv, &within); err == nil {
				return pid, nil
			}
		}
	}
	defer visit(group)()
	return syscall.ForkExec(path, argv, attr)
}

// visit moves this process into a group until the returned function moves it back,
// so that a child begins its life there. Where that is refused it does nothing.
func visit(group string) (leave func()) {
	if group == "" || os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0) != nil {
		return func() {}
	}
	return func() { os.WriteFile(filepath.Join(filepath.Dir(group), "cgroup.procs"), []byte("0"), 0) }
}
