// Package dtls is the client's end of DTLS 1.2 with a pre-shared key (RFC 6347, RFC 4279),
// with the extended master secret (RFC 7627) and the server's connection ID (RFC 9146),
// where the server offers them. A Session is a state machine: it has no clock, no socket
// and no goroutine, so that one thread can keep tens of thousands. For single connections
// and for servers pion's package is the right one.
//
//	s := dtls.New(&keys)
//	send(s.Flight(nil))                 // and again after 1 s, 2 s, …, until it has an answer
//	event, err := s.Receive(datagram, take)
//	send(s.Seal(nil, message))          // once it is Open
package dtls

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pion/dtls/v3/pkg/crypto/ccm"
)

// Keys are what a client knows before it speaks.
type Keys struct {
	Identity string
	Key      []byte
	// CID asks the server for a connection ID, by which it knows this session from any address.
	CID bool
}

// A Session is one with a server. It is for one goroutine at a time.
type Session struct {
	seal, open     cipher.AEAD
	sealIV, openIV [4]byte
	cid            [mostCID]byte // of the server, in what is sent to it
	cidLength      uint8
	ready          bool
	next           uint64 // sequence number of the next record that is sealed
	top, seen      uint64 // of those that came: one above the largest, and which below it
	hand           *handshake
}

// mostCID bounds the connection IDs that are taken.
const mostCID = 20

// New begins a session. Its first Flight is to be sent.
func New(k *Keys) *Session { return &Session{hand: newHandshake(k)} }

// Open says whether the handshake has ended well.
func (s *Session) Open() bool { return s.ready }

// An Event is what a datagram led to.
type Event uint8

// The events.
const (
	Nothing Event = iota
	Next          // another Flight is to be sent
	Opened
)

// Why sessions end.
var (
	ErrAlert     = errors.New("dtls: the server ended the session")
	ErrHandshake = errors.New("dtls: the server's handshake cannot be followed")
)

// Record types.
const (
	changeCipherSpec = 20
	alert            = 21
	inHandshake      = 22
	applicationData  = 23
	withCID          = 25
)

const (
	recordHead = 13
	explicit   = 8 // B of the nonce in each sealed record
	nonceSize  = 12
	version    = 0xfefd
)

// Receive takes a datagram and hands on what application data it holds, which is good
// until data returns. What is not genuine is dropped, as RFC 6347, section 4.1.2.7 has it.
// After an error the session is over.
func (s *Session) Receive(b []byte, data func([]byte)) (Event, error) {
	event := Nothing
	for len(b) >= recordHead {
		n := int(binary.BigEndian.Uint16(b[11:]))
		if len(b) < recordHead+n {
			break
		}
		head, body := b[:recordHead], b[recordHead:recordHead+n]
		b = b[recordHead+n:]
		sealed, ok := s.unseal(head, &body)
		if !ok {
			continue
		}
		switch head[0] {
		case alert:
			if len(body) == 2 && (body[0] == 2 || body[1] == 0) {
				return event, fmt.Errorf("%w with alert %d", ErrAlert, body[1])
			}
		case inHandshake:
			e, err := s.take(body, sealed)
			if err != nil {
				return event, err
			}
			event = max(event, e)
		case applicationData:
			if s.ready && sealed {
				data(body)
			}
		}
	}
	return event, nil
}

// unseal opens the body of a record in place, if it is sealed. Not ok: it is to be dropped.
func (s *Session) unseal(head []byte, body *[]byte) (sealed, ok bool) {
	switch binary.BigEndian.Uint16(head[3:]) {
	case 0:
		return false, !s.ready // an open session knows no records without keys
	case 1:
	default:
		return false, false
	}
	if s.open == nil || len(*body) < explicit+s.open.Overhead() {
		return false, false
	}
	number := binary.BigEndian.Uint64(head[3:]) & (1<<48 - 1)
	if !s.fresh(number) {
		return false, false
	}
	var nonce [nonceSize]byte
	copy(nonce[:], s.openIV[:])
	copy(nonce[4:], *body)
	secret := (*body)[explicit:]
	var aad [recordHead]byte
	additional(aad[:], head, len(secret)-s.open.Overhead())
	plain, err := s.open.Open(nil, nonce[:], secret, aad[:])
	if err != nil {
		return false, false
	}
	s.note(number)
	*body = plain
	return true, true
}

