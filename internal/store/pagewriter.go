package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A pageWriter writes a flat Parquet file from columns. It is parquet-go's writer without its Values: one for each
// number, of 24 B, made half of the work of storing. The files are the same, byte for byte.
//
//	"PAR1"
//	row group …: of each column: the dictionary, if it has one; pages of pageRows rows
//	of each row group, of each column: a column index, which has each page's bounds
//	likewise: an offset index, which has each page's place
//	metadata, length of it (uint32, little-endian), "PAR1"
type pageWriter struct {
	w       io.Writer
	offset  int64
	meta    format.FileMetaData
	columns []*columnPages
	indexes [][]format.ColumnIndex // by row group
	offsets [][]format.OffsetIndex // likewise
	rows    int                    // of the page under way
	group   int64                  // of the row group under way, without that page
	thrift  *thriftEncoder
}

// thriftEncoder encodes the structs of Parquet's metadata.
type thriftEncoder struct {
	thrift.Encoder
	out bytes.Buffer
}

func newThriftEncoder() *thriftEncoder {
	e := &thriftEncoder{}
	e.Reset(new(thrift.CompactProtocol).NewWriter(&e.out))
	return e
}

// bytes are good until the next call.
func (e *thriftEncoder) bytes(v any) ([]byte, error) {
	e.out.Reset()
	err := e.Encode(v)
	return e.out.Bytes(), err
}

// A layout is what files of one kind have in common.
type layout struct {
	columns []parquet.LeafColumn
	meta    format.FileMetaData // of a file without rows
}

// newLayout takes columns' names, types and metadata as parquet-go would write them into a file without rows.
func newLayout(schema *parquet.Schema, options []parquet.WriterOption) (*layout, error) {
	empty := parquet.NewWriter(io.Discard, append(options, schema)...)
	if err := empty.Close(); err != nil {
		return nil, err
	}
	l := &layout{meta: *empty.File().Metadata()}
	for _, path := range schema.Columns() {
		leaf, _ := schema.Lookup(path...) // it is one of the schema's
		l.columns = append(l.columns, leaf)
	}
	return l, nil
}

// newPageWriter begins a file of a layout. Keys of its metadata that are told have these values.
func newPageWriter(w io.Writer, l *layout, told map[string]string) (*pageWriter, error) {
	p := &pageWriter{w: w, meta: l.meta, thrift: newThriftEncoder()}
	// Other files of the layout are written at the same time.
	p.meta.RowGroups = l.meta.RowGroups[:0:0]
	p.meta.KeyValueMetadata = slices.Clone(l.meta.KeyValueMetadata)
	for i := range p.meta.KeyValueMetadata {
		entry := &p.meta.KeyValueMetadata[i]
		if value, ok := told[entry.Key]; ok {
			entry.Value = value
		}
	}
	for i, leaf := range l.columns {
		p.columns = append(p.columns, newColumnPages(i, leaf.Path, leaf.Node))
	}
	return p, p.write([]byte("PAR1"))
}

func (p *pageWriter) write(b []byte) error {
	n, err := p.w.Write(b)
	p.offset += int64(n)
	return err
}

// room is how many rows there may be until endRows.
func (p *pageWriter) room() int { return pageRows - p.rows }

// endRows says that all columns have that many rows more.
func (p *pageWriter) endRows(n int) error {
	if p.rows += n; p.rows < pageRows {
		return nil
	}
	return p.endPage()
}

func (p *pageWriter) endPage() error {
	if p.rows == 0 {
		return nil
	}
	for _, c := range p.columns {
		if err := c.endPage(p.group, p.rows, p.thrift); err != nil {
			return err
		}
	}
	p.group, p.rows = p.group+int64(p.rows), 0
	if p.group < rowGroup {
		return nil
	}
	return p.endGroup()
}

// close ends the file, and leaves the writer below open.
func (p *pageWriter) close() error {
	err := p.endPage()
	if err == nil && p.group > 0 {
		err = p.endGroup()
	}
	for i, group := range p.indexes {
		for j := range group {
			if err == nil {
				c := &p.meta.RowGroups[i].Columns[j]
				c.ColumnIndexOffset, c.ColumnIndexLength, err = p.writeThrift(&group[j])
			}
		}
	}
	for i, group := range p.offsets {
		for j := range group {
			if err == nil {
				c := &p.meta.RowGroups[i].Columns[j]
				c.OffsetIndexOffset, c.OffsetIndexLength, err = p.writeThrift(&group[j])
			}
		}
	}
	if err != nil {
		return err
	}
	_, length, err := p.writeThrift(&p.meta)
	if err != nil {
		return err
	}
	return p.write(append(binary.LittleEndian.AppendUint32(nil, uint32(length)), "PAR1"...))
}

// writeThrift returns where it wrote how much.
func (p *pageWriter) writeThrift(v any) (at int64, length int32, err error) {
	at = p.offset
	b, err := p.thrift.bytes(v)
	if err == nil {
		err = p.write(b)
	}
	return at, int32(len(b)), err
}

func (p *pageWriter) endGroup() error {
	g := format.RowGroup{NumRows: p.group, FileOffset: p.offset, Ordinal: int16(len(p.meta.RowGroups)),
		SortingColumns: []format.SortingColumn{}}
	var indexes []format.ColumnIndex
	var offsets []format.OffsetIndex
	for _, c := range p.columns {
		if err := p.endChunk(c); err != nil {
			return err
		}
		index, meta := c.indexer.ColumnIndex(), c.meta
		if index.DefinitionLevelHistogram = c.byPage; c.optional {
			meta.SizeStatistics.DefinitionLevelHistogram = slices.Clone(c.histogram[:])
		}
		slices.SortFunc(meta.EncodingStats, func(a, b format.PageEncodingStats) int {
			return cmp.Or(cmp.Compare(a.PageType, b.PageType), cmp.Compare(a.Encoding, b.Encoding))
		})
		indexes = append(indexes, index)
		offsets = append(offsets, format.OffsetIndex{PageLocations: c.places})
		g.Columns = append(g.Columns, format.ColumnChunk{MetaData: meta})
		g.TotalByteSize += meta.TotalUncompressedSize
		c.reset()
	}
	g.TotalCompressedSize = g.TotalByteSize
	p.meta.RowGroups, p.meta.NumRows = append(p.meta.RowGroups, g), p.meta.NumRows+p.group
	p.indexes, p.offsets, p.group = append(p.indexes, indexes), append(p.offsets, offsets), 0
	return nil
}

// endChunk writes the pages that a column has in a row group.
func (p *pageWriter) endChunk(c *columnPages) error {
	if c.dict != nil {
		page := c.dict.Page()
		values, err := page.Type().Encode(nil, page.Data(), &parquet.Plain)
		if err != nil {
			return err
		}
		head, err := p.thrift.bytes(&format.PageHeader{Type: format.DictionaryPage, UncompressedPageSize: int32(len(values)),
			CompressedPageSize: int32(len(values)), CRC: int32(crc32.ChecksumIEEE(values)),
			DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(c.dict.Len()),
				Encoding: format.Plain})})
		if err != nil {
			return err
		}
		c.meta.DictionaryPageOffset = p.offset
		c.count(len(head)+len(values), format.DictionaryPage, format.Plain)
		if err := p.write(append(head, values...)); err != nil {
			return err
		}
	}
	c.meta.DataPageOffset = p.offset
	for i := range c.places {
		c.places[i].Offset += p.offset
	}
	for _, page := range c.pages {
		if err := p.write(page); err != nil {
			return err
		}
	}
	return nil
}
