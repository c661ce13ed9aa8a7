package kernel

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Owner names this process in what it leaves on the machine for a time, such as
// folders and control groups: PID.START, where START is when the process began,
// in the kernel's ticks since boot. A later process may have the same PID.
func Owner() string {
	p, _ := ReadProcess(os.Getpid())
	return fmt.Sprintf("%d.%d", os.Getpid(), p.Began)
}

// OwnerGone says that the process that an Owner names has ended, though perhaps nobody has
// waited for it. Of a text that is no Owner, and of a process that cannot be looked at, it
// says false.
func OwnerGone(owner string) bool {
	id, start, _ := strings.Cut(owner, ".")
	pid, err := strconv.Atoi(id)
	began, err2 := strconv.ParseInt(start, 10, 64)
	if err != nil || err2 != nil || pid <= 0 {
		return false
	}
	if p, err := ReadProcess(pid); err == nil {
		return p.Began != began || p.Ended()
	}
	// Subtle: /proc may hide other users' processes (hidepid), and reading may fail for want of
	// descriptors or memory.
	return errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}

// PIDNamespace is the PID namespace of this process as a file: one and the same for all processes that can name each
// other, whoever owns them and wherever their files lie.
const PIDNamespace = "/proc/self/ns/pid"

// OwnNamespace is the number of the PID namespace of this process: PIDs, and so Owners, of
// another mean nothing here.
func OwnNamespace() string {
	var st unix.Stat_t
	if unix.Stat(PIDNamespace, &st) != nil {
		return "0"
	}
	return strconv.FormatUint(st.Ino, 10)
}
