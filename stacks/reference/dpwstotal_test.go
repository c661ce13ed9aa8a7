package reference

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/dpws"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// A handingOn is a ResponseWriter that keeps subscribers from being told until the request is recorded.
type handingOn struct {
	http.ResponseWriter
	d        *dpwsServer
	recorded bool
}

func (h *handingOn) Write(b []byte) (int, error) {
	h.d.namer.mu.Lock()
	go func() {
		defer h.d.namer.mu.Unlock()
		for end := time.Now().Add(5 * time.Second); !h.recorded && time.Now().Before(end); time.Sleep(time.Millisecond) {
			h.d.kept.mu.Lock()
			h.recorded = h.d.kept.n == 1
			h.d.kept.mu.Unlock()
		}
	}()
	return h.ResponseWriter.Write(b)
}

// The total of a request ends where its answer is handed on: what subscribers are told of it comes behind.
func TestDPWSTotalEndsBeforeEvents(t *testing.T) {
	w, err := newWorkers(stack.Serve{Service: "echo"}, "soap12")
	if err != nil {
		t.Fatal(err)
	}
	d := &dpwsServer{httpServer: &httpServer{workers: w, soap: true}, namer: &locked{namer: dpws.NewNamer()},
		subscribers: &dpws.Subscriptions{}}
	d.decode, d.encode = d.read, d.write
	h := dpws.Header{Action: []byte(codec.Action("echo")), To: []byte("http://h/echo"), MessageID: []byte(dpws.NewUUID())}
	b := codec.Append(codec.XML, h.AppendStart(nil), "echo", false, &service.Message{Text: []byte("x")})
	b = append(b, dpws.End...)
	r := httptest.NewRequest(http.MethodPost, "/echo", bytes.NewReader(b))
	r.Header.Set("Content-Type", "application/soap+xml")
	answer := httptest.NewRecorder()
	handed := &handingOn{ResponseWriter: answer, d: d}
	d.serve(handed, r)
	d.namer.mu.Lock() // it has looked
	defer d.namer.mu.Unlock()
	if answer.Code != http.StatusOK || !handed.recorded {
		t.Errorf("status %d %s; recorded %v", answer.Code, answer.Body, handed.recorded)
	}
}
