package store

import (
	"strconv"

	"github.com/parquet-go/parquet-go"

	"edgegauge/internal/measure"
)

// exchangeRow is a row of exchanges/*.parquet. Pointers are columns that may be
// null: what this side did not see is absent, never 0.
//
// Note: pandas, DuckDB and R know a trial's treatment from plan.csv, by trial.
type exchangeRow struct {
	Trial           int32  `parquet:"trial"`
	Attempt         int32  `parquet:"attempt"`
	Side            string `parquet:"side,dict"`
	Seq             int64  `parquet:"seq"`
	Due             *int64 `parquet:"due_ns"`
	Sent            *int64 `parquet:"sent_ns"`
	Done            *int64 `parquet:"done_ns"`
	Connection      *int64 `parquet:"connection_ns"`
	Serialization   int64  `parquet:"serialization_ns"`
	Processing      *int64 `parquet:"processing_ns"`
	Sensor          *int64 `parquet:"sensor_ns"`
	Deserialization int64  `parquet:"deserialization_ns"`
	Total           int64  `parquet:"total_ns"`
	Out             int64  `parquet:"out_B"`
	In              int64  `parquet:"in_B"`
	Failure         string `parquet:"failure,optional,dict"`
}

// Row groups and pages bound a writer's memory to a few MB whatever the number
// of requests. 128 Ki rows is what DuckDB reads in parallel (122,880 or more).
const (
	rowGroup   = 1 << 17
	batchRows  = 1024
	pageBytes  = 128 << 10
	dictionary = 1 << 20 // a failure text per request must not grow without end
)

// writerOptions: delta encoding shrinks instants, which only rise, and makes
// constant columns vanish (11.8 B a row against 72 B plain). Compressing on top
// gains 2 % and costs a third of the writing, so there is none.
func writerOptions(kind string, a *Attempt, side measure.Side) []parquet.WriterOption {
	return []parquet.WriterOption{
		parquet.Compression(&parquet.Uncompressed),
		parquet.DefaultEncodingFor(parquet.Int32, &parquet.DeltaBinaryPacked),
		parquet.DefaultEncodingFor(parquet.Int64, &parquet.DeltaBinaryPacked),
		parquet.MaxRowsPerRowGroup(rowGroup),
		parquet.PageBufferSize(pageBytes),
		parquet.DictionaryMaxBytes(dictionary),
		parquet.CreatedBy("edgegauge", strconv.Itoa(Format), ""),
		parquet.KeyValueMetadata("edgegauge.format", strconv.Itoa(Format)),
		parquet.KeyValueMetadata("edgegauge.kind", kind),
		parquet.KeyValueMetadata("edgegauge.trial", strconv.Itoa(a.Trial)),
		parquet.KeyValueMetadata("edgegauge.attempt", strconv.Itoa(a.Number)),
		parquet.KeyValueMetadata("edgegauge.side", string(side)),
	}
}

// An ExchangeWriter writes one side's exchanges of one attempt. Close it before
// the attempt is committed.
type ExchangeWriter struct {
	out *rawWriter
	w   *parquet.GenericWriter[exchangeRow]
	row [batchRows]exchangeRow
}

// Exchanges opens exchanges/NNNN-A-side.parquet.
func (a *Attempt) Exchanges(side measure.Side) (*ExchangeWriter, error) {
	out, err := a.raw("exchanges", Source{Side: side, Method: Measured}, string(side), ".parquet")
	if err != nil {
		return nil, err
	}
	w := &ExchangeWriter{out: out, w: parquet.NewGenericWriter[exchangeRow](out, writerOptions("exchanges", a, side)...)}
	for i := range w.row {
		w.row[i] = exchangeRow{Trial: int32(a.Trial), Attempt: int32(a.Number), Side: string(side)}
	}
	return w, nil
}

// Append adds exchanges, in any number at a time; it keeps none of xs. After an
// error the file is lost: Close returns the same error.
func (w *ExchangeWriter) Append(xs []measure.Exchange) error {
	for len(xs) > 0 && w.out.err == nil {
		n := min(len(xs), batchRows)
		for i := range xs[:n] {
			w.row[i].set(&xs[i], w.out.rec.source.Side == measure.Client)
		}
		_, err := w.w.Write(w.row[:n])
		w.out.note(err)
		w.out.rec.rows += int64(n)
		xs = xs[n:]
	}
	return w.out.err
}

// set points into x instead of copying, which the caller's slice outlives.
func (r *exchangeRow) set(x *measure.Exchange, client bool) {
	r.Due, r.Sent, r.Done, r.Processing, r.Sensor, r.Connection = nil, nil, nil, nil, nil, nil
	if client {
		r.Due, r.Sent = (*int64)(&x.Due), (*int64)(&x.Sent)
	}
	if x.Done != 0 {
		r.Done = (*int64)(&x.Done)
	}
	if !client || x.Processing != 0 {
		r.Processing = (*int64)(&x.Processing)
	}
	if x.Sensor != 0 {
		r.Sensor = (*int64)(&x.Sensor)
	}
	if x.Connection != 0 {
		r.Connection = (*int64)(&x.Connection)
	}
	r.Seq = int64(x.Seq)
	r.Serialization, r.Deserialization, r.Total = int64(x.Serialization), int64(x.Deserialization), int64(x.Total)
	r.Out, r.In = x.Out, x.In
	r.Failure = x.Failure
}

// Close finishes the file.
func (w *ExchangeWriter) Close() error {
	w.out.note(w.w.Close())
	return w.out.Close()
}
