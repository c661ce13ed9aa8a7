package drive

import "time"

// A stream is how a protocol frames a request and reads its response: one at a
// time, without I/O and without a clock.
type stream interface {
	// headroom is the space, in bytes, to leave before a body.
	headroom() int
	// start begins a request; its body is buf[headroom():], and buf is the
	// stream's until the request is over.
	start(buf []byte, now time.Duration) error
	// reply is the response; body is valid until the next start.
	reply() (status int, body []byte)
}

// A conn is a stream that has a connection to itself: it says which bytes go out
// and finds the end of the response in those that come in. Streams that share a
// connection have none; the engine that drives them moves their bytes.
type conn interface {
	stream
	// next is the next bytes to send, nil if there are none for now. After the
	// response is whole there may be an acknowledgement left.
	next() []byte
	// space is where to receive; got takes the n bytes received there, or a
	// datagram of n bytes, and says whether the response is whole.
	space() []byte
	got(n int, now time.Duration) (whole bool, err error)
	// closed says that the peer closed the connection; nil: that ends the response.
	closed() error
	// reusable says whether the connection may carry another request.
	reusable() bool
}

// What only some protocols do. A lane looks these up once; nil: it does not.
type (
	// A timer acts by itself, such as sending again what was not acknowledged.
	timer interface {
		// deadline is when expire wants to be called; ok is false for never.
		deadline() (at time.Duration, ok bool)
		expire(now time.Duration) error
	}
	// An opener speaks first on a new connection.
	opener interface{ connected() }
	// A greeter is over with that, before the first request, only when it says so.
	greeter interface{ greeted() bool }
	// A parter has something to say before its connection is closed after a request, which is no part of that.
	parter interface{ goodbye() }
	// An ender forgets what belonged to a connection that is gone.
	ender interface{ hungUp() }
	// A survivor has a connection that a request that failed alone does no harm to; outlives says so of one that failed
	// by err.
	survivor interface{ outlives(err error) bool }
	// A resumer goes on with a request over another connection by its own rules;
	// resume says whether it does so for the one under way.
	resumer interface{ resume() bool }
	// An idler expects bytes between requests; an error means that the
	// connection is of no more use.
	idler interface{ unasked(n int) error }
	// A retransmitter sends messages again by its own rules; retransmitted is how
	// many for the request that was started last.
	retransmitter interface{ retransmitted() int }
	// A doubter cannot always tell whose an answer is; doubtful says so of the one to the request that was started last.
	doubter interface{ doubtful() bool }
	// A faulter has words of its own for an answer that is no success, and of which Call sees a status that stands for
	// it. They repeat nothing that the peer has written but a message of gRPC without a secret of the request.
	faulter interface{ fault() error }
	// An answerer gets bytes that are not of a response; answering says whether any of the one under way have come.
	answerer interface{ answering() bool }
	// A quitter knows what the peer said of the end of the connection; empty: nothing.
	quitter interface{ leaving() string }
	// A guesser knows why no response may have come; empty: it does not.
	guesser interface{ guess() string }
	// A mover moves its own bytes: QUIC.
	mover interface {
		open(r *run, by time.Duration) error
		converse(r *run, l *lane) error
		closeConn()
	}
)

// abilities are a stream's.
type abilities struct {
	timer         timer
	opener        opener
	greeter       greeter
	parter        parter
	ender         ender
	survivor      survivor
	resumer       resumer
	idler         idler
	retransmitter retransmitter
	doubter       doubter
	faulter       faulter
	answerer      answerer
	quitter       quitter
	guesser       guesser
	mover         mover
}

func abilitiesOf(s stream) (a abilities) {
	a.timer, _ = s.(timer)
	a.opener, _ = s.(opener)
	a.greeter, _ = s.(greeter)
	a.parter, _ = s.(parter)
	a.ender, _ = s.(ender)
	a.survivor, _ = s.(survivor)
	a.resumer, _ = s.(resumer)
	a.idler, _ = s.(idler)
	a.retransmitter, _ = s.(retransmitter)
	a.doubter, _ = s.(doubter)
	a.faulter, _ = s.(faulter)
	a.answerer, _ = s.(answerer)
	a.quitter, _ = s.(quitter)
	a.guesser, _ = s.(guesser)
	a.mover, _ = s.(mover)
	return a
}
