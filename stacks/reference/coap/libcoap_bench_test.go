package coap

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
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

// BenchmarkAgainstLibcoap prints requests per second of server processor time,
// echo of 100 bytes, confirmable, for libcoap (C) and for this package, in turns.
func BenchmarkAgainstLibcoap(b *testing.B) {
	program := buildLibcoapEcho(b)
	for _, clients := range []int{1, 16} {
		for _, name := range []string{"libcoap", "ours"} {
			b.Run(fmt.Sprintf("%s/clients=%d", name, clients), func(b *testing.B) {
				port := freePort(b)
				cmd := exec.Command(program, fmt.Sprint(port))
				if name == "ours" {
					cmd = exec.Command(os.Args[0])
					cmd.Env = append(os.Environ(), fmt.Sprintf("COAP_TEST_SERVE=127.0.0.1:%d", port))
				}
				stop := run(b, cmd)
				b.ResetTimer()
				load(b, fmt.Sprintf("127.0.0.1:%d", port), clients, b.N)
				b.StopTimer()
				stop()
				cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				b.ReportMetric(float64(b.N)/cpu.Seconds(), "requests/cpu-s")
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
			})
		}
	}
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

// load makes n exchanges over as many sockets as there are clients.
func load(t testing.TB, address string, clients, n int) {
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			c, err := Dial(address)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			call := &Call{Method: POST, Path: "echo", Format: CBOR, Body: pattern(100)}
			for range (n + i) / clients {
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
