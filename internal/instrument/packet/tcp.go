package packet

import (
	"fmt"
	"hash/crc32"
	"math"
	"net/netip"
	"slices"
	"time"
)

// A conn is a Connection while its packets are read.
type conn struct {
	Connection
	prev     *conn // that used the same endpoints before
	cli, srv half

	synAt        time.Duration // of the last SYN
	established  bool
	rtt          time.Duration // of the handshake; 0: not known
	strays       int64
	interfaces   bool // seen on more than one
	bothWays     bool // the same direction seen sent and received
	simultaneous bool
	guessed      bool // nobody knows which end is the client
	tls          tlsWatch
	cur          *Call
	begun        bool        // the client has sent data
	http2        http2Frames // of the client
	served       http2Frames // of the server
	unacked      []data      // of the server, not yet acknowledged
}

// A data is what a segment of the server brought anew.
type data struct {
	end  int64 // one past its last number
	at   time.Duration
	call *Call // the request under way; nil: none
}

// credit takes what the client acknowledges as received: it has its answer.
func (c *conn) credit() {
	if len(c.unacked) == 0 || !c.srv.begun || !c.srv.hasAck {
		return
	}
	acked := c.srv.number(c.srv.acked)
	c.unacked = slices.DeleteFunc(c.unacked, func(d data) bool {
		if d.end > acked {
			return false
		}
		c.received(d)
		return true
	})
}

func (c *conn) received(d data) {
	c.lastData, c.answered = max(c.lastData, d.at), true
	if d.call != nil {
		d.call.lastData = max(d.call.lastData, d.at)
	}
}

// addTCP finds the connection of a segment and adds the segment to it.
//
// A new connection begins at a SYN whose sequence number is new to these
// endpoints (port reuse), or at any segment between endpoints not seen yet.
func (a *Analyzer) addTCP(p *Packet, s *segment) {
	key := pairOf(s.src, s.dst)
	c := a.conns[key]
	switch s.flags & (synFlag | ackFlag | rstFlag) {
	case synFlag:
		c = a.onSYN(c, key, s)
	case synFlag | ackFlag:
		if c == nil || c.Server == s.src && c.srv.begun && c.srv.isn != s.seq {
			c = a.newConn(key, s, s.dst, s.src)
		} else if c.Client == s.src {
			c.simultaneous = true
		}
	default:
		if c == nil {
			c = a.midway(key, s)
		}
	}
	if alive := c.add(p, s, a.mtu(s)); alive && a.o.Sizes {
		a.c.sizes[len(a.c.sizes)-1].bare = true
	}
}

func (a *Analyzer) newConn(key pair, s *segment, client, server netip.AddrPort) *conn {
	c := &conn{prev: a.conns[key]}
	if c.prev != nil {
		c.prev.prev = nil // one step back is enough for a late duplicate
	}
	c.Client, c.Server, c.Partial = client, server, true
	a.conns[key] = c
	a.order = append(a.order, c)
	return c
}

func (a *Analyzer) onSYN(c *conn, key pair, s *segment) *conn {
	switch {
	case c == nil:
	case c.Client == s.src && c.cli.begun && !c.Partial && c.cli.isn == s.seq:
		return c // sent again
	case c.prev != nil && c.prev.Client == s.src && !c.prev.Partial && c.prev.cli.isn == s.seq:
		return c.prev // a late copy
	case c.Server == s.src && !c.Partial && !c.srv.begun:
		c.simultaneous = true
		return c
	}
	c = a.newConn(key, s, s.src, s.dst)
	c.Partial = false
	return c
}

// midway begins a connection whose SYN is not in the capture.
func (a *Analyzer) midway(key pair, s *segment) *conn {
	if is, known := a.fromServer(s); known && is {
		return a.newConn(key, s, s.dst, s.src)
	} else if known {
		return a.newConn(key, s, s.src, s.dst)
	}
	c := a.newConn(key, s, s.src, s.dst)
	c.guessed = true
	return c
}

