package testbed

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/stacks/reference"
)

// spareFiles are those that a server opens besides its connections.
const spareFiles = 200

// seeDescriptors finds populations whose connections this machine cannot hold. The devices
// are as many processes as they need (reference, shards.go); the server is one. Ports are no
// bound: each device has an address of its own, and so all ports of it.
func (x *assembly) seeDescriptors() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return
	}
	free := freeFiles()
	for t := range x.treatments() {
		if what, advice := tooManyFiles(t.Setup, int(min(limit.Max, 1<<30)), free); what != "" {
			x.lack(t, what, advice, "devices")
		}
	}
}

// tooManyFiles says why connections do not fit a server that may open limit files on a
// machine with so many left.
func tooManyFiles(s *study.Setup, limit, free int) (what, advice string) {
	n := s.Population.Devices
	if n == 0 || !reference.KeepsConnections(s.Client.Stack) || s.Connection == "per-request" {
		return "", ""
	}
	switch {
	case n+spareFiles > limit:
		return fmt.Sprintf("%d devices are %d connections, and the server, one process, may open %d files here", n, n,
				limit), fmt.Sprintf("take at most %d devices, or raise the limit (ulimit -Hn) before you start edgegauge",
				max(limit-spareFiles, 1))
	case 2*n+spareFiles > free:
		return fmt.Sprintf("%d connections are %d open files, and this machine has %d left (fs.file-max)", n, 2*n, free),
			fmt.Sprintf("take at most %d devices, or raise fs.file-max", max((free-spareFiles)/2, 1))
	}
	return "", ""
}

// freeFiles is how many the kernel may still open, all programs together.
func freeFiles() int {
	b, err := os.ReadFile("/proc/sys/fs/file-nr")
	f := strings.Fields(string(b))
	if err != nil || len(f) != 3 {
		return math.MaxInt32
	}
	used, _ := strconv.Atoi(f[0])
	most, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil {
		return math.MaxInt32
	}
	return int(min(most, math.MaxInt32)) - used // most is 2^63-1 where there is no bound
}
