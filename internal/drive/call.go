package drive

import (
	"errors"
	"fmt"
	"regexp"
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
	// Check judges the answer to request seq; an error is the request's failure.
	Check(seq uint64) error
}

// A Preparer is a Call that does I/O of its own before each request: DPWS looks
// for its device. Prepare is called after Sent was read, so its time is in the
// RTT; patience is the request's timeout. Only one connection may be used.
type Preparer interface {
	// Prepare makes request seq possible; an error is the request's failure.
	Prepare(seq uint64, patience time.Duration) error
}

// Fixed sends the same bytes with every request and takes every response whose
// status is of class 2 for right.
type Fixed []byte

// Encode appends the bytes.
func (f Fixed) Encode(_ uint64, buf []byte) ([]byte, error) { return append(buf, f...), nil }

// Decode refuses a status that is not of class 2.
func (f Fixed) Decode(_ uint64, status int, _ []byte) error {
	switch {
	case status/100 == 2:
		return nil
	case status/100 == 3 && status != 304:
		return fmt.Errorf("status %d: redirects are not followed; ask the URL that it leads to, or expect %[1]d", status)
	}
	return statusError{got: status}
}

// A statusError is a status that is not the one wanted; 0: any of class 2.
type statusError struct{ got, want int }

func (s statusError) Error() string {
	if s.want == 0 {
		return fmt.Sprintf("status %d", s.got)
	}
	return fmt.Sprintf("status %d, not %d", s.got, s.want)
}

// expecting is Fixed that also judges what a response says. Its errors repeat
// nothing of it: an answer may echo a secret of the request.
type expecting struct {
	Fixed
	status int            // 0: any of class 2
	match  *regexp.Regexp // nil: any body
	body   []byte         // of the response decoded last
}

// Decode refuses another status than the one wanted.
func (e *expecting) Decode(seq uint64, status int, body []byte) error {
	e.body = body
	switch {
	case e.status == 0:
		return e.Fixed.Decode(seq, status, body)
	case status != e.status:
		return statusError{status, e.status}
	}
	return nil
}

var errNoMatch = errors.New("the body of the response does not match")

// Check refuses a body that does not match. Note: it follows its Decode at once, so
// the body is still there.
func (e *expecting) Check(uint64) error {
	if e.match != nil && !e.match.Match(e.body) {
		return errNoMatch
	}
	return nil
}
