package store

import (
	"bytes"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/parquet-go/parquet-go"

	"edgegauge.example/edgegauge/internal/measure"
)

// Columns reads single columns of one side's exchanges, without making rows.
type Columns struct {
	f    *rawFile
	side measure.Side
	rows int // recorded
	n    int // answered
	*answered
	spare *sync.Pool // to which Close gives them, so that the next has their memory
}

// answered says which rows were answered, and when.
type answered struct {
	lost []byte  // by row; 0: answered, which is no failure and, at the client, a response
	done []int64 // by answered row, at the client: which these are, and two responses, follow from it
}

// Columns opens one side's exchanges of a trial's valid attempt. Close it.
func (s *Store) Columns(trial int, side measure.Side) (*Columns, error) {
	f, err := s.openRaw("exchanges", trial, Source{Side: side})
	if err != nil {
		return nil, err
	}
	c, err := newColumns(f, side, &s.answered)
	if err != nil {
		f.Close()
		return nil, err
	}
	return c, nil
}

func newColumns(f *rawFile, side measure.Side, spare *sync.Pool) (*Columns, error) {
	a, ok := spare.Get().(*answered)
	if !ok {
		a = &answered{}
	}
	a.lost, a.done = a.lost[:0], a.done[:0]
	c := &Columns{f: f, side: side, answered: a, spare: spare}
	err := f.optional("failure", func(levels []byte, _ parquet.Page) { c.lost = append(c.lost, levels...) })
	if err == nil && side == measure.Client {
		err = c.readDone()
	}
	if err != nil {
		return nil, err
	}
	c.rows, c.n = len(c.lost), bytes.Count(c.lost, []byte{0})
	return c, nil
}

// readDone reads, once, when responses came. Where none did, nothing was answered.
func (c *Columns) readDone() error {
	row := 0
	return c.f.optional("done_ns", func(levels []byte, p parquet.Page) {
		data, lost := p.Data(), c.lost[row:row+len(levels)]
		values := data.Int64()
		row += len(levels)
		for i := range positions(levels, 0) {
			lost[i] = 1
		}
		k := 0
		for begin, end := range stretches(lost) {
			c.done = append(c.done, values[k:k+end-begin]...)
			if k += end - begin; end < len(levels) {
				k += int(levels[end]) // a wrong answer came then
			}
		}
	})
}

// positions are the places of a byte in b.
func positions(b []byte, of byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; ; i++ {
			next := bytes.IndexByte(b[i:], of)
			if i += next; next < 0 || !yield(i) {
				return
			}
		}
	}
}

// stretches are the rows of which none is lost, from one to before another: before each row that is lost, and behind
// the last. Some are empty.
func stretches(lost []byte) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		begin := 0
		for i := range positions(lost, 1) {
			if !yield(begin, i) {
				return
			}
			begin = i + 1
		}
		yield(begin, len(lost))
	}
}

// Close releases the file. Afterwards only Rows and Answered are still known.
func (c *Columns) Close() error {
	if c.answered != nil {
		c.spare.Put(c.answered)
		c.answered = nil
	}
	return c.f.Close()
}

// Rows is the number of exchanges recorded.
func (c *Columns) Rows() int { return c.rows }

// Answered is how many of them got a right response; the others failed.
func (c *Columns) Answered() int { return c.n }

// Failures counts why exchanges failed, in the words of this side. Those that say nothing, and had no response, are not
// among them.
func (c *Columns) Failures() (map[string]int, error) {
	all, values := map[string]int{}, make([]parquet.Value, batchRows)
	var unread error
	err := c.f.pages("failure", func(p parquet.Page) {
		if p.NumNulls() == p.NumValues() {
			return
		}
		for reader := p.Values(); ; {
			n, err := reader.ReadValues(values)
			for _, v := range values[:n] {
				if !v.IsNull() {
					all[string(v.ByteArray())]++
				}
			}
			if err != nil {
				if err != io.EOF {
					unread = err
				}
				return
			}
		}
	})
	if err == nil && unread != nil {
		err = c.f.unreadable(unread)
	}
	return all, err
}

// sources names the columns that the values Read is asked for are made of: one,
// or two whose difference it is. A file older than a rare field lacks its column.
func sources(name string) (columns []string, rare, ok bool) {
	if name == "seq" {
		return []string{"seq"}, false, true
	}
	f, ok := measure.FindField(name)
	switch {
	case !ok:
		return nil, false, false
	case f.Kept():
		return []string{f.Column}, f.Rare(), true
	}
	to, _ := measure.FindField(f.To)
	from, _ := measure.FindField(f.From)
	return []string{to.Column, from.Column}, false, true
}

