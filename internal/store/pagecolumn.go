package store

import (
	"hash/crc32"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"edgegauge.example/edgegauge/internal/measure"
)

// columnPages is a column of a pageWriter, with the page and the row group under way.
type columnPages struct {
	index    int
	typ      parquet.Type
	encoding encoding.Encoding
	optional bool
	constant bool    // all rows are the same, and need not be added
	same     []int32 // the number that they are, or the place of the text in dict; none: they have no value

	numbers []int64              // of the page
	texts   parquet.ColumnBuffer // likewise
	levels  []byte               // of an optional column, by row: 1 if it has a value
	dict    parquet.Dictionary   // of texts; else nil
	full    bool                 // dict: pages have the texts themselves, until the row group ends

	last      encodedPage
	pages     [][]byte // of the row group
	indexer   parquet.ColumnIndexer
	meta      format.ColumnMetaData
	places    []format.PageLocation // from the first page on
	histogram [2]int64              // rows without a value, and with one
	byPage    []int64               // the same of each page, one after the other
}

// An encodedPage is a page as it is in the file.
type encodedPage struct {
	bytes       []byte // header, levels, values; never changed
	rows, nulls int
	plain       int64 // B, of texts that are not in a dictionary
	encoding    format.Encoding
	min, max    parquet.Value
	bounded     bool

	levels, values []byte // scratch
}

func newColumnPages(index int, path []string, node parquet.Node) *columnPages {
	typ := node.Type()
	c := &columnPages{index: index, typ: typ, encoding: &parquet.DeltaBinaryPacked, optional: node.Optional(),
		indexer: typ.NewColumnIndexer(parquet.DefaultColumnIndexSizeLimit)}
	c.meta = format.ColumnMetaData{Type: format.Type(typ.Kind()), PathInSchema: path, Codec: format.Uncompressed}
	if c.optional {
		c.meta.Encoding = append(c.meta.Encoding, format.RLE)
	}
	if typ.Kind() == parquet.ByteArray {
		c.dict = typ.NewDictionary(index, 0, typ.NewValues(nil, nil))
		c.meta.Encoding = append(c.meta.Encoding, format.Plain)
		c.useDictionary()
	}
	c.meta.Encoding = append(c.meta.Encoding, c.encoding.Encoding())
	slices.Sort(c.meta.Encoding)
	return c
}

func (c *columnPages) useDictionary() {
	c.full, c.encoding, c.texts = false, &parquet.RLEDictionary, c.dict.Type().NewColumnBuffer(c.index, 0)
}

// fix says that all rows are the same.
func (c *columnPages) fix(v parquet.Value) {
	switch c.constant = true; v.Kind() {
	case parquet.Int32:
		c.same = []int32{v.Int32()}
	case parquet.ByteArray:
		c.same = []int32{0}
		c.dict.Insert(c.same, []parquet.Value{v})
	}
}

// ones are the levels of rows that have a value, zeros of those that have none.
var (
	ones  = [cachedRows]byte(slices.Repeat([]byte{1}, cachedRows))
	zeros [cachedRows]byte
)

// withRoom makes room for n more rows: a short trial's few, then a page's.
func withRoom[T any](rows []T, n int) []T {
	if len(rows) >= batchRows {
		n = pageRows - len(rows)
	}
	return slices.Grow(rows, n)
}

// addSeen adds the levels of the numbers from the k-th on, of which 0 is no value: nearly always of all, or of none.
func (c *columnPages) addSeen(k int) {
	rows, seen := c.numbers[k:], 0
	for _, v := range rows {
		if v != 0 {
			seen++
		}
	}
	c.levels, c.numbers = withRoom(c.levels, len(rows)), c.numbers[:k+seen]
	switch seen {
	case 0:
		c.levels = append(c.levels, zeros[:len(rows)]...)
		return
	case len(rows):
		c.levels = append(c.levels, ones[:len(rows)]...)
		return
	}
	n := 0
	for _, v := range rows {
		var level byte
		if v != 0 {
			level, rows[n] = 1, v
			n++
		}
		c.levels = append(c.levels, level)
	}
}

// addFailures adds why exchanges failed.
func (c *columnPages) addFailures(xs []measure.Exchange) error {
	c.levels = withRoom(c.levels, len(xs))
	failed := false
	for i := range xs {
		failed = failed || xs[i].Failure != ""
	}
	if !failed {
		c.levels = append(c.levels, zeros[:len(xs)]...)
		return nil
	}
	for i := range xs {
		var level byte
		if why := xs[i].Failure; why != "" {
			level = 1
			if _, err := c.texts.WriteValues([]parquet.Value{parquet.ByteArrayValue([]byte(why))}); err != nil {
				return err
			}
		}
		c.levels = append(c.levels, level)
	}
	return nil
}

