// Package drive sends requests when they are due and keeps the instants. It
// does not judge latencies, start servers or know what a message means.
//
// It is made to be the floor of what a client can cost: one locked thread, raw
// system calls, no garbage collection while measuring, clock reads around
// every phase. It runs in a child process of its own (Main, Exec), or inside a
// stack's client that is such a child:
//
//	d, err := drive.Dial(ctx, drive.Spec{URL: "http://127.0.0.1:8080/echo"})
//	warm, err := d.Run(ctx, drive.Load{Schedule: drive.ClosedLoop(200, 0)}, call)
//	record, err := d.Run(ctx, drive.Load{Schedule: drive.ClosedLoop(10_000, 0), Record: true}, call)
//	for exchange := range record.Exchanges() { … }
//
// Who moves the bytes depends on what is asked (Driver.engine):
//
//	one connection, TCP, UDP or TLS   blocking calls: the fastest there is
//	many connections, TCP or UDP      one thread, epoll
//	one connection, many in flight    one thread, poll
//	many with TLS, all DTLS           a goroutine a connection, package net
//	HTTP/3                            a goroutine a request in flight, and quic-go's own
package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/drive/tally"
	"edgegauge.example/edgegauge/internal/protocol/mqtt"
)

// A Driver holds connections to one server. It survives several runs, one at a
// time.
type Driver struct {
	*target
	lanes   []*lane
	secret  *secret    // TLS, DTLS, QUIC
	mux     *muxConn   // HTTP/2 multiplexed: the one connection
	quic    *http3Conn // HTTP/3 multiplexed: likewise
	settled bool       // CoAP over TCP: what the server says of itself was waited for
	sharing sync.Mutex // guards quic
}

// A Load is what a run sends.
type Load struct {
	Schedule Schedule      // must end by itself if For is 0
	For      time.Duration // nothing is taken up that is due at or after it; 0: no limit
	Record   bool          // keep every exchange; false: warm-up, only counted
	Silence  time.Duration // as in a Job
}

// Dial checks s, resolves its host and, unless each request brings its own,
// makes the connections.
func Dial(ctx context.Context, s Spec) (*Driver, error) { return DialTelling(ctx, s, nil) }

// DialTelling is Dial that tells once a second, while connections are made, how far
// they are. Another goroutine calls tell, and no longer when DialTelling returns.
func DialTelling(ctx context.Context, s Spec, tell func(Dialing)) (*Driver, error) {
	t, err := s.check(ctx)
	if err != nil {
		return nil, err
	}
	// A blocked raw call holds its P; without a second one nothing else, not
	// even the end of ctx, gets through.
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 2)) // and it stays so: runs come later
	d := &Driver{target: t}
	if d.secret, err = newSecret(t); err != nil {
		return nil, fmt.Errorf("%s: %w", s.URL, err)
	}
	for i := range t.Concurrency {
		stream, err := d.newStream(i)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.URL, err)
		}
		d.lanes = append(d.lanes, newLane(stream, i))
	}
	r := &run{ctx: ctx, d: d, quality: &DriverStats{}}
	defer r.watch(ctx)()
	if t.Connection == PerRequest {
		d.presettle(r)
		return d, nil
	}
	lanes := d.lanes
	if t.Connection == Pipelined || t.Connection == Multiplexed {
		lanes = lanes[:1] // they share its connection
	}
	way := &dialing{to: t.addr.String(), all: len(lanes), began: time.Now()}
	defer way.telling(tell)()
	for _, l := range lanes {
		if err := d.connect(r, l, way); err != nil {
			d.Close()
			advice := connectAdvice(t.scheme, err, way)
			if isEOF(err) {
				err = errHungUp
			}
			return nil, fmt.Errorf("%s: connect to %v: %w%s", s.URL, t.addr, err, advice)
		}
		way.open.Add(1)
	}
	return d, nil
}

var (
	errHungUp      = errors.New("the server closed the connection")
	errQUICVersion = errors.New("the server speaks no version of QUIC that edgegauge speaks")
)

