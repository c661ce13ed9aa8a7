package testbed

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/study"
)

// Programs of one machine speak at its loopback address. Where a machine lacks that, as a container without IPv6 does,
// it is said before the first trial, and only of the treatments that need it.
func TestMachinesWithoutALoopbackAddress(t *testing.T) {
	ns, err := kernel.NewNetwork()
	if err != nil {
		if os.Getenv("CI") != "true" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	defer ns.Close()
	b := bed(t)
	const no4, no6 = "ip: ipv4: this machine has no 127.0.0.1", "ip: ipv6: this machine has no ::1"
	check := func(state, text, want string) {
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: rest-json\n"+text+"\n"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		var said []string
		var found study.Errors
		err = kernel.InNetwork(ns, func() error { found = b.Obstacles(t.Context(), p); return nil })
		for _, x := range found {
			if strings.Contains(x.What, "this machine has no ") {
				said = append(said, x.Error())
			}
		}
		if got := fmt.Sprint(said); err != nil || (said == nil) != (want == "") || !strings.Contains(got, want) ||
			said != nil && (!found.Here() || len(said) > 1) {
			t.Errorf("lo %s, %s: got %s, %v, want %q", state, text, got, err, want)
		}
	}
	check("down", "ip: ipv4", "s.yaml:4:5: "+no4)
	check("down", "requests: 5", no4)
	check("down", "ip: ipv6", no6)
	check("down", "link: {delay: 1ms}", "")
	check("down", "server: {device: 'ssh://pi@board'}", "")
	check("down", "client: {device: 'ssh://pi@board'}\nserver: {device: 'ssh://pi@board'}", "")
	check("down", "driven_from: 2\nduration: 1s", "")
	check("down", "server: {device: instructions-arm64}", no4)
	if err := kernel.InNetwork(ns, upWithoutIPv6); errors.Is(err, unix.EROFS) { // as in some containers
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	check("up", "ip: ipv4", "")
	check("up", "ip: ipv6", no6)
	check("up", "factors: {ip: [ipv4, ipv6]}", "; write ip: ipv4, or turn IPv6 on: sysctl "+
		"net.ipv6.conf.lo.disable_ipv6=0, or exclude: [{ip: ipv6}]")
}

// upWithoutIPv6 brings the loopback interface of the calling thread's network up.
func upWithoutIPv6() error {
	// Subtle: a machine whose kernel has no IPv6 has no such file, and no ::1 either.
	err := os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}
