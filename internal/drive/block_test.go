package drive

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// The look whether an idle connection is still open is part of connection and of the total, and of nothing else.
func TestLookAtAnIdleConnection(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(echo))
	defer server.Close()
	s := Spec{URL: server.URL, Connection: KeepAlive, Concurrency: 1}
	_, xs := drive(t, s, Load{Schedule: ClosedLoop(5, 5*time.Millisecond)}, numbered{pad: 20})
	sound(t, xs)
	shortest := xs[0].Connection // the others may have waited for a CPU
	for _, x := range xs {
		shortest = min(shortest, x.Connection)
		if x.Connection <= 0 {
			t.Errorf("request %d: connection %v", x.Seq, x.Connection)
		}
		if sum := x.Connection + x.Serialization + x.RTT() + x.Deserialization; x.Total < sum {
			t.Errorf("request %d: total %v, its parts %v", x.Seq, x.Total, sum)
		}
	}
	if shortest > 4*time.Millisecond {
		t.Errorf("a look takes %v: the idle time is part of it", shortest)
	}
}

// Over UDP there is no connection to look at, and so no time for it.
func TestNoLookWhereThereIsNoConnection(t *testing.T) {
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go (&coap.Server{Handler: func(_ *coap.Request, w *coap.Response) { w.Code = coap.Changed }}).Serve(t.Context(),
		l.(*net.UDPConn))
	_, xs := drive(t, Spec{URL: "coap://" + l.LocalAddr().String(), Concurrency: 1},
		Load{Schedule: ClosedLoop(3, 5*time.Millisecond)}, Fixed("x"))
	for _, x := range xs {
		if x.Failure != "" || x.Connection != 0 {
			t.Errorf("request %d: connection %v, %q", x.Seq, x.Connection, x.Failure)
		}
	}
}
