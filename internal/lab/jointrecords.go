package lab

import (
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
)

// A jointSink is the records of one bench's client on their way to the trial's.
type jointSink struct {
	*recorder
	joint *joint
	other bool          // not ours: the trial's records do not end with these
	shift time.Duration // how much later than the first this bench began
	base  uint64        // the last seq of the benches before
	n     int
	last  time.Duration
	end   stack.End
}

// Record takes the next record. Instants count from when the first bench began.
func (s *jointSink) Record(x measure.Exchange) error {
	if s.n == 0 {
		s.base = s.recorder.sums.check.highest
		if l := s.recorder.records.late; l != nil {
			l.anew()
		}
		if of := s.recorder.records.schedule; of != nil {
			of.anew(s.shift, s.base)
		}
	}
	s.count(x)
	if x.Seq > 0 && x.Seq <= highestSeq {
		x.Seq += s.base
	}
	for _, at := range []*time.Duration{&x.Due, &x.Sent, &x.Done} {
		if at != &x.Done || *at > 0 { // a request without an answer has none
			*at += s.shift
		}
	}
	return s.recorder.Record(x)
}

// count notes that a request was over, answered or not.
func (s *jointSink) count(x measure.Exchange) {
	at, _ := x.Ended()
	s.n, s.last = s.n+1, max(s.last, at)
}

// End ends the records of one bench.
func (s *jointSink) End(e stack.End) error {
	s.end = e
	if s.other {
		return nil
	}
	return s.recorder.End(s.joint.end(e))
}
