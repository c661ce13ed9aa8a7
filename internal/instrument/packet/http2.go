package packet

// http2Preface begins what a client sends over HTTP/2 (RFC 9113, section 3.4).
var http2Preface = []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// Types of frames (RFC 9113, sections 6.2 and 6.7).
const (
	http2Headers = 1
	http2Ping    = 6
)

// http2Frames follows the frames that one end sends in the clear, so that a segment of SETTINGS,
// PING or WINDOW_UPDATE alone is not taken for a request, nor a PING for part of an answer.
type http2Frames struct {
	on   bool
	next int64 // sequence number, as half counts them
	head []byte
	kind byte // of the frame under way
	left int  // bytes of it
}

// begin has the frames of an end followed from a sequence number, behind so many octets that are none.
func (f *http2Frames) begin(at int64, preface int) {
	*f = http2Frames{on: true, next: at, left: preface}
}

// frames says whether a segment brings the begin of a HEADERS frame, and whether it holds nothing but PING. What is
// lost or late ends the following: from then on any data may be a request, and an answer.
func (f *http2Frames) frames(from int64, s *segment) (headers, ping bool) {
	if !f.on {
		return true, false
	}
	b := s.data
	if from < f.next {
		return false, false // sent again
	}
	if from > f.next || len(b) < s.payload {
		f.on = false
		return true, false
	}
	f.next += int64(len(b))
	ping = len(b) > 0
	for len(b) > 0 {
		if f.left > 0 {
			n := min(f.left, len(b))
			b, f.left = b[n:], f.left-n
			ping = ping && f.kind == http2Ping
			continue
		}
		n := min(9-len(f.head), len(b))
		f.head, b = append(f.head, b[:n]...), b[n:]
		ping = ping && len(f.head) > 3 && f.head[3] == http2Ping
		if len(f.head) == 9 {
			f.kind = f.head[3]
			headers = headers || f.kind == http2Headers
			f.left = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
			f.head = f.head[:0]
		}
	}
	return headers, ping
}
