package device

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// labGroup holds the lab itself where its group must be empty.
const labGroup = groupPrefix + "lab"

// delegate makes the children of a v2 group have the controllers. A group whose
// children have any may hold no processes itself (cgroups(7), "no internal
// processes"; the root may), so the lab and what runs beside it move to a child.
func delegate(base string, wanted []string) (string, error) {
	if has(base, "cgroup.subtree_control", wanted) {
		return base, nil
	}
	enable := []byte("+" + strings.Join(wanted, " +"))
	control := filepath.Join(base, "cgroup.subtree_control")
	err := os.WriteFile(control, enable, 0)
	if errors.Is(err, unix.EBUSY) {
		if err = move(base, filepath.Join(base, labGroup)); err == nil {
			err = os.WriteFile(control, enable, 0)
		}
	}
	if err != nil {
		return "", fmt.Errorf("enable the controllers %[2]s for control groups below %[1]s: %[3]w; %[4]s", base,
			strings.Join(wanted, ", "),
			err, advice(true, err))
	}
	return base, nil
}

func move(from, to string) error {
	if err := os.Mkdir(to, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	pids, err := os.ReadFile(filepath.Join(from, "cgroup.procs"))
	if err != nil {
		return err
	}
	for _, pid := range bytes.Fields(pids) {
		if err := os.WriteFile(filepath.Join(to, "cgroup.procs"), pid, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// alone keeps other labs from making groups below a group, or from leaving it, until the returned function is called.
// Where that cannot be, nobody is kept.
func alone(base string) (done func()) {
	if filepath.Base(base) == labGroup {
		base = filepath.Dir(base)
	}
	f, err := kernel.LockFolder(base)
	for range 50 { // nobody holds it for long
		if !errors.Is(err, kernel.ErrLocked) {
			break
		}
		unix.Nanosleep(&unix.Timespec{Nsec: 2e6}, nil)
		f, err = kernel.LockFolder(base)
	}
	if err != nil {
		return func() {}
	}
	return func() { f.Close() }
}

// LeaveGroup takes this process, and what was moved with it, back to the group that they were in before a
// device had limits, and removes the group that held them meanwhile. While another lab has groups there,
// they stay where they are: the last one removes it.
func LeaveGroup() {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err == nil {
		leaveGroup(cgroupRoot, own)
	}
}

func leaveGroup(root string, own []byte) {
	if at := groupInTwo(root, own); filepath.Base(at) == labGroup {
		empty(at)
	}
}

// groupInTwo is this process's group of cgroup v2; empty: there is none.
func groupInTwo(root string, own []byte) string {
	for line := range strings.Lines(string(own)) {
		path, two := strings.CutPrefix(strings.TrimSpace(line), "0::")
		for _, mount := range []string{root, filepath.Join(root, "unified")} {
			if at := filepath.Join(mount, path); two && exists(filepath.Join(at, "cgroup.procs")) {
				return at
			}
		}
	}
	return ""
}

// empty moves what is in a group of labs one up, if nobody uses controllers there, and removes it.
//
// Note: with processes in it the group above had no controllers for its children, so whatever they have now
// came from us.
func empty(at string) {
	base := filepath.Dir(at)
	defer alone(base)()
	if children(base) > 1 || children(at) > 0 {
		return
	}
	control := filepath.Join(base, "cgroup.subtree_control")
	given, err := os.ReadFile(control)
	if len(bytes.TrimSpace(given)) > 0 {
		err = os.WriteFile(control, []byte("-"+strings.Join(strings.Fields(string(given)), " -")), 0)
	}
	if err != nil || move(at, base) != nil {
		return
	}
	tracker(at).remove()
}

// children are how many groups are below one.
func children(dir string) (n int) {
	all, _ := os.ReadDir(dir)
	for _, e := range all {
		if e.IsDir() {
			n++
		}
	}
	return n
}
