package kernel

import (
	"bufio"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A process's sockets are those that it opened, or was given, and no other's; a connection takes nothing
// from elsewhere.
func TestSocketsOfAProcess(t *testing.T) {
	var want []Socket
	tcp, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 3)})
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	want = append(want, Socket{"tcp", tcp.Addr().(*net.TCPAddr).AddrPort(), netip.MustParseAddrPort("0.0.0.0:0")})
	udp, err := net.ListenUDP("udp4", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	want = append(want, Socket{"udp", netip.AddrPortFrom(netip.IPv4Unspecified(),
		udp.LocalAddr().(*net.UDPAddr).AddrPort().Port()), netip.MustParseAddrPort("0.0.0.0:0")})
	connected, err := net.Dial("tcp4", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connected.Close()
	asking, err := net.Dial("udp4", udp.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer asking.Close()
	want = append(want, Socket{"udp", asking.LocalAddr().(*net.UDPAddr).AddrPort(),
		asking.RemoteAddr().(*net.UDPAddr).AddrPort()})

	here, err := Sockets([]int{os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	everywhere, err := NetworkSockets()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range want {
		if !slices.Contains(here, s) || !slices.Contains(everywhere, s) {
			t.Errorf("%v is missing in %v", s, here)
		}
	}
	if slices.ContainsFunc(here,
		func(s Socket) bool { return s.Local == connected.LocalAddr().(*net.TCPAddr).AddrPort() }) {
		t.Errorf("a connection counts as listening: %v", here)
	}

	given, err := tcp.File()
	if err != nil {
		t.Fatal(err)
	}
	defer given.Close()
	child := exec.Command("sh", "-c", "echo; read end")
	child.ExtraFiles = []*os.File{given}
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	bufio.NewReader(out).ReadString('\n')
	theirs, err := Sockets([]int{child.Process.Pid})
	if err != nil || !slices.Equal(theirs, want[:1]) {
		t.Errorf("the child has %v, %v, want %v", theirs, err, want[:1])
	}
	in.Close()
	child.Wait()
	if gone, err := Sockets([]int{child.Process.Pid}); len(gone) > 0 || err != nil {
		t.Errorf("a process that ended has %v, %v", gone, err)
	}
}

func TestParseSocketsRefusesWhatIsNoTable(t *testing.T) {
	const line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 42 1 0"
	all := func(uint64) bool { return true }
	for _, bad := range []string{"0: 0100007F:1F90", strings.Replace(line, "0100007F", "0100", 1),
		strings.Replace(line, ":1F90", ":11F90", 1), strings.Replace(line, " 42 ", " no ", 1)} {
		if got, err := parseSockets(strings.NewReader("heading\n"+bad+"\n"), "tcp", all); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
	if got, err := parseSockets(strings.NewReader("heading\n"+line+"\n"), "tcp", all); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}
