package lab

import (
	"cmp"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
)

// records are those of both sides of a trial. Each side has a recorder, which keeps them in the store and sums them up.
type records struct {
	task
	attempt  *store.Attempt
	devices  *devices
	findings *findings // of the trial
	tallies
	recorders []*recorder // of the recorded run: their files may still be written
}

// tallies are what both sides' records come to.
type tallies struct {
	sides [2]accumulator
	ends  [2]stack.End // what the programs said at the end of their records
	late  *Lateness    // of the client under open load; nil: the load is none
	// schedule is that of a client under open load; nil: the load is none, or is of many devices.
	schedule *schedule
}

// recorder is that of one side, whose run begins now.
func (r *records) recorder(side int, run stack.Run) *recorder {
	began := time.Now()
	k := &recorder{records: r, side: side, sums: &r.sides[side]}
	k.sums.blind = r.setup.Options["hooks"] == "off" || existing(r.setup)
	end, _, _ := r.side(side)
	_, k.sums.uncounted = r.lab.Stacks[end.Stack].Deviates[stack.CountsBytes]
	k.sums.check.unnumbered = k.sums.blind && side == atServer
	if side == atClient && r.setup.Rate > 0 {
		r.late = NewLateness(r.setup.Concurrency, r.mostLate())
	}
	if side == atClient && !populated(r.setup) {
		r.schedule = newSchedule(run)
	}
	k.sums.check.elapsed = func() time.Duration { return time.Since(began) }
	r.recorders = append(r.recorders, k)
	return k
}

// finish waits until both sides' records are in their files, and says why they are not whole.
func (r *records) finish() (err error) {
	for _, k := range r.recorders {
		err = cmp.Or(err, k.finish())
	}
	return err
}

// release gives the memory of both sides' values back.
func (r *records) release() {
	for i := range r.sides {
		r.sides[i].release(&r.lab.spare)
	}
}
