package drive

import (
	"cmp"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/protocol/mqtt"
)

var (
	errTimeout error = lateError{}
	errStopped       = errors.New("stopped before a response")
)

// A lateError is a net.Error, so that crypto/tls goes on after it.
type lateError struct{}

func (lateError) Error() string   { return "no response in time" }
func (lateError) Timeout() bool   { return true }
func (lateError) Temporary() bool { return true }

// A lane is one connection and the request on it, or a place in flight on a
// connection that lanes share.
type lane struct {
	stream stream
	conn   conn // the same; nil: its bytes are moved by others
	abilities
	buf     []byte // headroom, then the body being sent
	seq     uint64
	row     row
	begin   time.Duration // before serialization
	by      time.Duration // the request fails if it has no response by then
	free    time.Duration // when the request before was over
	opening time.Duration // when opening a connection for this request began; 0: none is being opened
	started bool          // the stream has taken the request up
	unsure  bool          // nobody has looked at the connection since the run before
	fresh   bool          // the connection was made for this very request
	again   bool          // this is not the request's first attempt
	written bool          // of the request, bytes were or may have been sent
	bytes   bool          // of the response have come

	pipe pipe // blocking engines: the connection; nil: none

	out []byte // what the peer has not taken so far of what is being sent

	// The epoll engine's.
	fd      int    // -1: none
	number  int    // index in lanes
	watched uint32 // events
	pending bool   // connecting
	busy    bool
	wake    time.Duration
}

func newLane(s stream, number int) *lane {
	l := &lane{fd: -1, number: number, stream: s, abilities: abilitiesOf(s)}
	l.conn, _ = s.(conn)
	l.buf = make([]byte, s.headroom(), s.headroom()+4096)
	return l
}

// beginRequest takes up request seq at instant now: serializes and frames it.
// An error is the request's failure.
func (r *run) beginRequest(l *lane, seq uint64, due, now time.Duration) error {
	l.seq, l.begin, l.bytes, l.written, l.again, l.opening = seq, now, false, false, false, 0
	l.row, l.started = row{due: int64(due)}, false
	room := l.stream.headroom()
	body, encoded, err := r.encode(l, now, l.buf[:room])
	if err != nil {
		return err
	}
	if len(body) < room {
		return errors.New("Encode returned less than it was given; it must append to the buffer")
	}
	if len(body)-room > MostBody {
		return errors.New("request larger than 1 GiB")
	}
	l.buf = body
	l.row.out = uint32(len(body) - room)
	l.started = true
	if err := l.stream.start(body, encoded); err != nil {
		return err
	}
	sent := r.now() // Subtle: before the write; opened moves it behind a connect if there is one to make
	l.row.sent, l.by = int64(sent), sent+r.d.Timeout
	return nil
}

// opened takes what opening a connection took out of the RTT. It does not move
// the end of the request's time, and what a second attempt takes stays in the RTT.
func (r *run) opened(l *lane) {
	if l.opening != 0 && !l.again {
		took := int64(r.now() - l.opening)
		l.row.sent += took
		l.row.connection += took
	}
	l.opening = 0
}

// encode calls the application and times it; now was just read. It returns when it ended.
func (r *run) encode(l *lane, now time.Duration, buf []byte) ([]byte, time.Duration, error) {
	if r.shared {
		r.mu.Lock()
		defer r.mu.Unlock()
		now = r.now()
	}
	body, err := r.call.Encode(l.seq, buf)
	end := r.now()
	l.row.ser = int64(end - now)
	return body, end, err
}

// decode likewise; it returns when it ended.
func (r *run) decode(l *lane) (time.Duration, error) {
	if r.shared {
		r.mu.Lock()
		defer r.mu.Unlock()
	}
	status, body := l.stream.reply()
	l.row.in = uint32(len(body))
	before := r.now()
	err := r.call.Decode(l.seq, status, body)
	end := r.now()
	l.row.deser = int64(end - before)
	l.row.total = int64(end - l.begin)
	if err != nil && l.faulter != nil && errors.As(err, new(statusError)) {
		err = cmp.Or(l.faulter.fault(), err)
	}
	if r.checker != nil && err == nil {
		err = r.checker.Check(l.seq)
		end = r.now() // the next request is not late because this answer was long to check
	}
	return end, err
}

