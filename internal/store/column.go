package store

import (
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"edgegauge/internal/measure"
)

// Columns reads single columns of one side's exchanges, without making rows.
type Columns struct {
	f        *rawFile
	side     measure.Side
	answered []bool // by row: no failure and, at the client, a response
	n        int    // rows answered
}

// Columns opens one side's exchanges of a trial's valid attempt. Close it.
func (s *Store) Columns(trial int, side measure.Side) (*Columns, error) {
	f, err := s.openRaw("exchanges", trial, Source{Side: side})
	if err != nil {
		return nil, err
	}
	c, err := newColumns(f, side)
	if err != nil {
		f.Close()
		return nil, err
	}
	return c, nil
}

func newColumns(f *rawFile, side measure.Side) (*Columns, error) {
	c := &Columns{f: f, side: side}
	failed, err := f.present("failure")
	if err != nil {
		return nil, err
	}
	done := failed
	if side == measure.Client {
		if done, err = f.present("done_ns"); err != nil {
			return nil, err
		}
	}
	if len(done) != len(failed) {
		return nil, f.unreadable(io.ErrUnexpectedEOF)
	}
	c.answered = failed
	for i := range failed {
		c.answered[i] = !failed[i] && (side != measure.Client || done[i])
		if c.answered[i] {
			c.n++
		}
	}
	return c, nil
}

// Close releases the file.
func (c *Columns) Close() error { return c.f.Close() }

// Rows is the number of exchanges recorded, Answered how many of them got a
// right response; the others failed.
func (c *Columns) Rows() int     { return len(c.answered) }
func (c *Columns) Answered() int { return c.n }

// responses names what Read knows, and the columns it is made of.
var responses = map[string][]string{
	"seq": {"seq"}, "due": {"due_ns"}, "sent": {"sent_ns"}, "done": {"done_ns"},
	"serialization": {"serialization_ns"}, "processing": {"processing_ns"}, "sensor": {"sensor_ns"}, "deserialization": {"deserialization_ns"},
	"total": {"total_ns"}, "connection": {"connection_ns"}, "out": {"out_B"}, "in": {"in_B"},
	"rtt": {"done_ns", "sent_ns"}, "response": {"done_ns", "due_ns"},
}

// Read appends to dst one value for each answered exchange, in order of
// recording: ns, or B for "out" and "in". Names are those of measure.Exchange
// in lower case, "rtt" and "response". What this side does not see is ErrNoData.
func (c *Columns) Read(dst []int64, name string) ([]int64, error) {
	columns, ok := responses[name]
	if !ok {
		return dst, fail(ErrNoData, "%s: exchanges have no %q", c.f.name, name)
	}
	start := len(dst)
	dst = slices.Grow(dst, c.n)
	n, err := c.each(columns[0], func(_ int, v int64) { dst = append(dst, v) })
	if err == nil && len(columns) > 1 {
		from := dst[start:]
		n, err = c.each(columns[1], func(i int, v int64) { from[i] -= v })
	}
	if err == nil && n != c.n {
		err = fail(ErrNoData, "%s: the %s does not see %q", c.f.name, c.side, name)
	}
	if err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// each calls f with the values of the answered rows, numbered from 0, and
// returns their number; rows where the column is null are passed over.
func (c *Columns) each(column string, f func(i int, v int64)) (n int, err error) {
	row := 0
	err = c.f.pages(column, func(p parquet.Page) {
		data, levels := p.Data(), p.DefinitionLevels()
		values := data.Int64()
		if len(levels) == 0 { // a required column
			for i, v := range values {
				if c.answered[row+i] {
					f(n, v)
					n++
				}
			}
			row += len(values)
			return
		}
		k := 0
		for i, level := range levels {
			if level == 0 {
				continue
			}
			if c.answered[row+i] {
				f(n, values[k])
				n++
			}
			k++
		}
		row += len(levels)
	})
	if err == nil && row != len(c.answered) {
		err = c.f.unreadable(io.ErrUnexpectedEOF)
	}
	return n, err
}

// present tells for each row whether an optional column has a value there.
func (f *rawFile) present(column string) ([]bool, error) {
	var all []bool
	err := f.pages(column, func(p parquet.Page) {
		for _, level := range p.DefinitionLevels() {
			all = append(all, level > 0)
		}
	})
	if err == nil && int64(len(all)) != f.NumRows() {
		err = f.unreadable(io.ErrUnexpectedEOF)
	}
	return all, err
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
