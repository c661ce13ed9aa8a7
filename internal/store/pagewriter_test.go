package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"edgegauge.example/edgegauge/internal/measure"
)

// byLibrary writes a file of exchanges with parquet-go's own writer, whose pages and row groups end where ours do.
func byLibrary(t *testing.T, to io.Writer, a *Attempt, side measure.Side, xs []measure.Exchange) {
	t.Helper()
	fields := keptFields()
	w := parquet.NewWriter(to, append(writerOptions("exchanges", a, side), exchangeSchema(fields),
		parquet.PageBufferSize(8<<20))...)
	var levels []int
	rows := 0
	for _, path := range w.Schema().Columns() {
		leaf, _ := w.Schema().Lookup(path...)
		levels = append(levels, leaf.MaxDefinitionLevel)
	}
	for page := range slices.Chunk(xs, pageRows) {
		columns := make([][]parquet.Value, len(levels))
		add := func(c int, v parquet.Value) {
			level := levels[c]
			if v.IsNull() {
				level = 0
			}
			columns[c] = append(columns[c], v.Level(0, level, c))
		}
		for _, x := range page {
			add(0, parquet.Int32Value(int32(a.Trial)))
			add(1, parquet.Int32Value(int32(a.Number)))
			add(2, parquet.ByteArrayValue([]byte(side)))
			add(3, parquet.Int64Value(int64(x.Seq)))
			for i, f := range fields {
				v := parquet.Int64Value(f.Value(&x))
				if p := f.Presence(side); p == measure.Never || p == measure.Nonzero && f.Value(&x) == 0 {
					v = parquet.Value{}
				}
				add(4+i, v)
			}
			why := parquet.Value{}
			if x.Failure != "" {
				why = parquet.ByteArrayValue([]byte(x.Failure))
			}
			add(4+len(fields), why)
		}
		for c, writer := range w.ColumnWriters() {
			must[int](t)(writer.WriteRowValues(columns[c]))
			ok(t, writer.Flush())
		}
		if rows += len(page); rows%rowGroup == 0 {
			ok(t, w.Flush())
		}
	}
	ok(t, w.Close())
}

// Files of exchanges are byte for byte those that parquet-go writes from rows.
func TestExchangesAreWrittenAsByTheLibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	different := func(i int) string { return fmt.Sprintf("%07d %s", i, strings.Repeat("x", 200)) }
	inStretches := func(i int) bool { return i/1000%3 == 1 || i/1000%3 == 2 && i%5 == 0 } // none, all, some
	for _, of := range []struct {
		rows       int
		failure    func(i int) string // nil: as exchanges has it
		connection func(i int) bool   // took a time; nil: none
	}{
		{rows: 0}, {rows: 1}, {rows: 17}, {rows: pageRows - 1}, {rows: pageRows}, {rows: pageRows + 1}, {rows: rowGroup},
		{rows: rowGroup + 2*pageRows + 5},
		{rows: 2*pageRows + 9, failure: func(int) string { return "" }},
		{rows: 2*pageRows + 9, failure: func(int) string { return "timeout" }},
		{rows: 100, failure: func(i int) string { return strings.Repeat("z", 40-i%40) }}, // longer than an index keeps
		{rows: rowGroup + pageRows, failure: different},                                  // more than a dictionary holds
		{rows: 3 * pageRows, failure: func(i int) string { return different(i)[:230*(i%7)/7] }},
		{rows: 2*pageRows + 9, connection: func(int) bool { return true }},
		{rows: 2*pageRows + 9, connection: func(i int) bool { return i == pageRows+777 }},
		{rows: 3*pageRows + 100, connection: inStretches, failure: func(i int) string {
			return map[bool]string{true: "timeout"}[inStretches(i+500)]
		}},
	} {
		s := create(t, 1)
		a := must[*Attempt](t)(s.Begin(1))
		xs := exchanges(of.rows, 7)
		for i := range xs {
			if of.failure != nil {
				xs[i].Failure = of.failure(i)
			}
			if of.connection != nil && of.connection(i) {
				xs[i].Connection = time.Duration(1000 + i%77)
			}
		}
		for side, xs := range map[measure.Side][]measure.Exchange{measure.Client: xs, measure.Server: served(xs)} {
			w := must[*ExchangeWriter](t)(a.Exchanges(side))
			for i, part := 0, 1; i < len(xs); part = part*3 + 1 {
				n := min(part, len(xs)-i)
				ok(t, w.Append(xs[i:i+n]))
				i += n
			}
			ok(t, w.Close())
			name := "0001-1-" + string(side) + ".parquet" + partialSuffix
			got := must[[]byte](t)(os.ReadFile(filepath.Join(s.Dir(), "exchanges", name)))
			var want bytes.Buffer
			if byLibrary(t, &want, a, side, xs); !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%d rows of the %s: got %d B, want %d B, the first that differs is at %d", len(xs), side, len(got),
					want.Len(), differ(got, want.Bytes()))
			}
		}
		ok(t, a.Commit(nil, nil))
	}
}

// Files that are written at the same time share what is the same in all of them, and nothing else.
func TestExchangesAreWrittenAtOnce(t *testing.T) {
	const trials = 3
	s := create(t, trials)
	attempts := make([]*Attempt, trials)
	for i := range attempts {
		attempts[i] = must[*Attempt](t)(s.Begin(i + 1))
	}
	xs := exchanges(2*pageRows, 7)
	of := map[measure.Side][]measure.Exchange{measure.Client: xs, measure.Server: served(xs)}
	var writing sync.WaitGroup
	for _, a := range attempts {
		for side, xs := range of {
			writing.Go(func() {
				w, err := a.Exchanges(side)
				if err == nil {
					err = errors.Join(w.Append(xs[:len(xs)/a.Trial]), w.Close())
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	writing.Wait()
	for _, a := range attempts {
		for side, xs := range of {
			name := fmt.Sprintf("000%d-1-%s.parquet%s", a.Trial, side, partialSuffix)
			got := must[[]byte](t)(os.ReadFile(filepath.Join(s.Dir(), "exchanges", name)))
			var want bytes.Buffer
			if byLibrary(t, &want, a, side, xs[:len(xs)/a.Trial]); !bytes.Equal(got, want.Bytes()) {
				t.Errorf("trial %d, %s: got %d B, want %d B, the first that differs is at %d", a.Trial, side, len(got),
					want.Len(), differ(got, want.Bytes()))
			}
		}
		ok(t, a.Commit(nil, nil))
	}
}

// differ is the place of the first byte that differs.
func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
