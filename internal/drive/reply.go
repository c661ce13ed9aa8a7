package drive

import (
	"bytes"
	"errors"
	"fmt"
)

// MostBody is the size in B of a request, and the most that a response may be allowed.
const MostBody = 1 << 30

const (
	mostHead = 64 << 10 // B of status line, headers, interim responses; and again of trailers
	// mostLength stands for every Content-Length above it. A response without a body may have any.
	mostLength = 1 << 59
)

var (
	errHead     = errors.New("response: header larger than 64 KiB")
	errUnframed = errors.New("response: without a length")
)

// A tooLargeError is a response with a longer body than so many bytes, which were allowed.
type tooLargeError int

func (most tooLargeError) Error() string {
	return "response: body larger than " + sizeText(int(most))
}

// sizeText is a number of bytes in the largest unit of which it is a whole number.
func sizeText(bytes int) string {
	for _, u := range []struct {
		name string
		size int
	}{{"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3}} {
		if bytes > 0 && bytes%u.size == 0 {
			return fmt.Sprintf("%d %s", bytes/u.size, u.name)
		}
	}
	return fmt.Sprintf("%d B", bytes)
}

func tooLarge(most int) error { return tooLargeError(most) }

type part uint8

const (
	statusLine part = iota
	headerLine
	fixedBody
	chunkSize
	chunkData
	chunkEnd
	trailerLine
	untilClose
	whole
)

// httpReply finds the parts of an HTTP/1 response in a buffer that grows
// between calls (RFC 9112). It does no I/O and allocates nothing; chunks are
// moved together within the buffer, so that the body is one slice.
//
//	status line, headers | body as decoded | gap that chunking leaves | not yet parsed
//	                     start             end                        pos
type httpReply struct {
	part       part
	pos        int // parsed up to here
	seen       int // searched for the end of a line up to here
	lines      int // where the header or trailer section began
	status     int
	minor      int   // version is HTTP/1.minor
	need       int64 // bytes left of the body or the chunk
	start, end int   // of the body
	length     int64 // Content-Length; -1: none given
	encoded    bool  // a Transfer-Encoding was given
	chunked    bool  // and its last coding is chunked
	close      bool  // Connection: close
	keep       bool  // Connection: keep-alive
	bodyless   bool  // the request was HEAD
	most       int   // B of the body that are taken
}

func (r *httpReply) reset(bodyless bool, most int) {
	*r = httpReply{length: -1, bodyless: bodyless, most: most}
}

// parse goes on with b, all bytes since the response began, and says whether
// the response is whole. An error is for good.
func (r *httpReply) parse(b []byte) (bool, error) {
	if r.part == statusLine && speaksTLS(b[r.pos:]) {
		return false, errSpeaksTLS
	}
	for {
		var more bool
		var err error
		switch r.part {
		case statusLine, headerLine, trailerLine, chunkSize, chunkEnd:
			more, err = r.line(b)
		case fixedBody, chunkData:
			more, err = r.data(b)
		case untilClose:
			r.pos, r.end = len(b), len(b)
			if r.end-r.start > r.most {
				return false, tooLarge(r.most)
			}
		case whole:
			return true, nil
		}
		if err != nil || !more {
			return r.part == whole, err
		}
	}
}

// eof says whether the response is whole now that the peer has closed.
func (r *httpReply) eof() bool { return r.part == whole || r.part == untilClose }

// reusable says whether the connection may carry another request.
func (r *httpReply) reusable() bool {
	if r.part != whole || r.close || r.status == 101 {
		return false
	}
	return r.minor >= 1 || r.keep
}

// fit closes the gap that chunking leaves in a response that is not whole and larger than a body may be with its head:
// where chunks are small, not all of it is body. It says how many bytes are left, all of them from the start of b.
func (r *httpReply) fit(b []byte) (n int, err error) {
	if n = len(b); n <= r.most+2*mostHead {
		return n, nil
	}
	gap := r.pos - r.end
	r.pos, r.seen, r.lines = r.pos-gap, r.seen-gap, r.lines-gap
	if n = r.end + copy(b[r.end:], b[r.end+gap:]); n > r.most+2*mostHead {
		err = tooLarge(r.most)
	}
	return n, err
}

// data takes what there is of a body of known length or of a chunk.
func (r *httpReply) data(b []byte) (more bool, err error) {
	n := int(min(int64(len(b)-r.pos), r.need))
	if r.end != r.pos {
		copy(b[r.end:], b[r.pos:r.pos+n])
	}
	r.pos, r.end, r.need = r.pos+n, r.end+n, r.need-int64(n)
	if r.need > 0 {
		return false, nil
	}
	if r.part == fixedBody {
		r.part = whole
	} else {
		r.part, r.seen = chunkEnd, r.pos
	}
	return true, nil
}

// line takes one line, if it is there, and gives it to its part.
func (r *httpReply) line(b []byte) (more bool, err error) {
	from := max(r.pos, r.seen)
	i := bytes.IndexByte(b[from:], '\n')
	if i < 0 {
		r.seen = len(b)
		return false, r.bounded(b)
	}
	end := from + i
	l := b[r.pos:end] // RFC 9112, section 2.2: a lone LF ends a line too
	if len(l) > 0 && l[len(l)-1] == '\r' {
		l = l[:len(l)-1]
	}
	if len(l) > 0 && (r.part == headerLine || r.part == trailerLine) {
		if end+1 == len(b) { // what follows says whether the line ends here
			r.seen = end
			return false, r.bounded(b)
		}
		if next := b[end+1]; next == ' ' || next == '\t' { // RFC 9112, section 5.2: spaces replace a fold
			b[r.pos+len(l)], b[end] = ' ', ' '
			r.seen = end + 1
			return true, nil
		}
	}
	r.pos, r.seen = end+1, end+1
	switch r.part {
	case statusLine:
		return true, r.statusLine(l)
	case headerLine, trailerLine:
		if r.pos-r.lines > mostHead {
			return false, errHead
		}
		return true, r.headerLine(l)
	case chunkEnd:
		if len(l) > 0 {
			return false, errors.New("response: chunk longer than its size")
		}
		r.part = chunkSize
		return true, nil
	}
	return true, r.chunkSize(l)
}

// bounded refuses a section of lines, or a line of its own, that has no end within what is taken.
func (r *httpReply) bounded(b []byte) error {
	began := r.lines
	if r.part == chunkSize || r.part == chunkEnd {
		began = r.pos
	}
	if len(b)-began > mostHead {
		return errHead
	}
	return nil
}

// statusLine: RFC 9112, section 4.
func (r *httpReply) statusLine(l []byte) error {
	if len(l) < 12 || string(l[:7]) != "HTTP/1." || l[7] < '0' || l[7] > '9' || l[8] != ' ' || len(l) > 12 &&
		l[12] != ' ' {
		return errors.New("response: no HTTP/1 status line")
	}
	r.minor, r.status = int(l[7]-'0'), 0
	for _, c := range l[9:12] {
		if c < '0' || c > '9' {
			return errors.New("response: no HTTP/1 status line")
		}
		r.status = r.status*10 + int(c-'0')
	}
	if r.status < 100 {
		return errors.New("response: no HTTP/1 status line")
	}
	r.part = headerLine
	return nil
}

func (r *httpReply) headerLine(l []byte) error {
	if len(l) == 0 {
		return r.headEnd()
	}
	if l[0] == ' ' || l[0] == '\t' {
		return errors.New("response: a header that begins with a folded line")
	}
	colon := bytes.IndexByte(l, ':')
	if colon <= 0 || l[colon-1] == ' ' || l[colon-1] == '\t' {
		return errors.New("response: malformed header line")
	}
	if r.part == trailerLine {
		return nil // nothing in a trailer frames
	}
	// Names are told apart by length first: it spares most lines the comparison.
	switch name, value := l[:colon], l[colon+1:]; colon {
	case len("Connection"):
		if equalFold(name, "connection") {
			r.connection(value)
		}
	case len("Content-Length"):
		if equalFold(name, "content-length") {
			return r.contentLength(value)
		}
	case len("Transfer-Encoding"):
		if equalFold(name, "transfer-encoding") {
			r.encoded = true
			for len(value) > 0 {
				var coding []byte
				coding, value = element(value)
				r.chunked = equalFold(coding, "chunked")
			}
		}
	}
	return nil
}

func (r *httpReply) connection(value []byte) {
	for len(value) > 0 {
		var option []byte
		option, value = element(value)
		r.close = r.close || equalFold(option, "close")
		r.keep = r.keep || equalFold(option, "keep-alive")
	}
}

// contentLength: RFC 9112, section 6.3: a list of equal values is one value.
func (r *httpReply) contentLength(value []byte) error {
	for first := true; first || len(value) > 0; first = false {
		var digits []byte
		digits, value = element(value)
		if len(digits) == 0 {
			return errors.New("response: malformed Content-Length")
		}
		var n int64
		for _, c := range digits {
			if c < '0' || c > '9' {
				return errors.New("response: malformed Content-Length")
			}
			n = min(n*10+int64(c-'0'), mostLength)
		}
		if r.length >= 0 && r.length != n {
			return errors.New("response: two different Content-Length")
		}
		r.length = n
	}
	return nil
}

// headEnd decides how the body ends: RFC 9112, section 6.3.
func (r *httpReply) headEnd() error {
	if r.part == trailerLine {
		r.part = whole
		return nil
	}
	r.start, r.end = r.pos, r.pos
	switch {
	case r.status < 200 && r.status != 101: // interim: the response is still to come
		pos, lines, bodyless := r.pos, r.lines, r.bodyless
		r.reset(bodyless, r.most)
		r.pos, r.seen, r.lines = pos, pos, lines
		return nil
	case r.bodyless || r.status < 200 || r.status == 204 || r.status == 304:
		r.part = whole
	case r.chunked:
		r.part = chunkSize
	case r.encoded || r.length < 0:
		r.part = untilClose
	case r.length > int64(r.most):
		return tooLarge(r.most)
	default:
		r.part, r.need = fixedBody, r.length
	}
	return nil
}

// chunkSize: RFC 9112, section 7.1; extensions are ignored.
func (r *httpReply) chunkSize(l []byte) error {
	var n int64
	digits := 0
	for ; digits < len(l); digits++ {
		v := hex(l[digits])
		if v < 0 {
			break
		}
		if n = n<<4 | int64(v); n > int64(r.most) {
			return tooLarge(r.most)
		}
	}
	rest := bytes.TrimLeft(l[digits:], " \t")
	if digits == 0 || len(rest) > 0 && rest[0] != ';' {
		return errors.New("response: malformed chunk size")
	}
	if int64(r.end-r.start)+n > int64(r.most) {
		return tooLarge(r.most)
	}
	if r.need = n; n == 0 {
		r.part, r.lines = trailerLine, r.pos
	} else {
		r.part = chunkData
	}
	return nil
}

func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// element splits the first element off a comma-separated list.
func element(list []byte) (first, rest []byte) {
	first, rest, _ = bytes.Cut(list, []byte{','})
	return bytes.Trim(first, " \t"), rest
}

// equalFold compares with a lower-case word.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
