package packet

import (
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TestMain gives a plain user a user namespace of its own, in which the
// capturing tests have the capabilities they need.
func TestMain(m *testing.M) {
	if os.Geteuid() != 0 && os.Getenv("PACKET_TEST_NAMESPACE") == "" {
		cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
		cmd.Env = append(os.Environ(), "PACKET_TEST_NAMESPACE=1")
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

// lacking skips a test for want of something, which CI must not.
func lacking(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI lacks %s", what)
	}
	t.Skipf("needs %s", what)
}

// A namespace runs functions on a thread in a network namespace of its own.
type namespace struct {
	t    testing.TB
	work chan func()
	done chan struct{}
	fd   int
}

// newNamespace makes a network namespace with lo up.
func newNamespace(t testing.TB) *namespace {
	n := &namespace{t: t, work: make(chan func()), done: make(chan struct{})}
	errc := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			n.fd, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		}
		errc <- err
		for err == nil {
			f, ok := <-n.work
			if !ok {
				return
			}
			f()
			n.done <- struct{}{}
		}
	}()
	if err := <-errc; err != nil {
		lacking(t, "root, or user namespaces, to create a network namespace: "+err.Error())
	}
	t.Cleanup(func() { close(n.work); unix.Close(n.fd) })
	n.must(func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return netlink.LinkSetUp(lo)
	})
	return n
}

// do runs f on the namespace's thread.
func (n *namespace) do(f func()) {
	n.work <- f
	<-n.done
}

func (n *namespace) must(f func() error) {
	n.t.Helper()
	var err error
	n.do(func() { err = f() })
	if err != nil {
		n.t.Fatal(err)
	}
}

// connect joins two namespaces by a veth pair, v0 with .1 and ::1 in a and v1
// with .2 and ::2 in b, without segmentation offload.
func connect(t testing.TB, a, b *namespace) {
	a.must(func() error {
		return netlink.LinkAdd(&netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: "v0", MTU: 1500}, PeerName: "v1", PeerNamespace: netlink.NsFd(b.fd)})
	})
	up := func(n *namespace, name string, addrs ...string) {
		n.must(func() error {
			l, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			if err := netlink.LinkSetGSOMaxSegs(l, 1); err != nil {
				return err
			}
			for _, s := range addrs {
				addr, err := netlink.ParseAddr(s)
				if err != nil {
					return err
				}
				if addr.IP.To4() == nil {
					addr.Flags |= unix.IFA_F_NODAD
				}
				if err := netlink.AddrAdd(l, addr); err != nil {
					return err
				}
			}
			return netlink.LinkSetUp(l)
		})
	}
	up(a, "v0", "10.9.0.1/24", "fd09::1/64")
	up(b, "v1", "10.9.0.2/24", "fd09::2/64")
}

// listen opens a TCP listener in the namespace.
func (n *namespace) listen(address string) net.Listener {
	var l net.Listener
	n.must(func() (err error) {
		l, err = net.Listen("tcp", address)
		return err
	})
	n.t.Cleanup(func() { l.Close() })
	return l
}

func (n *namespace) listenUDP(address string) *net.UDPConn {
	var c net.PacketConn
	n.must(func() (err error) {
		c, err = net.ListenPacket("udp", address)
		return err
	})
	n.t.Cleanup(func() { c.Close() })
	return c.(*net.UDPConn)
}

// dialFromOutside dials in the namespace from a thread of its own.
func (n *namespace) dialFromOutside(address string) (c net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err = unix.Setns(n.fd, unix.CLONE_NEWNET); err == nil {
			c, err = net.Dial("tcp", address)
		}
	}()
	<-done
	return c, err
}

// tun makes the TUN interface t0 with an address and returns its descriptor.
func (n *namespace) tun(t testing.TB, address string) (fd int) {
	var err error
	n.do(func() { // on the namespace's thread: the descriptor belongs to the namespace that opened it
		fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		lacking(t, "/dev/net/tun, readable and writable (modprobe tun; root, or mode 0666): "+err.Error())
	}
	n.must(func() error {
		r, err := unix.NewIfreq("t0")
		if err != nil {
			return err
		}
		r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, r); err != nil {
			return err
		}
		l, err := netlink.LinkByName("t0")
		if err != nil {
			return err
		}
		addr, err := netlink.ParseAddr(address)
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(l, addr); err != nil {
			return err
		}
		return netlink.LinkSetUp(l)
	})
	return fd
}
