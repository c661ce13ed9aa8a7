package coap

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// Receive takes a datagram from the peer. What does not belong to the exchange
// is rejected or ignored as RFC 7252, sections 4.2, 4.3 and 5.3.2 say.
func (x *ClientExchange) Receive(datagram []byte, now time.Duration) {
	m := &x.in
	waiting := x.phase == unacked || x.phase == acked
	err := m.Decode(datagram)
	x.strange = x.strange || waiting && err != nil
	switch {
	case err == ErrShort || err == ErrVersion:
		return
	case err != nil:
		if m.Type == Confirmable {
			x.send(Reset, m.ID)
		}
		return
	}
	switch m.Type {
	case Acknowledgement, Reset:
		switch ours := m.ID == x.mid; {
		case waiting && ours:
			x.strange = x.strange || m.Code.response() && !bytes.Equal(m.Token, x.token[:])
			x.acknowledged(now)
		case waiting:
			x.strange = x.strange || m.Code.response()
		}
	case Confirmable, NonConfirmable:
		x.separate(waiting, now)
	}
}

// send leaves an empty answer to be fetched by Next.
func (x *ClientExchange) send(t Type, id uint16) {
	appendEmpty(x.answer[:0], t, id)
	x.sendAns = true
}

// acknowledged takes an ACK or RST to the current request.
func (x *ClientExchange) acknowledged(now time.Duration) {
	switch m := &x.in; {
	case m.Type == Reset:
		x.fail(ErrReset)
	case x.call.NON:
		x.strange = x.strange || m.Code.response() // nothing acknowledges a non-confirmable message: ignore it
	case m.Code == Empty:
		if x.phase == unacked {
			x.phase, x.deadline, x.sendReq = acked, now+x.params.ResponseTimeout, false
		}
	case bytes.Equal(m.Token, x.token[:]):
		if !x.genuine() {
			return
		}
		if _, bad := m.Sift(); bad {
			x.fail(ErrCritical)
			return
		}
		x.response(now)
	}
}

// separate takes a message that begins an exchange of the peer's: a separate
// response (RFC 7252, section 5.2.2), or something out of place.
func (x *ClientExchange) separate(waiting bool, now time.Duration) {
	m := &x.in
	if waiting && m.Code.response() && bytes.Equal(m.Token, x.token[:]) {
		if !x.genuine() {
			return
		}
		_, bad := m.Sift()
		if m.Type == Confirmable && bad {
			x.send(Reset, m.ID)
		} else if m.Type == Confirmable {
			x.send(Acknowledgement, m.ID)
			x.settled[x.nSettled%len(x.settled)] = m.ID
			x.nSettled++
		}
		if bad {
			x.fail(ErrCritical)
			return
		}
		x.response(now)
		return
	}
	known := x.settled[:min(x.nSettled, len(x.settled))]
	if m.Type == Confirmable && m.Code.response() && slices.Contains(known, m.ID) {
		x.send(Acknowledgement, m.ID) // our acknowledgement was lost
		return
	}
	x.strange = x.strange || waiting && m.Code.response()
	if m.Type != Confirmable {
		return
	}
	x.send(Reset, m.ID)
}

// genuine opens a response protected by OSCORE. What was tampered with or
// forged is as if it had not come; an error without protection is the peer's way
// of saying that it could not open the request, or a proxy's that it got no answer (RFC 8613, sections 8.2 and 10).
func (x *ClientExchange) genuine() bool {
	s := x.params.Security
	if s == nil {
		return true
	}
	if _, protected := x.in.Option(OSCORE); !protected && x.in.Code.Class() != 2 {
		x.fail(fmt.Errorf("%w: %v %.80q", ErrExposed, x.in.Code, x.in.Payload))
		return false
	}
	_, err := s.unprotectResponse(&x.in, x.bound)
	genuine := err == nil && x.in.Code.response()
	x.unopened = x.unopened || !genuine
	return genuine
}

