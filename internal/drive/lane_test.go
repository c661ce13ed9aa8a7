package drive

import (
	"testing"
	"time"
)

// clocked notes when it is started.
type clocked struct {
	floorConn
	at time.Duration
}

func (c *clocked) start(buf []byte, now time.Duration) error {
	c.at = now
	return c.floorConn.start(buf, now)
}

// A request is begun with the instant at which its body was made, which was read already, and sent behind it.
func TestRequestBeginsWhereSerializationEnds(t *testing.T) {
	s := &clocked{}
	r := &run{d: &Driver{target: &target{Spec: Spec{Timeout: time.Second}}}, call: Fixed("x")}
	r.base = time.Now()
	l := newLane(s, 0)
	if err := r.beginRequest(l, 1, 0, r.now()); err != nil {
		t.Fatal(err)
	}
	if ended := l.begin + time.Duration(l.row.ser); s.at != ended || l.row.sent < int64(ended) {
		t.Errorf("serialized by %v, begun at %v, sent at %v", ended, s.at, time.Duration(l.row.sent))
	}
}
