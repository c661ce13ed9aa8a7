package testbed

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/stacks/reference"
)

// spareFiles are those that a server opens besides its connections.
const spareFiles = 200

// fewFiles are more than a program with connections opens besides them.
const fewFiles = 50

// seeDescriptors finds populations, and clients, whose connections this machine cannot hold. The devices are as many
// processes as they need (reference, shards.go); the server is one, and so is a client. Ports are no bound: each
// device has an address of its own, and so all ports of it.
func (x *assembly) seeDescriptors() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return
	}
	free := freeFiles()
	for t := range x.treatments() {
		most := int(min(limit.Max, 1<<30))
		if what, advice := tooManyFiles(t.Setup, most, free); what != "" {
			x.lack(t, what, advice, "devices")
		}
		client, server := x.filesOf(t.Setup)
		if what, advice := tooManyAtOnce(t.Setup.Concurrency, client, server, most, free); what != "" {
			x.lack(t, what, advice, "driven_from", "concurrency")
		}
	}
}

// overDatagrams are the transports with one socket at a server, however many clients there are.
var overDatagrams = []string{"coap", "coap-draft", "http3", "udp"}

// filesOf are how many connections each program of a treatment has open at once on this machine; 0: it is not there, or
// has not as many as the study says.
func (x *assembly) filesOf(s *study.Setup) (client, server int) {
	if s.Population.Devices > 0 || s.Connection == "pipelined" || s.Connection == "multiplexed" {
		return 0, 0
	}
	datagrams := slices.Contains(overDatagrams, s.Transport)
	own := x.lab.Stacks[s.Client.Stack].Dir == "" // its clients have a socket for each connection, whatever it is over
	if !x.onOther(s.Client.Device) && (own || !datagrams) {
		client = s.Concurrency
	}
	if s.URL == "" && !x.onOther(s.Server.Device) && !datagrams {
		server = s.Concurrency * max(s.DrivenFrom, 1)
	}
	return client, server
}

// tooManyAtOnce says why connections do not fit a client and a server that may open limit files each, on a machine with
// so many left.
func tooManyAtOnce(n, client, server, limit, free int) (what, advice string) {
	each := max(client, server)
	switch {
	case each <= fewFiles: // who may open fewer files than that has other troubles
	case each+fewFiles > limit:
		return fmt.Sprintf("%d connections are as many open files, and a program may open %d here", each, limit),
			fmt.Sprintf("write concurrency: %d or less, or raise the limit (ulimit -Hn) before you start edgegauge",
				max((limit-fewFiles)*n/each, 1))
	case client+server+fewFiles > free:
		return fmt.Sprintf("%d connections are %d open files, and this machine has %d left (fs.file-max)", each,
				client+server, free), fmt.Sprintf("write concurrency: %d or less, or raise fs.file-max",
				max((free-fewFiles)*n/(client+server), 1))
	}
	return "", ""
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