// response takes a response to the current request.
func (x *ClientExchange) response(now time.Duration) {
	x.sendReq = false
	b1, has := x.in.Block(Block1)
	if has && !b1.Valid() {
		x.fail(ErrBlock)
		return
	}
	if x.challenged(now) || len(x.body) == 0 && x.uploaded(b1, has, now) {
		return
	}
	x.downloaded(now)
}

// challenged repeats the request if the peer wants to see first that it is fresh, or comes from where it says: with the
// peer's Echo option, and once (RFC 9175, section 2.3).
func (x *ClientExchange) challenged(now time.Duration) bool {
	if x.in.Code != Unauthorized || x.echoLen > 0 {
		return false
	}
	value, _ := x.in.Option(Echo)
	if x.echoLen = copy(x.echo[:], value); x.echoLen == 0 {
		return false
	}
	x.ask(now)
	return true
}

// uploaded goes on with the body of the request, if the response calls for it:
// RFC 7959, sections 2.3, 2.9.1 and 2.9.3.
func (x *ClientExchange) uploaded(b1 Block, has bool, now time.Duration) (goesOn bool) {
	code := x.in.Code
	switch {
	case code == RequestEntityTooLarge && has && b1.SZX < x.up && len(x.call.Body) > 0:
		x.up, x.sent, x.uploading = b1.SZX, 0, true // the peer wants smaller blocks
		x.ask(now)
		return true
	case code == Continue && !(x.uploading && has && x.offered.More && b1.Num == x.offered.Num),
		code.Class() == 2 && has && !(x.uploading && b1.Num == x.offered.Num),
		code.Class() == 2 && !has && x.uploading && x.offered.More: // of a part it cannot be the answer
		x.fail(ErrBlock)
		return true
	case code.Class() == 2 && has && x.offered.More:
		x.sent += x.chunk
		x.up = min(x.up, b1.SZX)
		x.ask(now)
		return true
	}
	return false
}

// downloaded takes the payload of a response and asks for what follows.
func (x *ClientExchange) downloaded(now time.Duration) {
	m := &x.in
	b2, has := m.Block(Block2)
	offset, success := 0, m.Code.Class() == 2
	if has {
		offset = b2.Offset()
	}
	switch {
	case !success && len(x.body) > 0:
		x.body = x.body[:0] // an error in the midst: its own payload is the reply
		x.finish()
		return
	case has && (!x.takes(b2) || offset != len(x.body) || x.asks && b2.SZX > x.asked.SZX || !b2.fits(len(m.Payload))),
		!has && len(x.body) > 0:
		x.fail(ErrBlock)
		return
	case len(x.body)+len(m.Payload) > x.params.MaxBody:
		x.fail(ErrTooLarge)
		return
	case !x.sameETag():
		x.fail(ErrChanged)
		return
	}
	if has && b2.More && success { // of an error, its first block says enough
		x.body = append(x.body, m.Payload...)
		if x.down = min(x.down, b2.SZX); b2.SZX == bert {
			x.down = bert
		}
		x.ask(now)
		return
	}
	x.finish()
}

// takes says whether a block of a response is of a size that there is; several at once only over TCP.
func (x *ClientExchange) takes(b Block) bool {
	return b.Valid() || x.stream != nil && b.SZX == bert && b.Num <= MaxBlockNum
}

func (x *ClientExchange) finish() {
	m := &x.in
	x.body = append(x.body, m.Payload...)
	x.reply = Reply{Code: m.Code, Format: m.Format(ContentFormat), Body: x.body, number: x.number, observed: x.observed}
	x.phase = over
}

// sameETag compares the block's ETag with that of the blocks before: RFC 7959, section 2.4. A
// block without one says nothing.
func (x *ClientExchange) sameETag() bool {
	tag, has := x.in.Option(ETag)
	if x.first {
		x.first = false
		x.number, x.observed = x.in.Uint(Observe)
	}
	if x.etagLen == 0 {
		x.etagLen = copy(x.etag[:], tag)
	}
	return !has || bytes.Equal(tag, x.etag[:x.etagLen])
}
