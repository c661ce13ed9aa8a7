package population

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/protocol/mqtt"
)

// A speaker is how a protocol is said: bytes out, and what came in taken apart.
type speaker interface {
	// greet appends what opens a connection, if anything does.
	greet(s *streams, i int32, b []byte) []byte
	ask(s *streams, i int32, b []byte) []byte
	ping(b []byte) []byte
	// take reads one thing off the front of b, has s do what follows from it, and says
	// how long it was. 0: it is not there whole. An error ends the connection.
	take(s *streams, i int32, b []byte, now int64) (int, error)
}

func newSpeaker(s *Stream) speaker {
	switch s.Protocol {
	case HTTP:
		return new(httpSpeaker)
	case TCP:
		return bareSpeaker{}
	}
	v := mqtt.V5
	if s.Protocol == MQTT311 {
		v = mqtt.V311
	}
	return &mqttSpeaker{version: v}
}

// bareSpeaker exchanges bytes for bytes.
type bareSpeaker struct{}

func (bareSpeaker) greet(_ *streams, _ int32, b []byte) []byte { return b }
func (bareSpeaker) ask(s *streams, _ int32, b []byte) []byte   { return append(b, s.Request...) }
func (bareSpeaker) ping(b []byte) []byte                       { return b }

func (bareSpeaker) take(s *streams, i int32, b []byte, now int64) (int, error) {
	l := &s.links[i]
	l.got += int32(min(len(b), mostAnswer))
	switch {
	case s.devices[i].what != asking || int(l.got) > s.Stream.Answer:
		s.Strays++
		return 0, fmt.Errorf("more than the agreed %d bytes came", s.Stream.Answer)
	case int(l.got) == s.Stream.Answer:
		l.got = 0
		s.right(i, s.Stream.Answer, now)
	}
	return len(b), nil
}

// httpSpeaker is HTTP/1.1: the request was made before the run.
type httpSpeaker struct{ text []byte }

func (*httpSpeaker) greet(_ *streams, _ int32, b []byte) []byte { return b }
func (*httpSpeaker) ask(s *streams, _ int32, b []byte) []byte   { return append(b, s.Request...) }
func (*httpSpeaker) ping(b []byte) []byte                       { return b }

func (p *httpSpeaker) take(s *streams, i int32, b []byte, now int64) (int, error) {
	if s.devices[i].what != asking {
		s.Strays++
		return 0, errors.New("an answer to nothing")
	}
	p.text = append(p.text[:0], b...) // parsing moves chunks together, whole answer or not
	r, err := drive.ParseHTTP(p.text, mostAnswer)
	if err != nil || r.Size == 0 {
		return 0, err
	}
	switch {
	case r.Status/100 != 2:
		err = fmt.Errorf("status %d%s", r.Status, s.quote(r.Body))
	case s.Status != 0 && r.Status != s.Status:
		err = fmt.Errorf("status %d, not %d", r.Status, s.Status)
	}
	if s.Stream.PerRequest || !r.Reusable {
		s.hang(i)
	}
	s.reply(i, r.Body, err, now)
	return r.Size, nil
}

// mqttSpeaker is MQTT 3.1.1 or 5 with clean sessions. A device calls itself anew for each
// connection, so that no answer of an earlier one can reach it. Topics stand at drive's
// mqttConn.
type mqttSpeaker struct {
	version mqtt.Version
	packet  mqtt.Packet
	m       mqtt.Message
	text    [len(topicNames)][]byte
	mark    []byte // correlation data
	media   []byte
}

const ownSubscribe = 1 // packet identifier of SUBSCRIBE; those of PUBLISH are others

// name appends what a device calls itself.
func (*mqttSpeaker) name(s *streams, i int32, b []byte) []byte {
	b = strconv.AppendUint(append(b, 'd'), uint64(s.number(i)), 16)
	b = strconv.AppendUint(append(b, '-'), uint64(s.own), 16)
	return strconv.AppendUint(append(b, '-'), uint64(s.links[i].conn), 16)
}

// topic is one of a device's own; what it lies in is used again for the next of its kind.
func (p *mqttSpeaker) topic(s *streams, i int32, k topicKind) []byte {
	b := append(p.text[k][:0], s.Stream.Topic...)
	if k == shared {
		p.text[k] = append(b, topicNames[k]...)
		return p.text[k]
	}
	p.text[k] = p.name(s, i, append(b, topicNames[k]...))
	return p.text[k]
}

// A topicKind is what a topic is for.
type topicKind uint8

const (
	shared topicKind = iota // requests of MQTT 5
	toService
	response
	failure
)

var topicNames = [...]string{"/request", "/request/", "/response/", "/error/"}

// everything is the filter of all requests.
func (p *mqttSpeaker) everything(s *streams) string {
	if p.version == mqtt.V5 {
		return s.Stream.Topic + topicNames[shared]
	}
	return s.Stream.Topic + topicNames[toService] + "+"
}

// isRequest says whether a topic is one of requests.
func (p *mqttSpeaker) isRequest(s *streams, topic []byte) bool {
	rest, ok := bytes.CutPrefix(topic, []byte(s.Stream.Topic))
	if p.version == mqtt.V5 {
		return ok && string(rest) == topicNames[shared]
	}
	return ok && bytes.HasPrefix(rest, []byte(topicNames[toService]))
}

const second = 1_000_000_000 // ns

// aliveSeconds is MQTT's keep alive: not below the silence that the device allows itself.
func (p *mqttSpeaker) aliveSeconds(s *streams, i int32) uint16 {
	return uint16(min((s.alive(i)+second-1)/second, 65535))
}

