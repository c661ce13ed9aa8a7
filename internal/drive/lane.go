package drive

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var (
	errTimeout = errors.New("no response in time")
	errStopped = errors.New("stopped before a response")
)

// A lane is one connection and the request on it.
type lane struct {
	wire  wire
	buf   []byte // headroom, then the body being sent
	seq   uint64
	row   row
	begin time.Duration // before serialization
	by    time.Duration // the request fails if it has no response by then
	free  time.Duration // when the request before was over
	fresh bool          // the connection was made for this very request
	bytes bool          // of the response have come

	pipe pipe // blocking engines: the connection; nil: none

	// The epoll engine's.
	fd      int // -1: none
	number  int // index in lanes
	out     []byte
	watched uint32 // events
	pending bool   // connecting
	busy    bool
	wake    time.Duration
}

// beginRequest takes up request seq at instant now: serializes and frames it.
// An error is the request's failure.
func (r *run) beginRequest(l *lane, seq uint64, due, now time.Duration) error {
	l.seq, l.begin, l.bytes = seq, now, false
	l.row = row{due: int64(due)}
	room := l.wire.headroom()
	body, err := r.encode(l, now, l.buf[:room])
	if err != nil {
		return err
	}
	if len(body) < room {
		return errors.New("Encode returned less than it was given; append to the buffer")
	}
	if len(body)-room > mostBody {
		return errors.New("request larger than 1 GiB")
	}
	l.buf = body
	l.row.out = uint32(len(body) - room)
	if err := l.wire.start(body, r.now()); err != nil {
		return err
	}
	sent := r.now() // Subtle: before the write, and before a connect if there is one to make
	l.row.sent, l.by = int64(sent), sent+r.d.Timeout
	return nil
}

// encode calls the application and times it; now was just read.
func (r *run) encode(l *lane, now time.Duration, buf []byte) ([]byte, error) {
	if r.shared {
		r.mu.Lock()
		defer r.mu.Unlock()
		now = r.now()
	}
	body, err := r.call.Encode(l.seq, buf)
	l.row.ser = int64(r.now() - now)
	return body, err
}

// decode likewise; it returns when it ended.
func (r *run) decode(l *lane) (time.Duration, error) {
	if r.shared {
		r.mu.Lock()
		defer r.mu.Unlock()
	}
	status, body := l.wire.reply()
	l.row.in = uint32(len(body))
	before := r.now()
	err := r.call.Decode(l.seq, status, body)
	end := r.now()
	l.row.deser = int64(end - before)
	l.row.total = int64(end - l.begin)
	if c, ok := r.call.(Checker); ok && err == nil {
		err = c.Check(l.seq)
		end = r.now() // the next request is not late because this answer was long to check
	}
	return end, err
}

// finish judges the response, keeps the row and frees the lane. err is why
// there is no response.
func (r *run) finish(l *lane, err error) {
	if err == nil {
		l.fresh = false
		l.free, err = r.decode(l)
	} else {
		l.row.done, l.free = 0, r.now()
		l.row.total = int64(l.free - l.begin)
	}
	r.keep(l, err)
}

// mayRetry says whether the server may merely have closed an idle connection:
// it was there before the request, and nothing of a response has come. RFC 9112, section
// 9.3.1, allows to send again; the time lost stays in the request's RTT.
func (r *run) mayRetry(l *lane, err error) bool {
	if l.fresh || !r.d.stream {
		return false
	}
	if errors.Is(err, errUnprocessed) {
		return true // RFC 9113, section 6.8
	}
	broken := isEOF(err) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	if w, ok := l.wire.(*mqttWire); ok {
		return broken && w.resume()
	}
	return broken && !l.bytes
}

// reason is a failure in words.
func (r *run) reason(l *lane, err error) string {
	when := "before a response"
	if l.bytes {
		when = "in mid-response"
	}
	switch {
	case errors.Is(err, errTimeout):
		return "no response within " + r.d.Timeout.String()
	case isEOF(err):
		return "connection closed " + when
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset " + when
	}
	return err.Error()
}

// connected tells a wire that greets on every connection that there is a new one.
func (l *lane) connected() {
	if w, ok := l.wire.(interface{ connected() }); ok {
		w.connected()
	}
}

// hangUp closes the lane's connection, if it has one.
func (l *lane) hangUp() {
	if l.pipe != nil {
		l.pipe.close()
		l.pipe = nil
	}
	if l.fd >= 0 {
		unix.Close(l.fd)
		l.fd = -1
	}
	if w, ok := l.wire.(interface{ hungUp() }); ok {
		w.hungUp()
	}
}
