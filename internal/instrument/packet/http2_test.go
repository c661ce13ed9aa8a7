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

// A PING (RFC 9113, section 6.7) belongs to no request: whoever sends it while nothing is asked for, or on the answer's
// heels, as clients of gRPC do to estimate the bandwidth, the request before it is over when its answer is.
func TestHTTP2PingEndsNoRequest(t *testing.T) {
	const headers, data, settings, ping, window = 1, 0, 4, 6, 8
	body := frameOf(data, 100)
	pause := func(e *end) { e.s.at += 10 * time.Second }
	all := func(c, v *end) {
		v.send(ackFlag, body)
		c.send(ackFlag, "")
	}
	type want struct {
		toData, delay time.Duration
		out, in       int64 // packets
	}
	for name, tt := range map[string]struct {
		answer func(c, v *end) // behind its HEADERS, which the client has acknowledged
		want   want
	}{
		"none":              {all, want{3 * ms, 4 * ms, 3, 2}},
		"of an idle client": {func(c, v *end) { all(c, v); pings(c, v, pause) }, want{3 * ms, 4 * ms, 3, 2}},
		"of an idle server": {func(c, v *end) { all(c, v); pings(v, c, pause) }, want{3 * ms, 4 * ms, 3, 2}},
		"with the ACK": {func(c, v *end) {
			v.send(ackFlag, body)
			c.send(ackFlag, frameOf(ping, 8)) // and acknowledges
			pause(c)
			v.send(ackFlag, frameOf(ping, 8))
			c.send(ackFlag, "")
		}, want{3 * ms, 4 * ms, 3, 2}},
		"within the answer": {func(c, v *end) {
			v.send(ackFlag, frameOf(ping, 8))
			v.send(ackFlag, body)
			c.send(ackFlag, "")
			pause(c)
			c.send(ackFlag, frameOf(ping, 8)) // answers it late
			v.send(ackFlag, "")
		}, want{4 * ms, 5 * ms, 3, 2}},
		"behind the end of the answer": {func(c, v *end) {
			v.send(ackFlag, body[:50])
			v.send(ackFlag, body[50:]+frameOf(ping, 8))
			c.send(ackFlag, frameOf(ping, 8))
		}, want{4 * ms, 5 * ms, 3, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			c, v := s.open(cliAddr, srvAddr)
			c.send(ackFlag, string(http2Preface)+frameOf(settings, 12))
			v.send(ackFlag, frameOf(settings, 0))
			c.send(ackFlag, frameOf(settings, 0)+frameOf(window, 4))
			for range 3 {
				c.send(ackFlag, frameOf(headers, 300)+frameOf(data, 40))
				v.send(ackFlag, frameOf(headers, 20))
				c.send(ackFlag, "")
				tt.answer(c, v)
			}
			hangUp(c, v)
			got := s.analyze(Options{})
			if len(got.Connections) != 1 || len(got.Connections[0].Requests) != 3 {
				t.Fatalf("got %+v", got.Connections)
			}
			for _, r := range got.Connections[0].Requests[:2] { // the last one has packets that end the connection
				if is := (want{r.DelayToData, r.Delay, r.Out.Packets, r.In.Packets}); r.NoDelay+r.NoData != "" || is != tt.want {
					t.Errorf("request %d: got %v, want %v: %s%s", r.Seq, is, tt.want, r.NoDelay, r.NoData)
				}
			}
		})
	}
}

// pings has one end send a PING, twice, and the other answer it.
func pings(from, to *end, pause func(*end)) {
	for range 2 {
		pause(from)
		from.send(ackFlag, frameOf(http2Ping, 8))
		to.send(ackFlag, frameOf(http2Ping, 8))
		from.send(ackFlag, "")
	}
}
