package device

import (
	"bytes"
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
func Owner() string { return fmt.Sprintf("%d.%d", os.Getpid(), began(os.Getpid())) }

// OwnerGone says whether the process of an Owner has ended. It is not so sure of
// what is no Owner.
func OwnerGone(owner string) bool {
	id, start, _ := strings.Cut(owner, ".")
	pid, err := strconv.Atoi(id)
	ticks, err2 := strconv.ParseInt(start, 10, 64)
	if err != nil || err2 != nil || pid <= 0 {
		return false
	}
	return errors.Is(unix.Kill(pid, 0), unix.ESRCH) || began(pid) != ticks
}

// began is when a process began; 0 if it is not there (proc_pid_stat(5), field
// 22). The name may hold spaces and brackets: fields count from the last bracket.
func began(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 20 {
		return 0
	}
	n, _ := strconv.ParseInt(string(f[19]), 10, 64)
	return n
}
