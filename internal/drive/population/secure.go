package population

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/protocol/dtls"
)

// A Security protects what devices that speak CoAP send, and all have the same keys. With
// OSCORE each device has a context of its own, told apart by an ID context. With DTLS it has
// a session: it shakes hands when it has a request and no session, and takes a session for
// lost when a request had no answer, unless the server knows it by a connection ID.
type Security struct {
	OSCORE coap.Keys // with a Secret; else DTLS
	DTLS   dtls.Keys
}

// flightAgain is how long a flight of a handshake waits for its answer, and each time
// twice as long (RFC 6347, section 4.2.4.1).
const flightAgain = time.Second

var errUnprotected = errors.New("the answer is not protected by OSCORE")

// contextSize is that of an ID context, in B: random ones of a million devices and of all
// that were before them differ.
const contextSize = 8

// secure makes what the devices need to protect what they send.
func (c *core) secure() error {
	s := c.Security
	switch {
	case s == nil:
		return nil
	case c.Stream != nil:
		return errors.New("DTLS and OSCORE are for devices that speak CoAP")
	case len(s.OSCORE.Secret) == 0:
		c.sessions, c.moved = make([]*dtls.Session, len(c.devices)), make([]uint16, len(c.devices))
		c.went = make([]int64, len(c.devices))
		return nil
	}
	c.template = append([]byte{1 << 6, c.Method, 0, 0}, c.Request...)
	if err := c.sealed.Decode(c.template); err != nil {
		return fmt.Errorf("the request: %w", err)
	}
	c.contexts = make([]*coap.Security, len(c.devices))
	random := make([]byte, contextSize*len(c.devices))
	rand.Read(random)
	c.numbered = slices.Repeat([]int32{-1}, len(c.devices))
	for i := range c.contexts {
		keys := s.OSCORE
		keys.IDContext = random[i*contextSize:][:contextSize:contextSize]
		var err error
		if c.contexts[i], err = coap.NewSecurity(keys); err != nil {
			return err
		}
	}
	return nil
}

func (c *core) sessionOpen(i int32) bool { return c.sessions[i] != nil && c.sessions[i].Open() }

// from is the number of the address that a device has now: with each handshake another, as a
// new socket would have, since a server takes what comes from the old one for the old session's.
func (c *core) from(i int32) int {
	if c.moved == nil {
		return int(i)
	}
	return int(i) + c.Devices*(int(c.moved[i])%(MostDevices/c.Devices))
}

// shake begins a handshake.
func (c *core) shake(i int32) {
	c.Handshakes++
	c.moved[i]++
	c.unwatched(i)
	c.sessions[i] = dtls.New(&c.Security.DTLS)
}

// shakeAgain is the turn of a device whose flight had no answer.
func (c *core) shakeAgain(i int32, now int64) {
	d := &c.devices[i]
	if now >= d.sent+int64(c.Timeout) || d.again() == mostAgain {
		c.giveUp(i, now, errNoAnswer)
		return
	}
	d.tries++
	c.Retransmissions++
	c.post(message{i, d.id, flight}, now)
	c.await(i, now)
}

// giveUp ends a request without any answer, and with it a session that may be lost.
func (c *core) giveUp(i int32, now int64, why error) {
	if c.sessions != nil && !(c.sessionOpen(i) && c.Security.DTLS.CID) {
		if c.devices[i].what == shaking {
			c.HandshakesFailed++
		}
		c.sessions[i] = nil
	}
	c.fail(i, now, why)
}

// forgetHalf drops sessions that a run left half made.
func (c *core) forgetHalf() {
	for i := range c.sessions {
		if !c.sessionOpen(int32(i)) {
			c.sessions[i] = nil
		}
	}
}

// receiveSealed takes a datagram of a session.
func (c *core) receiveSealed(i int32, b []byte, now int64) {
	s, d := c.sessions[i], &c.devices[i]
	if s == nil {
		c.Strays++
		return
	}
	event, err := s.Receive(b, func(plain []byte) { c.hear(i, plain, now) })
	switch {
	case err != nil:
		c.sessions[i] = nil
		if d.what == shaking {
			c.HandshakesFailed++
		}
		if d.asks() {
			c.fail(i, now, err)
		}
	case d.what != shaking:
	case event == dtls.Next:
		d.setFailures(d.failures()) // it was answered: its timer begins anew
		c.post(message{i, d.id, flight}, now)
		c.await(i, now)
	case event == dtls.Opened:
		d.setFailures(d.failures())
		d.what = c.asked(i)
		c.post(message{i, d.id, following}, now)
		c.await(i, now)
	}
}

// appendSealed makes the datagram of a message with a session.
func (c *core) appendSealed(b []byte, m message) []byte {
	s := c.sessions[m.device]
	switch {
	case s == nil:
		return b
	case m.kind == hello || m.kind == flight:
		return s.Flight(b)
	case !s.Open():
		return b
	}
	var room [mostBody + 512]byte
	return s.Seal(b, c.appendPlain(room[:0], m))
}

// appendProtected makes the bytes of a request under OSCORE.
func (c *core) appendProtected(b []byte, m message) []byte {
	x := &c.sealed
	if x.Decode(c.template) != nil {
		return b // secure has seen that it can be read
	}
	token := c.token(m.id)
	x.Type, x.ID, x.Token = coap.Confirmable, m.id, token[:]
	if c.NON {
		x.Type = coap.NonConfirmable
	}
	// Subtle: of the first message of a request an outage may have kept the sealing too.
	again := c.numbered[m.device] == int32(m.id)
	c.numbered[m.device] = int32(m.id)
	if c.contexts[m.device].SealRequest(x, again) != nil {
		return b // 2^40 numbers are used up
	}
	return x.Append(b)
}

// unlock opens an answer that OSCORE protects.
func (c *core) unlock(i int32, m *coap.Message) error {
	if c.contexts == nil {
		return nil
	}
	if _, ok := m.Option(coap.OSCORE); !ok {
		return fmt.Errorf("%w: %v%s", errUnprotected, m.Code, c.quote(m.Payload))
	}
	return c.contexts[i].OpenAnswer(m)
}

// secrets bounds what the secrets of all devices take, B: a session of DTLS or a context of
// OSCORE some 3 kB, and one of TLS some 30 kB after its handshake.
func (c *core) secrets() int64 {
	switch n := int64(len(c.devices)); {
	case c.Security != nil:
		return n << 12
	case c.Stream != nil && c.Stream.TLS != nil:
		return n << 15
	}
	return 0
}
