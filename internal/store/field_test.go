package store

import (
	"errors"
	"slices"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// withField adds a row to the table of fields until the test ends. Its figure
// lies where a client's Sensor would.
func withField(t *testing.T) {
	was := measure.Fields
	t.Cleanup(func() { measure.Fields = was })
	measure.Fields = append(slices.Clone(was), measure.Field{Name: "queue", Column: "queue_ns", Client: measure.Nonzero,
		Server: measure.Nonzero, At: func(x *measure.Exchange) *int64 { return (*int64)(&x.Sensor) }})
	for i := range measure.Fields {
		if measure.Fields[i].Name == "sensor" {
			measure.Fields[i].Client, measure.Fields[i].At = measure.Never, func(*measure.Exchange) *int64 { return new(int64) }
		}
	}
}

// A row added to the table of fields is a column of the files, and read again.
func TestAnAddedFieldIsStored(t *testing.T) {
	withField(t)
	s := create(t, 1)
	a := must[*Attempt](t)(s.Begin(1))
	w := must[*ExchangeWriter](t)(a.Exchanges(measure.Client))
	want := []measure.Exchange{{Seq: 1, Sent: 5, Done: 9, Sensor: 4}, {Seq: 2, Sent: 5, Done: 9}}
	ok(t, w.Append(want))
	ok(t, w.Close())
	ok(t, a.Commit(nil, nil))
	for got, err := range s.Exchanges(1, measure.Client) {
		if ok(t, err); !slices.Equal(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	c := must[*Columns](t)(s.Columns(1, measure.Client))
	defer c.Close()
	if got := must[[]int64](t)(c.Read(nil, "queue")); !slices.Equal(got, []int64{4, 0}) {
		t.Errorf("got %v, want 4 and, where the client did not say, 0", got)
	}
}

// Results that are older than a field open as before, and have none of it.
func TestFilesOlderThanAFieldOpen(t *testing.T) {
	s := create(t, 1)
	ok(t, write(t, s, 1, 10).Commit(results, nil))
	withField(t)
	for got, err := range s.Exchanges(1, measure.Client) {
		if ok(t, err); len(got) != 10 || got[3].Seq != 4 || got[3].Sensor != 0 {
			t.Errorf("got %+v", got)
		}
	}
	c := must[*Columns](t)(s.Columns(1, measure.Client))
	defer c.Close()
	if _, err := c.Read(nil, "queue"); !errors.Is(err, ErrNoData) {
		t.Errorf("a field that the file is older than: got %v, want ErrNoData", err)
	}
	if got := must[[]int64](t)(c.Read(nil, "rtt")); len(got) == 0 {
		t.Error("no RTT")
	}
}