// endPage adds the page under way to the row group, of which it is the rows from first on.
func (c *columnPages) endPage(first int64, rows int, t *thriftEncoder) error {
	if !c.constant || c.last.rows != rows {
		if err := c.encode(rows, t); err != nil {
			return err
		}
	}
	x := &c.last
	c.pages = append(c.pages, x.bytes)
	c.places = append(c.places, format.PageLocation{Offset: c.meta.TotalCompressedSize,
		CompressedPageSize: int32(len(x.bytes)), FirstRowIndex: first})
	c.count(len(x.bytes), format.DataPageV2, x.encoding)
	c.meta.NumValues += int64(rows)
	c.meta.SizeStatistics.UnencodedByteArrayDataBytes += x.plain
	c.indexer.IndexPage(int64(rows), int64(x.nulls), x.min, x.max)
	s := &c.meta.Statistics
	s.NullCount += int64(x.nulls)
	if x.bounded {
		if s.MinValue == nil || c.typ.Compare(x.min, c.typ.Kind().Value(s.MinValue)) < 0 {
			s.MinValue = x.min.AppendBytes([]byte{})
		}
		if s.MaxValue == nil || c.typ.Compare(x.max, c.typ.Kind().Value(s.MaxValue)) > 0 {
			s.MaxValue = x.max.AppendBytes([]byte{})
		}
	}
	if c.optional {
		c.histogram[0], c.histogram[1] = c.histogram[0]+int64(x.nulls), c.histogram[1]+int64(rows-x.nulls)
		c.byPage = append(c.byPage, int64(x.nulls), int64(rows-x.nulls))
	}
	c.numbers, c.levels = c.numbers[:0], c.levels[:0]
	if c.dict == nil {
		return nil
	}
	if c.texts.Reset(); !c.full && c.dict.Size() > dictionary {
		c.full, c.encoding, c.texts = true, &parquet.Plain, c.typ.NewColumnBuffer(c.index, 0)
	}
	return nil
}

// page is the page under way.
func (c *columnPages) page(rows int) parquet.Page {
	switch {
	case c.constant && c.optional: // and null
		c.levels = append(c.levels, make([]byte, rows)...)
	case c.constant && c.dict != nil:
		return c.dict.Type().NewPage(c.index, rows, encoding.Int32Values(slices.Repeat(c.same, rows)))
	case c.constant:
		return c.typ.NewPage(c.index, rows, encoding.Int32Values(slices.Repeat(c.same, rows)))
	case c.dict != nil:
		return c.texts.Page()
	}
	return c.typ.NewPage(c.index, len(c.numbers), encoding.Int64Values(c.numbers))
}

// encode makes last of the page under way.
func (c *columnPages) encode(rows int, t *thriftEncoder) error {
	page := c.page(rows)
	x := &c.last
	x.rows, x.nulls, x.encoding, x.levels = rows, rows-int(page.NumValues()), c.encoding.Encoding(), x.levels[:0]
	x.min, x.max, x.bounded = page.Bounds()
	data := page.Data()
	if x.plain = 0; data.Kind() == encoding.ByteArray {
		x.plain = data.Size()
	}
	var err error
	if x.values, err = page.Type().Encode(x.values[:0], data, c.encoding); err != nil {
		return err
	}
	if c.optional {
		if x.levels, err = (&rle.Encoding{BitWidth: 1}).EncodeLevels(x.levels, c.levels); err != nil {
			return err
		}
	}
	size, least, most := int32(len(x.levels)+len(x.values)), x.min.Bytes(), x.max.Bytes()
	head, err := t.bytes(&format.PageHeader{Type: format.DataPageV2, UncompressedPageSize: size, CompressedPageSize: size,
		CRC: int32(crc32.Update(crc32.ChecksumIEEE(x.levels), crc32.IEEETable, x.values)),
		DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{NumValues: int32(rows), NumNulls: int32(x.nulls),
			NumRows: int32(rows), Encoding: x.encoding, DefinitionLevelsByteLength: int32(len(x.levels)),
			IsCompressed: thrift.New(false), Statistics: format.Statistics{Min: least, Max: most, MinValue: least,
				MaxValue: most, NullCount: int64(x.nulls)}})})
	x.bytes = slices.Concat(head, x.levels, x.values)
	return err
}

// count adds a page to what is said of all.
func (c *columnPages) count(size int, kind format.PageType, in format.Encoding) {
	c.meta.TotalUncompressedSize += int64(size)
	c.meta.TotalCompressedSize = c.meta.TotalUncompressedSize
	all := c.meta.EncodingStats
	i := slices.IndexFunc(all, func(s format.PageEncodingStats) bool { return s.PageType == kind && s.Encoding == in })
	if i < 0 {
		i, all = len(all), append(all, format.PageEncodingStats{PageType: kind, Encoding: in})
	}
	all[i].Count++
	c.meta.EncodingStats = all
}

// reset begins a row group.
func (c *columnPages) reset() {
	m := &c.meta
	c.meta = format.ColumnMetaData{Type: m.Type, PathInSchema: m.PathInSchema, Codec: m.Codec, Encoding: m.Encoding}
	c.indexer.Reset()
	c.pages, c.places, c.histogram, c.byPage = nil, nil, [2]int64{}, nil
	if c.dict != nil && !c.constant {
		c.dict.Reset()
		c.useDictionary()
	}
}
