package reference

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// TestMain makes this binary a stack's program too, for tests that start one.
func TestMain(m *testing.M) {
	if os.Getenv("REFERENCE_TEST_PROGRAM") != "" {
		args := os.Args[1:]
		if args[0] == stack.ProgramVerb { // as this program starts itself
			args = args[1:]
		}
		os.Exit(Main(args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// lacking skips a test for want of something, which CI must not.
func lacking(t *testing.T, what error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// Either client finds and invokes either device: on a loopback interface
// without any route, and across a veth pair, IPv4 and IPv6.
func TestDPWSInterop(t *testing.T) {
	t.Parallel()
	device, client, err := twoNamespaces()
	if err != nil {
		lacking(t, fmt.Errorf("two network namespaces: %w; run as root", err))
	}
	sdcri := &stack.Description{}
	if *sdcri, err = stack.Read("../dpws-sdcri"); err != nil {
		t.Fatal(err)
	}
	foreign := !testing.Short() && len(sdcri.Missing(t.Context())) == 0 && sdcri.Built()
	if !foreign && os.Getenv("CI") == "true" {
		t.Fatal("stacks/dpws-sdcri is not built; run: edgegauge stacks build dpws-sdcri")
	}
	// SDCri takes seconds to start, and its programs take another line of their verb: one of each is for all.
	type program struct {
		verb string
		in   *os.File
	}
	theirs := map[program]*stack.Conn{}
	if foreign {
		for _, p := range []program{{"serve", device}, {"call", device}, {"call", client}} {
			theirs[p] = start(t, *sdcri, sdcri.Name, p.verb, p.in)
		}
	}
	side := func(t *testing.T, name, verb string, in *os.File) *stack.Conn {
		if name == sdcri.Name {
			return theirs[program{verb, in}]
		}
		return start(t, *sdcri, name, verb, in)
	}
	for _, tt := range []struct {
		device, client, search string
	}{
		{"reference/dpws", "reference/dpws", "probe"}, {"dpws-sdcri", "reference/dpws", "probe"},
		{"reference/dpws", "dpws-sdcri", "probe"},
		{"reference/dpws", "reference/dpws", "resolve"}, {"dpws-sdcri", "reference/dpws", "resolve"},
		{"reference/dpws", "dpws-sdcri", "resolve"},
	} {
		for _, place := range []struct {
			name, host string
			client     *os.File
		}{{"lo, IPv4", "127.0.0.1", device}, {"lo, IPv6", "::1", device}, {"veth, IPv4", "10.77.0.1", client},
			{"veth, IPv6", "fd77::1", client}} {
			if place.name == "lo, IPv4" && tt.client != tt.device && tt.search == "probe" {
				continue // the conformance kit crosses them there
			}
			if tt.search == "resolve" && tt.client != tt.device && (place.name == "lo, IPv6" || place.name == "veth, IPv4") {
				continue // it takes seconds, and discovery is the same on both
			}
			t.Run(fmt.Sprintf("%s finds %s by %s on %s", tt.client, tt.device, tt.search, place.name), func(t *testing.T) {
				if tt.client != tt.device && !foreign {
					t.Skip("stacks/dpws-sdcri is not built; run: edgegauge stacks build dpws-sdcri")
				}
				invoke(t, side(t, tt.device, "serve", device), side(t, tt.client, "call", place.client), place.host, tt.search)
			})
		}
	}
}

// invoke serves at host, has the client find it by probe or resolve, and sends 5 requests.
func invoke(t *testing.T, srv, cl *stack.Conn, host, search string) {
	t.Helper()
	invokeKnown(t, srv, cl, host, search, func(string) {})
}

// invokeKnown is invoke, and says what the device's URL is before anybody looks for it.
func invokeKnown(t *testing.T, srv, cl *stack.Conn, host, search string, known func(url string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	s := stack.Serve{Service: "monitor", Encoding: "soap12", Security: "none", Transport: "dpws", Host: host,
		Limits: stack.Limits{Body: 1 << 20}}
	served, err := srv.Serve(ctx, s)
	if err != nil {
		t.Fatal("device:", err)
	}
	known(served.URL)
	ready, err := cl.Call(ctx, stack.Call{URL: served.URL, Service: s.Service, Encoding: s.Encoding, Security: s.Security,
		Transport: s.Transport,
		Message:   stack.Message{Seed: 3, N: 16}, Connection: "keep-alive", Timeout: int64(30 * time.Second),
		Options: map[string]string{"search": search}})
	if err != nil {
		t.Fatal("client:", err)
	}
	if ready.Phases.Discovery < 50*time.Microsecond || ready.Phases.Metadata < 50*time.Microsecond ||
		ready.Phases.FirstInvoke != 0 {
		t.Errorf("got phases %+v", ready.Phases)
	}
	n := 0
	end, err := cl.Run(ctx, stack.Run{Requests: 5, Record: true}, func(x measure.Exchange) {
		if n++; x.Failure != "" {
			t.Errorf("request %d: %s", x.Seq, x.Failure)
		}
	})
	if err != nil || n != 5 || end.Phases.FirstInvoke <= 0 {
		t.Errorf("%d records, end %+v, %v", n, end, err)
	}
	if end, err := srv.Report(ctx, false, nil); err != nil || end.Count != 5 {
		t.Errorf("the device counts %d requests, %v", end.Count, err)
	}
	t.Logf("discovery %v, metadata %v, first invoke %v", ready.Phases.Discovery.Round(time.Millisecond),
		ready.Phases.Metadata.Round(time.Microsecond), end.Phases.FirstInvoke.Round(time.Microsecond))
}

// start starts a program in a network namespace and ends it with the test.
func start(t *testing.T, foreign stack.Description, name, verb string, ns *os.File) *stack.Conn {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", name, verb)
	cmd.Env = append(os.Environ(), "REFERENCE_TEST_PROGRAM=1")
	if name == foreign.Name {
		argv, err := foreign.Serve.Argv(0)
		if verb == "call" {
			argv, err = foreign.Call.Argv(0)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd = exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = foreign.Dir, append(os.Environ(), stacktest.Quickly)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := within(ns, cmd.Start); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		in.Close()
		kill := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s %s: %v", name, verb, err)
		}
		kill.Stop()
		out.Close()
	})
	return stack.NewConn(in, out)
}

// within runs f on a thread in the namespace; a child started there stays there.
func within(ns *os.File, f func() error) error {
	errc := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			errc <- err
			return
		}
		errc <- f()
	}()
	return <-errc
}

// twoNamespaces makes two network namespaces with a veth pair between them,
// 10.77.0.1 and fd77::1 in the first, and no multicast route in either.
func twoNamespaces() (first, second *os.File, err error) {
	if first, err = newNamespace(); err != nil {
		return nil, nil, err
	}
	if second, err = newNamespace(); err != nil {
		return nil, nil, err
	}
	err = within(first, func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "va"
		err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "vb", PeerNamespace: netlink.NsFd(second.Fd())})
		return errors.Join(err, up("lo"), up("va", "10.77.0.1/24", "fd77::1/64"))
	})
	err = errors.Join(err, within(second, func() error {
		return errors.Join(up("lo"),
			up("vb", "10.77.0.2/24", "fd77::2/64"))
	}))
	if err != nil {
		return nil, nil, err
	}
	return first, second, errors.Join(within(first, func() error { return settled("va") }),
		within(second, func() error { return settled("vb") }))
}

