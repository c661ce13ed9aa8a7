package drive

import (
	"crypto/tls"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// What drive/population needs of this package.

// SendNow writes what fits into a socket's buffer. EAGAIN: nothing does.
func SendNow(fd int, b []byte) (int, syscall.Errno) { return send(fd, b, unix.MSG_DONTWAIT) }

// ReceiveNow reads what is there of a socket. EAGAIN: nothing is; 0 without an error: the
// peer has closed.
func ReceiveNow(fd int, b []byte) (int, syscall.Errno) { return receive(fd, b, unix.MSG_DONTWAIT) }

// An HTTPReply is a response of HTTP/1.1 in the bytes that ParseHTTP was given.
type HTTPReply struct {
	Status   int
	Body     []byte // decoded: chunks are together
	Size     int    // B from its beginning to its end; 0: it is not there whole
	Reusable bool   // the connection may carry another request
}

// ParseHTTP reads a response with a body of at most most bytes off the front of b. One that
// ends only with the connection is an error here.
func ParseHTTP(b []byte, most int) (HTTPReply, error) {
	var r httpReply
	r.reset(false, most)
	ok, err := r.parse(b)
	switch {
	case err != nil:
		return HTTPReply{}, err
	case r.part == untilClose:
		return HTTPReply{}, errUnframed
	case !ok:
		return HTTPReply{}, nil
	}
	return HTTPReply{r.status, b[r.start:r.end], r.pos, r.reusable()}, nil
}

// Within says, as a Driver does, that a response's body of so many bytes is longer than allowed.
func Within(s Spec, size int) error {
	switch {
	case s.MostBody == 0 || size <= s.MostBody:
		return nil
	case s.Limit != "":
		return fmt.Errorf("%w (%s)", tooLarge(s.MostBody), s.Limit)
	}
	return tooLarge(s.MostBody)
}

// TLSConfig is that of a Driver's connections; nil: they have no TLS.
func TLSConfig(s Spec) (*tls.Config, error) {
	t, _, err := s.target()
	if err != nil || !t.overTCP {
		return nil, err
	}
	secret, err := newSecret(t)
	if err != nil || secret == nil {
		return nil, err
	}
	return secret.tls, nil
}

// CoAPRequest is what a Driver asks over CoAP, without type, message ID, token and blocks.
func CoAPRequest(s Spec, body []byte) (*coap.Message, error) {
	t, _, err := s.target()
	if err != nil {
		return nil, err
	}
	w, err := newCoAPConn(t, 0)
	if err != nil {
		return nil, err
	}
	w.call.Body = body
	return w.call.Message(), nil
}

// HTTPRequest is what a Driver sends for a request with this body over HTTP/1.1.
func HTTPRequest(s Spec, body []byte) ([]byte, error) {
	t, _, err := s.target()
	if err != nil {
		return nil, err
	}
	w := newHTTPConn(t.Spec, t.host, t.path)
	b := append(make([]byte, w.headroom()), body...)
	err = w.start(b, 0)
	return w.next(), err
}
