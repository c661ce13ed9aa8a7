package link

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// TestMain makes the test binary the link's process, and a lab that says what
// became of its link.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Verb {
		os.Exit(Main())
	}
	if tun := os.Getenv("LINK_TEST_LAB"); tun != "" {
		playLab(tun)
	}
	if os.Getenv("LINK_TEST_NO_MORE") != "" {
		noMore()
	}
	os.Exit(m.Run())
}

func contains(s, sub string) bool { return strings.Contains(s, sub) }

// capable skips where links are not possible, except in CI.
func capable(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 && os.Getenv("CI") == "" {
		t.Skip("needs root, for network namespaces")
	}
}

func up(t testing.TB, l Link) *Line {
	t.Helper()
	capable(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	n, err := Open(t.Context(), exe, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

// udpPair opens a socket at each end; the server's is the first.
func udpPair(t testing.TB, n *Line, family string) (server, client *net.UDPConn) {
	t.Helper()
	at := ServerAddress.IPv4
	if family == "udp6" {
		at = ServerAddress.IPv6
	}
	err := kernel.InNetwork(n.Server, func() (err error) {
		server, err = net.ListenUDP(family, &net.UDPAddr{IP: at.AsSlice()})
		return err
	})
	if err == nil {
		err = kernel.InNetwork(n.Client, func() (err error) {
			client, err = net.DialUDP(family, nil, server.LocalAddr().(*net.UDPAddr))
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close(); client.Close() })
	server.SetReadBuffer(8 << 20)
	return server, client
}

// echo answers every datagram until the socket closes.
func echo(c *net.UDPConn) {
	b := make([]byte, 2048)
	for {
		n, from, err := c.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		c.WriteToUDPAddrPort(b[:n], from)
	}
}

func roundTrip(t testing.TB, c *net.UDPConn, size int) time.Duration {
	t.Helper()
	b := make([]byte, 2048)
	c.SetDeadline(time.Now().Add(time.Minute))
	began := time.Now()
	if _, err := c.Write(b[:size]); err != nil {
		t.Fatal(err)
	}
	n, err := c.Read(b)
	if err != nil || n != size {
		t.Fatalf("got %d B, %v", n, err)
	}
	return time.Since(began)
}

func report(t testing.TB, n *Line) Report {
	t.Helper()
	r, err := n.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []DirectionStats{r.Up, r.Down} {
		if q.In != q.Out+q.Lost+q.Dropped+q.Queued {
			t.Errorf("counts do not add up: %+v", q)
		}
	}
	return r
}

// The bound is loose, since other tests run beside, and a busy machine may take many trips until none of the programs
// that one wakes was late; linkbench has the figures.
func TestDelayBothWays(t *testing.T) {
	n := up(t, Link{Up: Shape{Delay: 20 * ms}, Down: Shape{Delay: 5 * ms}})
	trips := int64(0)
	for _, family := range []string{"udp4", "udp6"} {
		server, client := udpPair(t, n, family)
		go echo(server)
		best := time.Hour
		for i := 0; i < 20 || best > 35*ms && i < 200; i++ {
			best = min(best, roundTrip(t, client, 100))
			trips++
		}
		if best < 25*ms || best > 35*ms {
			t.Errorf("%s: best round trip %v, want 25 ms and what a busy machine adds", family, best)
		}
	}
	r := report(t, n)
	if n := []int64{r.Up.In, r.Down.Out}; slices.Min(n) < trips || slices.Max(n) > trips+4 { // hardly more than ours
		t.Errorf("got %+v, want the %d packets each way that were sent", r, trips)
	}
	if r.Up.Late.Max == 0 || r.Up.Late.P50 > r.Up.Late.P99 || r.Up.Late.P99 > r.Up.Late.Max {
		t.Errorf("got lateness %+v", r.Up.Late)
	}
}

// 2 × (100 + 8 + 20) B at 9600 bit/s are 213.33 ms. No trip is quicker, and one takes no longer, to 1 %: of a machine
// that is busy there may have to be many until none of the five programs that it wakes was late.
func TestSlowLineTakesItsTime(t *testing.T) {
	const size = 128
	n := up(t, Link{Up: Shape{Rate: 9600}, Down: Shape{Rate: 9600}})
	server, client := udpPair(t, n, "udp4")
	go echo(server)
	want := 2 * Shape{Rate: 9600}.serialization(size)
	best, trips := time.Hour, int64(0)
	for best > want+want/100 && trips < 200 {
		took := roundTrip(t, client, size-28)
		if trips++; took < want {
			t.Fatalf("trip %d took %v, and %v at least was to be", trips, took, want)
		}
		best = min(best, took)
	}
	if best > want+want/100 {
		t.Errorf("the quickest of %d trips took %v, want %v and 1 %%", trips, best, want)
	}
	for _, way := range []DirectionStats{report(t, n).Up, report(t, n).Down} {
		if way.Bytes < trips*size { // the kernel may say something, too
			t.Errorf("the line counts %d B of %d trips with %d B", way.Bytes, trips, size)
		}
	}
}

func TestLossOnTheLine(t *testing.T) {
	n := up(t, Link{Up: Shape{Loss: 0.05}})
	server, client := udpPair(t, n, "udp4")
	var count atomic.Int64
	go func() {
		b := make([]byte, 2048)
		for {
			if _, err := server.Read(b); err != nil { // the test is over
				return
			}
			count.Add(1)
		}
	}()
	const sent = 20_000
	for i := range sent {
		client.Write([]byte("x"))
		if i%64 == 0 {
			time.Sleep(2 * time.Millisecond)
		}
	}
	r := report(t, n)
	for end := time.Now().Add(time.Minute); (r.Up.In < sent || r.Up.Out-count.Load() > 10) && time.Now().Before(end); {
		time.Sleep(10 * ms)
		r = report(t, n)
	}
	got := count.Load()
	r = report(t, n) // of now, at least as many
	if r.Up.In < sent || got > r.Up.Out || r.Up.Out-got > 10 || r.Up.Lost != r.Up.In-r.Up.Out {
		t.Errorf("sent %d, received %d, the link counts %+v", sent, got, r.Up)
	}
	if share := float64(r.Up.Lost) / float64(r.Up.In); share < 0.044 || share > 0.056 {
		t.Errorf("got %.4f lost, want 0.05", share)
	}
}

// The burst and the look at it must fit into the transmission of one packet,
// 12.8 ms: on a busy machine the best of several tries counts.
func TestQueueOnTheLine(t *testing.T) {
	for try := 1; ; try++ {
		n := up(t, Link{Up: Shape{Rate: 80_000, Queue: 5}})
		_, client := udpPair(t, n, "udp4")
		for range 20 {
			client.Write(make([]byte, 100))
		}
		time.Sleep(10 * ms)
		r := report(t, n)
		if r.Up.In >= 20 && r.Up.Queued >= 5 && r.Up.Queued <= 7 && r.Up.Dropped >= 13 && r.Up.Dropped <= 16 {
			return
		}
		if try == 20 {
			t.Fatalf("got %+v, want one under way, 5 waiting, 14 dropped", r.Up)
		}
	}
}

func TestMulticast(t *testing.T) {
	for _, tt := range []struct{ network, group string }{{"udp4", "239.255.255.250"}, {"udp6", "ff02::c"}} {
		n := up(t, Link{Up: Shape{Delay: ms}, Down: Shape{Delay: ms}})
		var server, client *net.UDPConn
		group := &net.UDPAddr{IP: net.ParseIP(tt.group), Port: 3702}
		err := kernel.InNetwork(n.Server, func() error {
			dev, err := net.InterfaceByName(Interface)
			if err == nil {
				server, err = net.ListenMulticastUDP(tt.network, dev, group)
			}
			return err
		})
		if err == nil {
			err = kernel.InNetwork(n.Client, func() error {
				if tt.network == "udp6" {
					group.Zone = Interface
				}
				client, err = net.DialUDP(tt.network, nil, group)
				return err
			})
		}
		if err != nil {
			t.Fatal(tt.group, err)
		}
		client.Write([]byte("probe"))
		server.SetReadDeadline(time.Now().Add(20 * time.Second))
		b := make([]byte, 100)
		size, from, err := server.ReadFromUDP(b)
		if err != nil || string(b[:size]) != "probe" {
			t.Fatalf("%s: got %q, %v", tt.group, b[:size], err)
		}
		server.WriteToUDP([]byte("match"), from)
		server.Close()
		client.Close()
	}
}

func TestLargePacketsKeepWhole(t *testing.T) {
	n := up(t, Link{MTU: 1280})
	var l net.Listener
	if err := kernel.InNetwork(n.Server, func() (err error) {
		l, err = net.Listen("tcp", net.JoinHostPort(ServerAddress.IPv6.String(), "0"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	go func() {
		c, err := l.Accept()
		if err == nil {
			c.Write(want)
			c.Close()
		}
	}()
	var got []byte
	err := kernel.InNetwork(n.Client, func() error {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		got, err = io.ReadAll(c)
		return err
	})
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d B, %v", len(got), err)
	}
}

func TestTwoLinksAtOnce(t *testing.T) {
	for _, delay := range []time.Duration{5 * ms, 30 * ms} {
		n := up(t, Link{Up: Shape{Delay: delay}})
		server, client := udpPair(t, n, "udp4")
		go echo(server)
		defer func() {
			best := time.Hour
			for range 20 {
				best = min(best, roundTrip(t, client, 100))
			}
			if best < delay || best > delay+3*ms {
				t.Errorf("best round trip %v, want %v", best, delay)
			}
		}()
	}
}

// playLab opens a link over tun, says so, and carries one round trip.
func playLab(tun string) {
	exe, _ := os.Executable()
	n, err := openWith(context.Background(), exe, Link{Name: "test", Shaper: Shaper(os.Getenv("LINK_TEST_SHAPER"))},
		Ends{}, tun)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("open", n.cmd.Process.Pid)
	if err := kernel.InNetwork(n.Client, func() error {
		_,
			err := net.InterfaceByName(Interface)
		return err
	}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("entered")
	select {}
}

// runLab runs the test binary as a lab, as another user and in a user namespace if asked, until it has entered its link
// or ended.
func runLab(t *testing.T, tun, shaper string, attr *syscall.SysProcAttr) string {
	t.Helper()
	capable(t)
	self, _ := os.Executable()
	dir := openDir(t)
	exe := filepath.Join(dir, "lab")
	b, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(exe, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LINK_TEST_LAB="+tun, "LINK_TEST_SHAPER="+shaper)
	cmd.SysProcAttr = attr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := ""
	for lines := bufio.NewScanner(out); !contains(said, "entered") && lines.Scan(); {
		said += lines.Text() + "\n"
	}
	cancel()
	cmd.Wait()
	return said
}

// openDir is a folder of the test's that anyone can enter. What is above it is not this test's to change.
func openDir(t *testing.T) string {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func nobody() *syscall.Credential { return &syscall.Credential{Uid: 65534, Gid: 65534} }

// node makes a TUN device of the given mode in a folder anyone can enter.
func node(t *testing.T, mode uint32) string {
	t.Helper()
	capable(t)
	dir := openDir(t)
	path := filepath.Join(dir, "tun")
	if err := unix.Mknod(path, unix.S_IFCHR|mode, int(unix.Mkdev(10, 200))); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, os.FileMode(mode)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatTheKernelRefuses(t *testing.T) {
	closed, noDevice := node(t, 0o600), filepath.Join(t.TempDir(), "tun")
	for _, tt := range []struct {
		what, tun, shaper string
		attr              *syscall.SysProcAttr
		want              string
	}{
		{"no device", noDevice, "", nil, "modprobe tun"},
		{"no privilege", TUN, "", &syscall.SysProcAttr{Credential: nobody()}, "create a network namespace: operation not " +
			"permitted; run as root"},
		{"a closed device", closed, "", rootless(), "this user may not open"},
		{"no netem, or a link by it", TUN, "netem", nil, ""},
	} {
		out := runLab(t, tt.tun, tt.shaper, tt.attr)
		if tt.shaper == "netem" {
			if !contains(out, "modprobe sch_netem") && !contains(out, "entered") {
				t.Errorf("%s: got %q", tt.what, out)
			}
			continue
		}
		if !contains(out, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.what, out, tt.want)
		}
	}
}

// rootless is a user namespace of its own in which nobody has the capabilities a link needs.
func rootless() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true},
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 65534, HostID: 65534, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 65534, HostID: 65534, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW},
	}
}

func TestWithoutRoot(t *testing.T) {
	if out := runLab(t, node(t, 0o666), "", rootless()); !contains(out, "entered") {
		t.Errorf("got %q", out)
	}
}

func TestKilledLabLeavesNothing(t *testing.T) {
	capable(t)
	exe, _ := os.Executable()
	lab := exec.Command(exe)
	lab.Env = append(os.Environ(), "LINK_TEST_LAB="+TUN)
	out, err := lab.StdoutPipe()
	if err == nil {
		err = lab.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscanf(out, "open %d", &pid); err != nil {
		t.Fatal(err)
	}
	ns, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/3", pid))
	if err != nil {
		t.Fatalf("the link's process is not there: %v", err)
	}
	lab.Process.Kill()
	lab.Wait()
	for range 2000 { // on a quiet machine a few milliseconds
		if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			return
		}
		time.Sleep(10 * ms)
	}
	t.Errorf("link process %d (%s) outlived its killed lab by 20 s", pid, ns)
}

func TestKilledLinkIsNoticed(t *testing.T) {
	n := up(t, Link{Name: "x"})
	n.cmd.Process.Kill()
	if _, err := n.Report(t.Context()); err == nil || !contains(err.Error(), "link x: its process exited") {
		t.Errorf("got %v", err)
	}
}

// A link's process that is stopped keeps neither who asks it nor who ends it, and is ended.
func TestStoppedLinkIsGivenUp(t *testing.T) {
	for _, wait := range []time.Duration{100 * ms, 2 * patience} { // until the caller's patience ends, or the lab's
		t.Run(wait.String(), func(t *testing.T) {
			if testing.Short() && wait > patience {
				t.Skip("takes longer than make check may")
			}
			t.Parallel()
			n := up(t, Link{Name: "x"})
			pid := n.cmd.Process.Pid
			if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if _, err := n.Report(ctx); err == nil || wait > patience && !contains(err.Error(), "its process exited or hangs") {
					t.Errorf("got %v", err)
				}
				n.Close()
			}()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatal("it is waited for")
			}
			if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
				t.Errorf("its process is left: %v", err)
			}
		})
	}
}

// The end of one word's context ends no wait for the answer to the next.
func TestAnEndedContextEndsNoLaterWord(t *testing.T) {
	for range 2000 {
		ours, theirs := packetPair(t)
		n := &Line{Link: Link{Name: "x"}, control: ours}
		ctx, end := context.WithCancel(t.Context())
		go func() {
			for range 2 {
				if _, _, err := hear(theirs); err != nil {
					return
				}
				say(theirs, word{Quality: &Report{}})
				end()
			}
		}()
		n.Report(ctx) // it may have been answered in time
		_, err := n.Report(t.Context())
		ours.Close()
		theirs.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// An answer that comes when nobody waits for it any more is not taken for that to the next word.
func TestAnswersBelongToTheirWords(t *testing.T) {
	ours, theirs := packetPair(t)
	defer ours.Close()
	defer theirs.Close()
	n := &Line{Link: Link{Name: "x"}, control: ours}
	ctx, end := context.WithCancel(t.Context())
	asked, ended := make(chan struct{}), make(chan struct{})
	go func() {
		for in := range int64(3) {
			if _, _, err := hear(theirs); err != nil {
				return
			}
			if in == 0 {
				close(asked)
				<-ended
			}
			say(theirs, word{Quality: &Report{Up: DirectionStats{Counts: Counts{In: in}}}})
		}
	}()
	go func() {
		<-asked
		end()
	}()
	if _, err := n.Report(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	close(ended)
	for want := range int64(2) {
		if r, err := n.Report(t.Context()); err != nil || r.Up.In != want+1 {
			t.Fatalf("got the report of %d packets, %v, want that of %d", r.Up.In, err, want+1)
		}
	}
}

// packetPair are the two ends of a socket such as that between a lab and its link's process.
func packetPair(t *testing.T) (ours, theirs *net.UnixConn) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range pair {
		f := os.NewFile(uintptr(fd), "control")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = c.(*net.UnixConn)
	}
	return ends[0], ends[1]
}
