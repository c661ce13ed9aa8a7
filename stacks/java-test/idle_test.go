package javatest

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// A connection that is to be kept lasts while nothing is asked, for longer than the JDK's clients (5 s), Californium
// over TCP (10 s), the JDK's servers and Grizzly (30 s) and Axis2's servers (60 s) keep one by default.
func TestIdleConnectionIsKept(t *testing.T) {
	cpu := ownCPU(t)
	const pause = 63 * time.Second
	var waiting sync.WaitGroup
	for _, f := range []framework{
		{"jersey", "echo", "protobuf", ""}, {"jersey3", "echo", "xml", ""}, {"restlet", "echo", "xml", ""},
		{"jaxws-rt", "echo", "text", ""}, {"axis2", "echo", "soap11", ""}, {"axis2-18", "echo", "soap11", ""},
		{"californium", "echo", "protobuf", ""}, {"cxf", "echo", "xml", ""}, {"glassfish7", "echo", "text", "jaxws-rt"},
		{"glassfish3", "echo", "text", "jaxws-rt"},
	} {
		var client stack.Description
		t.Run(f.name, func(t *testing.T) {
			stacktest.Built(t, filepath.Join("..", f.name))
			client = stacktest.Built(t, filepath.Join("..", cmp.Or(f.client, f.name)))
		})
		if client.Dir == "" {
			continue // something is missing for it
		}
		call := stack.Call{Service: f.service, Encoding: f.encoding, Security: "none", Transport: "http",
			Connection: "keep-alive", Message: stack.Message{Seed: 7, N: 40}, Limits: stack.Limits{Body: 16e6},
			Timeout: int64(30 * time.Second)}
		if f.name == "californium" {
			call.Transport = "coap-tcp"
		}
		var c counter
		call.URL = c.between(t, serving(t, cpu, f.name, call).url, through)
		asking := lightly(t, cpu, client, client.Call)
		if _, err := asking.Call(within(t), call); err != nil {
			t.Fatal(err)
		}
		waiting.Go(func() {
			_, err := asking.Run(within(t), stack.Run{Requests: 2, Interval: int64(pause), Record: true},
				func(x measure.Exchange) {
					if x.Failure != "" {
						t.Errorf("%s: request %d failed: %s", f.name, x.Seq, x.Failure)
					}
				})
			c.mutex.Lock()
			defer c.mutex.Unlock()
			if err != nil || c.connections != 1 {
				t.Errorf("%s: %d connections; one was to be kept: %v", f.name, c.connections, err)
			}
		})
	}
	waiting.Wait()
}

// So does a connection of DPWS: SDCri's clients end one that is idle for 10 s, its devices for 30 s. A device says
// itself where it is, so nothing can stand between the two.
func TestIdleConnectionOfDPWSIsKept(t *testing.T) {
	cpu := ownCPU(t)
	call := stack.Call{Service: "echo", Encoding: "soap12", Security: "none", Transport: "dpws",
		Connection: "keep-alive", Message: stack.Message{Seed: 7, N: 40}, Limits: stack.Limits{Body: 16e6},
		Timeout: int64(30 * time.Second)}
	server := serving(t, cpu, "dpws-sdcri", call)
	call.URL = server.url
	u, err := url.Parse(server.url)
	if err != nil {
		t.Fatal(err)
	}
	client := lightly(t, cpu, server.d, server.d.Call)
	if _, err := client.Call(within(t), call); err != nil {
		t.Fatal(err)
	}
	var before []string
	for i := range 2 {
		end, err := client.Run(within(t), stack.Run{Requests: 1}, nil)
		if err != nil || end.Failed != 0 {
			t.Fatalf("%+v: %v", end, err)
		}
		now := connected(t, u.Port())
		if i == 0 {
			before = now
			time.Sleep(37 * time.Second)
		} else if len(now) == 0 || !slices.Equal(before, now) {
			t.Errorf("connected from ports %v before a pause and %v after it; the connection was to be kept", before, now)
		}
	}
}

// connected are the local ports of this machine's connections to a port, in hex, sorted.
func connected(t *testing.T, port string) (from []string) {
	t.Helper()
	to, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line) // number, local address, remote address, state
			if len(f) > 3 && f[3] == "01" && strings.HasSuffix(f[2], fmt.Sprintf(":%04X", to)) {
				_, local, _ := strings.Cut(f[1], ":")
				from = append(from, local)
			}
		}
	}
	slices.Sort(from)
	return from
}

// A counter stands between clients and a server, and counts connections.
type counter struct {
	mutex       sync.Mutex
	connections int
}

// between listens for clients of the server at an URL, and gives every connection, by its number, to pass. It returns
// the URL to call.
func (c *counter) between(t *testing.T, server string, pass func(client net.Conn, server string, number int)) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	far := u.Host
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			c.mutex.Lock()
			number := c.connections
			c.connections++
			c.mutex.Unlock()
			go func() {
				defer client.Close()
				pass(client, far, number)
			}()
		}
	}()
	u.Host = listener.Addr().String()
	return u.String()
}

// through passes bytes both ways.
func through(client net.Conn, server string, _ int) {
	far, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer far.Close()
	go func() {
		io.Copy(client, far)
		client.Close()
	}()
	io.Copy(far, client)
}
