package store

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// header is a study of n trials over two stacks.
func header(n int) Header {
	h := Header{
		Study:   []byte("study: t\nrequests: 100 # each\nfactors:\n  stack: [a, b]\ndesign: {replications: 3, seed: 1}\n"),
		Facts:   []byte(`{"kernel":"6.1"}`),
		Program: "v0",
		Plan:    []byte("id,block,replication,stack\n"), // as study.Plan.WriteCSV has it
	}
	for i := range n {
		t := PlannedTrial{ID: i + 1, Block: i/2 + 1, Replication: i/2 + 1,
			Treatment: []Level{{"stack", string(rune('a' + i%2))}}}
		h.Trials = append(h.Trials, t)
		h.Plan = fmt.Appendf(h.Plan, "%d,%d,%d,%s\n", t.ID, t.Block, t.Replication, t.Treatment[0].Text)
	}
	return h
}

func create(t *testing.T, n int) *Store {
	t.Helper()
	s, err := Create(filepath.Join(t.TempDir(), "results"), header(n))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func exchanges(n int, seed uint64) []measure.Exchange {
	r := rand.New(rand.NewPCG(seed, 7))
	xs := make([]measure.Exchange, n)
	var at time.Duration
	for i := range xs {
		x := measure.Exchange{Seq: uint64(i + 1), Due: at, Sent: at + time.Duration(r.IntN(500)), Out: 120,
			In:            60 + r.Int64N(9),
			Serialization: time.Duration(r.IntN(3000)), Deserialization: time.Duration(r.IntN(5000))}
		x.Done = x.Sent + time.Duration(20000+r.IntN(9000))
		x.Total = x.Done - x.Due + x.Serialization + x.Deserialization
		switch r.IntN(20) {
		case 0: // no answer came
			x.Done, x.In, x.Failure = 0, 0, "timeout"
		case 1: // a wrong answer came
			x.Failure = fmt.Sprintf("wrong answer to %d", i)
		}
		at = x.Sent + 30*time.Microsecond
		xs[i] = x
	}
	return xs
}

// served is the server's view of xs: it does not see the wire.
func served(xs []measure.Exchange) []measure.Exchange {
	ys := slices.Clone(xs)
	for i := range ys {
		ys[i].Due, ys[i].Sent, ys[i].Done, ys[i].Processing = 0, 0, 0, time.Duration(i%7)
		ys[i].Sensor = time.Duration(i % 7 / 2)
	}
	return ys
}

var results = []Result{
	{Side: measure.Client, Response: "rtt", Unit: "s", N: 3, Mean: 1.5, SD: 0.25, Median: 1.4, P95: 2, Min: 1, Max: 2,
		Method: Measured},
	{Side: measure.Server, Response: "energy", Unit: "J", N: 1, Mean: 2, SD: math.NaN(), Median: 2, P95: math.NaN(),
		Min: 2, Max: 2, Method: Modelled},
}

var quality = []Quality{{"drops", "packets", 0}, {"lateness", "s", 1e-6}}

// must ends the test at an error.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write runs one attempt with exchanges of both sides and samples, uncommitted.
func write(t *testing.T, s *Store, trial, n int) *Attempt {
	t.Helper()
	a := must[*Attempt](t)(s.Begin(trial))
	xs := exchanges(n, uint64(trial))
	for side, ys := range map[measure.Side][]measure.Exchange{measure.Client: xs, measure.Server: served(xs)} {
		w := must[*ExchangeWriter](t)(a.Exchanges(side))
		ok(t, w.Append(ys[:n/3]))
		ok(t, w.Append(ys[n/3:]))
		ok(t, w.Close())
	}
	w := must[*SampleWriter](t)(a.Samples(Source{measure.Server, "rapl", Measured}))
	ok(t, w.Append(samples(n)))
	ok(t, w.Close())
	return a
}

func samples(n int) []measure.Sample {
	all := make([]measure.Sample, n)
	for i := range all {
		q := measure.Quantity{Name: "power", Unit: "W"}
		if i%3 == 0 {
			q = measure.Quantity{Name: "energy", Unit: "J"}
		}
		all[i] = measure.Sample{Quantity: q, At: time.Duration(i) * time.Millisecond, Value: 1.5 + float64(i),
			Seq: uint64(i % 4)}
	}
	return all
}

func TestCommittedTrialsReadBackAsTheyWere(t *testing.T) {
	s := create(t, 4)
	const n = 3*batchRows + 17
	ok(t, write(t, s, 2, n).Commit(results, quality))
	want := exchanges(n, 2)
	for side, want := range map[measure.Side][]measure.Exchange{measure.Client: want, measure.Server: served(want)} {
		var got []measure.Exchange
		for batch, err := range s.Exchanges(2, side) {
			ok(t, err)
			got = append(got, batch...)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: exchanges differ: got %d, want %d", side, len(got), len(want))
		}
	}
	var got []measure.Sample
	for batch, err := range s.Samples(2, Source{Side: measure.Server, Instrument: "rapl"}) {
		ok(t, err)
		got = append(got, batch...)
	}
	if !reflect.DeepEqual(got, samples(n)) {
		t.Errorf("samples differ: got %d, want %d", len(got), n)
	}
	if src := must[[]Source](t)(s.Sources(2)); !slices.Equal(src, []Source{{measure.Server, "rapl", Measured}}) {
		t.Errorf("sources: got %v", src)
	}
	var rows []Row
	for row, err := range s.Results() {
		ok(t, err)
		rows = append(rows, row)
	}
	if len(rows) != 2 || rows[0].Result != results[0] || rows[0].ID != 2 || rows[0].Attempt != 1 ||
		rows[0].Treatment[0] != (Level{"stack", "b"}) {
		t.Errorf("trial table: got %+v", rows)
	}
	if r := rows[1]; !math.IsNaN(r.SD) || !math.IsNaN(r.P95) || r.Mean != 2 || r.Method != Modelled {
		t.Errorf("figures that do not exist: got %+v, want NaN", r)
	}
	if q := must[[]Quality](t)(s.Quality(2, 1)); !slices.Equal(q, quality) {
		t.Errorf("quality: got %v", q)
	}
	if bad := s.Verify(); bad != nil {
		t.Errorf("verify: %v", bad)
	}
}

func TestColumnsHoldAnsweredExchangesOnly(t *testing.T) {
	s := create(t, 2)
	const n = rowGroup + 1000 // more than a row group
	ok(t, write(t, s, 1, n).Commit(nil, nil))
	xs := exchanges(n, 1)
	c := must[*Columns](t)(s.Columns(1, measure.Client))
	defer c.Close()
	for name, f := range map[string]func(measure.Exchange) int64{
		"rtt":             func(x measure.Exchange) int64 { return int64(x.RTT()) },
		"response":        func(x measure.Exchange) int64 { return int64(x.Response()) },
		"serialization":   func(x measure.Exchange) int64 { return int64(x.Serialization) },
		"deserialization": func(x measure.Exchange) int64 { return int64(x.Deserialization) },
		"seq":             func(x measure.Exchange) int64 { return int64(x.Seq) },
		"in":              func(x measure.Exchange) int64 { return x.In },
		"total":           func(x measure.Exchange) int64 { return int64(x.Total) },
	} {
		var want []int64
		for _, x := range xs {
			if x.Failure == "" {
				want = append(want, f(x))
			}
		}
		got := must[[]int64](t)(c.Read([]int64{-1}, name))
		if got[0] != -1 || !slices.Equal(got[1:], want) {
			t.Errorf("%s: got %d values, want %d", name, len(got)-1, len(want))
		}
		if c.Rows() != n || c.Answered() != len(want) {
			t.Errorf("rows, answered: got %d, %d, want %d, %d", c.Rows(), c.Answered(), n, len(want))
		}
	}
	if _, err := c.Read(nil, "processing"); !errors.Is(err, ErrNoData) {
		t.Errorf("processing at the client: got %v, want ErrNoData", err)
	}
	server := must[*Columns](t)(s.Columns(1, measure.Server))
	defer server.Close()
	if _, err := server.Read(nil, "rtt"); !errors.Is(err, ErrNoData) {
		t.Errorf("rtt at the server: got %v, want ErrNoData", err)
	}
	if got := must[[]int64](t)(server.Read(nil, "processing")); len(got) != server.Answered() || got[0] > 6 {
		t.Errorf("processing at the server: got %d values, want %d", len(got), server.Answered())
	}
}

// A client's exchange without a response has no RTT, whether or not a reason
// was given; it must not count as one of 0 or less.
func TestNoResponseIsNoRTT(t *testing.T) {
	s := create(t, 1)
	a := must[*Attempt](t)(s.Begin(1))
	w := must[*ExchangeWriter](t)(a.Exchanges(measure.Client))
	ok(t, w.Append([]measure.Exchange{{Seq: 1, Sent: 5, Done: 9}, {Seq: 2, Sent: 11}}))
	ok(t, w.Close())
	ok(t, a.Commit(nil, nil))
	c := must[*Columns](t)(s.Columns(1, measure.Client))
	defer c.Close()
	if got := must[[]int64](t)(c.Read(nil, "rtt")); !slices.Equal(got, []int64{4}) || c.Rows() != 2 {
		t.Errorf("got %v of %d, want [4] of 2", got, c.Rows())
	}
}

func TestATrialWithoutExchangesReads(t *testing.T) {
	s := create(t, 1)
	ok(t, write(t, s, 1, 0).Commit(nil, nil))
	c := must[*Columns](t)(s.Columns(1, measure.Client))
	defer c.Close()
	if got, err := c.Read(nil, "rtt"); err != nil || len(got) != 0 || c.Rows() != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestInvalidTrialsStayPendingAndOutOfTheFolders(t *testing.T) {
	s := create(t, 3)
	a := write(t, s, 2, 50)
	ok(t, a.Invalidate("stack said nothing in 10s", "trials/0002/serve.log", quality))
	p := must[[]TrialState](t)(s.Pending())
	if len(p) != 3 || p[1].State != Invalid || p[1].Attempts != 1 || p[1].Refused != 1 ||
		p[1].Reason != "stack said nothing in 10s" || p[1].Log != "trials/0002/serve.log" {
		t.Fatalf("pending: got %+v", p)
	}
	if left := must[[]string](t)(filepath.Glob(s.path("exchanges", "*"))); len(left) != 0 {
		t.Errorf("exchanges/ has %v; want nothing of an invalid trial", left)
	}
	if kept := must[[]string](t)(filepath.Glob(s.path(invalidDir, "exchanges-0002-1-*.parquet"))); len(kept) != 2 {
		t.Errorf("invalid/ has %v; want both sides' exchanges", kept)
	}
	b := write(t, s, 2, 60)
	if b.Number != 2 || !strings.HasSuffix(b.Dir(), "trials/0002-2") {
		t.Errorf("second attempt: got %d, %s", b.Number, b.Dir())
	}
	ok(t, b.Commit(results, nil))
	if p := must[[]TrialState](t)(s.Pending()); len(p) != 2 {
		t.Errorf("pending: got %d, want 2", len(p))
	}
	if bad := s.Verify(); bad != nil {
		t.Errorf("verify: %v", bad)
	}
}

func TestATrialIsNeverRunTwice(t *testing.T) {
	s := create(t, 2)
	a := write(t, s, 1, 5)
	if _, err := s.Begin(1); err == nil {
		t.Error("a running trial was begun again")
	}
	ok(t, a.Commit(results, nil))
	if _, err := s.Begin(1); err == nil {
		t.Error("a valid trial was begun again")
	}
	if err := a.Commit(results, nil); err == nil {
		t.Error("an attempt was committed twice")
	}
	if _, err := s.Begin(9); !errors.Is(err, ErrNoData) {
		t.Errorf("a trial not planned: got %v, want ErrNoData", err)
	}
}

func TestAnUnfinishedFileCannotBeCommitted(t *testing.T) {
	s := create(t, 1)
	a := must[*Attempt](t)(s.Begin(1))
	w := must[*ExchangeWriter](t)(a.Exchanges(measure.Client))
	if err := a.Commit(nil, nil); err == nil {
		t.Error("committed with an open writer")
	}
	ok(t, w.Close())
	if err := a.Commit([]Result{{Response: "rtt", Unit: "s", Mean: math.Inf(1), Method: Measured}}, nil); err == nil {
		t.Error("an infinite mean was committed")
	}
	ok(t, a.Commit(nil, nil))
}

func TestPacketsAreKept(t *testing.T) {
	s := create(t, 1)
	a := must[*Attempt](t)(s.Begin(1))
	w, err := a.Packets("client")
	ok(t, err)
	w.Write([]byte("pcapng"))
	ok(t, w.Close())
	ok(t, a.Commit(nil, nil))
	if b, err := os.ReadFile(s.path("packets", "0001-1-client.pcapng")); err != nil || string(b) != "pcapng" {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestReadingWhileALabWrites(t *testing.T) {
	s := create(t, 2)
	ok(t, write(t, s, 1, 10).Commit(results, nil))
	r := must[*Store](t)(OpenReadOnly(s.Dir()))
	defer r.Close()
	if p := must[[]TrialState](t)(r.Pending()); len(p) != 1 {
		t.Errorf("pending: got %d, want 1", len(p))
	}
	if _, err := r.Begin(2); err == nil {
		t.Error("begun a trial through a store opened for reading")
	}
	ok(t, write(t, s, 2, 10).Commit(results, nil))
	if p := must[[]TrialState](t)(r.Pending()); len(p) != 0 {
		t.Errorf("pending after a commit: got %d, want 0", len(p))
	}
}
