package lab

import (
	"context"
	"time"

	"edgegauge.example/edgegauge/internal/device/rpc"
	"edgegauge.example/edgegauge/internal/kernel"
)

// An offset is how far another machine's monotonic clock is ahead of ours, and by how much that may
// be wrong.
type offset struct{ Ahead, Bound time.Duration }

// clockExchanges is how many messages an offset is taken from: the quickest of many was delayed least.
const clockExchanges = 64

// measureOffset asks another machine for its clock. The answer was given at some instant between
// question and answer; nothing is said about which, so the bound is half of the time between them.
func measureOffset(ctx context.Context, to *rpc.Conn) (offset, error) {
	var best offset
	for i := range clockExchanges {
		var there time.Duration
		from := kernel.Monotonic()
		if err := to.Call(ctx, opClock, nil, &there); err != nil {
			return best, err
		}
		until := kernel.Monotonic()
		if bound := (until - from + 1) / 2; i == 0 || bound < best.Bound {
			best = offset{there - (from + bound), bound}
		}
	}
	return best, nil
}

// at is when a helper's client was told to begin, on our clock.
func (h *helping) at() time.Duration { return h.began.At - h.before.Ahead }

// bound is how much that may be wrong: by the exchange of messages, and by what the clocks have
// drifted from before the run until after it.
func (h *helping) bound() time.Duration {
	return h.before.Bound + max(0, (h.after.Ahead-h.before.Ahead).Abs()-h.after.Bound)
}

// farthest is the largest difference there may be between the instants at which two benches began: ours is known on our
// clock, those of two helpers each within their bounds.
func (j *joint) farthest() time.Duration {
	var most time.Duration
	for i, h := range j.helpers {
		most = max(most, (h.at()-j.began).Abs()+h.bound())
		for _, other := range j.helpers[:i] {
			most = max(most, (h.at()-other.at()).Abs()+h.bound()+other.bound())
		}
	}
	return most
}
