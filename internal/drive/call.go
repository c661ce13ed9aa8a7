package drive

import (
	"fmt"
	"time"
)

// A Call is the application above a connection: it makes the bodies of
// requests and judges the bodies of responses. Neither method does I/O; the
// driver reads the clock around them: Encode's time is the serialization,
// Decode's the deserialization. They are never called at the same time.
type Call interface {
	// Encode appends the body of request seq, from 1 in each run, to buf.
	Encode(seq uint64, buf []byte) ([]byte, error)
	// Decode judges a response. status is HTTP's; for CoAP the code as class ×
	// 100 + detail (2.05 is 205); for the floor 200. An error is the request's
	// failure. body is valid until Decode returns.
	Decode(seq uint64, status int, body []byte) error
}

// A Checker is a Call that judges the answer decoded last in a step of its own,
// whose time is neither deserialization nor part of the total. It follows its
// Decode at once.
type Checker interface {
	Check(seq uint64) error
}

// A Preparer is a Call that does I/O of its own before each request: DPWS looks
// for its device. Prepare is called after Sent was read, so its time is in the
// RTT; patience is the request's timeout. Only one connection may be used.
type Preparer interface {
	Prepare(seq uint64, patience time.Duration) error
}

// Fixed sends the same bytes with every request and takes every response whose
// status is of class 2 for right.
type Fixed []byte

func (f Fixed) Encode(_ uint64, buf []byte) ([]byte, error) { return append(buf, f...), nil }

func (f Fixed) Decode(_ uint64, status int, _ []byte) error {
	if status/100 != 2 {
		return fmt.Errorf("status %d", status)
	}
	return nil
}
