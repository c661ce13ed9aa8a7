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
	"time"

	"github.com/parquet-go/parquet-go"

	"edgegauge/internal/measure"
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
	err := s.db.QueryRow(`SELECT path, sha256 FROM files f JOIN attempts a USING (trial, attempt)
		WHERE trial = ? AND kind = ? AND side = ? AND instrument = ? AND a.state = 'valid'`,
		trial, kind, string(src.Side), src.Instrument).Scan(&path, &digest)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fail(ErrNoData, "trial %d: no %s of %s %s", trial, kind, src.Side, src.Instrument)
	}
	if err != nil {
		return nil, s.word(err)
	}
	if err := s.checkFileOnce(path, digest); err != nil {
		return nil, err
	}
	f, err := os.Open(s.path(path))
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
	return p, checkFormat(name, format)
}

// checkFooter refuses a footer longer than its file, for which the library
// would allocate up to 4 GB.
//
//	"PAR1" … footer, length of footer (uint32, little-endian), "PAR1"
func checkFooter(r io.ReaderAt, size int64, name string) error {
	var tail [8]byte
	if size < 12 {
		return fail(ErrCorrupt, "%s: cut short at %d B; restore it from a copy", name, size)
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil {
		return err
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:])); string(tail[4:]) != "PAR1" || n > size-12 {
		return fail(ErrCorrupt, "%s: not a whole Parquet file; restore it from a copy", name)
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
	return func(yield func([]T, error) bool) {
		var r *parquet.GenericReader[T]
		batch := make([]T, batchRows)
		read := func() (n int, err error) {
			defer refuse(f.name, &err)
			if r == nil {
				r = parquet.NewGenericReader[T](f.File)
			}
			clear(batch)
			return r.Read(batch)
		}
		for {
			n, err := read()
			if n > 0 && !yield(batch[:n], nil) || err == io.EOF {
				break
			}
			if err == nil && n == 0 { // a damaged file can make the library stand still
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
// ones included, in batches that are only good until the next. Column is the
// fast way to one response.
func (s *Store) Exchanges(trial int, side measure.Side) iter.Seq2[[]measure.Exchange, error] {
	return func(yield func([]measure.Exchange, error) bool) {
		f, err := s.openRaw("exchanges", trial, Source{Side: side})
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		batch := make([]measure.Exchange, 0, batchRows)
		for rows, err := range eachBatch[exchangeRow](f) {
			batch = batch[:0]
			for i := range rows {
				batch = append(batch, rows[i].exchange())
			}
			if !yield(batch, err) || err != nil {
				return
			}
		}
	}
}

func (r *exchangeRow) exchange() measure.Exchange {
	return measure.Exchange{
		Seq: uint64(r.Seq), Due: orZero(r.Due), Sent: orZero(r.Sent), Done: orZero(r.Done),
		Serialization: time.Duration(r.Serialization), Processing: orZero(r.Processing), Sensor: orZero(r.Sensor), Connection: orZero(r.Connection),
		Deserialization: time.Duration(r.Deserialization), Total: time.Duration(r.Total),
		Out: r.Out, In: r.In, Failure: r.Failure,
	}
}

func orZero(p *int64) time.Duration {
	if p == nil {
		return 0
	}
	return time.Duration(*p)
}