// Read appends to dst one value for each answered exchange, in order of
// recording: ns, or B for "out" and "in". Names are those of measure.Fields, and
// "seq". What this side does not see, in any of them, is ErrNoData; where it saw
// some only, the others are 0.
func (c *Columns) Read(dst []int64, name string) ([]int64, error) {
	columns, rare, ok := sources(name)
	if !ok {
		return dst, fail(ErrNoData, "%s: exchanges have no column %q", c.f.name, name)
	}
	start := len(dst)
	dst = slices.Grow(dst, c.n)[:start+c.n]
	var from []int64
	for i, column := range columns {
		if _, there := c.f.Schema().Lookup(column); rare && !there {
			return dst[:start], fail(ErrNoData, "%s: older than the column %q", c.f.name, column)
		}
		if column == "done_ns" && c.side == measure.Client && i < len(columns)-1 {
			from = c.done // as it is: the next is taken from it
			continue
		}
		if err := c.take(dst[start:], column, from); err != nil {
			return dst[:start], err
		}
		from = dst[start:]
	}
	return dst, nil
}

// take sets to to a column's values in the answered rows, those that are null being 0, or, unless from is nil, to from
// less these. From may be to. The rows between two that are lost are taken at once.
func (c *Columns) take(to []int64, column string, from []int64) error {
	if column == "done_ns" && c.side == measure.Client {
		put(to, c.done, from)
		return nil
	}
	row, answered, n := 0, 0, 0
	next := func(values []int64) {
		of := from
		if of != nil {
			of = of[answered : answered+len(values)]
		}
		put(to[answered:answered+len(values)], values, of)
		answered += len(values)
	}
	err := c.f.pages(column, func(p parquet.Page) {
		data, levels := p.Data(), p.DefinitionLevels()
		values := data.Int64()
		rows := len(levels)
		if rows == 0 { // a required column
			rows = len(values)
		}
		lost := c.lost[row : row+rows]
		if row += rows; rows == len(values) {
			for begin, end := range stretches(lost) {
				next(values[begin:end])
				n += end - begin
			}
			return
		}
		k := 0
		var one [1]int64 // 0 where it is null
		for i, level := range levels {
			if one[0] = 0; level > 0 {
				one[0] = values[k]
				k++
			}
			if lost[i] == 0 {
				next(one[:])
				n += int(level)
			}
		}
	})
	switch {
	case err != nil:
		return err
	case row != len(c.lost):
		return c.f.unreadable(io.ErrUnexpectedEOF)
	case n == 0 && c.n > 0:
		return fail(ErrNoData, "%s: the %s does not record %q", c.f.name, c.side, column)
	}
	return nil
}

// put sets to to values, as many, or, unless from is nil, to from less these.
func put(to, values, from []int64) {
	if from == nil {
		copy(to, values)
		return
	}
	to, from = to[:len(values)], from[:len(values)]
	for i, v := range values {
		to[i] = from[i] - v
	}
}

// optional calls see with the levels of an optional column, page by page: by row, 0 if it has no value there.
func (f *rawFile) optional(column string, see func(levels []byte, p parquet.Page)) error {
	rows := int64(0)
	err := f.pages(column, func(p parquet.Page) {
		see(p.DefinitionLevels(), p)
		rows += int64(len(p.DefinitionLevels()))
	})
	if err == nil && rows != f.NumRows() {
		err = f.unreadable(io.ErrUnexpectedEOF)
	}
	return err
}

// pages calls see with each page of a column. A page is only good meanwhile.
func (f *rawFile) pages(column string, see func(parquet.Page)) (err error) {
	defer refuse(f.name, &err)
	leaf, ok := f.Schema().Lookup(column)
	if !ok {
		return fail(ErrCorrupt, "%s: has no column %q; restore it from a copy", f.name, column)
	}
	for _, group := range f.RowGroups() {
		if err := eachPage(group.ColumnChunks()[leaf.ColumnIndex], see); err != nil {
			return f.unreadable(err)
		}
	}
	return nil
}

func eachPage(chunk parquet.ColumnChunk, see func(parquet.Page)) error {
	pages := chunk.Pages()
	defer pages.Close()
	for {
		p, err := pages.ReadPage()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		see(p)
		parquet.Release(p)
	}
}
