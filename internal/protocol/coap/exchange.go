package coap

import (
	"errors"
	"time"
)

// A Call is what a client asks.
type Call struct {
	Method  Code
	Path    string // segments between slashes; a leading slash is optional
	Query   string // arguments between ampersands
	Format  Format // of Body
	Accept  Format
	Body    []byte // not copied: leave it alone until the exchange is over
	NON     bool   // send non-confirmable requests; a lost one is not sent again
	Options []Option

	token *[4]byte // to use instead of a random one
}

// Message is the request of a call that goes without blocks, without message ID and token.
func (c *Call) Message() *Message {
	m := &Message{Type: Confirmable, Code: c.Method, Payload: c.Body}
	if c.NON {
		m.Type = NonConfirmable
	}
	m.AddParts(URIPath, c.Path, '/')
	m.AddParts(URIQuery, c.Query, '&')
	m.addFormat(Accept, c.Accept)
	if len(c.Body) > 0 {
		m.addFormat(ContentFormat, c.Format)
	}
	for _, o := range c.Options {
		m.Add(o.Number, o.Value)
	}
	return m
}

// A Reply is what came back. Body belongs to the ClientExchange until its next Start.
type Reply struct {
	Code   Code
	Format Format
	Body   []byte

	number   uint32 // of option Observe of the first block
	observed bool   // it was there
}

// Timing and sizes of a client. Zero values mean the defaults.
type Params struct {
	AckTimeout      time.Duration // 2 s; RFC 7252, section 4.8, as the next two
	AckRandomFactor float64       // 1.5
	MaxRetransmit   int           // 4; below 0: none
	ResponseTimeout time.Duration // from request to response where no retransmission is due; 93 s, MAX_TRANSMIT_WAIT
	BlockSize       int           // preferred, 16 to 1024 bytes; 1024
	MaxBody         int           // bytes of a response accepted; 16 MiB
	Security        *Security     // OSCORE; nil: none
}

func (p Params) orDefault() Params {
	set(&p.AckTimeout, 2*time.Second)
	set(&p.AckRandomFactor, 1.5)
	set(&p.MaxRetransmit, 4)
	set(&p.ResponseTimeout, 93*time.Second)
	set(&p.BlockSize, 1024)
	set(&p.MaxBody, 16<<20)
	return p
}