// additional is the authenticated data of RFC 5246, section 6.2.3.3, of a record.
func additional(aad, head []byte, length int) {
	copy(aad, head[3:11]) // epoch and sequence number
	copy(aad[8:], head[:3])
	binary.BigEndian.PutUint16(aad[11:], uint16(length))
}

// fresh and note keep what has come from being taken twice (RFC 6347, section 4.1.2.6).
func (s *Session) fresh(number uint64) bool {
	if number >= s.top {
		return true
	}
	age := s.top - 1 - number
	return age < 64 && s.seen>>age&1 == 0
}

func (s *Session) note(number uint64) {
	if number >= s.top {
		s.seen = s.seen<<min(number+1-s.top, 64) | 1
		s.top = number + 1
		return
	}
	s.seen |= 1 << (s.top - 1 - number)
}

// Seal appends the datagram of a message to dst. The session must be Open.
func (s *Session) Seal(dst, message []byte) []byte {
	return s.record(dst, applicationData, message)
}

// record appends a sealed record.
func (s *Session) record(dst []byte, kind byte, plain []byte) []byte {
	var nonce [nonceSize]byte
	copy(nonce[:], s.sealIV[:])
	binary.BigEndian.PutUint64(nonce[4:], 1<<48|s.next)
	s.next++
	number := nonce[4:]
	if s.cidLength > 0 {
		return s.recordWithCID(dst, kind, plain, nonce[:])
	}
	size := explicit + len(plain) + s.seal.Overhead()
	at := len(dst)
	dst = append(binary.BigEndian.AppendUint16(append(dst, kind), version), number...)
	dst = binary.BigEndian.AppendUint16(dst, uint16(size))
	var aad [recordHead]byte
	additional(aad[:], dst[at:], len(plain))
	return s.seal.Seal(append(dst, number...), nonce[:], plain, aad[:])
}

// recordWithCID is that of RFC 9146, sections 4 and 5.3.
func (s *Session) recordWithCID(dst []byte, kind byte, plain, nonce []byte) []byte {
	cid, number := s.cid[:s.cidLength], nonce[4:]
	inner := append(append(make([]byte, 0, len(plain)+1), plain...), kind)
	aad := append(make([]byte, 0, 64), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, withCID, byte(len(cid)))
	aad = append(binary.BigEndian.AppendUint16(append(aad, withCID), version), number...)
	aad = binary.BigEndian.AppendUint16(append(aad, cid...), uint16(len(inner)))
	dst = append(binary.BigEndian.AppendUint16(append(dst, withCID), version), number...)
	dst = binary.BigEndian.AppendUint16(append(dst, cid...), uint16(explicit+len(inner)+s.seal.Overhead()))
	return s.seal.Seal(append(dst, number...), nonce, inner, aad)
}

// The cipher suites, in the order in which they are offered. The first is CoAP's own (RFC
// 7252, section 9.1.3.1).
const (
	ccm8      = 0xc0a8 // TLS_PSK_WITH_AES_128_CCM_8
	ccm16     = 0xc0a4 // TLS_PSK_WITH_AES_128_CCM
	gcm       = 0x00a8 // TLS_PSK_WITH_AES_128_GCM_SHA256
	safeAgain = 0x00ff // RFC 5746: renegotiation is known
)

func newAEAD(suite uint16, key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	switch suite {
	case ccm8:
		return ccm.NewCCM(block, 8, nonceSize)
	case ccm16:
		return ccm.NewCCM(block, 16, nonceSize)
	case gcm:
		return cipher.NewGCM(block)
	}
	return nil, fmt.Errorf("%w: it chose suite %04x", ErrHandshake, suite)
}