func (p *mqttSpeaker) greet(s *streams, i int32, b []byte) []byte {
	return mqtt.AppendConnect(b, p.version, &mqtt.Hello{ClientID: string(p.name(s, i, nil)), Clean: true,
		KeepAlive: p.aliveSeconds(s, i), Packet: mostAnswer})
}

func (p *mqttSpeaker) ping(b []byte) []byte { return mqtt.AppendBare(b, mqtt.Pingreq) }

func (p *mqttSpeaker) ask(s *streams, i int32, b []byte) []byte {
	id := s.devices[i].id
	if id <= ownSubscribe {
		id += 2 // the next to come are 2 and 3: it is free again by then
	}
	s.links[i].id = id
	p.m = mqtt.Message{QoS: s.Stream.QoS, Payload: s.Request}
	if p.version == mqtt.V5 {
		p.m.Topic, p.m.ResponseTopic = p.topic(s, i, shared), p.topic(s, i, response)
		p.m.Correlation = p.correlation(s, i)
		if p.media = append(p.media[:0], s.Stream.ContentType...); len(p.media) > 0 {
			p.m.ContentType = p.media
		}
	} else {
		p.m.Topic = p.topic(s, i, toService)
	}
	b, err := mqtt.AppendPublish(b, p.version, id, &p.m)
	s.blame(err)
	return b
}

func (p *mqttSpeaker) correlation(s *streams, i int32) []byte {
	p.mark = strconv.AppendUint(binary.BigEndian.AppendUint16(p.mark[:0], s.devices[i].id), uint64(s.number(i)), 16)
	return p.mark
}

func (p *mqttSpeaker) take(s *streams, i int32, b []byte, now int64) (int, error) {
	n, err := p.packet.Decode(p.version, b, mostAnswer)
	if err != nil || n == 0 {
		return 0, err
	}
	l := &s.links[i]
	switch p.packet.Kind {
	case mqtt.Connack:
		if l.phase != greeting {
			return n, errors.New("a second CONNACK")
		}
		if p.packet.Reason != 0 {
			return n, fmt.Errorf("the broker refused with reason 0x%02x", p.packet.Reason)
		}
		s.patience = int64(p.packet.Limits.Silence) * second
		filters := []string{string(p.topic(s, i, response))}
		if p.version == mqtt.V311 {
			filters = append(filters, string(p.topic(s, i, failure)))
		}
		if s.listener(i) {
			s.Registrations++
			filters = append(filters, p.everything(s))
		}
		s.scratch = mqtt.AppendSubscribe(s.scratch[:0], p.version, ownSubscribe, s.Stream.QoS, filters...)
		s.say(i, s.scratch, now)
		s.admit(i)
	case mqtt.Suback:
		for _, r := range p.packet.Reasons {
			if r != s.Stream.QoS {
				return n, fmt.Errorf("the broker refused the subscription with 0x%02x", r)
			}
		}
		if l.phase == admitted {
			s.up(i, now)
		}
	case mqtt.Puback:
		p.acknowledged(s, i, now)
	case mqtt.Publish:
		p.message(s, i, now)
	case mqtt.Pingresp:
		s.pong(i, now)
	case mqtt.Disconnect:
		return n, fmt.Errorf("the broker disconnects with reason 0x%02x", p.packet.Reason)
	}
	return n, nil
}

// acknowledged: the broker has taken a request of QoS 1.
func (p *mqttSpeaker) acknowledged(s *streams, i int32, now int64) {
	l := &s.links[i]
	switch {
	case p.packet.ID != l.id || s.devices[i].what != asking:
		s.Strays++
	case p.packet.Reason >= 0x80:
		s.reply(i, nil, fmt.Errorf("the broker refused the message with reason 0x%02x", p.packet.Reason), now)
	default:
		l.marks |= settled
		p.complete(s, i, now)
	}
}

// message takes an answer. It is judged at once, since it lies in what is received into again.
func (p *mqttSpeaker) message(s *streams, i int32, now int64) {
	l, m := &s.links[i], &p.packet.Message
	if m.QoS == 1 {
		s.scratch = mqtt.AppendAck(s.scratch[:0], mqtt.Puback, p.packet.ID, 0)
		s.say(i, s.scratch, now)
	}
	if s.listener(i) && p.isRequest(s, m.Topic) {
		s.hears(now)
		return
	}
	var failed error
	switch {
	case s.devices[i].what != asking || l.marks&answered != 0:
		s.Duplicates++
		return
	case p.version == mqtt.V5 && !bytes.Equal(m.Correlation, p.correlation(s, i)):
		s.Strays++
		return
	case m.Failure != nil:
		failed = fmt.Errorf("the service refused%s", s.quote(m.Failure))
	case p.version == mqtt.V311 && bytes.Equal(m.Topic, p.topic(s, i, failure)):
		failed = fmt.Errorf("the service refused%s", s.quote(m.Payload))
	}
	if failed != nil || s.Stream.QoS == 0 {
		s.reply(i, m.Payload, failed, now)
		return
	}
	if s.judge(m.Payload) != nil { // it fails now, acknowledged or not
		s.reply(i, m.Payload, nil, now)
		return
	}
	l.marks |= answered
	l.got = int32(len(m.Payload))
	p.complete(s, i, now)
}

// complete ends a request of QoS 1 that has its answer and its acknowledgement.
func (p *mqttSpeaker) complete(s *streams, i int32, now int64) {
	l := &s.links[i]
	if l.marks&(answered|settled) == answered|settled {
		s.right(i, int(l.got), now)
	}
}
