package dpws

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TestMain gives a plain user a user namespace of its own.
func TestMain(m *testing.M) {
	if os.Geteuid() != 0 && os.Getenv("DPWS_TEST_NAMESPACE") == "" {
		cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
		cmd.Env = append(os.Environ(), "DPWS_TEST_NAMESPACE=1")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		if err := cmd.Start(); err == nil {
			cmd.Wait()
			os.Exit(cmd.ProcessState.ExitCode())
		}
	}
	os.Exit(m.Run())
}

// lossy drops some of what arrives, as each receiver of a bad link does.
type lossy struct {
	Network
	mu   sync.Mutex
	rng  *rand.Rand
	lost int
}

func (l *lossy) Receive(take func([]byte, netip.AddrPort)) error {
	return l.Network.Receive(func(b []byte, from netip.AddrPort) {
		l.mu.Lock()
		lose := l.rng.Float64() < 0.05
		if lose {
			l.lost++
		}
		l.mu.Unlock()
		if !lose {
			take(b, from)
		}
	})
}

// The figure of the issue on real sockets: 100 devices on one loopback
// interface without any route, each losing 5 % of what it should receive, and so
// does the client.
func TestHundredDevicesInANamespace(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some 8 s")
	}
	for name, params := range map[string]Params{"DPWS 1.1": DPWS(), "SOAP-over-UDP 1.1": SOAPOverUDP()} {
		t.Run(name, func(t *testing.T) { hundred(t, params) })
	}
}

func hundred(t *testing.T, params Params) {
	var nets []Network
	inNamespace(t, func() error {
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(lo)
		}
		if err != nil {
			return err
		}
		ifi, err := net.InterfaceByName("lo")
		if err != nil {
			return err
		}
		for i := range 101 {
			n, err := Join(ifi, i > 0)
			if err != nil {
				return err
			}
			nets = append(nets, &lossy{Network: n, rng: rand.New(rand.NewPCG(uint64(i), 5))})
		}
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i, n := range nets[1:] {
		d := NewDevice(n, Target{EPR: fmt.Sprintf("urn:uuid:%d", i), Types: []QName{lamp},
			XAddrs: []string{"http://127.0.0.1:1/"}}, params)
		running.Go(func() { d.Run(ctx) })
	}
	f := NewFinder(nets[0], params)
	first, all, took := hunt(ctx, f, 100)
	if all != 100 {
		t.Errorf("found %d of 100 devices in %v", all, took)
	}
	t.Logf("%d of 100 after one Probe, all in %v", first, took.Round(time.Millisecond))
	f.Close()
	cancel()
	running.Wait()
	lost := 0
	for _, n := range nets {
		lost += n.(*lossy).lost
	}
	if lost < 100 {
		t.Errorf("only %d datagrams were lost", lost)
	}
}

// inNamespace runs f on a thread in a network namespace of its own.
func inNamespace(t *testing.T, f func() error) {
	t.Helper()
	errc := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			errc <- fmt.Errorf("%w; run as root or where user namespaces are allowed", err)
			return
		}
		errc <- f()
	}()
	if err := <-errc; err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}
