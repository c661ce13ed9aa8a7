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
	w       *parquet.Writer
	fields  []measure.Field
	columns [][]parquet.Value // a batch of each; what is the same in all rows stands there
	fixed   []bool            // likewise
	group   int               // rows of the row group under way
}

// Exchanges opens exchanges/NNNN-A-side.parquet.
func (a *Attempt) Exchanges(side measure.Side) (*ExchangeWriter, error) {
	out, err := a.raw("exchanges", Source{Side: side, Method: Measured}, string(side), ".parquet")
	if err != nil {
		return nil, err
	}
	fields := keptFields()
	w := &ExchangeWriter{out: out, fields: fields, columns: make([][]parquet.Value, firstField+len(fields)+1),
		fixed: make([]bool, firstField+len(fields)+1)}
	w.w = parquet.NewWriter(out, append(writerOptions("exchanges", a, side), exchangeSchema(fields))...)
	for c := range w.columns {
		w.columns[c] = make([]parquet.Value, batchRows)
	}
	w.fix(trialColumn, parquet.Int32Value(int32(a.Trial)))
	w.fix(attemptColumn, parquet.Int32Value(int32(a.Number)))
	w.fix(sideColumn, parquet.ByteArrayValue([]byte(side)))
	for i := range fields {
		if fields[i].Presence(side) == measure.Never {
			w.fix(firstField+i, parquet.Value{})
		}
	}
	return w, nil
}

// fix gives a column one value for all rows.
func (w *ExchangeWriter) fix(c int, v parquet.Value) {
	w.fixed[c] = true
	for i := range w.columns[c] {
		w.columns[c][i] = v.Level(0, 0, c)
	}
}

// Append adds exchanges, in any number at a time; it keeps none of xs. After an
// error the file is lost: Close returns the same error.
//
// Note: column by column, since rows would be taken apart again; that took half of the time.
func (w *ExchangeWriter) Append(xs []measure.Exchange) error {
	for len(xs) > 0 && w.out.err == nil {
		n := min(len(xs), batchRows, rowGroup-w.group)
		for c, writer := range w.w.ColumnWriters() {
			if !w.fixed[c] {
				w.set(c, xs[:n])
			}
			_, err := writer.WriteRowValues(w.columns[c][:n])
			w.out.note(err)
		}
		if w.group += n; w.group == rowGroup {
			w.out.note(w.w.Flush())
			w.group = 0
		}
		w.out.rec.rows += int64(n)
		xs = xs[n:]
	}
	return w.out.err
}

// set takes a column of exchanges.
func (w *ExchangeWriter) set(c int, xs []measure.Exchange) {
	to := w.columns[c][:len(xs)]
	switch {
	case c == seqColumn:
		for i := range xs {
			to[i] = parquet.Int64Value(int64(xs[i].Seq))
		}
	case c == firstField+len(w.fields):
		for i := range xs {
			to[i] = parquet.Value{}
			if why := xs[i].Failure; why != "" {
				to[i] = parquet.ByteArrayValue([]byte(why)).Level(0, 1, c)
			}
		}
	default:
		f := &w.fields[c-firstField]
		level, nonzero := 0, f.Presence(w.out.rec.source.Side) == measure.Nonzero
		if f.Optional() {
			level = 1
		}
		for i := range xs {
			switch v := f.Value(&xs[i]); {
			case nonzero && v == 0:
				to[i] = parquet.Value{}
			case level == 0:
				to[i] = parquet.Int64Value(v)
			default:
				to[i] = parquet.Int64Value(v).Level(0, level, c)
			}
		}
	}
}

// Close finishes the file.
func (w *ExchangeWriter) Close() error {
	w.out.note(w.w.Close())
	return w.out.Close()
}
