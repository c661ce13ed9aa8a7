package reference

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// Whatever a client sends to a reference server over HTTP, whatever length it says: the answer is 200 and can be
// decoded, or refuses; no body is kept beyond the limit.
func FuzzRequest(f *testing.F) {
	const limit = 4096
	var all []*httpServer
	for name, encoding := range map[string]codec.Encoding{"rest-json": codec.JSON, "soap": codec.SOAP12,
		"rest-cbor": codec.CBOR} {
		for _, s := range []service.Name{service.Echo, service.Sort, service.Monitor} {
			k, ok := find(name)
			if !ok {
				f.Fatal(name)
			}
			p := &program{kind: k, log: log.New(io.Discard, "", 0)}
			srv, err := k.serve(p, stack.Serve{Service: string(s), Encoding: string(encoding), Security: "none",
				Transport: "http", Host: "127.0.0.1", Limits: stack.Limits{Body: limit}})
			if err != nil {
				f.Fatal(err)
			}
			f.Cleanup(srv.close)
			h := srv.(*httpServer)
			all = append(all, h)
			var m service.Message
			service.Make(s, 1, 3, service.Width{}, &m)
			f.Add(len(all)-1, "POST", encoding.MediaType(s, false), int64(-1), codec.Append(encoding, nil, s, false, &m))
		}
	}
	f.Add(0, "POST", "application/json", int64(1)<<62, []byte("{}"))
	f.Add(1, "TRACE", "", int64(0), []byte{})
	f.Fuzz(func(t *testing.T, which int, method, media string, length int64, body []byte) {
		h := all[uint(which)%uint(len(all))]
		r, err := http.NewRequest(method, "/", bytes.NewReader(body))
		if err != nil {
			return
		}
		r.ContentLength = length
		r.Header.Set("Content-Type", media)
		w := httptest.NewRecorder()
		h.handle(w, r)
		switch {
		case w.Code == http.StatusOK:
			var m service.Message
			if err := codec.Decode(h.encoding, w.Body.Bytes(), h.name, true, &m); err != nil {
				t.Fatalf("%q: the answer %q: %v", body, w.Body, err)
			}
			if len(body) > limit {
				t.Fatalf("a body of %d B was taken", len(body))
			}
		case w.Code < 400 || w.Code >= 500 && !h.soap:
			t.Fatalf("%q: status %d: %s", body, w.Code, w.Body)
		}
		h.take().forget()
	})
}
