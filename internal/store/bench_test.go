package store

import (
	"io"
	"path/filepath"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// noFile is a file that nobody reads.
type noFile struct{ io.Writer }

func (noFile) Close() error { return nil }
func (noFile) Sync() error  { return nil }

const benchedRows = 100_000

func benched(b *testing.B) *Store {
	b.Helper()
	s, err := Create(filepath.Join(b.TempDir(), "results"), header(1))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// mostlyAnswered are a trial's exchanges, of which one in a thousand fails.
func mostlyAnswered() []measure.Exchange {
	xs := exchanges(benchedRows, 1)
	for i := range xs {
		x := &xs[i]
		if x.Failure, x.Done, x.In = "", x.Due+x.Total-x.Deserialization, 64; i%1000 == 999 {
			x.Failure, x.Done, x.In = "timeout", 0, 0
		}
	}
	return xs
}

func writeBenched(b *testing.B, a *Attempt, xs []measure.Exchange) {
	w, err := a.Exchanges(measure.Client)
	for ; err == nil && len(xs) > 0; xs = xs[min(4096, len(xs)):] {
		err = w.Append(xs[:min(4096, len(xs))])
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkWriteExchanges(b *testing.B) {
	s := benched(b)
	a, err := s.Begin(1)
	if err != nil {
		b.Fatal(err)
	}
	s.create = func(string) (diskFile, error) { return noFile{io.Discard}, nil }
	xs := mostlyAnswered()
	b.ReportAllocs()
	for b.Loop() {
		writeBenched(b, a, xs)
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/benchedRows, "ns/row")
}

func BenchmarkReadColumns(b *testing.B) {
	s := benched(b)
	a, err := s.Begin(1)
	if err != nil {
		b.Fatal(err)
	}
	writeBenched(b, a, mostlyAnswered())
	if err := a.Commit(nil, nil); err != nil {
		b.Fatal(err)
	}
	var values []int64
	b.ReportAllocs()
	for b.Loop() {
		clear(s.verified)
		c, err := s.Columns(1, measure.Client)
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range []string{"rtt", "response", "serialization", "deserialization"} {
			if values, err = c.Read(values[:0], name); err != nil {
				b.Fatal(err)
			}
		}
		c.Close()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/benchedRows, "ns/row")
}
