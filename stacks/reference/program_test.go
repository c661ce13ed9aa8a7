package reference

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
)

// A server that shares its CPU with the client has a second P, or its RTT has two
// states.
func TestServersHaveTwoPs(t *testing.T) {
	for _, tt := range []struct{ name, encoding, transport string }{
		{"rest-json", "json", "http"}, {"soap", "soap12", "http"}, {"coap-json", "json", "coap"}, {"mqtt", "json", mqtt5},
	} {
		before := runtime.GOMAXPROCS(1)
		line := fmt.Sprintf(`{"type":"serve","protocol":1,"service":"echo","encoding":"%s","security":"none",`+
			`"transport":"%s","host":"127.0.0.1"}`+"\n", tt.encoding, tt.transport)
		var out, log strings.Builder
		status := Main([]string{tt.name, "serve"}, strings.NewReader(line), &out, io.MultiWriter(&log, t.Output()))
		got := runtime.GOMAXPROCS(before)
		if status != 0 || !strings.Contains(out.String(), `"ready"`) {
			t.Errorf("%s: status %d, %s%s", tt.name, status, &out, &log)
		}
		if got < 2 {
			t.Errorf("%s: %d Ps", tt.name, got)
		}
	}
}

// A program takes another line of its verb in the place of the one before. One of DPWS does not, nor the client of
// services that are running.
func TestProgramsTakeAnotherLine(t *testing.T) {
	for _, tt := range []struct{ name, encoding, transport string }{
		{"rest-json", "json", "http"}, {"http2", "cbor", "http2"}, {"grpc", "protobuf", "grpc"},
		{"coap-cbor", "cbor", "coap"}, {"coap-tcp-cbor", "cbor", "coap-tcp"}, {"mqtt", "json", mqtt5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, client, limits := begun(t, tt.name, "serve"), begun(t, tt.name, "call"), stack.Limits{Body: 1e6}
			for _, service := range []string{"sort", "echo", "sort"} {
				ready, err := server.Serve(t.Context(), stack.Serve{Service: service, Encoding: tt.encoding, Security: "none",
					Transport: tt.transport, Host: "127.0.0.1", Limits: limits})
				if err != nil || !ready.Again {
					t.Fatalf("%s: %+v, %v", service, ready, err)
				}
				ready, err = client.Call(t.Context(), stack.Call{URL: ready.URL, Service: service, Encoding: tt.encoding,
					Security: "none", Transport: tt.transport, Message: stack.Message{Seed: 7, N: 5}, Limits: limits,
					Connection: "keep-alive", Timeout: int64(time.Minute)})
				if err != nil || !ready.Again {
					t.Fatalf("%s: %+v, %v", service, ready, err)
				}
				asked, err := client.Run(t.Context(), stack.Run{Requests: 3}, nil)
				served, err2 := server.Report(t.Context(), true, nil)
				if err = errors.Join(err, err2); err != nil || asked.Count != 3 || asked.Failed != 0 || served.Count != 3 {
					t.Errorf("%s: %+v asked, %+v served, %v", service, asked, served, err)
				}
			}
		})
	}
	for _, name := range []string{"dpws", requester} {
		k, _ := find(name)
		if (&program{kind: k}).again() {
			t.Errorf("%s takes another line", name)
		}
	}
}

// begun is a program in this process. It ends with the test, and must end well.
func begun(t *testing.T, name, verb string) *stack.Conn {
	in, stdin := io.Pipe()
	out, stdout := net.Pipe()
	done := make(chan int, 1)
	go func() { done <- Main([]string{name, verb}, in, stdout, t.Output()) }()
	t.Cleanup(func() {
		stdin.Close()
		if status := <-done; status != 0 {
			t.Errorf("%s %s ended with %d", name, verb, status)
		}
	})
	return stack.NewConn(stdin, out)
}
