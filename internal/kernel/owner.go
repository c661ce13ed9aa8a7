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

// OwnerGone says that the process that an Owner names has ended. Of a text that
// is no Owner it says false.
func OwnerGone(owner string) bool {
	id, start, _ := strings.Cut(owner, ".")
	pid, err := strconv.Atoi(id)
	began, err2 := strconv.ParseInt(start, 10, 64)
	if err != nil || err2 != nil || pid <= 0 {
		return false
	}
	if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return true
	}
	p, _ := ReadProcess(pid)
	return p.Began != began
}
