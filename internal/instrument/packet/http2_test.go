package packet

import (
	"testing"
	"time"
)

// frameOf is one HTTP/2 frame of n octets.
func frameOf(kind byte, n int) string {
	b := make([]byte, 9+n)
	b[1], b[2], b[3], b[8] = byte(n>>8), byte(n), kind, 1
	return string(b)
}

// Of HTTP/2 in the clear, a request begins with HEADERS: SETTINGS, PING and WINDOW_UPDATE that a client sends between
// are none, wherever segments cut the frames.
func TestHTTP2RequestsBeginWithHeaders(t *testing.T) {
	const headers, data, settings, ping, window = 1, 0, 4, 6, 8
	s := newScript(t)
	c, v := s.open(cliAddr, srvAddr)
	c.send(ackFlag, string(http2Preface)+frameOf(settings, 12))
	v.send(ackFlag, frameOf(settings, 0))
	for range 3 {
		request := frameOf(settings, 0) + frameOf(headers, 300) + frameOf(data, 40)
		c.send(ackFlag, request[:5])
		c.send(ackFlag, request[5:200])
		c.send(ackFlag, request[200:])
		v.send(ackFlag, frameOf(ping, 8)+frameOf(headers, 20)+frameOf(data, 100))
		c.send(ackFlag, frameOf(ping, 8))
		v.send(ackFlag, frameOf(ping, 8))
		c.send(ackFlag, frameOf(window, 4))
	}
	hangUp(c, v)
	got := s.analyze(Options{})
	if len(got.Connections) != 1 || len(got.Connections[0].Requests) != 3 {
		t.Fatalf("got %+v", got.Connections)
	}
	for _, r := range got.Connections[0].Requests {
		if r.NoDelay+r.NoData != "" || r.DelayToData <= 0 || r.DelayToData > time.Second {
			t.Errorf("got %+v", r)
		}
	}
}