// set gives *v a value if it has none.
func set[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// Why an exchange ended without a response.
var (
	ErrTimeout  = errors.New("no response in time")
	ErrReset    = errors.New("peer rejected the request with a reset")
	ErrCritical = errors.New("response has a critical option that is unknown, malformed or repeated")
	ErrBlock    = errors.New("peer violated block-wise transfer (RFC 7959)")
	ErrChanged  = errors.New("representation changed between two blocks (ETag differs)")
	ErrTooLarge = errors.New("body is larger than allowed")
	ErrExposed  = errors.New("response is not protected by OSCORE")
)

type phase uint8

const (
	idle    phase = iota
	unacked       // request sent, nothing back
	acked         // acknowledged, or not confirmable: waiting for the response
	over
)

// A ClientExchange is one request and its response from the client's side, blocks
// and retransmissions included, without a clock and without a socket:
//
//	x.Start(call, now)
//	for !x.Done() {
//		for b := x.Next(); b != nil; b = x.Next() { send b }
//		wait for a datagram until x.Deadline(): x.Receive(datagram, now) or x.Expire(now)
//	}
//	for b := x.Next(); b != nil; b = x.Next() { send b } // an acknowledgement may be left
//	reply, err := x.Result()
//
// Start may be called again and again, on the same socket; in a steady state
// nothing is allocated. A ClientExchange is for one goroutine.
type ClientExchange struct {
	params Params
	call   *Call
	random uint64
	phase  phase
	err    error

	out, in  Message
	request  []byte // datagram of the current request
	sendReq  bool
	answer   [4]byte // acknowledgement or reset to send
	sendAns  bool
	mid      uint16
	token    [4]byte
	deadline time.Duration
	timeout  time.Duration
	retries  int

	settled  [4]uint16 // message IDs of the latest separate responses acknowledged
	nSettled int

	up, down   uint8 // size exponents of Block1 and Block2
	sent       int   // bytes of the request body acknowledged
	chunk      int   // bytes of the body in the current request
	uploading  bool  // Block1 is in use
	offered    Block
	asked      Block // Block2 of the current request
	asks       bool
	etag       [8]byte
	etagLen    int
	echo       [40]byte // that the peer asks for
	echoLen    int
	first      bool // the next response block is the first
	reply      Reply
	body       []byte
	bound      binding   // OSCORE: of the current request
	stream     *signaler // over TCP; nil: datagrams
	registered [4]byte   // token of the first request
	number     uint32    // Observe of the first block, if observed
	observed   bool

	strange         bool // see Strange
	unopened        bool // see Unopened
	retransmissions int
	ids             uint64 // message IDs used
}

// NewClientExchange makes a ClientExchange. Message IDs, tokens and the spread of
// timeouts come from seed; give each socket its own.
func NewClientExchange(p Params, seed uint64) *ClientExchange {
	x := &ClientExchange{params: p.orDefault(), random: seed}
	x.mid = uint16(x.next64())
	return x
}

// next64 is SplitMix64 (Steele, Lea and Flood 2014).
func (x *ClientExchange) next64() uint64 {
	x.random += 0x9e3779b97f4a7c15
	z := x.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Start begins an exchange and drops whatever was before. now is any monotonic time.
func (x *ClientExchange) Start(c *Call, now time.Duration) {
	x.call, x.err, x.reply = c, nil, Reply{}
	x.up = szxOf(x.params.BlockSize)
	x.down = x.up
	if x.stream != nil {
		x.up = min(x.up, szxOf(x.stream.room()))
	}
	x.sent, x.retransmissions, x.etagLen, x.echoLen = 0, 0, 0, 0
	x.body, x.first = x.body[:0], true
	x.uploading = len(c.Body) > x.whole()
	x.sendAns, x.strange, x.unopened = false, false, false
	x.ask(now)
}

// whole is the largest body of a request that goes without blocks.
func (x *ClientExchange) whole() int {
	if x.stream != nil {
		return x.stream.room()
	}
	return 16 << x.up
}

// BaseWhole is the largest body, in B, of a request over TCP that goes whole to a server that has said nothing.
const BaseWhole = baseMessageSize - overhead

// ask makes the datagram for the next block, of the request or of the response.
func (x *ClientExchange) ask(now time.Duration) {
	m := &x.out
	m.Clear()
	m.Type, m.Code = Confirmable, x.call.Method
	if x.call.NON {
		m.Type = NonConfirmable
	}
	x.mid++
	x.ids++
	t := x.next64()
	x.token = [4]byte{byte(t), byte(t >> 8), byte(t >> 16), byte(t >> 24)}
	if x.call.token != nil {
		x.token = *x.call.token
	}
	if x.first {
		x.registered = x.token
	}
	m.ID, m.Token = x.mid, x.token[:]
	m.AddParts(URIPath, x.call.Path, '/')
	m.AddParts(URIQuery, x.call.Query, '&')
	m.addFormat(Accept, x.call.Accept)
	for _, o := range x.call.Options {
		if o.Number != Observe || x.first { // a later block is no registration (RFC 7959, section 2.6)
			m.Add(o.Number, o.Value)
		}
	}
	if x.echoLen > 0 {
		m.Add(Echo, x.echo[:x.echoLen])
	}
	if !x.addBlocks() {
		x.fail(ErrTooLarge)
		return
	}
	if s := x.params.Security; s != nil {
		var err error
		if x.bound, err = s.protectRequest(m); err != nil {
			x.fail(err)
			return
		}
	}
	if x.stream != nil {
		x.request = m.AppendStream(x.request[:0])
	} else {
		x.request = m.Append(x.request[:0])
	}
	x.sendReq, x.retries = true, 0
	x.arm(now)
}

// addBlocks adds the part of the body that is due, or asks for the part of the
// response that is due, and says whether the block can be numbered.
func (x *ClientExchange) addBlocks() bool {
	m, size := &x.out, 16<<x.up
	x.chunk, x.asks = 0, len(x.body) > 0
	last := true
	if !x.asks && len(x.call.Body) > 0 {
		rest := x.call.Body[x.sent:]
		m.addFormat(ContentFormat, x.call.Format)
		if x.uploading {
			last = len(rest) <= size
			x.offered = Block{Num: uint32(x.sent / size), More: !last, SZX: x.up}
			m.AddBlock(Block1, x.offered)
			if x.sent == 0 {
				m.AddUint(Size1, uint32(len(x.call.Body)))
			}
		}
		x.chunk = min(size, len(rest))
		if !x.uploading {
			x.chunk = len(rest)
		}
		m.Payload = rest[:x.chunk]
	}
	// Early negotiation (RFC 7959, section 2.4) costs two bytes: only where 1024 would be too large.
	if x.asks || last && x.down < maxSZX {
		x.asks = true
		x.asked = Block{Num: uint32(len(x.body) >> (min(x.down, maxSZX) + 4)), SZX: x.down}
		m.AddBlock(Block2, x.asked)
	}
	return x.sent/size <= MaxBlockNum && len(x.body)>>(min(x.down, maxSZX)+4) <= MaxBlockNum
}

func (m *Message) addFormat(n OptionNumber, f Format) {
	if v, ok := f.Number(); ok {
		m.AddUint(n, uint32(v))
	}
}

// arm sets the deadline of a request just made: RFC 7252, section 4.2.
func (x *ClientExchange) arm(now time.Duration) {
	if x.call.NON || x.stream != nil {
		x.phase, x.deadline = acked, now+x.params.ResponseTimeout
		return
	}
	spread := float64(x.next64()>>11) / (1 << 53) * (x.params.AckRandomFactor - 1)
	x.timeout = time.Duration(float64(x.params.AckTimeout) * (1 + spread))
	x.phase, x.deadline = unacked, now+x.timeout
}

// Next is the next datagram to send, or nil. It is valid until the next call of
// Receive, Expire or Start.
func (x *ClientExchange) Next() []byte {
	switch {
	case x.sendAns:
		x.sendAns = false
		return x.answer[:]
	case x.sendReq:
		x.sendReq = false
		return x.request
	}
	return nil
}

// Deadline is the instant at which Expire is to be called if nothing comes; ok
// is false when the exchange is over.
func (x *ClientExchange) Deadline() (at time.Duration, ok bool) {
	return x.deadline, x.phase == unacked || x.phase == acked
}

// Expire sends again, or gives up, if the deadline has passed.
func (x *ClientExchange) Expire(now time.Duration) {
	if at, ok := x.Deadline(); !ok || now < at {
		return
	}
	if x.phase == unacked && x.retries < x.params.MaxRetransmit {
		x.retries++
		x.retransmissions++
		x.timeout *= 2
		x.deadline = now + x.timeout
		x.sendReq = true
		return
	}
	x.fail(ErrTimeout)
}

// Done says that the exchange is over.
func (x *ClientExchange) Done() bool { return x.phase == over || x.phase == idle }

// Result is the response, or why there is none.
func (x *ClientExchange) Result() (Reply, error) { return x.reply, x.err }

// Retransmissions counts the requests sent again since Start.
func (x *ClientExchange) Retransmissions() int { return x.retransmissions }

// Answering says whether a part of the response has come.
func (x *ClientExchange) Answering() bool { return len(x.body) > 0 }

// Strange says whether something has come since Start that is malformed, or a response, but not to the request.
func (x *ClientExchange) Strange() bool { return x.strange }

// Unopened says whether a response has come since Start that OSCORE does not protect, or that cannot be opened.
func (x *ClientExchange) Unopened() bool { return x.unopened }

// MessageIDs is how many message IDs were used since it was made. After 65,536 they come again.
func (x *ClientExchange) MessageIDs() uint64 { return x.ids }

func (x *ClientExchange) fail(err error) {
	x.phase, x.err, x.reply, x.sendReq = over, err, Reply{}, false
}
