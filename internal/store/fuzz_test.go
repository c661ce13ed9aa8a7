package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// decodeAll reads everything a Parquet file may yield, in both ways.
func decodeAll(b []byte) (rows []measure.Exchange, err error) {
	p, err := decodeFile(bytes.NewReader(b), int64(len(b)), "x.parquet")
	if err != nil {
		return nil, err
	}
	f := &rawFile{File: p, name: "x.parquet"}
	for batch, err := range f.exchanges() {
		if err != nil {
			return nil, err
		}
		rows = append(rows, batch...)
	}
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		c, err := newColumns(f, side, new(sync.Pool))
		if err != nil {
			return nil, err
		}
		for _, field := range measure.Fields {
			if _, err := c.Read(nil, field.Name); err != nil && !errors.Is(err, ErrNoData) {
				return nil, err
			}
		}
	}
	return rows, nil
}

// written is the bytes of a small exchanges file.
func written(t testing.TB, xs []measure.Exchange) []byte {
	s, err := Create(filepath.Join(t.TempDir(), "r"), header(1))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, err := s.Begin(1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := a.Exchanges(measure.Client)
	if err != nil {
		t.Fatal(err)
	}
	w.Append(xs)
	if err := errors.Join(w.Close(), a.Commit(nil, nil)); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(s.path("exchanges", "0001-1-client.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Stored exchanges, whatever became of them, are read or refused; no panic.
// (A Store compares checksums first, so this is the second line of defence.)
func FuzzDecodeExchanges(f *testing.F) {
	b := written(f, exchanges(40, 1))
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add([]byte("PAR1PAR1PAR1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		if _, err := decodeAll(b); err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrForeign) &&
			!errors.Is(err, ErrNewer) {
			t.Errorf("got %v (%T); want it refused as corrupt, foreign or newer", err, err)
		}
	})
}

// One bit of every byte of a file turned: the part of the fuzzing that every
// run of the tests does.
func TestNoByteOfAFileCanPanic(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	b := written(t, exchanges(4, 1))
	if rows, err := decodeAll(b); err != nil || len(rows) != 4 {
		t.Fatalf("whole: got %d rows, %v", len(rows), err)
	}
	refused := 0
	for i := 0; i < len(b); i += 3 { // 3 ms each
		c := bytes.Clone(b)
		c[i] ^= 1 << (i % 8)
		if _, err := decodeAll(c); err != nil {
			refused++
		}
	}
	if refused < len(b)/12 {
		t.Errorf("only %d of %d damaged files were refused", refused, len(b)/3)
	}
}

// A damaged ledger is opened or refused, without a panic.
func FuzzOpenLedger(f *testing.F) {
	s, err := Create(filepath.Join(f.TempDir(), "r"), header(2))
	if err != nil {
		f.Fatal(err)
	}
	s.Close()
	whole, err := os.ReadFile(s.path(ledgerFile))
	if err != nil {
		f.Fatal(err)
	}
	for _, at := range []uint32{0, 16, 28, 60, 68, 100, 4096, 5000, 20000} {
		f.Add(at, []byte{0xff, 0, 0xff, 7})
	}
	dir := filepath.Join(f.TempDir(), "d")
	if err := os.CopyFS(dir, os.DirFS(s.Dir())); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, at uint32, patch []byte) {
		b := bytes.Clone(whole)
		copy(b[int(at%uint32(len(b))):], patch)
		if err := os.WriteFile(filepath.Join(dir, ledgerFile), b, 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := OpenReadOnly(dir)
		if err != nil {
			return
		}
		defer r.Close()
		r.Verify()
		r.Pending()
		_, _ = r.Ending()
		_, _ = r.Spent()
		for _, err := range r.Results() {
			if err != nil {
				break
			}
		}
	})
}
