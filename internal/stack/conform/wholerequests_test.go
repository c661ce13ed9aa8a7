package conform

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// A server has no connection of the kit left when the next check begins: a thread of it may be waiting at each.
func TestNoConnectionOfACheckStays(t *testing.T) {
	var open atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m service.Message
		body, _ := io.ReadAll(r.Body)
		if err := codec.Decode(codec.JSON, body, service.Echo, false, &m); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Write(codec.Append(codec.JSON, nil, service.Echo, true, &m))
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	server.Start()
	defer server.Close()
	c := suite{ctx: t.Context(), wish: stack.Wish{Encoding: "json", Security: "none", Transport: "http"}}
	if err := c.answersSeveral("echo", server.URL+"/echo"); err != nil {
		t.Fatal(err)
	}
	for n := 0; open.Load() > 0; n++ {
		if n == 100 {
			t.Fatalf("%d connections stay open", open.Load())
		}
		time.Sleep(50 * time.Millisecond)
	}
}
