package packet

import "bytes"

// http2Preface begins what a client sends over HTTP/2 (RFC 9113, section 3.4).
var http2Preface = []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// http2Frames follows the frames that a client sends in the clear, so that a segment of
// SETTINGS, PING or WINDOW_UPDATE alone is not taken for a request.
type http2Frames struct {
	on   bool
	next int64 // sequence number, as half counts them
	head []byte
	left int // bytes of the frame under way
}

// headers says whether a segment brings the begin of a HEADERS frame (RFC 9113, section
// 6.2). What is lost or late ends the following: from then on any data may be a request.
func (f *http2Frames) headers(from int64, s *segment) bool {
	b := s.data
	if bytes.HasPrefix(b, http2Preface) {
		*f = http2Frames{on: true, next: from}
		f.left = len(http2Preface)
	}
	if !f.on {
		return true
	}
	if from < f.next {
		return false // sent again
	}
	if from > f.next || len(b) < s.payload {
		f.on = false
		return true
	}
	f.next += int64(len(b))
	found := false
	for len(b) > 0 {
		if f.left > 0 {
			n := min(f.left, len(b))
			b, f.left = b[n:], f.left-n
			continue
		}
		n := min(9-len(f.head), len(b))
		f.head, b = append(f.head, b[:n]...), b[n:]
		if len(f.head) == 9 {
			found = found || f.head[3] == 1
			f.left = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
			f.head = f.head[:0]
		}
	}
	return found
}
