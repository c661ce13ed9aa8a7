package coap

import "time"

// A StreamExchange is a ClientExchange over TCP (RFC 8323): a stream of bytes takes
// the place of datagrams, and nothing is sent again. Bodies go whole where the peer
// has said that it takes them, else in blocks.
type StreamExchange struct {
	x      *ClientExchange
	signal signaler
	known  *Settings
	buf    []byte // from the peer
	n      int    // bytes in it
}

// Settings are what a server has said of itself in its latest CSM. RFC 8323, section 5.3, has them of a connection;
// servers say the same on each, so a client that keeps them sends its requests over a new one as over one that is kept.
// They are for one goroutine.
type Settings struct {
	most int // B of a message that it takes; 0: nothing was heard
}

// Heard says whether the server has said anything.
func (k *Settings) Heard() bool { return k.most > 0 }

// NewStreamExchange makes one for a connection to be made; each connection
// begins with Connected. Others to the same server may have the same settings.
func NewStreamExchange(p Params, known *Settings, seed uint64) *StreamExchange {
	s := &StreamExchange{x: NewClientExchange(p, seed), known: known, buf: make([]byte, 4096)}
	s.x.stream = &s.signal
	s.Connected()
	return s
}

// Connected says that a new connection carries what follows.
func (s *StreamExchange) Connected() {
	s.n = 0
	s.signal.greet(min(s.x.params.MaxBody, 1<<30) + baseMessageSize)
}

// Start begins an exchange as that of ClientExchange does.
func (s *StreamExchange) Start(c *Call, now time.Duration) {
	if s.known.Heard() { // maybe over another connection
		s.signal.most = s.known.most
	}
	s.x.Start(c, now)
}

// Next is the next bytes to send, or nil.
func (s *StreamExchange) Next() []byte {
	if b := s.signal.out; len(b) > 0 {
		s.signal.out = s.signal.out[len(b):]
		return b
	}
	return s.x.Next()
}

// Space is where to receive; it grows with what comes, not with what is announced.
func (s *StreamExchange) Space() []byte {
	if s.n == len(s.buf) {
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	return s.buf[s.n:]
}

// Took takes n bytes received into Space. An error is the end of the connection
// and of the exchange.
func (s *StreamExchange) Took(n int, now time.Duration) error {
	s.n += n
	at := 0
	for {
		size, err := s.x.in.DecodeStream(s.buf[at:s.n], s.signal.limit)
		if err != nil {
			s.x.fail(err)
			return err
		}
		if size == 0 {
			break
		}
		if err := s.message(now); err != nil {
			s.x.fail(err)
			return err
		}
		at += size
	}
	s.n = copy(s.buf, s.buf[at:s.n])
	return nil
}

func (s *StreamExchange) message(now time.Duration) error {
	m := &s.x.in
	switch {
	case m.Code.Class() == 7:
		err := s.signal.heard(m)
		if err == nil && m.Code == CSM {
			s.known.most = s.signal.most
		}
		return err
	case m.Code.response() && s.x.phase == acked:
		s.x.streamed(now)
	}
	return nil // Empty, or nobody asked: ignored (section 3.4)
}

// streamed takes a response from a stream, if it is that to the current request.
func (x *ClientExchange) streamed(now time.Duration) {
	if string(x.in.Token) != string(x.token[:]) {
		x.strange = true
		return
	}
	if !x.genuine() {
		return
	}
	if _, bad := x.in.Sift(); bad {
		x.fail(ErrCritical)
		return
	}
	x.response(now)
}

// Deadline, Expire, Done and Result are those of ClientExchange.
func (s *StreamExchange) Deadline() (time.Duration, bool) { return s.x.Deadline() }

// Expire gives up if the deadline has passed.
func (s *StreamExchange) Expire(now time.Duration) { s.x.Expire(now) }

// Done says that the exchange is over.
func (s *StreamExchange) Done() bool { return s.x.Done() }

// Result is the response, or why there is none.
func (s *StreamExchange) Result() (Reply, error) { return s.x.Result() }

// Answering says whether some of a response has come, or of a message that may be one.
func (s *StreamExchange) Answering() bool { return s.n > 0 || s.x.Answering() }

// Strange is that of ClientExchange.
func (s *StreamExchange) Strange() bool { return s.x.Strange() }

// Aborted says whether the peer ended the connection for a fault (RFC 8323, section 5.6).
func (s *StreamExchange) Aborted() bool { return s.signal.aborted }

// Reusable says whether the peer has not said goodbye.
func (s *StreamExchange) Reusable() bool { return !s.signal.gone }
