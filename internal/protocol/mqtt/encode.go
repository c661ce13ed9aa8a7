package mqtt

import (
	"encoding/binary"
	"errors"
	"math"
)

// Identifiers of properties (MQTT 5.0, section 2.2.2.2).
const (
	propContentType, propResponseTopic, propCorrelation = 0x03, 0x08, 0x09
	propSessionExpiry, propReceiveMax, propTopicAlias   = 0x11, 0x21, 0x23
	propServerKeepAlive                                 = 0x13
	propMaximumQoS, propUser, propMaximumPacket         = 0x24, 0x26, 0x27
	mostRemaining                                       = 268_435_455 // B, what four digits of base 128 hold
	mostText                                            = math.MaxUint16
	failureName                                         = "failure"
)

// ErrTooLarge: no packet has room for it, or the broker takes none so large.
var ErrTooLarge = errors.New("mqtt: too large")

// A Hello is what CONNECT says. Nobody logs in: the lab's brokers ask for no name.
type Hello struct {
	ClientID  string
	Clean     bool   // begin a new session; else resume
	Expiry    uint32 // MQTT 5: s that the session outlives the connection
	KeepAlive uint16 // s
	Receive   uint16 // MQTT 5: PUBLISH of QoS 1 and 2 that may be under way; 0: 65535
	Packet    uint32 // MQTT 5: largest packet taken, B; 0: any
}

// AppendConnect appends a CONNECT.
func AppendConnect(b []byte, v Version, h *Hello) []byte {
	props := 0
	if v == V5 {
		props = 1 + when(h.Expiry > 0, 5) + when(h.Receive > 0, 3) + when(h.Packet > 0, 5)
	}
	b = appendHead(b, Connect, 0, 10+props+2+len(h.ClientID))
	b = append(b, 0, 4, 'M', 'Q', 'T', 'T', byte(v), byte(when(h.Clean, 2)))
	b = binary.BigEndian.AppendUint16(b, h.KeepAlive)
	if v == V5 {
		b = append(b, byte(props-1))
		if h.Expiry > 0 {
			b = binary.BigEndian.AppendUint32(append(b, propSessionExpiry), h.Expiry)
		}
		if h.Receive > 0 {
			b = binary.BigEndian.AppendUint16(append(b, propReceiveMax), h.Receive)
		}
		if h.Packet > 0 {
			b = binary.BigEndian.AppendUint32(append(b, propMaximumPacket), h.Packet)
		}
	}
	return appendText(b, h.ClientID)
}

// AppendSubscribe appends a SUBSCRIBE to filters, all with one QoS.
func AppendSubscribe(b []byte, v Version, id uint16, qos byte, filters ...string) []byte {
	n := 2 + when(v == V5, 1)
	for _, f := range filters {
		n += 2 + len(f) + 1
	}
	b = binary.BigEndian.AppendUint16(appendHead(b, Subscribe, 2, n), id)
	if v == V5 {
		b = append(b, 0)
	}
	for _, f := range filters {
		b = append(appendText(b, f), qos)
	}
	return b
}

// AppendPublish appends a PUBLISH; id is of no account with QoS 0.
func AppendPublish(b []byte, v Version, id uint16, m *Message) ([]byte, error) {
	for _, s := range [][]byte{m.Topic, m.ResponseTopic, m.Correlation, m.ContentType, m.Failure} {
		if len(s) > mostText {
			return b, ErrTooLarge
		}
	}
	props := 0
	if v == V5 {
		props = propLen(m.ResponseTopic) + propLen(m.Correlation) + propLen(m.ContentType)
		if m.Failure != nil {
			props += 5 + len(failureName) + len(m.Failure)
		}
	}
	n := 2 + len(m.Topic) + when(m.QoS > 0, 2) + len(m.Payload)
	if v == V5 {
		n += varintLen(props) + props
	}
	if n > mostRemaining {
		return b, ErrTooLarge
	}
	b = appendHead(b, Publish, m.QoS<<1|byte(when(m.Dup, 8)|when(m.Retain, 1)), n)
	b = appendText(b, m.Topic)
	if m.QoS > 0 {
		b = binary.BigEndian.AppendUint16(b, id)
	}
	if v == V5 {
		b = appendVarint(b, props)
		b = appendProp(b, propContentType, m.ContentType)
		b = appendProp(b, propResponseTopic, m.ResponseTopic)
		b = appendProp(b, propCorrelation, m.Correlation)
		if m.Failure != nil {
			b = appendText(appendText(append(b, propUser), failureName), m.Failure)
		}
	}
	return append(b, m.Payload...), nil
}

// AppendAck appends a PUBACK, PUBREC, PUBREL or PUBCOMP. A reason other than 0
// is for MQTT 5 alone.
func AppendAck(b []byte, k Kind, id uint16, reason byte) []byte {
	b = appendHead(b, k, byte(when(k == Pubrel, 2)), 2+when(reason != 0, 1))
	b = binary.BigEndian.AppendUint16(b, id)
	if reason != 0 {
		b = append(b, reason)
	}
	return b
}

// AppendBare appends a packet without a body: PINGREQ, or DISCONNECT as goodbye.
func AppendBare(b []byte, k Kind) []byte { return appendHead(b, k, 0, 0) }

func appendHead(b []byte, k Kind, flags byte, remaining int) []byte {
	return appendVarint(append(b, byte(k)<<4|flags), remaining)
}

// appendVarint: section 1.5.5.
func appendVarint(b []byte, n int) []byte {
	for n > 127 {
		b = append(b, byte(n)|128)
		n >>= 7
	}
	return append(b, byte(n))
}

func varintLen(n int) int {
	size := 1
	for ; n > 127; n >>= 7 {
		size++
	}
	return size
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

func appendProp(b []byte, id byte, s []byte) []byte {
	if s == nil {
		return b
	}
	return appendText(append(b, id), s)
}

func propLen(s []byte) int {
	if s == nil {
		return 0
	}
	return 3 + len(s)
}

func when(is bool, n int) int {
	if is {
		return n
	}
	return 0
}
