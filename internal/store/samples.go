package store

import (
	"iter"
	"time"

	"github.com/parquet-go/parquet-go"

	"edgegauge.example/edgegauge/internal/measure"
)

// sampleRow is a row of samples/*.parquet.
type sampleRow struct {
	Trial      int32   `parquet:"trial"`
	Attempt    int32   `parquet:"attempt"`
	Side       string  `parquet:"side,dict"`
	Instrument string  `parquet:"instrument,dict"`
	Method     string  `parquet:"method,dict"`
	Quantity   string  `parquet:"quantity,dict"`
	Unit       string  `parquet:"unit,dict"`
	At         int64   `parquet:"at_ns"`
	Value      float64 `parquet:"value"`
	Seq        int64   `parquet:"seq,optional"` // 0, no request, is null
}

// A SampleWriter writes what one instrument read in one attempt.
type SampleWriter struct {
	out *rawWriter
	w   *parquet.GenericWriter[sampleRow]
	row [batchRows]sampleRow
}

// Samples opens samples/NNNN-A-side-instrument.parquet. Two instruments on one
// side need two names.
func (a *Attempt) Samples(src Source) (*SampleWriter, error) {
	out, err := a.raw("samples", src, string(src.Side)+"-"+src.Instrument, ".parquet")
	if err != nil {
		return nil, err
	}
	options := append(writerOptions("samples", a, src.Side),
		parquet.KeyValueMetadata("edgegauge.instrument", src.Instrument),
		parquet.KeyValueMetadata("edgegauge.method", string(src.Method)))
	w := &SampleWriter{out: out, w: parquet.NewGenericWriter[sampleRow](out, options...)}
	for i := range w.row {
		w.row[i] = sampleRow{Trial: int32(a.Trial), Attempt: int32(a.Number), Side: string(src.Side),
			Instrument: src.Instrument, Method: string(src.Method)}
	}
	return w, nil
}

// Append adds samples; it keeps none of xs.
func (w *SampleWriter) Append(xs []measure.Sample) error {
	for len(xs) > 0 && w.out.err == nil {
		n := min(len(xs), batchRows)
		for i, x := range xs[:n] {
			r := &w.row[i]
			r.Quantity, r.Unit, r.At, r.Value, r.Seq = x.Quantity.Name, x.Quantity.Unit, int64(x.At), x.Value, int64(x.Seq)
		}
		_, err := w.w.Write(w.row[:n])
		w.out.note(err)
		w.out.rec.rows += int64(n)
		xs = xs[n:]
	}
	return w.out.err
}

// Close finishes the file.
func (w *SampleWriter) Close() error {
	w.out.note(w.w.Close())
	return w.out.Close()
}

// Sources lists the instruments that have samples of a trial's valid attempt.
func (s *Store) Sources(trial int) ([]Source, error) {
	rows, err := s.db.Query(`SELECT side, instrument, f.method FROM files f JOIN attempts a USING (trial, attempt)
		WHERE trial = ? AND kind = 'samples' AND a.state = 'valid' ORDER BY side, instrument`, trial)
	if err != nil {
		return nil, s.word(err)
	}
	defer rows.Close()
	var all []Source
	for rows.Next() {
		var src Source
		if err := rows.Scan(&src.Side, &src.Instrument, &src.Method); err != nil {
			return nil, s.word(err)
		}
		all = append(all, src)
	}
	return all, s.word(rows.Err())
}

// Samples iterates what one instrument read in a trial's valid attempt, in
// batches that are only good until the next.
func (s *Store) Samples(trial int, src Source) iter.Seq2[[]measure.Sample, error] {
	return func(yield func([]measure.Sample, error) bool) {
		f, err := s.openRaw("samples", trial, src)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		batch := make([]measure.Sample, 0, batchRows)
		for rows, err := range eachBatch[sampleRow](f) {
			batch = batch[:0]
			for _, r := range rows {
				batch = append(batch, measure.Sample{Quantity: measure.Quantity{Name: r.Quantity, Unit: r.Unit},
					At: time.Duration(r.At), Value: r.Value, Seq: uint64(r.Seq)})
			}
			if !yield(batch, err) || err != nil {
				return
			}
		}
	}
}
