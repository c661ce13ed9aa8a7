package drive

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// A job that nobody answers ends long before all its requests have timed out, whether in its warm-up or without one,
// and however its connections are used; one that is answered once, or with an error, goes on to its end.
func TestJobEndsWhereNobodyAnswers(t *testing.T) {
	const all = 60
	silent := func(c net.Conn, _ int) { io.Copy(io.Discard, c) }
	unwilling := func(c net.Conn, _ int) {
		c.Read(make([]byte, 1000))
		fmt.Fprint(c, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	}
	once := func(c net.Conn, before int) {
		if before == 0 {
			c.Read(make([]byte, 1000))
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
		io.Copy(io.Discard, c)
	}
	for _, tt := range []struct {
		what        string
		serve       func(net.Conn, int)
		connection  string
		concurrency int
		warmup      int
		rate        float64
		silence     time.Duration
		ends        bool
	}{
		{"warm-up", silent, KeepAlive, 1, all, 0, 50 * time.Millisecond, true},
		{"no warm-up", silent, KeepAlive, 1, 0, 0, 50 * time.Millisecond, true},
		{"a short warm-up", silent, KeepAlive, 1, 2, 0, 50 * time.Millisecond, true},
		{"several connections", silent, KeepAlive, 4, 0, 0, 50 * time.Millisecond, true},
		{"a rate", silent, KeepAlive, 2, 0, 1000, 50 * time.Millisecond, true},
		{"connections of their own", silent, PerRequest, 1, all, 0, 50 * time.Millisecond, true},
		{"a pipeline", silent, Pipelined, 2, all, 0, 50 * time.Millisecond, true},
		{"errors", unwilling, PerRequest, 1, 10, 0, 1, false},
		{"one answer in the warm-up", once, KeepAlive, 1, 10, 0, 50 * time.Millisecond, false},
		{"refused", func(net.Conn, int) {}, PerRequest, 1, 0, 0, 1, false},
		{"few requests", silent, KeepAlive, 1, 0, 0, 1, false},
		{"never", silent, KeepAlive, 1, 0, 0, 0, false},
	} {
		j := Job{Spec: Spec{URL: hostile(t, tt.serve), Connection: tt.connection, Concurrency: tt.concurrency,
			Timeout: 10 * time.Millisecond}, WarmUp: tt.warmup, Requests: all, Silence: tt.silence}
		if tt.rate > 0 {
			j.Rate, j.Arrivals = tt.rate, Even
		}
		if !tt.ends {
			j.Requests = 10
		}
		if tt.what == "few requests" {
			j.Requests = silentFrom - 1
		}
		record, _, err := j.run(t.Context())
		switch {
		case !tt.ends && (err != nil || record.Len() != j.Requests):
			t.Errorf("%s: %v", tt.what, err)
		case tt.ends && (err == nil || !strings.Contains(err.Error(), "was answered in ") ||
			!strings.Contains(err.Error(), "first failure: no response within 10ms")):
			t.Errorf("%s: %v", tt.what, err)
		}
	}
}
