package coap

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/pion/dtls/v3/pkg/crypto/ccm"
)

// Keys are what both ends of OSCORE (RFC 8613) agree on before they speak, for
// AES-CCM-16-64-128 with HKDF and SHA-256, the algorithms every end must know
// (section 3.2).
type Keys struct {
	Secret, Salt          []byte
	SenderID, RecipientID []byte // at most 7 bytes, different from each other
	// IDContext tells apart contexts with the same secret and IDs. A client whose
	// sequence numbers begin anew must have another: a nonce may never be used
	// twice. It is sent with every request.
	IDContext []byte
}

const (
	oscoreAlgorithm = 10 // AES-CCM-16-64-128, RFC 9053, section 4.2
	oscoreKey       = 16 // B
	oscoreNonce     = 13 // B
	oscoreTag       = 8  // B
	oscoreID        = oscoreNonce - 6
	maxPIV          = 1<<40 - 1
)

// Why a message protected by OSCORE is refused.
var (
	ErrNoContext = errors.New("unknown security context")
	ErrReplay    = errors.New("sequence number was replayed, or is too old")
	ErrSeal      = errors.New("decryption failed")
	ErrOSCORE    = errors.New("OSCORE option or protected content is malformed")
	ErrExhausted = errors.New("all sequence numbers are used; create a new context")
)

// A Security is one end's security context: keys, the next sequence number,
// and which of the peer's were seen. It is for one goroutine at a time.
type Security struct {
	keys             Keys
	sender, receiver cipher.AEAD
	iv               [oscoreNonce]byte
	next             uint64 // sequence number
	top              uint64 // one above the largest sequence number seen
	seen             uint32 // bit i: top-1-i was seen (section 7.4, window of 32)

	last binding // of the request that SealRequest sealed last

	plain, external, aad, sealed []byte
	inner                        Message
}

// NewSecurity derives a context: RFC 8613, section 3.2.
func NewSecurity(k Keys) (*Security, error) {
	if len(k.SenderID) > oscoreID || len(k.RecipientID) > oscoreID || string(k.SenderID) == string(k.RecipientID) ||
		len(k.Secret) == 0 {
		return nil, fmt.Errorf("oscore: a context needs a secret and two different IDs of at most %d bytes", oscoreID)
	}
	s := &Security{keys: k}
	prk, err := hkdf.Extract(sha256.New, k.Secret, k.Salt)
	if err != nil {
		return nil, err
	}
	derive := func(id []byte, kind string, n int) []byte {
		if err != nil {
			return nil
		}
		var b []byte
		b, err = hkdf.Expand(sha256.New, prk, string(k.info(id, kind, n)), n)
		return b
	}
	a, b, iv := derive(k.SenderID, "Key", oscoreKey), derive(k.RecipientID, "Key", oscoreKey),
		derive(nil, "IV", oscoreNonce)
	if err == nil {
		s.sender, err = newCCM(a)
	}
	if err == nil {
		s.receiver, err = newCCM(b)
	}
	copy(s.iv[:], iv)
	return s, err
}

func newCCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return ccm.NewCCM(block, oscoreTag, oscoreNonce)
}

// info is [id, id_context, alg_aead, type, L] in CBOR (section 3.2.1).
func (k *Keys) info(id []byte, kind string, n int) []byte {
	b := appendBytes([]byte{0x85}, id)
	if len(k.IDContext) == 0 {
		b = append(b, 0xf6) // null
	} else {
		b = appendBytes(b, k.IDContext)
	}
	b = append(b, oscoreAlgorithm, 0x60|byte(len(kind)))
	return append(append(b, kind...), byte(n))
}

// appendBytes appends a CBOR byte string of less than 64 KiB.
func appendBytes(dst, b []byte) []byte {
	switch n := len(b); {
	case n < 24:
		dst = append(dst, 0x40|byte(n))
	case n < 256:
		dst = append(dst, 0x58, byte(n))
	default:
		dst = append(dst, 0x59, byte(n>>8), byte(n))
	}
	return append(dst, b...)
}

// nonce is that of section 5.2.
func (s *Security) nonce(id []byte, piv uint64) (n [oscoreNonce]byte) {
	n[0] = byte(len(id))
	copy(n[1+oscoreID-len(id):], id)
	for i := range 5 {
		n[oscoreNonce-1-i] = byte(piv >> (8 * i))
	}
	for i := range n {
		n[i] ^= s.iv[i]
	}
	return n
}

// additional is the authenticated data of section 5.4; it binds a response to
// its request.
func (s *Security) additional(requestID []byte, requestPIV uint64) []byte {
	var room [5]byte
	external := append(s.external[:0], 0x85, 1, 0x81, oscoreAlgorithm)
	external = appendBytes(external, requestID)
	external = append(appendBytes(external, pivBytes(&room, requestPIV)), 0x40)
	s.external = external
	s.aad = append(append(append(s.aad[:0], 0x83, 0x68), "Encrypt0"...), 0x40)
	s.aad = appendBytes(s.aad, external)
	return s.aad
}

// pivBytes are the fewest bytes of a sequence number, at least one.
func pivBytes(room *[5]byte, piv uint64) []byte {
	n := 1
	for piv>>(8*n) != 0 {
		n++
	}
	for i := range n {
		room[n-1-i] = byte(piv >> (8 * i))
	}
	return room[:n]
}

// A binding is what a response needs to know of its request.
type binding struct {
	id  []byte // the requester's sender ID
	piv uint64
}

// fresh says whether a sequence number is new, without noting it.
func (s *Security) fresh(piv uint64) bool {
	if piv >= s.top {
		return true
	}
	age := s.top - 1 - piv
	return age < 32 && s.seen>>age&1 == 0
}

// note notes a sequence number whose message was genuine.
func (s *Security) note(piv uint64) {
	if piv >= s.top {
		if shift := piv + 1 - s.top; shift < 32 {
			s.seen = s.seen<<shift | 1
		} else {
			s.seen = 1
		}
		s.top = piv + 1
		return
	}
	s.seen |= 1 << (s.top - 1 - piv)
}
