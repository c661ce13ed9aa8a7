package population

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// A message is something to be sent. Its bytes are made when it is.
type message struct {
	device int32
	id     uint16
	kind   kind
}

type kind uint8

const (
	request kind = iota
	repeated
	ping
	ack
	reset
	hello     // a DTLS handshake begins, for a request
	flight    // it goes on
	following // the request, after its handshake
)

// token is that of a message. It repeats in no device within 65,536 messages.
func (c *core) token(id uint16) [4]byte {
	return [4]byte{byte(id >> 8), byte(id), byte(c.salt >> 8), byte(c.salt)}
}

// answersGivenUp says whether a message answers one of the requests that failed in a row before the
// one that the device sent last.
func (c *core) answersGivenUp(d *device, m *coap.Message) bool {
	if m.Code == coap.Empty || len(m.Token) != 4 {
		return false
	}
	id := binary.BigEndian.Uint16(m.Token)
	token, age := c.token(id), int(d.id-id)
	return bytes.Equal(m.Token, token[:]) && age > 0 && age <= d.failures()
}

// append makes the bytes of a message. None: its session has ended since.
func (c *core) append(b []byte, m message) []byte {
	if c.sessions != nil {
		return c.appendSealed(b, m)
	}
	return c.appendPlain(b, m)
}

func (c *core) appendPlain(b []byte, m message) []byte {
	head := func(t coap.Type, code uint8, token byte) {
		b = append(b, 1<<6|byte(t)<<4|token, code)
		b = binary.BigEndian.AppendUint16(b, m.id)
	}
	switch m.kind {
	case request, repeated, following:
		if c.registering(m.device) {
			head(coap.Confirmable, uint8(coap.GET), uint8(len(watchToken)))
			return append(append(b, watchToken...), c.Registration...)
		}
		if c.contexts != nil {
			return c.appendProtected(b, m)
		}
		t := coap.Confirmable
		if c.NON {
			t = coap.NonConfirmable
		}
		head(t, c.Method, 4)
		token := c.token(m.id)
		return append(append(b, token[:]...), c.Request...)
	case ping:
		head(coap.Confirmable, 0, 0)
	case ack:
		head(coap.Acknowledgement, 0, 0)
	case reset:
		head(coap.Reset, 0, 0)
	}
	return b
}

// wrong says what is wrong with an answer.
func (c *core) wrong(m *coap.Message) error {
	for _, o := range m.Options {
		if o.Number == coap.Block2 && len(o.Value) > 0 && o.Value[len(o.Value)-1]&8 != 0 {
			return errBlocks
		}
	}
	switch {
	case m.Code.Class() != 2:
		return fmt.Errorf("answer %v%s", m.Code, c.quote(m.Payload))
	case c.Status != 0 && c.Status != int(m.Code.Class())*100+int(m.Code&31):
		return fmt.Errorf("answer %v, not %d.%02d", m.Code, c.Status/100, c.Status%100)
	}
	return c.judge(m.Payload)
}

// quote is what an answer says of itself, behind a colon.
func (s *Spec) quote(text []byte) string {
	if text = bytes.TrimSpace(text); s.Discreet || len(text) == 0 {
		return ""
	}
	return fmt.Sprintf(": %.100s", text)
}

// judge says what is wrong with the payload of an answer that is no failure.
func (c *core) judge(payload []byte) error {
	if c.Judge == nil || c.good != nil && bytes.Equal(payload, c.good) {
		return nil
	}
	if err := c.Judge(payload); err != nil {
		return err
	}
	c.good = append(c.good[:0], payload...)
	return nil
}
