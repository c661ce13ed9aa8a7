package store

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// A rawFile is an open Parquet file whose checksum has been compared.
type rawFile struct {
	*parquet.File
	f    *os.File
	name string
}

func (r *rawFile) Close() error { return r.f.Close() }

// openRaw opens the file of a trial's valid attempt, or says ErrNoData.
func (s *Store) openRaw(kind string, trial int, src Source) (*rawFile, error) {
	var path, digest string
	var size int64
	err := s.db.QueryRow(`SELECT path, sha256, bytes FROM files f JOIN attempts a USING (trial, attempt)
		WHERE trial = ? AND kind = ? AND side = ? AND instrument = ? AND a.state = 'valid'`,
		trial, kind, string(src.Side), src.Instrument).Scan(&path, &digest, &size)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fail(ErrNoData, "trial %d: no %s of %s %s", trial, kind, src.Side, src.Instrument)
	}
	if err != nil {
		return nil, s.word(err)
	}
	if err := s.checkFileOnce(path, digest, size); err != nil {
		return nil, err
	}
	f, err := kernel.OpenRegular(s.path(path))
	if err != nil {
		return nil, s.word(err)
	}
	st, err := f.Stat()
	if err == nil {
		var p *parquet.File
		if p, err = decodeFile(f, st.Size(), s.path(path)); err == nil {
			return &rawFile{p, f, filepath.Join(s.dir, path)}, nil
		}
	}
	f.Close()
	return nil, err
}

// decodeFile reads a Parquet footer. The library panics on some files that are
// not Parquet; no input may.
func decodeFile(r io.ReaderAt, size int64, name string) (p *parquet.File, err error) {
	defer refuse(name, &err)
	if err := checkFooter(r, size, name); err != nil {
		return nil, err
	}
	p, err = parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fail(ErrCorrupt, "%s: not a readable Parquet file (%v); restore it from a copy", name, err)
	}
	text, _ := p.Lookup("edgegauge.format")
	format, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fail(ErrForeign, "%s: a Parquet file, but not edgegauge's; move it elsewhere", name)
	}
	return p, checkFormat(name, format, Format)
}

// checkFooter refuses a footer longer than its file, for which the library
// would allocate up to 4 GB.
//
//	"PAR1" … footer, length of footer (uint32, little-endian), "PAR1"
func checkFooter(r io.ReaderAt, size int64, name string) error {
	var tail [8]byte
	if size < 12 {
		return fail(ErrCorrupt, "%s: truncated at %d B; restore it from a copy", name, size)
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil {
		return err
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:])); string(tail[4:]) != "PAR1" || n > size-12 {
		return fail(ErrCorrupt, "%s: not a complete Parquet file; restore it from a copy", name)
	}
	return nil
}

// refuse turns the library's panics into errors.
func refuse(name string, err *error) {
	if p := recover(); p != nil {
		*err = fail(ErrCorrupt, "%s: not a readable Parquet file (%v); restore it from a copy", name, p)
	}
}

// eachBatch reads whole rows. A batch is only good until the next.
func eachBatch[T any](f *rawFile) iter.Seq2[[]T, error] {
	var r *parquet.GenericReader[T]
	batch := make([]T, batchRows)
	return batches(f, func() (rows []T, err error) {
		if r == nil {
			r = parquet.NewGenericReader[T](f.File)
		}
		clear(batch)
		n, err := r.Read(batch)
		return batch[:n], err
	})
}

// batches repeats read until the file ends. What the library panics with, and a
// read that stands still, is the file's damage.
func batches[T any](f *rawFile, read func() ([]T, error)) iter.Seq2[[]T, error] {
	guarded := func() (rows []T, err error) {
		defer refuse(f.name, &err)
		return read()
	}
	return func(yield func([]T, error) bool) {
		for {
			rows, err := guarded()
			if len(rows) > 0 && !yield(rows, nil) || err == io.EOF {
				break
			}
			if err == nil && len(rows) == 0 { // a damaged file can make the library stand still
				err = io.ErrNoProgress
			}
			if err != nil {
				yield(nil, f.unreadable(err))
				break
			}
		}
	}
}

func (r *rawFile) unreadable(err error) error {
	if errors.Is(err, ErrCorrupt) {
		return err
	}
	return fail(ErrCorrupt, "%s: not readable (%v); restore it from a copy", r.name, err)
}

// Exchanges iterates one side's exchanges of a trial's valid attempt, failed
// ones included, in batches that are only good until the next. Columns is the
// fast way to one response.
func (s *Store) Exchanges(trial int, side measure.Side) iter.Seq2[[]measure.Exchange, error] {
	return func(yield func([]measure.Exchange, error) bool) {
		f, err := s.openRaw("exchanges", trial, Source{Side: side})
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		for batch, err := range f.exchanges() {
			if !yield(batch, err) || err != nil {
				return
			}
		}
	}
}

// exchanges reads whole rows. Columns are found by name: an older file lacks
// some, a newer one has others.
func (r *rawFile) exchanges() iter.Seq2[[]measure.Exchange, error] {
	var rows []parquet.Row
	//lint:ignore SA1019 the generic reader wants a Go type; these columns are the file's
	var reader *parquet.Reader
	var set []func(*measure.Exchange, parquet.Value)
	batch := make([]measure.Exchange, batchRows)
	return batches(r, func() ([]measure.Exchange, error) {
		if reader == nil {
			var err error
			if set, err = r.setters(); err != nil {
				return nil, err
			}
			reader, rows = parquet.NewReader(r.File), make([]parquet.Row, batchRows)
		}
		clear(batch)
		n, err := reader.ReadRows(rows)
		for i, row := range rows[:n] {
			for _, v := range row {
				if c := v.Column(); c >= 0 && c < len(set) && set[c] != nil && !v.IsNull() {
					set[c](&batch[i], v)
				}
			}
		}
		return batch[:n], err
	})
}

// setters says, by the number of a column, what its values set.
func (r *rawFile) setters() ([]func(*measure.Exchange, parquet.Value), error) {
	schema := r.Schema()
	set := make([]func(*measure.Exchange, parquet.Value), len(schema.Columns()))
	to := func(name string, rare bool, kind parquet.Kind, f func(*measure.Exchange, parquet.Value)) error {
		leaf, ok := schema.Lookup(name)
		if !ok && rare { // the file is older than the field
			return nil
		}
		if !ok || leaf.Node.Type().Kind() != kind {
			return fail(ErrCorrupt, "%s: no column %q of the right type; restore it from a copy", r.name, name)
		}
		set[leaf.ColumnIndex] = f
		return nil
	}
	errs := []error{
		to("seq", false, parquet.Int64, func(x *measure.Exchange, v parquet.Value) { x.Seq = uint64(v.Int64()) }),
		to("failure", false, parquet.ByteArray,
			func(x *measure.Exchange, v parquet.Value) { x.Failure = string(v.ByteArray()) }),
	}
	for _, f := range keptFields() {
		errs = append(errs, to(f.Column, f.Rare(), parquet.Int64,
			func(x *measure.Exchange, v parquet.Value) { *f.At(x) = v.Int64() }))
	}
	return set, errors.Join(errs...)
}
