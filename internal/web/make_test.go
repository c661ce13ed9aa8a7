package web

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/packet"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/store"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const wiredRequests, wiredWarmUp = 40, 3

// wired makes results with packets: of one stack over CoAP, each request saying its
// number, after a warm-up that the capture has, too.
func wired(t testing.TB, dir string) {
	t.Helper()
	kept, plan, err := fabricated.Create(dir, fmt.Appendf(nil,
		"study: wired\nquestion: What is on the wire?\nservice: echo\n"+
			"stack: coap-json\nrequests: %d\ndesign: {replications: 3, seed: 1}\npackets: keep\n", wiredRequests))
	ok(t, err)
	defer kept.Close()
	for _, trial := range plan.Trials {
		ok(t, fabricated.Trial(kept, trial, wiredRequests, func(a *store.Attempt) error {
			w, err := a.Packets("lo")
			ok(t, err)
			ok(t, capture(w, wiredWarmUp+wiredRequests))
			ok(t, w.Close())
			ok(t, os.WriteFile(filepath.Join(a.Dir(), "serve.log"), []byte("<script>alert(1)</script> listening\n"), 0o644))
			return a.Keep("ready.json", []byte(`{"server": {"url": "coap://127.0.0.1:5683/echo"}}`))
		}))
	}
}

// capture writes CoAP exchanges over UDP, one a millisecond.
func capture(to io.Writer, exchanges int) error {
	w := packet.NewWriter(to, packet.Description{Interface: "lo", Link: packet.LinkEthernet})
	at := 1_700_000_000 * time.Second
	for i := range exchanges {
		said := fmt.Sprintf("request %d", i+1-wiredWarmUp)
		for _, p := range []packet.Packet{datagram(40000, 5683, message(0x40, 0x02, i, said)),
			datagram(5683, 40000, message(0x60, 0x45, i, "answer"))} {
			p.At = at
			if err := w.Write(p); err != nil {
				return err
			}
			at += 500 * time.Microsecond
		}
	}
	return w.Close(packet.CaptureStats{Packets: uint64(2 * exchanges)})
}

// message is a CoAP message with a payload (RFC 7252, section 3).
func message(kind, code byte, id int, payload string) []byte {
	return append([]byte{kind, code, byte(id >> 8), byte(id), 0xff}, payload...)
}

// datagram is a frame between two ports of loopback, without checksums.
func datagram(from, to uint16, body []byte) packet.Packet {
	b := make([]byte, 14, 64)
	b[12] = 8 // IPv4
	ip := append([]byte{0x45, 0}, binary.BigEndian.AppendUint16(nil, uint16(28+len(body)))...)
	ip = append(ip, 0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1)
	b = append(b, ip...)
	for _, v := range []uint16{from, to, uint16(8 + len(body)), 0} {
		b = binary.BigEndian.AppendUint16(b, v)
	}
	b = append(b, body...)
	return packet.Packet{Data: b, Length: len(b), Link: packet.LinkEthernet}
}

// house makes a folder with three results: alpha/001 and /002, which ask the same of
// more requests, and wired/001.
func house(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	ok(t, fabricated.Make(filepath.Join(dir, "alpha/001"), 3, 4, 300))
	ok(t, fabricated.Make(filepath.Join(dir, "alpha/002"), 3, 4, 400))
	wired(t, filepath.Join(dir, "wired/001"))
	return dir
}

func served(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := New(o)
	ok(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// get asks the server as a browser on this machine does.
func get(t testing.TB, s *Server, to string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Host = "127.0.0.1:8642"
	u, err := r.URL.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	r.URL, r.RequestURI = u, to
	s.Handler().ServeHTTP(w, r)
	return w
}

// shows fails unless a page is there and has all the texts.
func shows(t testing.TB, s *Server, to string, texts ...string) string {
	t.Helper()
	w := get(t, s, to)
	body := w.Body.String()
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d: %.500s", to, w.Code, body)
	}
	for _, text := range texts {
		if !strings.Contains(body, text) {
			t.Errorf("%s does not say %q", to, text)
		}
	}
	return body
}

// id is a result's name in addresses.
func id(t testing.TB, s *Server, dir string) string {
	t.Helper()
	for _, p := range s.places() {
		if p.dir == dir {
			return p.id
		}
	}
	t.Fatalf("no %s", dir)
	return ""
}
