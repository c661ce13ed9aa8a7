package coap

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain lets the benchmark start this program as a server of its own, to
// know its processor time apart from the load's.
func TestMain(m *testing.M) {
	if address := os.Getenv("COAP_TEST_SERVE"); address != "" {
		serveForever(address)
	}
	os.Exit(m.Run())
}

func serveForever(address string) {
	a, err := net.ResolveUDPAddr("udp", address)
	if err == nil {
		var conn *net.UDPConn
		if conn, err = net.ListenUDP("udp", a); err == nil {
			fmt.Println("ready")
			err = (&Server{Handler: echo}).Serve(context.Background(), conn)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// BenchmarkAgainstLibcoap compares requests per second of server processor
// time, echo of 100 bytes, confirmable, of libcoap (C) and of this package. Both
// servers are up, the load goes to them in turns, and the medians over all turns are
// reported: what else the machine does strikes both.
func BenchmarkAgainstLibcoap(b *testing.B) {
	program := buildLibcoapEcho(b)
	for _, clients := range []int{1, 16} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			ports := [2]int{freePort(b), freePort(b)}
			cmds := [2]*exec.Cmd{exec.Command(program, fmt.Sprint(ports[0])), exec.Command(os.Args[0])}
			cmds[1].Env = append(os.Environ(), fmt.Sprintf("COAP_TEST_SERVE=127.0.0.1:%d", ports[1]))
			var users [2][]*Client // the same all the time: libcoap slows down with every stranger
			for i, cmd := range cmds {
				run(b, cmd)
				users[i] = dialAll(b, fmt.Sprintf("127.0.0.1:%d", ports[i]), clients)
			}
			const turn = 1000
			var perSecond [2][]float64
			for b.Loop() {
				for i, cmd := range cmds {
					before := cpuTime(b, cmd.Process.Pid)
					load(b, users[i], turn)
					perSecond[i] = append(perSecond[i], turn/(cpuTime(b, cmd.Process.Pid)-before).Seconds())
				}
			}
			var median [2]float64
			for i, v := range perSecond {
				slices.Sort(v)
				median[i] = v[len(v)/2]
			}
			b.ReportMetric(median[0], "libcoap/cpu-s")
			b.ReportMetric(median[1], "ours/cpu-s")
			b.ReportMetric(median[1]/median[0], "ratio")
		})
	}
}

// cpuTime is the processor time of all threads of a process so far.
func cpuTime(t testing.TB, pid int) (sum time.Duration) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("no threads of process %d: %v", pid, err)
	}
	for _, name := range threads {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		var ns int64
		if _, err := fmt.Sscan(string(b), &ns); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sum += time.Duration(ns)
	}
	return sum
}

func buildLibcoapEcho(b *testing.B) string {
	flags, err := exec.Command("pkg-config", "--cflags", "--libs", "libcoap-3-notls").Output()
	if err != nil {
		b.Skip("needs libcoap3-dev, pkg-config and a C compiler: apt-get install libcoap3-dev pkg-config gcc libc6-dev")
	}
	program := b.TempDir() + "/echo"
	args := append([]string{"-O2", "-o", program, "testdata/echo.c"}, strings.Fields(string(flags))...)
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		b.Fatalf("cc: %v\n%s", err, out)
	}
	return program
}

// run starts a server that prints a line when it is ready, and returns how to end it.
func run(t testing.TB, cmd *exec.Cmd) (stop func()) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	t.Cleanup(stop)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%s said %q: %v", cmd.Path, line, err)
	}
	return stop
}

func freePort(t testing.TB) int {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).Port
}

func dialAll(t testing.TB, address string, n int) (all []*Client) {
	for range n {
		all = append(all, dial(t, address, false, Params{}))
	}
	t.Cleanup(func() {
		for _, c := range all {
			c.Close()
		}
	})
	return all
}

// load makes n exchanges, shared among the clients.
func load(t testing.TB, clients []*Client, n int) {
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() {
			call := &Call{Method: POST, Path: "echo", Format: CBOR, Body: pattern(100)}
			for range (n + i) / len(clients) {
				reply, err := c.Do(context.Background(), call)
				if err != nil || reply.Code != Changed || len(reply.Body) != 100 {
					t.Errorf("got %v, %d bytes, %v", reply.Code, len(reply.Body), err)
					return
				}
			}
		})
	}
	all.Wait()
}
