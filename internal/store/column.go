package store

import (
	"bytes"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"edgegauge.example/edgegauge/internal/measure"
)

// Columns reads single columns of one side's exchanges, without making rows.
type Columns struct {
	f    *rawFile
	side measure.Side
	lost []byte // by row; 0: answered, which is no failure and, at the client, a response
	n    int    // rows answered
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
	if err := f.levels("failure", func(levels []byte) { c.lost = append(c.lost, levels...) }); err != nil {
		return nil, err
	}
	if side == measure.Client {
		row := 0
		err := f.levels("done_ns", func(levels []byte) {
			if bytes.IndexByte(levels, 0) >= 0 {
				for i, level := range levels {
					if level == 0 {
						c.lost[row+i] = 1
					}
				}
			}
			row += len(levels)
		})
		if err != nil {
			return nil, err
		}
	}
	c.n = bytes.Count(c.lost, []byte{0})
	return c, nil
}

// Close releases the file.
func (c *Columns) Close() error { return c.f.Close() }

// Rows is the number of exchanges recorded.
func (c *Columns) Rows() int { return len(c.lost) }

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
	for i, column := range columns {
		if _, there := c.f.Schema().Lookup(column); rare && !there {
			return dst[:start], fail(ErrNoData, "%s: older than the column %q", c.f.name, column)
		}
		if err := c.take(dst[start:], column, i > 0); err != nil {
			return dst[:start], err
		}
	}
	return dst, nil
}

// take sets to to a column's values in the answered rows, or subtracts them; those that are null are 0.
func (c *Columns) take(to []int64, column string, subtract bool) error {
	row, answered, n := 0, 0, 0
	all := c.n == len(c.lost)
	err := c.f.pages(column, func(p parquet.Page) {
		data, levels := p.Data(), p.DefinitionLevels()
		values := data.Int64()
		rows := len(levels)
		if rows == 0 { // a required column
			rows = len(values)
		}
		if all && rows == len(values) { // as nearly always: no row failed, and none is null
			if to := to[row : row+rows]; subtract {
				for i, v := range values {
					to[i] -= v
				}
			} else {
				copy(to, values)
			}
			n, answered, row = n+rows, answered+rows, row+rows
			return
		}
		k := 0
		for i, lost := range c.lost[row : row+rows] {
			var v int64
			there := len(levels) == 0 || levels[i] > 0
			if there {
				v = values[k]
				k++
			}
			if lost != 0 {
				continue
			}
			if subtract {
				to[answered] -= v
			} else {
				to[answered] = v
			}
			if answered++; there {
				n++
			}
		}
		row += rows
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

// levels calls see with the levels of an optional column, page by page: by row, 0 if it has no value there.
func (f *rawFile) levels(column string, see func([]byte)) error {
	rows := int64(0)
	err := f.pages(column, func(p parquet.Page) {
		see(p.DefinitionLevels())
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
