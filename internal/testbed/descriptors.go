package testbed

import (
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/stacks/reference"
)

// fewFiles are more than a program with connections opens besides them.
const fewFiles = 50

// A room is what this machine has left for connections.
type room struct {
	limit   int   // files that a process may open
	files   int   // that the kernel may still open, for all programs together
	tracked int   // connections that it may still track, where a firewall does
	memory  int64 // B
}

// seeDescriptors finds populations, and clients, whose connections this machine cannot hold. The devices are as many
// processes as they need (reference, shards.go), and so is a server of ours (parts.go); any other is one, and so is a
// client. Ports are no bound: each device has an address of its own, and so all ports of it.
func (x *assembly) seeDescriptors() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return
	}
	r := room{limit: int(min(limit.Max, 1<<30)), files: freeFiles(), tracked: freeTracked(), memory: freeMemory()}
	for t := range x.treatments() {
		if what, advice := tooManyDevices(t.Setup, r); what != "" {
			x.lack(t, what, advice, "devices")
		}
		if what, advice := tooFewForTheLab(t.Setup.AtOnce, r.limit); what != "" {
			x.lack(t, what, advice, "at_once")
			continue
		}
		client, server := x.filesOf(t.Setup)
		if what, advice := tooManyAtOnce(t.Setup.Concurrency, client, server, r.limit, r.files); what != "" {
			x.lack(t, what, advice, "driven_from", "concurrency")
		}
	}
}

// tooFewForTheLab says why the lab itself cannot work with so many files: it has up to 35 open for one trial, and 14
// more for each at the same time, and its programs fewer.
func tooFewForTheLab(atOnce, limit int) (what, advice string) {
	const one, each = 48, 16
	if need := one + each*(max(atOnce, 1)-1); limit < need {
		advice = "raise the limit (ulimit -Hn) before you start edgegauge"
		if fits := (limit-one)/each + 1; limit >= one && fits < atOnce {
			advice = fmt.Sprintf("write at_once: %d or less, or %s", fits, advice)
		}
		return fmt.Sprintf("a program may open %d files here, and edgegauge itself opens up to %d while it measures", limit,
			need), advice
	}
	return "", ""
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
	case each <= fewFiles: // which is less than what the lab itself needs
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

// tooManyDevices says why the connections of devices do not fit a machine.
func tooManyDevices(s *study.Setup, r room) (what, advice string) {
	n := s.Population.Devices
	if n == 0 || !reference.KeepsConnections(s.Client.Stack) || s.Connection == "per-request" {
		return "", ""
	}
	const raise = "raise the limit (ulimit -Hn) before you start edgegauge"
	who, instead := whoIsOneProcess(s)
	alone := max(r.limit-reference.SpareFiles, 1)
	processes := func(int) int { return 1 }
	most := alone
	if who == "" {
		processes = func(n int) int { return max(reference.ServerProcesses(n, r.limit), 1) }
		most = max(reference.MostConnections(r.limit), 1)
	}
	files := func(n int) int { return 2*n + processes(n)*reference.SpareFiles }
	memory := bytesOf(s)
	switch {
	case r.limit <= reference.SpareFiles:
		return fmt.Sprintf("%d devices need a server that has up to %d open files besides their connections, and a program "+
			"may open %d here", n, reference.SpareFiles, r.limit), raise
	case n > most && who == "":
		return fmt.Sprintf("%d devices are %d connections, and each of the server's processes may open %d files here", n, n,
			r.limit), fmt.Sprintf("take at most %d devices, or %s", most, raise)
	case n > most:
		return fmt.Sprintf("%d devices are %d connections, and %s, one process, may open %d files here", n, n, who, r.limit),
			fmt.Sprintf("take at most %d devices, or %s, or %s", most, instead, raise)
	case processes(n) > 1 && s.Population.Observes():
		return fmt.Sprintf("%d devices need a server of %d processes here, and over MQTT observers hear only of what their "+
				"own one is asked", n, processes(n)),
			fmt.Sprintf("take at most %d devices, or remove observe, or %s", alone, raise)
	case files(n) > r.files:
		return fmt.Sprintf("%d connections are %d open files, and this machine has %d left (fs.file-max)", n, 2*n, r.files),
			fmt.Sprintf("take at most %d devices, or raise fs.file-max",
				max(sort.Search(n, func(k int) bool { return files(k+1) > r.files }), 1))
	case n > r.tracked:
		return fmt.Sprintf("%d devices are %d connections, and the firewall of this machine tracks %d more "+
				"(net.netfilter.nf_conntrack_max)", n, n, r.tracked),
			fmt.Sprintf("take at most %d devices, or raise net.netfilter.nf_conntrack_max", max(r.tracked, 1))
	case int64(n)*memory > r.memory:
		return fmt.Sprintf("%d connections take some %d MB of memory, and this machine has %d MB left", n,
				int64(n)*memory/1e6, r.memory/1e6), fmt.Sprintf("take at most %d devices, or end other programs",
				max(r.memory/memory, 1))
	}
	return "", ""
}

// whoIsOneProcess is the server of a treatment, if it is one process however many connections it has, and what would
// not be; empty: it is as many as it needs.
func whoIsOneProcess(s *study.Setup) (who, instead string) {
	const ours = "take a server that is as many processes as it needs (reference/mqtt, reference/rest-json, …)"
	switch {
	case reference.Divides(s.Server.Stack, s.Sensor):
		return "", ""
	case reference.Divides(s.Server.Stack, ""):
		return "the server with this sensor", "take another sensor"
	case strings.TrimPrefix(s.Server.Stack, reference.Prefix) == "mqtt-mosquitto":
		return "Mosquitto", ours
	}
	return "the server", ours
}

// bytesOf is about what a connection takes: in the kernel at both ends, in the devices' program, and in a server of
// ours, by its protocol. Those of the servers are rounded from measured ones (doc/how-many-devices.md), the others are
// estimates.
func bytesOf(s *study.Setup) int64 {
	const sockets, device, tls = 10_000, 3_000, 40_000
	each := int64(sockets + device)
	if s.Security == "tls" {
		each += tls
	}
	if !reference.Divides(s.Server.Stack, s.Sensor) {
		return each
	}
	switch s.Transport {
	case "mqtt5", "mqtt311":
		each += 80_000
	case "http":
		each += 24_000
	}
	return each
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

// freeTracked is how many connections the kernel's firewall may still track; without one there is no bound.
func freeTracked() int {
	const of = "/proc/sys/net/netfilter/nf_conntrack_"
	most, err := kernel.ReadNumberAt(of+"max", 1)
	used, err2 := kernel.ReadNumberAt(of+"count", 1)
	if err != nil || err2 != nil {
		return math.MaxInt32
	}
	return max(int(most-used), 0)
}

// freeMemory is what programs may still take before anything is swapped out (proc_meminfo(5), MemAvailable), B.
func freeMemory() int64 {
	b, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemAvailable:" {
			if kib, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return math.MaxInt64
}
