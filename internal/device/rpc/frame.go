// Package rpc carries calls and byte streams between a lab and its agent over
// any one byte stream: the channel of an SSH session, a virtio or serial port, a
// socket. It knows neither devices nor what is called.
//
// Each side begins with one line, its greeting (greet.go). After that there are
// frames only, all integers big-endian:
//
//	 0      1              5              9
//	+------+--------------+--------------+---------…
//	| kind | id           | length       | length bytes
//	+------+--------------+--------------+---------…
//
//	call    id of the call    {"op":…,"streams":[…],"args":…}, JSON
//	answer  id of the call    {"error":…,"result":…}, JSON
//	cancel  id of the call    nothing: its caller does not want the answer any more
//	data    id of the stream  bytes, at most the credit
//	end     id of the stream  nothing, or why there is no more
//	more    id of the stream  4 bytes: how many more bytes the other side may send
//	stop    id of the stream  nothing: nobody reads it any longer
//	ping    0                 nothing; answered by pong
//	pong    0                 nothing
package rpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

type kind uint8

const (
	call kind = 1 + iota
	answer
	cancel
	data
	end
	more
	stop
	ping
	pong
	kinds // the first number that is no kind
)

const (
	headerSize = 9
	maxFrame   = 1 << 20   // B of payload of any frame
	chunk      = 16 << 10  // B of payload of a data frame that we send
	window     = 64 << 10  // B that may be under way unread in a stream
	maxText    = 500       // B of an end's reason
	maxStreams = 1000      // open at once
	maxCalls   = 100       // under way at once at the side that is called
	maxNoise   = 256 << 10 // B before a greeting
)

// ErrNoise means that what came is not of this protocol.
var ErrNoise = errors.New("the data received are not the agent's protocol")

type frame struct {
	kind    kind
	id      uint32
	payload []byte // good until the next frame is read
}

// appendFrame appends a frame to b.
func appendFrame(b []byte, k kind, id uint32, payload []byte) []byte {
	b = append(b, byte(k))
	b = binary.BigEndian.AppendUint32(b, id)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	return append(b, payload...)
}

// A frameReader reads frames; its buffer grows with the largest that came, and
// is given up after a large one.
type frameReader struct {
	r   io.Reader
	buf []byte
}

const usualFrame = 32 << 10 // B of payload kept for the next frame

func (f *frameReader) next() (frame, error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(f.r, h[:]); err != nil {
		return frame{}, err
	}
	x := frame{kind: kind(h[0]), id: binary.BigEndian.Uint32(h[1:])}
	n := binary.BigEndian.Uint32(h[5:])
	if x.kind == 0 || x.kind >= kinds || n > maxFrame {
		return frame{},
			fmt.Errorf("%w: a frame of kind %d and %d bytes; is there noise on the line, or a program that prints to it?",
				ErrNoise, x.kind, n)
	}
	if cap(f.buf) > usualFrame && n <= usualFrame {
		f.buf = nil
	}
	// Subtle: memory is taken as bytes come, not as the header says.
	f.buf = f.buf[:0]
	for len(f.buf) < int(n) {
		from := len(f.buf)
		to := min(int(n), max(from+chunk, 2*from))
		if cap(f.buf) < to {
			f.buf = append(make([]byte, 0, to), f.buf...)
		}
		f.buf = f.buf[:to]
		if _, err := io.ReadFull(f.r, f.buf[from:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return frame{}, err
		}
	}
	x.payload = f.buf
	return x, nil
}