// add takes the next segment. It says whether that only keeps the connection alive.
func (c *conn) add(p *Packet, s *segment, mtu int) (alive bool) {
	fromClient := s.src == c.Client
	h, o := &c.srv, &c.cli
	if fromClient {
		h, o = &c.cli, &c.srv
	}
	if c.Out.Packets+c.In.Packets == 0 {
		c.Start = p.At
	}
	t := c.side(fromClient)
	t.Packets++
	t.Bytes += int64(s.frame)
	c.tick = max(c.tick, p.Tick)
	c.watch(h, p, s)
	alive = keepsAlive(h, o, s)
	if s.ip > mtu || o.mss > 0 && s.payload > o.mss {
		c.SuperSegments++
	}
	if s.flags&synFlag != 0 && s.mss > 0 {
		h.mss = s.mss
	}
	if s.flags&ackFlag != 0 {
		o.noteAck(s.ack)
		if fromClient && !alive {
			c.lastACK, c.acked = max(c.lastACK, p.At), true
			c.credit()
		}
	}
	if s.flags&rstFlag != 0 {
		c.reset(fromClient, h)
		c.request(p, s, fromClient, 0, false)
		return false
	}
	fresh, again := c.sequence(h, o, p, s)
	if fresh > 0 {
		t.Payload += fresh
	}
	if alive {
		return true
	}
	c.handshake(h, p, s, fromClient)
	c.request(p, s, fromClient, fresh, again)
	if fresh > 0 && !fromClient {
		d := data{c.srv.number(s.seq) + int64(s.payload), p.At, c.cur}
		if d.call != nil && d.call.pinged {
			d.call = nil // these data are a PING
		}
		c.unacked = append(c.unacked, d)
		c.credit() // the acknowledgement may have been stored first
	}
	return false
}

// keepsAlive says whether a segment of h is a keep-alive probe, or the answer to one of o: it belongs to the
// connection, but to no request, whether one is under way or not. The probe of a closed window is no keep-alive:
// data wait for its answer.
func keepsAlive(h, o *half, s *segment) bool {
	owed := h.probed
	h.probed = 0
	switch {
	case !h.begun || s.flags&(synFlag|finFlag|rstFlag) != 0 || !o.hasAck || int32(s.ack-o.acked) > 0:
		return false
	case h.probe(s, h.number(s.seq)):
		if o.window == 0 {
			return false
		}
		o.probed++
		return true
	case owed > 0 && s.payload == 0:
		h.probed = owed - 1
		return true
	}
	return false
}

func (c *conn) reset(fromClient bool, h *half) {
	switch {
	case c.End != "":
	case fromClient:
		c.End = "RST by client"
	case !c.srv.begun && c.cli.next <= 1:
		c.End = "refused by server"
	default:
		c.End = "RST by server"
	}
}

// watch looks for what makes figures doubtful: the same packet captured twice.
func (c *conn) watch(h *half, p *Packet, s *segment) {
	if h.segments > 0 {
		c.interfaces = c.interfaces || p.Interface != h.iface
		c.bothWays = c.bothWays || p.Way != h.way
	}
	h.noteID(s.id)
	h.iface, h.way = p.Interface, p.Way
	h.segments++
	if s.payload == 0 && s.flags&(synFlag|finFlag) == 0 {
		return // identical ACKs are nothing unusual
	}
	sig := signature{crc32.ChecksumIEEE(s.body), s.id, s.payload}
	if h.last.twice(sig, p.At) {
		c.Duplicates++
	}
}

// sequence accounts for the segment's sequence numbers. It returns how many
// bytes of payload were new, and whether it carried anything seen before.
func (c *conn) sequence(h, o *half, p *Packet, s *segment) (fresh int64, again bool) {
	syn, fin := s.flags&synFlag != 0, s.flags&finFlag != 0
	if !h.begun {
		if syn {
			h.begin(s.seq, 0)
		} else {
			h.begin(s.seq-1, 1)
			h.midway = true
		}
	}
	if h.midway && h.next == 1 && h.number(s.seq) == 2 {
		h.begin(s.seq-1, 1) // what came before was a keep-alive probe, one below
	}
	from := h.number(s.seq)
	if d := from - h.next; d > math.MaxInt32/2 || d < -math.MaxInt32/2 {
		c.strays++
		return 0, false
	}
	h.window = s.window
	if s.window == 0 && !syn {
		c.ZeroWindows++
	}
	if !syn && !fin && h.probe(s, from) {
		c.KeepAlives++
		return 0, false
	}
	var got, want int64
	var gap sighting
	now := sighting{p.At, s.stamp, s.stamped, s.id}
	mark := func(from, to int64) int64 {
		n, g := h.see(from, to, now)
		got, want = got+n, want+to-from
		if g.since != 0 && (gap.since == 0 || g.since < gap.since) {
			gap = g
		}
		return n
	}
	if syn {
		mark(from, from+1)
		from++
	}
	end := from + int64(s.payload)
	fresh = mark(from, end)
	if fin {
		mark(end, end+1)
		h.fin = end
	}
	again = got < want
	if gap.since != 0 && !again {
		again = c.sentAgain(h, gap, now)
		if !again {
			c.OutOfOrder++
		}
	}
	if again {
		c.Retransmissions++
		c.resent = append(c.resent, p.At)
	}
	return fresh, again
}

