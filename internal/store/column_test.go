package store

import (
	"bytes"
	"slices"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// A part counts how many bytes were read of a part of a file.
type part struct {
	*bytes.Reader
	from, to, n int64
}

func (p *part) ReadAt(b []byte, at int64) (int, error) {
	n, err := p.Reader.ReadAt(b, at)
	p.n += max(0, min(at+int64(n), p.to)-max(at, p.from))
	return n, err
}

// The column that all figures of time at the client need is read and decoded once, whatever is asked.
func TestDoneIsReadOnce(t *testing.T) {
	b := written(t, exchanges(3*batchRows, 1))
	r := &part{Reader: bytes.NewReader(b)}
	p, err := decodeFile(r, int64(len(b)), "x.parquet")
	ok(t, err)
	leaf, found := p.Schema().Lookup("done_ns")
	if !found {
		t.Fatal("no such column")
	}
	meta := p.Metadata().RowGroups[0].Columns[leaf.ColumnIndex].MetaData
	r.from, r.to, r.n = meta.DataPageOffset, meta.DataPageOffset+meta.TotalCompressedSize, 0
	c := must[*Columns](t)(newColumns(&rawFile{File: p, name: "x.parquet"}, measure.Client, new(sync.Pool)))
	for _, name := range []string{"rtt", "response", "done", "rtt"} {
		if got := must[[]int64](t)(c.Read(nil, name)); len(got) != c.Answered() {
			t.Errorf("%s: %d values of %d", name, len(got), c.Answered())
		}
	}
	if r.n != meta.TotalCompressedSize {
		t.Errorf("read %d B of a column of %d B", r.n, meta.TotalCompressedSize)
	}
}

// A wrong answer has come, and is none: neither when all requests had an answer nor beside some that had none.
func TestWrongAnswersAreInNoFigure(t *testing.T) {
	xs := make([]measure.Exchange, 2*pageRows)
	var want []int64
	for i := range xs {
		x := &xs[i]
		x.Seq, x.Sent = uint64(i+1), time.Duration(10*i)
		x.Done = x.Sent + time.Duration(i%7+1)
		switch {
		case i%100 == 3:
			x.Failure = "wrong answer"
		case i%100 == 4 && i >= pageRows:
			x.Done, x.Failure = 0, "timeout"
		default:
			want = append(want, int64(x.RTT()))
		}
	}
	b := written(t, xs)
	f, err := decodeFile(bytes.NewReader(b), int64(len(b)), "x.parquet")
	ok(t, err)
	c := must[*Columns](t)(newColumns(&rawFile{File: f, name: "x.parquet"}, measure.Client, new(sync.Pool)))
	if got := must[[]int64](t)(c.Read(nil, "rtt")); !slices.Equal(got, want) || c.Rows() != len(xs) {
		t.Errorf("%d values of %d rows, want %d of %d", len(got), c.Rows(), len(want), len(xs))
	}
	why := must[map[string]int](t)(c.Failures())
	if len(why) != 2 || why["wrong answer"]+why["timeout"] != len(xs)-len(want) || why["timeout"] != (pageRows+99)/100 {
		t.Errorf("got %v", why)
	}
}

// Columns that have the memory of others say what is in their own file.
func TestColumnsOfOneTrialAfterTheOther(t *testing.T) {
	s := create(t, 3)
	rows := []int{2*pageRows + 70, 40, pageRows + 3}
	for trial, n := range rows {
		ok(t, write(t, s, trial+1, n).Commit(nil, nil))
	}
	for range 2 {
		for trial, n := range rows {
			var want []int64
			for _, x := range exchanges(n, uint64(trial+1)) {
				if x.Failure == "" {
					want = append(want, int64(x.Response()))
				}
			}
			for _, side := range []measure.Side{measure.Client, measure.Server} {
				c := must[*Columns](t)(s.Columns(trial+1, side))
				if side == measure.Client {
					if got := must[[]int64](t)(c.Read(nil, "response")); !slices.Equal(got, want) {
						t.Errorf("trial %d: got %d values, want %d", trial+1, len(got), len(want))
					}
				}
				if ok(t, c.Close()); c.Rows() != n || c.Answered() != len(want) {
					t.Errorf("trial %d, %s: %d rows, %d answered; want %d and %d", trial+1, side, c.Rows(), c.Answered(), n,
						len(want))
				}
			}
		}
	}
}

// Between rows that are lost lie those that are not.
func TestStretches(t *testing.T) {
	for _, tt := range []struct {
		lost string
		want [][2]int
	}{
		{"", [][2]int{{0, 0}}}, {"0", [][2]int{{0, 1}}}, {"1", [][2]int{{0, 0}, {1, 1}}}, {"000", [][2]int{{0, 3}}},
		{"0100", [][2]int{{0, 1}, {2, 4}}}, {"1001", [][2]int{{0, 0}, {1, 3}, {4, 4}}},
		{"011", [][2]int{{0, 1}, {2, 2}, {3, 3}}},
	} {
		lost := []byte(tt.lost)
		for i := range lost {
			lost[i] -= '0'
		}
		var got [][2]int
		for begin, end := range stretches(lost) {
			got = append(got, [2]int{begin, end})
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %v, want %v", tt.lost, got, tt.want)
		}
	}
}
