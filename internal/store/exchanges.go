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
	pageRows   = 1 << 14 // of exchanges, a whole part of rowGroup
	batchRows  = 1024
	cachedRows = 128 // fit, with all their columns, in a CPU's first cache
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
		parquet.KeyValueMetadata(trialKey, strconv.Itoa(a.Trial)),
		parquet.KeyValueMetadata(attemptKey, strconv.Itoa(a.Number)),
		parquet.KeyValueMetadata(sideKey, string(side)),
	}
}

// Keys of a file's metadata that say of what it is.
const trialKey, attemptKey, sideKey = "edgegauge.trial", "edgegauge.attempt", "edgegauge.side"

// An exchangeLayout is that of all files of exchanges, whose making takes longer than to write a short trial's.
type exchangeLayout struct {
	*layout
	fields []measure.Field
}

func newExchangeLayout() (exchangeLayout, error) {
	fields := keptFields()
	l, err := newLayout(exchangeSchema(fields), writerOptions("exchanges", new(Attempt), ""))
	return exchangeLayout{l, fields}, err
}

// An ExchangeWriter writes one side's exchanges of one attempt. Close it before
// the attempt is committed.
type ExchangeWriter struct {
	out    *rawWriter
	w      *pageWriter
	fields []measure.Field
}

// Exchanges opens exchanges/NNNN-A-side.parquet.
func (a *Attempt) Exchanges(side measure.Side) (*ExchangeWriter, error) {
	out, err := a.raw("exchanges", Source{Side: side, Method: Measured}, string(side), ".parquet")
	if err != nil {
		return nil, err
	}
	l, err := a.s.exchangeLayout()
	if err != nil {
		return nil, err
	}
	w := &ExchangeWriter{out: out, fields: l.fields}
	told := map[string]string{trialKey: strconv.Itoa(a.Trial), attemptKey: strconv.Itoa(a.Number), sideKey: string(side)}
	if w.w, err = newPageWriter(out, l.layout, told); err != nil {
		return nil, err
	}
	w.w.columns[trialColumn].fix(parquet.Int32Value(int32(a.Trial)))
	w.w.columns[attemptColumn].fix(parquet.Int32Value(int32(a.Number)))
	w.w.columns[sideColumn].fix(parquet.ByteArrayValue([]byte(side)))
	for i := range w.fields {
		if w.fields[i].Presence(side) == measure.Never {
			w.w.columns[firstField+i].fix(parquet.Value{})
		}
	}
	return w, nil
}

// Append adds exchanges, in any number at a time; it keeps none of xs. After an
// error the file is lost: Close returns the same error.
//
// Note: column by column of so few rows that all columns find them in the CPU's first cache.
func (w *ExchangeWriter) Append(xs []measure.Exchange) error {
	for len(xs) > 0 && w.out.err == nil {
		n := min(len(xs), cachedRows, w.w.room())
		for c, to := range w.w.columns {
			if !to.constant {
				w.out.note(w.add(c, to, xs[:n]))
			}
		}
		w.out.note(w.w.endRows(n))
		w.out.rec.rows += int64(n)
		xs = xs[n:]
	}
	return w.out.err
}

// add takes a column of exchanges.
func (w *ExchangeWriter) add(c int, to *columnPages, xs []measure.Exchange) error {
	if c == firstField+len(w.fields) {
		return to.addFailures(xs)
	}
	k := len(to.numbers)
	numbers := withRoom(to.numbers, len(xs))[:k+len(xs)]
	if c == seqColumn {
		for i := range xs {
			numbers[k+i] = int64(xs[i].Seq)
		}
		to.numbers = numbers
		return nil
	}
	f := &w.fields[c-firstField]
	f.Take(numbers[k:], xs)
	switch to.numbers = numbers; {
	case f.Presence(w.out.rec.source.Side) == measure.Nonzero:
		to.addSeen(k)
	case to.optional:
		to.levels = append(to.levels, ones[:len(xs)]...)
	}
	return nil
}

// Close finishes the file.
func (w *ExchangeWriter) Close() error {
	if w.out.err == nil {
		w.out.note(w.w.close())
	}
	return w.out.Close()
}
