package reportbench

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
)

// What the bench makes is a sound results directory, and the report's
// distributions of it have the trials' own figures.
func TestMadeResultsAreReported(t *testing.T) {
	dir := t.TempDir() + "/results"
	if err := fabricated.Make(dir, 3, 2, 500); err != nil {
		t.Fatal(err)
	}
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := report.Read(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.ReadRaw(s, report.PageTraces); err != nil || len(r.Damage) > 0 {
		t.Fatalf("%v, %v", err, r.Damage)
	}
	if len(r.Distributions) != 3*11 {
		t.Fatalf("got %d distributions, want 3 treatments × 11", len(r.Distributions))
	}
	for _, d := range r.Distributions {
		c, _ := r.Cell(d.Treatment, d.Side, d.Response)
		if d.Trials != 2 || len(d.Course) == 0 {
			t.Errorf("%s: %d trials, course %v", d.ID(), d.Trials, d.Course)
		}
		q := d.Quantiles([]float64{0, 0.5, 1})
		if off := math.Abs(q[1]/c.Median.Center - 1); off > 0.05 || !(q[0] <= q[1] && q[1] <= q[2]) {
			t.Errorf("%s: quantiles %v, median of the trials %v", d.ID(), q, c.Median.Center)
		}
		mean := 0.0
		for _, p := range d.Course {
			mean += p.Mean / float64(len(d.Course))
			if p.Lo > p.Mean || p.Hi < p.Mean {
				t.Errorf("%s: %+v", d.ID(), p)
			}
		}
		if math.Abs(mean/c.Mean.Center-1) > 0.01 {
			t.Errorf("%s: course %v, mean of the trials %v", d.ID(), mean, c.Mean.Center)
		}
	}
	if _, ok := r.Distribution(0, report.Panel{Side: measure.Server, Response: "rtt", Unit: "s"}); ok {
		t.Error("the server saw an RTT")
	}
}

// A row added to the table of fields is in the trial table, the report's cells,
// its distributions and its text, without a change anywhere else.
func TestAnAddedFieldIsReported(t *testing.T) {
	defer func(was []measure.Field) { measure.Fields = was }(measure.Fields)
	measure.Fields = append(slices.Clone(measure.Fields),
		measure.Field{Name: "queue", Column: "queue_ns", Client: measure.Always,
			Server: measure.Never, At: func(x *measure.Exchange) *int64 { return (*int64)(&x.Serialization) }, Place: 11,
			Response: measure.Response{Quantity: measure.Quantity{Name: "queue_time", Unit: "s"},
				Sides: []measure.Side{measure.Client}}})
	dir := filepath.Join(t.TempDir(), "results")
	if err := fabricated.Make(dir, 3, 2, 400); err != nil {
		t.Fatal(err)
	}
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := report.Read(s)
	if err == nil {
		err = r.ReadRaw(s, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, d := range r.Distributions {
		if d.Response == "queue_time" {
			found++
		}
	}
	if _, ok := r.Cell(0, measure.Client, "queue_time"); !ok || found != 3 {
		t.Errorf("a cell: %v; %d distributions, want one for each of 3 treatments", ok, found)
	}
	var csv strings.Builder
	if err := r.CSV(&csv); err != nil || !strings.Contains(csv.String(), "queue_time") {
		t.Errorf("the CSV lacks it (%v)", err)
	}
}
