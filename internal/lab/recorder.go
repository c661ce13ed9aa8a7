package lab

import (
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
)

// A recorder keeps one side's records: in the store, and as figures in the
// trial's accumulator. It is a stack.Sink. Its errors are the lab's own.
type recorder struct {
	trial *trialRunner
	side  int
	sums  *accumulator
	w     *store.ExchangeWriter // nil: not begun, or closed
	batch []measure.Exchange
}

// recorder is that of one side, whose run begins now.
func (t *trialRunner) recorder(side int) *recorder {
	began := time.Now()
	k := &recorder{trial: t, side: side, sums: &t.course.sides[side]}
	k.sums.blind = t.setup.Options["hooks"] == "off" || t.existing()
	end, _, _ := t.side(side)
	_, k.sums.uncounted = t.lab.Stacks[end.Stack].Deviates[stack.CountsBytes]
	k.sums.check.unnumbered = k.sums.blind && side == atServer
	if side == atClient && t.setup.Rate > 0 && t.lab.MostLate > 0 {
		t.course.late = newLateness(t.setup.Concurrency)
	}
	k.sums.check.elapsed = func() time.Duration { return time.Since(began) }
	return k
}

const batchSize = 4096 // records

// begin makes room when the first record comes, so that only one side's are in memory.
func (k *recorder) begin() error {
	if k.w != nil {
		return nil
	}
	var err error
	if k.w, err = k.trial.attempt.Exchanges(sides[k.side]); err != nil {
		return labFault(err)
	}
	k.batch = make([]measure.Exchange, 0, batchSize)
	k.sums.reserve(sides[k.side], k.trial.setup.Requests, &k.trial.lab.spare)
	return nil
}

// Record takes the next record.
func (k *recorder) Record(x measure.Exchange) error {
	if err := k.begin(); err != nil {
		return err
	}
	k.sums.add(x)
	if l := k.trial.course.late; l != nil && k.side == atClient {
		l.add(x)
	}
	if k.batch = append(k.batch, x); len(k.batch) < batchSize {
		return nil
	}
	return k.flush()
}

func (k *recorder) flush() error {
	err := k.w.Append(k.batch)
	k.batch = k.batch[:0]
	return labFault(err)
}

// End takes the figures of all records.
func (k *recorder) End(e stack.End) error {
	if err := k.begin(); err != nil {
		return err
	}
	if err := k.flush(); err != nil {
		return err
	}
	w := k.w
	k.w = nil
	if err := w.Close(); err != nil {
		return labFault(err)
	}
	t := k.trial
	t.course.cpu[k.side], t.course.ends[k.side] = e.CPU, e
	t.findings.results = append(t.findings.results, k.sums.results(sides[k.side])...)
	if k.side == atClient && t.setup.Joint() {
		k.sums.thirds = [2]float64{} // the records are in the order of the benches
	}
	if k.side == atClient {
		if err := t.takePopulation(e, k.sums); err != nil {
			return err
		}
	}
	k.sums.release(&t.lab.spare)
	return nil
}

// close ends a file that was not finished.
func (k *recorder) close() {
	if k.w != nil {
		k.w.Close()
		k.w = nil
	}
}
