package dtls

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/pion/dtls/v3/pkg/crypto/prf"
)

// A handshake is what a session knows until it is open (RFC 6347, section 4.2.4):
//
//	flight 1  ClientHello
//	       2  HelloVerifyRequest, where the server asks for a cookie
//	       3  ClientHello with it
//	       4  ServerHello, ServerKeyExchange if there is a hint, ServerHelloDone
//	       5  ClientKeyExchange, ChangeCipherSpec, Finished
//	       6  ChangeCipherSpec, Finished
type handshake struct {
	keys           *Keys
	random, server [32]byte
	suite          uint16
	extended       bool   // master secret
	cookies        bool   // a HelloVerifyRequest has come
	sent           uint16 // messages, each with its number
	expected       uint16 // number of the server's next message
	seconds        uint64 // records without keys, sent so far
	hello          []byte // message
	exchange       []byte // likewise; nil: not yet
	finished       []byte
	transcript     []byte // of all messages since the last ClientHello
	master         []byte
}

// Handshake messages.
const (
	clientHello        = 1
	serverHello        = 2
	helloVerifyRequest = 3
	newSessionTicket   = 4
	serverKeyExchange  = 12
	serverHelloDone    = 14
	clientKeyExchange  = 16
	finished           = 20
)

const (
	messageHead = 12
	verifySize  = 12
)

// Extensions.
const (
	extendedMaster = 23
	connectionID   = 54
)

func newHandshake(k *Keys) *handshake {
	h := &handshake{keys: k}
	rand.Read(h.random[:])
	h.greet(nil)
	return h
}

// greet makes the ClientHello.
func (h *handshake) greet(cookie []byte) {
	b := binary.BigEndian.AppendUint16(nil, version)
	b = append(append(b, h.random[:]...), 0) // no session to resume
	b = append(append(b, byte(len(cookie))), cookie...)
	suites := []uint16{ccm8, ccm16, gcm, safeAgain}
	b = binary.BigEndian.AppendUint16(b, uint16(2*len(suites)))
	for _, s := range suites {
		b = binary.BigEndian.AppendUint16(b, s)
	}
	b = append(b, 1, 0) // no compression
	extensions := []byte{0, extendedMaster, 0, 0}
	if h.keys.CID {
		extensions = append(extensions, 0, connectionID, 0, 1, 0) // this end needs none
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(extensions)))
	h.hello = h.message(clientHello, append(b, extensions...))
	h.transcript = append(h.transcript[:0], h.hello...)
}

// message is one as it is hashed, and sent.
func (h *handshake) message(kind byte, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(kind)<<24|uint32(len(body)))
	b = binary.BigEndian.AppendUint16(b, h.sent)
	h.sent++
	b = append(b, 0, 0, 0, byte(len(body)>>16), byte(len(body)>>8), byte(len(body)))
	return append(b, body...)
}

// Flight appends the datagram that is to be sent now: for the first time, or again since
// nothing came.
func (s *Session) Flight(dst []byte) []byte {
	h := s.hand
	if h == nil {
		return dst
	}
	if h.exchange == nil {
		return h.plain(dst, inHandshake, h.hello)
	}
	dst = h.plain(dst, inHandshake, h.exchange)
	dst = h.plain(dst, changeCipherSpec, []byte{1})
	return s.record(dst, inHandshake, h.finished)
}

// plain appends a record without keys.
func (h *handshake) plain(dst []byte, kind byte, body []byte) []byte {
	dst = binary.BigEndian.AppendUint16(append(dst, kind), version)
	dst = binary.BigEndian.AppendUint64(dst, h.seconds)
	h.seconds++
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(body))), body...)
}

// take follows the messages of a record.
func (s *Session) take(b []byte, sealed bool) (Event, error) {
	event := Nothing
	for h := s.hand; h != nil && len(b) >= messageHead; h = s.hand {
		n := int(binary.BigEndian.Uint32(b) & 0xffffff)
		offset, part := binary.BigEndian.Uint32(b[5:])&0xffffff, int(binary.BigEndian.Uint32(b[8:])&0xffffff)
		if part > len(b)-messageHead {
			return event, fmt.Errorf("%w: a message is longer than its record", ErrHandshake)
		}
		whole, kind, number := b[:messageHead+part], b[0], binary.BigEndian.Uint16(b[4:])
		b = b[messageHead+part:]
		if kind == 0 || number != h.expected {
			continue // HelloRequest; sent again, or another was lost before it
		}
		if offset != 0 || part != n {
			return event, fmt.Errorf("%w: a message comes in fragments", ErrHandshake)
		}
		if sealed != (kind == finished) && kind != newSessionTicket {
			continue
		}
		e, err := s.follow(kind, whole)
		if err != nil {
			return event, err
		}
		h.expected++
		event = max(event, e)
	}
	return event, nil
}

