package drive

import "time"

// A wire is what one connection speaks, without I/O and without a clock: it
// frames a request and finds the end of the response. One request at a time.
type wire interface {
	// headroom is the space, in bytes, to leave before a body.
	headroom() int
	// start begins a request; its body is buf[headroom():], and buf is the
	// wire's until the request is over.
	start(buf []byte, now time.Duration) error
	// next is the next bytes to send, nil if there are none for now. After the
	// response is whole there may be an acknowledgement left.
	next() []byte
	// space is where to receive; got takes the n bytes received there, or a
	// datagram of n bytes, and says whether the response is whole.
	space() []byte
	got(n int, now time.Duration) (whole bool, err error)
	// closed says that the peer closed the stream; nil: that ends the response.
	closed() error
	// reply is the response; body is valid until the next start.
	reply() (status int, body []byte)
	// reusable says whether the connection may carry another request.
	reusable() bool
	// deadline is when expire wants to be called; ok is false for never.
	deadline() (at time.Duration, ok bool)
	expire(now time.Duration) error
}

// untimed is a wire that never sends again by itself.
type untimed struct{}

func (untimed) deadline() (time.Duration, bool) { return 0, false }
func (untimed) expire(time.Duration) error      { return nil }