// connectAdvice says what may help where no connection came about.
func connectAdvice(scheme string, err error, way *dialing) string {
	if advice := adviceOnTLS(scheme, err); advice != "" {
		return advice
	}
	switch {
	case errors.Is(err, errQUICVersion):
		return ""
	case errors.Is(err, errAlert):
		return "; it may not know this identity or this key"
	}
	if refusal := new(mqtt.Refusal); errors.As(err, &refusal) {
		switch {
		case refusal.OtherVersion():
			return "; ask it by the other version of MQTT: " + MQTT5 + " or " + MQTT311
		case refusal.NoLogin():
			return "; edgegauge has no user name and no password to tell it"
		}
		return ""
	}
	if state := way.state(); state.Open > 0 {
		return "; " + state.String()
	}
	if isEOF(err) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, mqtt.ErrMalformed) {
		return "; it listens there, but may not speak " + scheme
	}
	if scheme == "coaps" { // whoever does not know a key says nothing
		return "; is the server up, and does it know this identity and this key?"
	}
	return "; is the server up?"
}

// newStream makes what lane number i speaks.
func (d *Driver) newStream(i int) (stream, error) {
	switch d.scheme {
	case "http", "https":
		switch {
		case d.Protocol == HTTP3:
			return d.newHTTP3Stream(i)
		case d.Connection == Multiplexed:
			return &muxStream{grpc: d.Protocol == GRPC}, nil
		case d.Protocol == HTTP1:
			return newHTTPConn(d.Spec, d.host, d.path), nil
		}
		return newHTTP2Conn(d.Spec, d.scheme, d.host, d.path), nil
	case "coap", "coaps":
		return newCoAPConn(d.target, uint64(i))
	case "coap+tcp":
		return newCoAPTCPConn(d.target, uint64(i))
	case "mqtt", "mqtts":
		return newMQTTConn(d.target), nil
	}
	return newFloorConn(d.Answer, d.scheme == "udp"), nil
}

// connect makes a lane's connection before any request, within the timeout.
func (d *Driver) connect(r *run, l *lane, way *dialing) error {
	began := r.now()
	l.by = began + d.Timeout
	if err := way.connect(r, l); err != nil {
		return err
	}
	if _, err := r.greet(l); err != nil {
		l.hangUp()
		return err
	}
	if err := d.settle(r, l, r.now()-began); err != nil {
		l.hangUp() // as if nobody had waited: a request makes another connection, or fails
		return nil
	}
	l.fresh = false
	if e := d.engine(); e == withEpoll || e == withPipeline || e == withStreams {
		raw := l.pipe.(*rawPipe)
		l.pipe, l.fd = nil, raw.fd
		return unix.SetNonblock(l.fd, true)
	}
	return nil
}

// Close closes the connections.
func (d *Driver) Close() error {
	for _, l := range d.lanes {
		l.hangUp()
		if l.mover != nil {
			l.mover.closeConn()
		}
	}
	d.endSessions()
	return nil
}

type engine uint8

const (
	blocking engine = iota
	withEpoll
	withGoroutines
	withPipeline
	withStreams
)

func (d *Driver) engine() engine {
	switch {
	case d.Connection == Pipelined:
		return withPipeline
	case d.Connection == Multiplexed && d.Protocol != HTTP3:
		return withStreams
	case d.Protocol == HTTP3:
		return withGoroutines
	case d.scheme == "coaps" || d.secure() && d.Concurrency > 1:
		return withGoroutines
	case d.Concurrency > 1:
		return withEpoll
	}
	return blocking
}

// A run is one Run of a Driver.
type run struct {
	pacer
	ctx      context.Context
	d        *Driver
	call     Call
	checker  Checker  // the call, if it is one
	preparer Preparer // likewise
	record   *Record
	keeps    bool
	silence  time.Duration // as in a Job
	silent   error         // that it was so long
	feed     feed
	quality  *DriverStats
	late     tally.Histogram
	last     time.Duration // end of the last exchange
	patience time.Duration // with a connection of TCP, while connections are made before any request; 0: until the end
	begun    uint64        // requests, of several goroutines
	shared   bool          // several goroutines: mu guards call, record, feed, quality, late, begun
	mu       sync.Mutex
}

