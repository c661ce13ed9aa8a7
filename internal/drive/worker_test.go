package drive

import (
	"slices"
	"testing"
	"time"
)

// A mute is a stream without a server: every request is answered at once.
type mute struct {
	closing time.Duration
	closed  []time.Time
}

func (*mute) headroom() int                     { return 0 }
func (*mute) start([]byte, time.Duration) error { return nil }
func (*mute) reply() (int, []byte)              { return 200, nil }
func (*mute) open(*run, time.Duration) error    { return nil }
func (*mute) closeConn()                        {}

func (*mute) converse(r *run, l *lane) error {
	l.row.done = int64(r.now())
	return nil
}

func (m *mute) hungUp() {
	time.Sleep(m.closing)
	m.closed = append(m.closed, time.Now())
}

// muted is a run of a load over lanes that a mute has each. It began an hour ago.
func muted(load Load, connection string, streams ...*mute) *run {
	load.Record = true
	d := &Driver{target: &target{Spec: Spec{Timeout: time.Minute, Connection: connection}}}
	for i, m := range streams {
		d.lanes = append(d.lanes, newLane(m, i))
	}
	rec := newRecord()
	r := &run{d: d, call: Fixed("x"), record: rec, keeps: true, quality: &rec.Quality}
	r.base = time.Now().Add(-time.Hour)
	r.feed = newFeed(load, rec)
	return r
}

// One connection finds the run over, and another, which was free a moment before its end, does not: no row is left that
// nothing happened in. It would be a request that was answered in no time.
func TestNoRowWithoutARequest(t *testing.T) {
	const end = time.Minute
	r := muted(Load{Schedule: ClosedLoop(0, 0), For: end}, KeepAlive, new(mute), new(mute))
	defer r.feed.stop()
	r.shared = true
	r.d.lanes[0].free, r.d.lanes[1].free = end, end-1
	for _, l := range r.d.lanes {
		r.drudge(l)
	}
	xs := slices.Collect(r.record.Exchanges())
	if len(xs) != 1 || xs[0].Seq != 1 || xs[0].Due != end-1 || xs[0].Done < time.Hour {
		t.Errorf("got %+v", xs)
	}
	if n, failed, _ := r.record.Ended(); n != 1 || failed != 0 {
		t.Errorf("%d ended, %d failed", n, failed)
	}
}

// To close the connection that was for one request alone is no part of the next one's response time.
func TestClosingIsOfNoRequest(t *testing.T) {
	m := &mute{closing: 20 * time.Millisecond}
	r := muted(Load{Schedule: ClosedLoop(3, 0)}, PerRequest, m)
	r.block(r.d.lanes[0])
	xs := slices.Collect(r.record.Exchanges())
	for i := 1; i < len(xs); i++ {
		if closed := m.closed[i-1].Sub(r.base); xs[i].Due < closed {
			t.Errorf("request %d is due at %v; the connection before it was closed at %v", i+1, xs[i].Due, closed)
		}
	}
	if len(xs) != 3 {
		t.Errorf("got %+v", xs)
	}
}

// A forgetful stream knows what it sent again until its connection is closed.
type forgetful struct {
	mute
	again int
}

func (f *forgetful) retransmitted() int { return f.again }
func (f *forgetful) hungUp()            { f.again = -1 }

// What a request that failed was sent again is counted.
func TestRetransmissionsOfFailedRequestsAreCounted(t *testing.T) {
	f := &forgetful{again: 3}
	r := muted(Load{Schedule: ClosedLoop(1, 0)}, KeepAlive)
	e := &events{run: r, free: newRing(1), busy: 1}
	l := newLane(f, 0)
	l.seq, l.started = 1, true
	e.fail(l, errTimeout)
	if n := r.quality.Retransmissions; n != 3 {
		t.Errorf("%d sent again, want 3", n)
	}
}