// settled waits until the interface's link-local address can be used: the
// kernel learns of the carrier a while after both ends are up.
func settled(name string) error {
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var ifi *net.Interface
		if ifi, err = net.InterfaceByName(name); err != nil {
			return err
		}
		var addrs []net.Addr
		if addrs, err = ifi.Addrs(); err != nil {
			return err
		}
		err = fmt.Errorf("%s has no link-local address", name)
		for _, a := range addrs {
			if ip := a.(*net.IPNet).IP; ip.To4() == nil && ip.IsLinkLocalUnicast() {
				var c *net.UDPConn
				if c, err = net.ListenUDP("udp6", &net.UDPAddr{IP: ip, Zone: name}); err == nil {
					return c.Close()
				}
			}
		}
	}
	return err
}

func newNamespace() (*os.File, error) {
	var file *os.File
	errc := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			// IPv6 addresses are good at once, without duplicate address detection.
			for _, which := range []string{"all", "default"} {
				err = errors.Join(err, os.WriteFile(filepath.Join("/proc/sys/net/ipv6/conf", which, "accept_dad"), []byte("0"), 0))
			}
			var e error
			file, e = os.Open("/proc/thread-self/ns/net")
			err = errors.Join(err, e)
		}
		errc <- err
	}()
	err := <-errc
	return file, err
}

func up(name string, addresses ...string) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	for _, a := range addresses {
		addr, err := netlink.ParseAddr(a)
		if err != nil {
			return err
		}
		if addr.IP.To4() == nil {
			addr.Flags = unix.IFA_F_NODAD
		}
		if err := netlink.AddrAdd(l, addr); err != nil {
			return err
		}
	}
	return netlink.LinkSetUp(l)
}

// Discovery by [FF02::C] alone: the pair has no IPv4 address.
func TestDPWSOverIPv6Alone(t *testing.T) {
	device, client, err := twoNamespaces()
	if err != nil {
		lacking(t, fmt.Errorf("two network namespaces: %w; run as root", err))
	}
	for ns, name := range map[*os.File]string{device: "va", client: "vb"} {
		if err := within(ns, func() error { return dropIPv4(name) }); err != nil {
			t.Fatal(err)
		}
	}
	invoke(t, start(t, stack.Description{}, "reference/dpws", "serve", device),
		start(t, stack.Description{}, "reference/dpws", "call", client), "fd77::1", "probe")
}

func dropIPv4(name string) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	addrs, err := netlink.AddrList(l, netlink.FAMILY_V4)
	for _, a := range addrs {
		err = errors.Join(err, netlink.AddrDel(l, &a))
	}
	return err
}
