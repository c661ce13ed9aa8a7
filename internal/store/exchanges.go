package store

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"edgegauge.example/edgegauge/internal/measure"
)

// Columns that exchanges/*.parquet has besides those of measure.Fields.
const (
	trialColumn = iota
	attemptColumn
	sideColumn
	seqColumn
	firstField // then one column for each kept field, then failure
)

// keptFields are the fields that have a column, in the order of the columns.
func keptFields() []measure.Field {
	return slices.DeleteFunc(slices.Clone(measure.Fields), func(f measure.Field) bool { return !f.Kept() })
}

// exchangeSchema describes exchanges/*.parquet. Columns that may be null are
// optional: what this side did not see is absent, never 0.
//
// Note: pandas, DuckDB and R know a trial's treatment from plan.csv, by trial.
// Note: a struct type made at run time keeps the columns in order; parquet.Group
// would sort them by name.
func exchangeSchema(fields []measure.Field) *parquet.Schema {
	row := []reflect.StructField{
		column("Trial", int32(0), "trial"), column("Attempt", int32(0), "attempt"),
		column("Side", "", "side,dict"), column("Seq", int64(0), "seq"),
	}
	for i, f := range fields {
		tag := f.Column
		if f.Optional() {
			tag += ",optional"
		}
		row = append(row, column("F"+strconv.Itoa(i), int64(0), tag))
	}
	row = append(row, column("Failure", "", "failure,optional,dict"))
	return parquet.NewSchema("exchangeRow", parquet.SchemaOf(reflect.New(reflect.StructOf(row)).Interface()))
}

func column(name string, kind any, tag string) reflect.StructField {
	return reflect.StructField{Name: name, Type: reflect.TypeOf(kind), Tag: reflect.StructTag(`parquet:"` + tag + `"`)}
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
	//lint:ignore SA1019 the generic writer wants a Go type; these columns come from measure.Fields
	w      *parquet.Writer
	fields []measure.Field
	rows   []parquet.Row
}

// Exchanges opens exchanges/NNNN-A-side.parquet.
func (a *Attempt) Exchanges(side measure.Side) (*ExchangeWriter, error) {
	out, err := a.raw("exchanges", Source{Side: side, Method: Measured}, string(side), ".parquet")
	if err != nil {
		return nil, err
	}
	w := &ExchangeWriter{out: out, fields: keptFields(), rows: make([]parquet.Row, batchRows)}
	w.w = parquet.NewWriter(out, append(writerOptions("exchanges", a, side), exchangeSchema(w.fields))...)
	width := firstField + len(w.fields) + 1
	values := make([]parquet.Value, batchRows*width)
	for i := range w.rows {
		row := values[i*width : (i+1)*width : (i+1)*width]
		row[trialColumn] = parquet.Int32Value(int32(a.Trial)).Level(0, 0, trialColumn)
		row[attemptColumn] = parquet.Int32Value(int32(a.Number)).Level(0, 0, attemptColumn)
		row[sideColumn] = parquet.ByteArrayValue([]byte(side)).Level(0, 0, sideColumn)
		w.rows[i] = row
	}
	return w, nil
}

// Append adds exchanges, in any number at a time; it keeps none of xs. After an
// error the file is lost: Close returns the same error.
func (w *ExchangeWriter) Append(xs []measure.Exchange) error {
	for len(xs) > 0 && w.out.err == nil {
		n := min(len(xs), batchRows)
		for i := range xs[:n] {
			w.set(w.rows[i], &xs[i])
		}
		_, err := w.w.WriteRows(w.rows[:n])
		w.out.note(err)
		w.out.rec.rows += int64(n)
		xs = xs[n:]
	}
	return w.out.err
}

// set makes x a row.
func (w *ExchangeWriter) set(row parquet.Row, x *measure.Exchange) {
	side := w.out.rec.source.Side
	row[seqColumn] = parquet.Int64Value(int64(x.Seq)).Level(0, 0, seqColumn)
	for i := range w.fields {
		f, c := &w.fields[i], firstField+i
		v, level := f.Value(x), 0
		if f.Optional() {
			level = 1
		}
		if p := f.Presence(side); p == measure.Never || p == measure.Nonzero && v == 0 {
			row[c] = parquet.Value{}.Level(0, 0, c)
			continue
		}
		row[c] = parquet.Int64Value(v).Level(0, level, c)
	}
	c := firstField + len(w.fields)
	row[c] = parquet.Value{}.Level(0, 0, c)
	if x.Failure != "" {
		row[c] = parquet.ByteArrayValue([]byte(x.Failure)).Level(0, 1, c)
	}
}

// Close finishes the file.
func (w *ExchangeWriter) Close() error {
	w.out.note(w.w.Close())
	return w.out.Close()
}
