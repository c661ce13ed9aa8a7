package mqtt

// What a property's value is.
type form byte

const (
	none form = iota
	oneByte
	twoBytes
	fourBytes
	digits // variable byte integer
	text
	data
	pair
)

// where are the packets in which a property may stand, a bit for each kind.
func where(kinds ...Kind) (set uint16) {
	for _, k := range kinds {
		set |= 1 << k
	}
	return set
}

// forms: MQTT 5.0, table 2-4, as far as brokers send them.
var forms = [43]struct {
	form form
	in   uint16
}{
	0x01: {oneByte, where(Publish)}, 0x02: {fourBytes, where(Publish)}, 0x03: {text, where(Publish)},
	0x08: {text, where(Publish)},
	0x09: {data, where(Publish)}, 0x0B: {digits, where(Publish)},
	0x11: {fourBytes, where(Connack, Disconnect)}, 0x12: {text, where(Connack)}, 0x13: {twoBytes, where(Connack)},
	0x15: {text, where(Connack)}, 0x16: {data, where(Connack)}, 0x1A: {text, where(Connack)},
	0x1C: {text, where(Connack, Disconnect)},
	0x1F: {text, where(Connack, Puback, Pubrec, Pubrel, Pubcomp, Suback, Disconnect)},
	0x21: {twoBytes, where(Connack)}, 0x22: {twoBytes, where(Connack)}, 0x23: {twoBytes, where(Publish)},
	0x24: {oneByte, where(Connack)},
	0x25: {oneByte, where(Connack)},
	0x26: {pair, where(Connack, Publish, Puback, Pubrec, Pubrel, Pubcomp, Suback, Disconnect)},
	0x27: {fourBytes, where(Connack)}, 0x28: {oneByte, where(Connack)}, 0x29: {oneByte, where(Connack)},
	0x2A: {oneByte, where(Connack)},
}

// optionalProperties are those that a short packet leaves out.
func (r *reader) optionalProperties(p *Packet) {
	if len(r.b) > 0 {
		r.properties(p)
	}
}

// properties reads those of a packet, into p where it has a place for them.
func (r *reader) properties(p *Packet) {
	n, size, err := varint(r.b)
	if err != nil || size == 0 {
		r.fail("length of properties")
		return
	}
	r.take(size)
	rest := reader{b: r.take(n), kind: r.kind, err: r.err}
	var seen uint64
	for len(rest.b) > 0 && rest.err == nil {
		id := rest.byte()
		if int(id) >= len(forms) || forms[id].in&(1<<r.kind) == 0 {
			rest.fail("a property not allowed in it")
			break
		}
		// Section 3.3.2.3.8: several subscriptions may match.
		if many := id == propUser || id == 0x0B; seen&(1<<id) != 0 && !many {
			rest.fail("a repeated property")
			break
		}
		seen |= 1 << id
		rest.property(id, p)
	}
	if r.err = rest.err; r.err != nil {
		r.b = nil
	}
}

func (r *reader) property(id byte, p *Packet) {
	var number uint32
	var value []byte
	switch forms[id].form {
	case oneByte:
		if number = uint32(r.byte()); number > 1 {
			r.fail("a flag that is neither 0 nor 1")
		}
	case twoBytes:
		number = uint32(r.uint16())
	case fourBytes:
		number = r.uint32()
	case digits:
		n, size, err := varint(r.b)
		if err != nil || size == 0 || n == 0 {
			r.fail("subscription identifier")
			return
		}
		r.take(size)
	case text:
		value = r.text()
	case data:
		value = r.binary()
	case pair:
		name := r.text()
		if value = r.text(); p != nil && r.kind == Publish && string(name) == failureName && r.err == nil {
			p.Failure = some(value)
		}
		return
	}
	if p != nil && r.err == nil {
		r.keep(id, p, number, value)
	}
}

// keep puts what a session or its application reads into the packet.
func (r *reader) keep(id byte, p *Packet, number uint32, value []byte) {
	switch id {
	case propContentType:
		p.ContentType = some(value)
	case propResponseTopic:
		p.ResponseTopic = some(value)
	case propCorrelation:
		p.Correlation = some(value)
	case propTopicAlias:
		r.fail("a topic alias, although disabled")
	case propReceiveMax:
		if p.Limits.Receive = uint16(number); number == 0 {
			r.fail("a receive maximum of 0")
		}
	case propMaximumPacket:
		if p.Limits.Packet = number; number == 0 {
			r.fail("a maximum packet size of 0")
		}
	case propServerKeepAlive:
		p.Limits.Silence = uint16(number)
	case propMaximumQoS:
		p.Limits.QoS = byte(number)
	}
}

// some is b, which is there even if empty.
func some(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
