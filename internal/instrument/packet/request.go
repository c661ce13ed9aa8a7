package packet

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// request tells the requests on a kept-alive connection apart: client data
// that follows server data begins the next one. It knows no application
// protocol but MQTT and HTTP/2's frames, so requests that overlap (pipelining,
// multiplexing) are not told apart.
func (c *conn) request(p *Packet, s *segment, fromClient bool, fresh int64, again bool) {
	midRecord, headers, ping := false, true, false
	if s.payload > 0 {
		headers, ping = c.frames(s, fromClient)
	}
	if fromClient && s.payload > 0 {
		from := c.cli.number(s.seq)
		fresh = min(fresh, c.tls.visible(from+int64(s.payload)))
		midRecord = c.tls.sent.mid(from)
		c.tls.follow(from, s)
	}
	if fromClient && fresh > 0 && !c.begun {
		if c.begun = true; isMQTT(s.data) {
			c.NoRequests = "MQTT messages and acknowledgements of both sides interleave: packets cannot be assigned to " +
				"requests"
		}
	}
	if c.NoRequests != "" {
		return
	}
	if fresh > 0 && fromClient && headers && (c.cur == nil || c.cur.answered && !midRecord) {
		c.endRequest(false)
		c.cur = &Call{Client: c.Client, Server: c.Server, Start: p.At, alert: c.tls.closes(s)}
		line, _, _ := bytes.Cut(s.data, []byte("\r\n"))
		c.cur.interim.http = bytes.HasSuffix(line, []byte(" HTTP/1.1"))
		c.cur.NoHandshake = "it belongs to the connection"
		if c.Partial && len(c.Requests) == 0 {
			c.cur.refuse("it may have begun before the capture")
		}
	}
	r := c.cur
	if r == nil {
		return
	}
	if s.flags&(finFlag|rstFlag) != 0 && fresh == 0 {
		r.closing = true
	}
	if r.closing && fresh == 0 || c.outside(r, s, fromClient, ping) {
		return
	}
	t := r.side(fromClient)
	t.Packets++
	t.Bytes += int64(s.frame)
	t.Payload += fresh
	r.tick = max(r.tick, p.Tick)
	if !s.bare() {
		r.tail = Traffic{}
	} else {
		r.tail.Packets++
		r.tail.Bytes += int64(s.frame)
	}
	if again {
		r.Retransmissions++
	}
	switch {
	case !fromClient && fresh > 0:
		r.answered = r.answered || c.answers(s)
		r.end, r.whole, r.pinged = c.srv.number(s.seq)+int64(s.payload), false, false
	case fromClient && s.flags&ackFlag != 0 && r.answered:
		r.lastACK = max(r.lastACK, p.At)
		r.closing = r.closing || r.closesAt > 0 && c.srv.number(s.ack) >= r.closesAt
	}
	// A FIN that rides on data ends the stream, not the call: the data are still
	// to be acknowledged, or, of the client, to be answered.
	if s.flags&finFlag != 0 && !fromClient {
		r.closesAt = c.srv.number(s.seq) + int64(s.payload)
	}
}

// frames follows the frames of HTTP/2 in a segment with data: does a HEADERS frame begin in it, and is it PING alone?
func (c *conn) frames(s *segment, fromClient bool) (headers, ping bool) {
	if !fromClient {
		return c.served.frames(c.srv.number(s.seq), s)
	}
	from := c.cli.number(s.seq)
	if bytes.HasPrefix(s.data, http2Preface) {
		c.http2.begin(from, len(http2Preface))
		c.served.begin(c.srv.next, 0)
	}
	return c.http2.frames(from, s)
}

// outside says whether a segment is a PING of HTTP/2, or acknowledges one and nothing else: it belongs to the
// connection, as a keep-alive probe of TCP does, but to no request.
func (c *conn) outside(r *Call, s *segment, fromClient, ping bool) bool {
	whole := r.whole
	if fromClient && s.flags&ackFlag != 0 && r.answered {
		r.whole = c.srv.number(s.ack) >= r.end
	}
	if ping {
		r.pinged = true
		return !fromClient || whole
	}
	return r.pinged && whole && s.bare()
}

// isMQTT says whether a client's first data is MQTT's CONNECT (MQTT 5.0, section 3.1).
func isMQTT(b []byte) bool {
	if len(b) == 0 || b[0] != 0x10 {
		return false
	}
	_, n := binary.Uvarint(b[1:]) // the remaining length is coded alike
	return n > 0 && bytes.HasPrefix(b[1+n:], []byte("\x00\x04MQTT"))
}

// answers says whether new data of the server may be the answer to the request
// under way. An interim response is not, nor are TLS 1.3's session tickets: they
// are sent as soon as the handshake is over, before the server has the whole
// request, so their segments do not acknowledge all of it.
func (c *conn) answers(s *segment) bool {
	if c.tls.state == tlsDone && c.tls.is13 {
		return c.cli.number(s.ack) >= c.cli.next
	}
	return c.tls.state != tlsNone || !c.cur.interim.more(c.srv.number(s.seq), s)
}

// An interimWatch follows responses 1xx of HTTP/1.1 at the begin of an answer, such as
// "100 Continue", for which a client waits before it sends the body (RFC 9110, section 15.2).
type interimWatch struct {
	http bool   // the request was of HTTP/1.1
	next int64  // sequence number, as half counts them; 0: nothing came yet
	head []byte // of the response under way
}

const interimBegin = "HTTP/1.1 1"

// more says whether the answer up to and with the next segment of new data holds interim responses and nothing else,
// perhaps the begin of one.
func (w *interimWatch) more(from int64, s *segment) bool {
	if len(s.data) < s.payload || w.next > 0 && from != w.next || len(w.head) > 1<<16 {
		return false
	}
	w.next = from + int64(s.payload)
	w.head = append(w.head, s.data...)
	for bytes.HasPrefix(w.head, []byte(interimBegin)) {
		end := bytes.Index(w.head, []byte("\r\n\r\n"))
		if end < 0 {
			return true
		}
		w.head = w.head[end+4:]
	}
	return len(w.head) == 0 || w.http && strings.HasPrefix(interimBegin, string(w.head))
}

// endRequest keeps the current request, unless it is the closing alert of TLS,
// which the server may answer with its own.
func (c *conn) endRequest(last bool) {
	r := c.cur
	if c.cur = nil; r == nil || r.alert && last && r.In.Payload <= r.Out.Payload {
		return
	}
	if !last { // the next request follows it, whatever its segment acknowledged
		r.tail = Traffic{}
		for _, d := range c.unacked {
			c.received(d)
		}
		c.unacked = c.unacked[:0]
	}
	if r.answered && r.lastData == 0 {
		r.refuse("the client acknowledged no data of the response: " + c.End)
	}
	r.Delay, r.DelayToData = max(r.lastACK, r.lastData)-r.Start, r.lastData-r.Start
	if !r.answered {
		r.refuse("no response in this capture")
	}
	r.Seq = len(c.Requests) + 1
	c.Requests = append(c.Requests, *r)
}
