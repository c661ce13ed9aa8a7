package drive

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// The look whether an idle connection is still open is part of connection and of the total, and of nothing else.
func TestLookAtAnIdleConnection(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(echo))
	defer server.Close()
	s := Spec{URL: server.URL, Connection: KeepAlive, Concurrency: 1}
	_, xs := drive(t, s, Load{Schedule: ClosedLoop(5, 5*time.Millisecond)}, numbered{pad: 20})
	sound(t, xs)
	for _, x := range xs {
		if x.Connection <= 0 || x.Connection > 4*time.Millisecond {
			t.Errorf("request %d: connection %v", x.Seq, x.Connection)
		}
		if sum := x.Connection + x.Serialization + x.RTT() + x.Deserialization; x.Total < sum {
			t.Errorf("request %d: total %v, its parts %v", x.Seq, x.Total, sum)
		}
	}
}
