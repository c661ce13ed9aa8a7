package californium

import (
	"context"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/stack"
)

var observing = map[string]string{"observe": "on"}

// Each observes the other: our client their resource, their client ours.
func TestObserve(t *testing.T) {
	d := built(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	srv := start(t, d, "serve")
	ready, err := srv.Serve(ctx, stack.Serve{Service: "echo", Encoding: "protobuf", Security: "none", Transport: "coap",
		Host: "127.0.0.1", Options: observing, Limits: stack.Limits{Body: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("theirs with theirs", func(t *testing.T) { drives(t, ctx, d, ready.URL) })
	t.Run("theirs, ours observes", func(t *testing.T) {
		u, err := url.Parse(ready.URL)
		if err != nil {
			t.Fatal(err)
		}
		asker, err := coap.Dial(u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer asker.Close()
		observer, err := coap.Dial(u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer observer.Close()
		var states []string
		err = observer.Observe(ctx, &coap.Call{Method: coap.GET, Path: "echo"}, func(r coap.Reply) bool {
			states = append(states, string(r.Body))
			body := []byte{10, 1, 'a' + byte(len(states))} // protobuf: field 1, a string of one letter
			if reply, err := asker.Do(ctx, &coap.Call{Method: coap.POST, Path: "echo", Format: coap.OctetStream,
				Body: body}); err != nil || reply.Code != coap.Changed {
				t.Errorf("POST: %v, %v", reply.Code, err)
			}
			return len(states) < 10
		})
		if err != nil || len(states) != 10 || states[9] != "\n\x01j" {
			t.Errorf("heard %q, %v", states, err)
		}
	})
	t.Run("ours, theirs observes", func(t *testing.T) {
		conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		var posts atomic.Int64
		changed := make(chan struct{}, 100)
		s := &coap.Server{Observable: func([]byte) bool { return true },
			Handler: func(req *coap.Request, resp *coap.Response) {
				resp.Format = coap.OctetStream
				resp.Body = append(resp.Body, req.Body...)
				if req.Method == coap.POST {
					posts.Add(1)
					changed <- struct{}{}
				}
			}}
		serving, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { defer close(done); s.Serve(serving, conn) }()
		go func() {
			for range changed {
				s.Changed("echo")
			}
		}()
		drives(t, ctx, d, "coap://"+conn.LocalAddr().String()+"/echo")
		stop()
		<-done
		close(changed)
		if posts.Load() != 7 || s.Counts.Notifications.Load() != 7 {
			t.Errorf("%d requests, %d notifications, want 7", posts.Load(), s.Counts.Notifications.Load())
		}
	})
}

// drives has their client observe and send 7 requests, each of which it must hear of.
func drives(t *testing.T, ctx context.Context, d stack.Description, url string) {
	cl := start(t, d, "call")
	if _, err := cl.Call(ctx, stack.Call{URL: url, Service: "echo", Encoding: "protobuf", Security: "none",
		Transport: "coap", Connection: "keep-alive",
		Message: stack.Message{Seed: 1, N: 10}, Timeout: int64(20 * time.Second), Options: observing}); err != nil {
		t.Fatal(err)
	}
	if failed := failures(t, ctx, cl, 7); failed != 0 {
		t.Errorf("%d of 7 requests failed", failed)
	}
}
