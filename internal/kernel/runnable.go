package kernel

import (
	"os"
	"strconv"
	"strings"
)

// Runnable is how many threads of this machine run now or wait for a CPU, the caller included. Not ok where the kernel
// does not say.
func Runnable() (n int, ok bool) {
	b, _ := os.ReadFile("/proc/loadavg")
	f := strings.Fields(string(b))
	if len(f) < 4 {
		return 0, false
	}
	running, _, _ := strings.Cut(f[3], "/")
	n, err := strconv.Atoi(running)
	return n, err == nil
}