// sentAgain says whether a segment that fills a gap was sent a second time, after
// the one that opened the gap, and is not merely late.
func (c *conn) sentAgain(h *half, gap, now sighting) bool {
	if before, known := gap.sentBefore(now, h.countsIDs()); known {
		return before
	}
	return c.rtt > 0 && now.since-gap.since >= c.rtt // Subtle: no sender learns of a loss before a round trip is over
}

// ended says whether the connection was closed, one way or another.
func (c *conn) ended() bool { return c.End != "" || c.cli.finAcked() && c.srv.finAcked() }

// finish decides how the connection ended and which figures stand.
func (c *conn) finish() {
	if c.End == "" {
		closed := c.ended()
		if c.End = "open"; closed {
			c.End = "FIN"
		}
	}
	c.endRequest(true)
	c.finishHandshake()
	// Two CPUs may store an acknowledgement before what it acknowledges.
	c.Delay, c.DelayToData = max(c.lastACK, c.lastData)-c.Start, c.lastData-c.Start
	if why := c.doubt(); why != "" {
		c.refuseAll(why)
	}
	if c.SuperSegments > 0 {
		why := fmt.Sprintf("%d super-segments, each standing for several packets; turn TSO, GSO and GRO off (ethtool -K "+
			"IF tso off gso off gro off)", c.SuperSegments)
		c.refuseBytes(why)
	}
	c.refuseUnfinished()
}

// refuseUnfinished refuses what the end of the connection leaves unknown.
func (c *conn) refuseUnfinished() {
	if c.End == "open" {
		const why = "the connection is not closed in this capture"
		setIfEmpty(&c.NoDelay, why)
		setIfEmpty(&c.NoData, why)
		setIfEmpty(&c.NoBytes, why)
	}
	if c.Partial {
		c.Call.refuse("its SYN is not in this capture")
	}
	if !c.acked {
		setIfEmpty(&c.NoDelay, "the client never sent an ACK: "+c.End)
	}
	if !c.answered {
		setIfEmpty(&c.NoData, "the client acknowledged no data of the server: "+c.End)
	}
	for i := range c.Requests {
		r := &c.Requests[i]
		if i == len(c.Requests)-1 && c.End == "open" && r.answered && c.srv.hasAck && c.srv.number(c.srv.acked) < c.srv.next {
			r.refuse("the capture ends before the client acknowledged the response")
		}
	}
}

// doubt returns why no figure of the connection can be trusted.
func (c *conn) doubt() string {
	switch lacks := c.cli.unseen() + c.srv.unseen(); {
	case c.interfaces:
		return "its packets were captured on more than one interface; filter the capture to one"
	case c.bothWays:
		return "its packets were captured both leaving and arriving; capture one direction"
	case c.Duplicates > 0:
		return fmt.Sprintf("the capture has duplicate packets (%d of those that carry something); editcap -d removes them",
			c.Duplicates)
	case c.simultaneous:
		return "both ends sent a SYN: neither is the client"
	case c.strays > 0:
		return fmt.Sprintf("%d segments belong to another connection of the same ports", c.strays)
	case lacks > 0:
		return fmt.Sprintf("%d bytes were acknowledged that are not in this capture", lacks)
	case c.cli.hasAck && !c.cli.begun || c.srv.hasAck && !c.srv.begun:
		return "one direction is not in this capture"
	case !c.Partial && (c.cli.midway || c.srv.midway):
		return "a SYN is missing, or arrived after what follows it"
	case c.guessed:
		return "its SYN is not in this capture, and no port shows which end is the server"
	}
	return ""
}

func (c *conn) refuseAll(why string) {
	c.Call.refuse(why)
	for i := range c.Requests {
		c.Requests[i].refuse(why)
	}
}

func (c *conn) refuseBytes(why string) {
	setIfEmpty(&c.NoBytes, why)
	for i := range c.Requests {
		setIfEmpty(&c.Requests[i].NoBytes, why)
	}
}

func setIfEmpty(s *string, why string) {
	if *s == "" {
		*s = why
	}
}
