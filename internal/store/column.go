package store

import (
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"edgegauge.example/edgegauge/internal/measure"
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

// Rows is the number of exchanges recorded.
func (c *Columns) Rows() int { return len(c.answered) }

// Answered is how many of them got a right response; the others failed.
func (c *Columns) Answered() int { return c.n }

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
	clear(dst[start:])
	for i, column := range columns {
		if _, there := c.f.Schema().Lookup(column); rare && !there {
			return dst[:start], fail(ErrNoData, "%s: older than the column %q", c.f.name, column)
		}
		if err := c.add(dst[start:], column, 1-2*int64(i)); err != nil {
			return dst[:start], err
		}
	}
	return dst, nil
}

// add adds a column's values, times sign, to those of the answered rows.
func (c *Columns) add(to []int64, column string, sign int64) error {
	n, err := c.each(column, func(at int, values []int64) {
		to := to[at : at+len(values)]
		for i, v := range values {
			to[i] += sign * v
		}
	})
	if err == nil && n == 0 && c.n > 0 {
		err = fail(ErrNoData, "%s: the %s does not record %q", c.f.name, c.side, column)
	}
	return err
}

// each calls f with the values of the answered rows, numbered from 0, and
// returns how many there were; rows where the column is null are passed over.
func (c *Columns) each(column string, f func(at int, values []int64)) (n int, err error) {
	row, answered := 0, 0
	all := c.n == len(c.answered)
	err = c.f.pages(column, func(p parquet.Page) {
		data, levels := p.Data(), p.DefinitionLevels()
		values := data.Int64()
		rows := len(levels)
		if rows == 0 { // a required column
			rows = len(values)
		}
		if all && rows == len(values) { // as nearly always: no row failed, and none is null
			f(answered, values)
			n, answered, row = n+rows, answered+rows, row+rows
			return
		}
		k := 0
		for i := range rows {
			there := len(levels) == 0 || levels[i] > 0
			if c.answered[row] {
				if there {
					f(answered, values[k:k+1])
					n++
				}
				answered++
			}
			if there {
				k++
			}
			row++
		}
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
