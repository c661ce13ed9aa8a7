package kernel

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// resultsFile is open in whoever measures, and lies in the folder of its results.
const resultsFile = "ledger.sqlite"

// Holder names the process that holds the lock of a file or folder, and the folder of the results that it writes, if it
// does: ": pid 123 (edgegauge), which measures into /tmp/out". It is empty where nobody does, or where this user is not
// told.
func Holder(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	locks, err := os.ReadFile("/proc/locks")
	if !ok || err != nil {
		return ""
	}
	for line := range strings.Lines(string(locks)) { // 1: FLOCK ADVISORY WRITE 1234 00:2f:5678 0 EOF
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || !strings.HasSuffix(f[5], ":"+strconv.FormatUint(st.Ino, 10)) {
			continue
		}
		if pid, err := strconv.Atoi(f[4]); err == nil && pid > 0 {
			if who := opener(pid, info); who != "" {
				return who
			}
		}
	}
	return ""
}

// Sharers are the other processes that hold a shared lock of a file (LockShared), as far as this process can name them.
func Sharers(path string) (pids []int) {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return nil
	}
	locks, _ := os.ReadFile("/proc/locks") // none: nobody is seen
	for line := range strings.Lines(string(locks)) {
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || f[3] != "READ" || !strings.HasSuffix(f[5], ":"+strconv.FormatUint(st.Ino, 10)) {
			continue
		}
		pid, err := strconv.Atoi(f[4])
		if err == nil && pid > 0 && pid != os.Getpid() && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// opener is what Holder says of a process that has that very file open. Numbers of files are unique on one disk only.
func opener(pid int, file fs.FileInfo) string {
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	has, results := false, ""
	for _, fd := range open {
		if f, err := os.Stat(fd); err == nil && os.SameFile(f, file) {
			has = true
		}
		if to, err := os.Readlink(fd); err == nil && filepath.Base(to) == resultsFile {
			results = ", which measures into " + filepath.Dir(to)
		}
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if !has || err != nil {
		return ""
	}
	return fmt.Sprintf(": pid %d (%s)%s", pid, strings.TrimSpace(string(name)), results)
}
