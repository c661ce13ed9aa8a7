package lab

import (
	"cmp"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
)

// A recorder keeps one side's records: in the store, and as figures in the
// trial's accumulator. It is a stack.Sink. Its errors are the lab's own. The file is
// written beside the reading of more records and the end of the programs: finish waits for it.
type recorder struct {
	records *records
	side    int
	sums    *accumulator
	batch   []measure.Exchange
	file    *filing // nil: not begun, or finished
}

// A filing is a file of exchanges that a goroutine writes.
type filing struct {
	full    chan []measure.Exchange // to be written: both batches have room, lest the reader wait until the file is begun
	written chan filed
	ended   chan error
}

// A filed is a batch that may be filled again, and why it is not in the file.
type filed struct {
	batch []measure.Exchange
	err   error
}

const batchSize = 4096 // records

// begin makes room when the first record comes, so that only one side's are in memory.
func (k *recorder) begin() {
	if k.file != nil {
		return
	}
	k.file = &filing{full: make(chan []measure.Exchange, 2), written: make(chan filed, 2), ended: make(chan error, 1)}
	go k.file.write(k.file.full, k.records.attempt, sides[k.side])
	k.batch = k.newBatch()
	k.file.written <- filed{batch: k.newBatch()}
	k.sums.reserve(sides[k.side], k.records.setup.Requests, &k.records.lab.spare)
}

// newBatch has no more room than the trial's requests need.
func (k *recorder) newBatch() []measure.Exchange {
	n := batchSize
	if expected := k.records.setup.Requests; expected > 0 {
		n = min(n, expected)
	}
	return make([]measure.Exchange, 0, n)
}

// write writes batches until there are no more. f.full may be gone before it begins.
func (f *filing) write(full <-chan []measure.Exchange, a *store.Attempt, side measure.Side) {
	w, err := a.Exchanges(side)
	for batch := range full {
		if err == nil {
			err = w.Append(batch)
		}
		f.written <- filed{batch[:0], err}
	}
	if w != nil {
		err = cmp.Or(err, w.Close())
	}
	f.ended <- err
}

// Record takes the next record.
func (k *recorder) Record(x measure.Exchange) error {
	k.begin()
	k.sums.add(x)
	if l := k.records.late; l != nil && k.side == atClient {
		l.Add(x)
	}
	if s := k.records.schedule; s != nil && k.side == atClient {
		s.add(x)
	}
	if k.batch = append(k.batch, x); len(k.batch) < cap(k.batch) {
		return nil
	}
	return k.flush()
}

func (k *recorder) flush() error {
	k.file.full <- k.batch
	next := <-k.file.written
	k.batch = next.batch
	return labFault(next.err)
}

// End takes the figures of all records.
func (k *recorder) End(e stack.End) error {
	k.begin()
	k.file.full <- k.batch
	close(k.file.full)
	k.file.full, k.batch = nil, nil
	r := k.records
	r.ends[k.side] = e
	r.findings.results = append(r.findings.results, k.sums.results(sides[k.side])...)
	if k.side == atClient && r.setup.Joint() {
		k.sums.thirds = [2]float64{} // the records are in the order of the benches
	}
	if k.side == atClient {
		if err := r.devices.take(e, k.sums); err != nil {
			return err
		}
	}
	k.sums.release(&r.lab.spare)
	return nil
}

// finish ends the file, once, and says why it is not whole.
func (k *recorder) finish() error {
	if k.file == nil {
		return nil
	}
	if k.file.full != nil { // End was not called
		close(k.file.full)
	}
	err := <-k.file.ended
	k.file = nil
	return labFault(err)
}
