package coap

import "math/bits"

// A Block is the value of option Block1 or Block2 (RFC 7959, section 2.2):
//
//	|        NUM, 0 to 20 bits        |M| SZX |
//
// Its length is 0 to 3 bytes, as for any uint.
type Block struct {
	Num  uint32 // of the block, from 0 to MaxBlockNum
	More bool   // blocks follow
	SZX  uint8  // size exponent: a block has 16 << SZX bytes; 7: see bert
}

// MaxBlockNum is the largest block number.
const MaxBlockNum = 1<<20 - 1

// maxSZX is the exponent of 1024 bytes, the largest block.
const maxSZX = 6

// bert, over TCP, means several blocks of 1024 bytes in one message (RFC 8323,
// section 6); over UDP it is reserved.
const bert = 7

// Size is the size of a block in bytes.
func (b Block) Size() int { return 16 << min(b.SZX, maxSZX) }

// Offset is where the block begins in the body, in bytes. It fits an int: 2^20 blocks of 1024 bytes are 2^30.
func (b Block) Offset() int { return int(b.Num) << (min(b.SZX, maxSZX) + 4) }

// Valid says that size and number are not reserved.
func (b Block) Valid() bool { return b.SZX <= maxSZX && b.Num <= MaxBlockNum }

// Block is option n, Block1 or Block2, of the message.
func (m *Message) Block(n OptionNumber) (b Block, ok bool) {
	v, ok := m.Uint(n)
	return Block{Num: v >> 4, More: v&8 != 0, SZX: uint8(v & 7)}, ok
}

// AddBlock adds option n, Block1 or Block2.
func (m *Message) AddBlock(n OptionNumber, b Block) {
	v := b.Num<<4 | uint32(b.SZX&7)
	if b.More {
		v |= 8
	}
	m.AddUint(n, v)
}

// fits says that n bytes may be the payload of the block.
func (b Block) fits(n int) bool {
	if b.SZX == bert {
		return !b.More || n > 0 && n%b.Size() == 0
	}
	return n <= b.Size() && (!b.More || n == b.Size())
}

// szxOf is the largest exponent whose block is not above size bytes; 0 stands for 1024.
func szxOf(size int) uint8 {
	if size == 0 {
		return maxSZX
	}
	return uint8(min(max(bits.Len(uint(size))-5, 0), maxSZX))
}
