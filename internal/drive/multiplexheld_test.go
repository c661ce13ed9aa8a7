package drive

import (
	"cmp"
	"encoding/binary"
	"net"
	"slices"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// fewStreams takes so many streams at once, and says so. It answers the oldest when all are open, and the rest when
// so many requests have come as a run has.
func fewStreams(t *testing.T, most, requests int) string {
	var open []uint32
	seen := 0
	return http2Peer(t, func(conn net.Conn, _ int, stream uint32) {
		var out []byte
		if stream == 1 {
			out = binary.BigEndian.AppendUint16(appendFrame(nil, 6, frameSettings, 0, 0), settingStreams)
			out = binary.BigEndian.AppendUint32(out, uint32(most))
		}
		open, seen = append(open, stream), seen+1
		now := 0
		switch {
		case seen%requests == 0:
			now = len(open)
		case len(open) >= most:
			now = len(open) - most + 1
		}
		for _, s := range open[:now] {
			out = append(out, http2OK(s)...)
		}
		open = open[now:]
		conn.Write(out)
	})
}

// most is how many requests were in flight at once, by their records.
func most(xs []measure.Exchange) int {
	type change struct {
		at time.Duration
		by int
	}
	var all []change
	for _, x := range xs {
		all = append(all, change{x.Sent, 1}, change{x.Done, -1})
	}
	slices.SortFunc(all, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), a.by-b.by) })
	now, top := 0, 0
	for _, c := range all {
		now += c.by
		top = max(top, now)
	}
	return top
}

// What a request waits at the client, since the server takes no more streams, is no part of its RTT: by the records no
// more are in flight than the server takes. It is connection, and in the total.
func TestMultiplexWaitsForAStreamOutsideTheRTT(t *testing.T) {
	const streams, requests = 10, 300
	for _, tt := range []struct {
		inFlight int
		schedule Schedule
	}{{1, ClosedLoop(requests, 0)}, {10, ClosedLoop(requests, 0)}, {11, ClosedLoop(requests, 0)},
		{100, ClosedLoop(requests, 0)}, {100, Constant(1e6, requests, 0)}} {
		record := runMultiplexed(t, Spec{URL: fewStreams(t, min(streams, tt.inFlight), requests),
			Concurrency: tt.inFlight}, Load{Schedule: tt.schedule, Record: true}, Fixed("x"))
		xs := slices.Collect(record.Exchanges())
		sound(t, xs)
		if len(xs) != requests || record.Quality.Reconnects+record.Quality.Repetitions > 0 {
			t.Fatalf("%d in flight: %d requests, %d connections made anew, %d sent again", tt.inFlight, len(xs),
				record.Quality.Reconnects, record.Quality.Repetitions)
		}
		if got := most(xs); got > streams {
			t.Errorf("%d in flight: %d at once by their records, of a server that takes %d", tt.inFlight, got, streams)
		}
		waited := 0
		for _, x := range xs {
			if x.Connection > 0 {
				waited++
			}
			if x.Connection+x.Serialization+x.RTT()+x.Deserialization > x.Total ||
				x.Sent-x.Connection-x.Serialization < x.Due {
				t.Errorf("%d in flight: request %d: %+v", tt.inFlight, x.Seq, x)
			}
		}
		if tt.inFlight <= streams && waited > 0 || tt.inFlight > streams && waited == 0 {
			t.Errorf("%d in flight, %d streams: %d requests waited", tt.inFlight, streams, waited)
		}
	}
}

// A request that was refused keeps the instant of its first attempt, and one that finds a stream at once its own.
func TestOnlyWhatWaitedForAStreamIsStampedAnew(t *testing.T) {
	r := &run{d: &Driver{target: &target{}}, quality: &DriverStats{}}
	r.base = time.Now().Add(-time.Second)
	m := &multiplexer{events: events{run: r}, muxConn: &muxConn{w: newHTTP2Conn(Spec{}, "http", "h", "/"), most: 3},
		waiting: newRing(3), flight: map[uint32]*lane{}, held: 2}
	m.fd = 1 << 30 // nothing is sent
	for i, again := range []bool{false, true, false} {
		s := &muxStream{buf: []byte("x")}
		l := newLane(s, i)
		l.seq, l.again, l.row.sent = uint64(i)+1, again, 1000
		m.streams = append(m.streams, s)
		m.waiting.push(l)
	}
	m.open()
	if len(m.flight) != 3 {
		t.Fatalf("%d streams, want 3", len(m.flight))
	}
	for id, l := range m.flight {
		waited := l.seq == 1
		if (l.row.connection > 0) != waited || l.row.sent != 1000+l.row.connection || l.opening != 0 {
			t.Errorf("stream %d: sent %d, connection %d", id, l.row.sent, l.row.connection)
		}
	}
}