// Run sends what is due and returns what became of it. A failed request is
// data, not an error. When ctx ends, requests under way fail, and the record so
// far is returned with ctx's error.
func (d *Driver) Run(ctx context.Context, load Load, call Call) (*Record, error) {
	rec := newRecord()
	r := &run{ctx: ctx, d: d, call: call, record: rec, keeps: load.Record, silence: load.Silence,
		quality: &rec.Quality}
	engine := d.engine()
	r.checker, _ = call.(Checker)
	r.preparer, _ = call.(Preparer)
	if r.preparer != nil && d.Concurrency > 1 {
		return nil, errors.New("drive: prepared requests use one connection; set concurrency 1")
	}
	if r.shared = engine == withGoroutines; !r.shared {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		sharpen()
	}
	r.feed = newFeed(load, rec)
	defer r.feed.stop()
	defer quiet(d.Memory)()
	rec.Quality.place()
	before := effortNow()
	rec.growing = true
	r.start()
	defer r.watch(ctx)()
	var err error
	switch engine {
	case blocking:
		r.block(d.lanes[0])
	case withEpoll:
		err = r.epoll()
	case withGoroutines:
		r.work()
	case withPipeline:
		r.pipelined()
	case withStreams:
		r.multiplexed()
	}
	rec.Quality.since(before)
	rec.Quality.Elapsed, rec.Quality.Spin = r.last, r.spun
	rec.Quality.LatenessP50, rec.Quality.LatenessP99 = r.late.Quantile(0.5), r.late.Quantile(0.99)
	rec.Quality.LatenessMax = r.late.Max()
	return rec, cmp.Or(err, ctx.Err(), r.silent)
}

// start sets the run's instant 0 and says where it lies on the system's clocks.
func (r *run) start() {
	var mono, wall unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono)
	r.base = time.Now()
	unix.ClockGettime(unix.CLOCK_REALTIME, &wall)
	r.quality.StartedMonotonic, r.quality.StartedReal = time.Duration(mono.Nano()), time.Duration(wall.Nano())
	for _, l := range r.d.lanes {
		l.free, l.unsure = 0, true
	}
}

// watch lets the run see that ctx has ended.
func (r *run) watch(ctx context.Context) func() {
	if r.base.IsZero() {
		r.base = time.Now()
	}
	stop := context.AfterFunc(ctx, func() { r.stop.Store(true) })
	return func() { stop() }
}

// quiet turns garbage collection off, up to extra bytes of new heap, and
// returns what turns it on again.
func quiet(extra int64) func() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	limit := debug.SetMemoryLimit(int64(m.Sys-m.HeapReleased) + extra)
	percent := debug.SetGCPercent(-1)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// keep notes the outcome of the request on l.
func (r *run) keep(l *lane, err error) {
	if r.shared {
		r.mu.Lock()
		defer r.mu.Unlock()
	}
	r.last = max(r.last, l.free)
	if l.retransmitter != nil && l.started { // else it counts those of the request before
		r.quality.Retransmissions += l.retransmitter.retransmitted()
	}
	if err == nil && l.doubter != nil && l.doubter.doubtful() {
		r.quality.Unsure++
	}
	r.record.ended++
	if err != nil {
		why := r.reason(l, err)
		l.row.failure = r.record.reasons.Of(why)
		r.record.failed, r.record.first = r.record.failed+1, cmp.Or(r.record.first, why)
	}
	if !r.record.heard {
		r.listen(l, err)
	}
	if !r.keeps {
		return
	}
	r.record.put(int(l.seq)-1, &l.row)
}

// lateness notes how late the driver itself took up a request that was due at
// an instant, on a lane free since another.
func (r *run) lateness(due, free, now time.Duration) {
	if due >= 0 {
		r.late.Add(now - max(due, free))
	}
}
