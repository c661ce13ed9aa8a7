package microemu_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// A request whose kept connection ends before the answer has failed; it is not sent again over another connection. And
// one on which nothing is asked for longer than the JDK's 5 s is still there for the next request.
func TestEachRequestIsSentOnceOverOneConnection(t *testing.T) {
	stacktest.Built(t, ".")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var connections, requests atomic.Int64
	const answered = 2 // and no further one
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			go func() {
				defer c.Close()
				said := bufio.NewReader(c)
				for {
					r, err := http.ReadRequest(said)
					if err != nil {
						return
					}
					body, err := io.ReadAll(r.Body)
					if err != nil || requests.Add(1) > answered {
						return
					}
					fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n%s",
						len(body), body)
				}
			}()
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := stacktest.Start(t, "", "java", "-Xmx128m", "-cp", "build/app.jar:build/lib/*", "Main", "call")
	_, err = client.Call(ctx, stack.Call{URL: "http://" + listener.Addr().String() + "/echo", Service: "echo",
		Encoding: "text", Security: "none", Transport: "http", Message: stack.Message{Seed: 7, N: 40},
		Connection: "keep-alive", Timeout: int64(10 * time.Second), Limits: stack.Limits{Body: 1e6}})
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	_, err = client.Run(ctx, stack.Run{Requests: answered + 1, Interval: int64(7 * time.Second), Record: true},
		func(x measure.Exchange) {
			if x.Failure != "" {
				failed++
			}
		})
	if err != nil || failed != 1 || requests.Load() != answered+1 || connections.Load() != 1 {
		t.Errorf("%d requests were sent over %d connections, %d failed; want %d, 1, 1: %v", requests.Load(),
			connections.Load(), failed, answered+1, err)
	}
}
