package reference

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
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

// A fault goes with status 500, but for that of SOAP 1.2 which is the sender's (SOAP 1.2 part 2, table 20; SOAP 1.1,
// section 6.2).
func TestFaultsGoWithTheirStatus(t *testing.T) {
	const soap11, soap12 = "http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope"
	envelope := func(space, header string) string {
		return `<s:Envelope xmlns:s="` + space + `"><s:Header>` + header + `</s:Header><s:Body/></s:Envelope>`
	}
	const unknown = `<x:h xmlns:x="urn:x" s:mustUnderstand="1"/>`
	for _, tt := range []struct {
		encoding   codec.Encoding
		body, code string
		status     int
	}{
		{codec.SOAP12, envelope(soap12, unknown), "MustUnderstand", 500},
		{codec.SOAP12, envelope(soap11, ""), "VersionMismatch", 500},
		{codec.SOAP12, "<what", "Sender", 400},
		{codec.SOAP11, envelope(soap11, unknown), "MustUnderstand", 500},
		{codec.SOAP11, "<what", "Client", 500},
	} {
		k, _ := find("soap")
		srv, err := k.serve(&program{kind: k, log: log.New(io.Discard, "", 0)}, stack.Serve{Service: "echo",
			Encoding: string(tt.encoding), Security: "none", Transport: "http", Host: "127.0.0.1",
			Limits: stack.Limits{Body: 4096}})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.Post(srv.url(), tt.encoding.MediaType(service.Echo, false), strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		srv.close()
		if resp.StatusCode != tt.status || !strings.Contains(string(b), tt.code) {
			t.Errorf("%s: %s: got %d %s, want %d and %s", tt.encoding, tt.body, resp.StatusCode, b, tt.status, tt.code)
		}
	}
}