// follow does what the server's next message asks for.
func (s *Session) follow(kind byte, whole []byte) (Event, error) {
	h, body := s.hand, whole[messageHead:]
	switch kind {
	case helloVerifyRequest:
		if h.cookies || h.suite != 0 || len(body) < 3 || len(body) != 3+int(body[2]) {
			return Nothing, fmt.Errorf("%w: HelloVerifyRequest", ErrHandshake)
		}
		h.cookies = true
		h.greet(body[3:])
		return Next, nil
	case serverHello:
		h.transcript = append(h.transcript, whole...)
		return Nothing, s.greeted(body)
	case serverKeyExchange, newSessionTicket:
		h.transcript = append(h.transcript, whole...)
		return Nothing, nil
	case serverHelloDone:
		h.transcript = append(h.transcript, whole...)
		return Next, s.exchange()
	case finished:
		want, err := prf.VerifyDataServer(h.master, h.transcript, sha256.New)
		if err != nil || !hmac.Equal(want, body) {
			return Nothing, fmt.Errorf("%w: its Finished is wrong", ErrHandshake)
		}
		s.ready, s.hand = true, nil
		return Opened, nil
	}
	return Nothing, fmt.Errorf("%w: message %d", ErrHandshake, kind)
}

// greeted reads the ServerHello.
func (s *Session) greeted(b []byte) error {
	h := s.hand
	wrong := fmt.Errorf("%w: ServerHello", ErrHandshake)
	if len(b) < 38 || binary.BigEndian.Uint16(b) != version || len(b) < 38+int(b[34]) || h.suite != 0 {
		return wrong
	}
	copy(h.server[:], b[2:])
	b = b[35+int(b[34]):]
	h.suite, b = binary.BigEndian.Uint16(b), b[3:]
	if len(b) < 2 {
		return nil // no extensions
	}
	for b = b[2:]; len(b) >= 4; {
		kind, n := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
		if b = b[4:]; n > len(b) {
			return wrong
		}
		value := b[:n]
		b = b[n:]
		switch kind {
		case extendedMaster:
			h.extended = true
		case connectionID:
			if n == 0 || int(value[0]) != n-1 || n-1 > mostCID || !h.keys.CID {
				return wrong
			}
			s.cidLength = uint8(copy(s.cid[:], value[1:]))
		}
	}
	return nil
}

// exchange derives the keys and makes flight 5.
func (s *Session) exchange() error {
	h := s.hand
	if h.suite == 0 || h.exchange != nil {
		return fmt.Errorf("%w: ServerHelloDone", ErrHandshake)
	}
	id := h.keys.Identity
	h.exchange = h.message(clientKeyExchange, append(binary.BigEndian.AppendUint16(nil, uint16(len(id))), id...))
	h.transcript = append(h.transcript, h.exchange...)
	secret := prf.PSKPreMasterSecret(h.keys.Key)
	var err error
	if h.extended {
		sum := sha256.Sum256(h.transcript)
		h.master, err = prf.ExtendedMasterSecret(secret, sum[:], sha256.New)
	} else {
		h.master, err = prf.MasterSecret(secret, h.random[:], h.server[:], sha256.New)
	}
	if err != nil {
		return err
	}
	k, err := prf.GenerateEncryptionKeys(h.master, h.random[:], h.server[:], 0, 16, 4, sha256.New)
	if err != nil {
		return err
	}
	copy(s.sealIV[:], k.ClientWriteIV)
	copy(s.openIV[:], k.ServerWriteIV)
	if s.seal, err = newAEAD(h.suite, k.ClientWriteKey); err != nil {
		return err
	}
	if s.open, err = newAEAD(h.suite, k.ServerWriteKey); err != nil {
		return err
	}
	verify, err := prf.VerifyDataClient(h.master, h.transcript, sha256.New)
	if err != nil {
		return err
	}
	h.finished = h.message(finished, verify[:verifySize])
	h.transcript = append(h.transcript, h.finished...)
	return nil
}