// finish judges the response, keeps the row and frees the lane. err is why
// there is no response. One that came after the timeout does not count,
// whichever engine received it: some wait a little longer than others.
func (r *run) finish(l *lane, err error) {
	if err == nil && l.row.done > int64(l.by) {
		err = errTimeout
	}
	if err == nil {
		l.fresh = false
		l.free, err = r.decode(l)
	} else {
		l.row.done, l.free = 0, r.now()
		l.row.total = int64(l.free - l.begin)
	}
	r.keep(l, err)
}

// mayRepeat says whether the request on l, whose connection broke, may go over
// another one. The time lost stays in its RTT.
//
// Nothing of a response has come, and the connection was there before the
// request: the server may merely have closed one that was idle (RFC 9112,
// section 9.3.1). Even so, what is not idempotent goes again only if none of it
// was sent, or if the server says that it did not take it up (RFC 9110, section
// 9.2.2; RFC 9113, section 8.7; RFC 9114, section 4.1.1). MQTT has rules of its own.
func (r *run) mayRepeat(l *lane, err error) bool {
	if l.fresh {
		return false
	}
	if errors.Is(err, errUnprocessed) {
		return true
	}
	if errors.Is(err, errRefused) || err == errRejected && !l.bytes {
		return !l.again // else one on a connection that goes on could be refused for ever
	}
	if refusal := new(mqtt.Refusal); errors.As(err, &refusal) && refusal.Ends() {
		return l.resumer != nil && l.resumer.resume()
	}
	if !r.d.connected() || !isEOF(err) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		return false
	}
	if l.resumer != nil {
		return l.resumer.resume()
	}
	return !l.bytes && (!l.written || r.d.idempotent())
}

// outlives says whether the connection of l goes on after the request on it has failed, or was refused, by err. Bytes
// left to send are half a frame of it.
func (r *run) outlives(l *lane, err error) bool {
	return l.survivor != nil && r.d.Connection != PerRequest && len(l.out) == 0 && l.survivor.outlives(err)
}

// again readies l for sending its request once more, and counts that, unless
// nothing of it had been sent or the protocol counts for itself.
func (r *run) again(l *lane) error {
	if l.written && l.resumer == nil {
		r.count(&r.quality.Repetitions)
	}
	l.written, l.bytes, l.again = false, false, true
	return l.stream.start(l.buf, r.now())
}

// count adds one to a counter of the run's quality.
func (r *run) count(n *int) {
	if r.shared {
		r.mu.Lock()
		defer r.mu.Unlock()
	}
	*n++
}

// reason is a failure in words.
func (r *run) reason(l *lane, err error) string {
	when := "before a response"
	if l.bytes {
		when = "in mid-response"
	}
	if errors.Is(err, coap.ErrTooLarge) || errors.Is(err, mqtt.ErrTooLong) {
		err = tooLarge(r.d.MostBody)
	}
	switch {
	case errors.As(err, new(tooLargeError)) && r.d.Limit != "":
		return fmt.Sprintf("%v (%s)", err, r.d.Limit)
	case errors.Is(err, errTimeout):
		text := "no response within " + r.d.Timeout.String()
		if l.guesser != nil && !l.bytes {
			text += l.guesser.guess()
		}
		return text
	case isEOF(err):
		return "connection closed " + when + l.leaving()
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset " + when + l.leaving()
	}
	return err.Error()
}

// leaving is what the peer said of the end of the connection.
func (l *lane) leaving() string {
	if l.quitter == nil {
		return ""
	}
	return l.quitter.leaving()
}

// received notes that the stream was given bytes.
func (l *lane) received() { l.bytes = l.answerer == nil || l.answerer.answering() }

// connected tells a protocol that speaks first that there is a new connection.
func (l *lane) connected() {
	if l.opener != nil {
		l.opener.connected()
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
	l.out = nil
	if l.ender != nil {
		l.ender.hungUp()
	}
}
