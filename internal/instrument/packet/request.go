package packet

// request tells the requests on a kept-alive connection apart: client data
// that follows server data begins the next one. It knows no application
// protocol, so requests that overlap (pipelining, HTTP/2) are not told apart.
func (c *conn) request(p *Packet, s *segment, fromClient bool, fresh int64, again bool) {
	if fromClient && s.payload > 0 {
		fresh = min(fresh, c.tls.visible(c.cli.number(s.seq)+int64(s.payload)))
	}
	if fresh > 0 && fromClient && (c.cur == nil || c.cur.answered) {
		c.endRequest(false)
		c.cur = &Call{Client: c.Client, Server: c.Server, Start: p.At, alert: c.tls.closes(s)}
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
	if r.closing && fresh == 0 {
		return
	}
	t := r.side(fromClient)
	t.Packets++
	t.Bytes += int64(s.frame)
	t.Payload += fresh
	if again {
		r.Retransmissions++
	}
	switch {
	case !fromClient && fresh > 0:
		r.answered = true
	case fromClient && s.flags&ackFlag != 0 && r.answered:
		r.lastACK = max(r.lastACK, p.At)
	}
	r.closing = r.closing || s.flags&finFlag != 0
}

// endRequest keeps the current request, unless it is the closing alert of TLS,
// which the server may answer with its own.
func (c *conn) endRequest(last bool) {
	r := c.cur
	if c.cur = nil; r == nil || r.alert && last && r.In.Payload <= r.Out.Payload {
		return
	}
	if !last { // the next request follows it, whatever its segment acknowledged
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
