package report

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"

	"golang.org/x/perf/benchfmt"
)

// Treatments whose levels differ only in what a name cannot hold stay apart.
func TestBenchfmtKeepsTreatmentsApart(t *testing.T) {
	levels := []string{"a b", "a_b", "a/b", "a%20b", "a\u00a0b", "a\u2028b", "a%b"}
	r := fakeReport(t, 1, len(levels), 3)
	for i := range r.Treatments {
		r.Treatments[i].Levels[1] = levels[i]
	}
	var b strings.Builder
	if err := r.Benchfmt(&b); err != nil {
		t.Fatal(err)
	}
	read := benchfmt.NewReader(strings.NewReader(b.String()), "report.txt")
	trials := map[string]int{}
	for read.Scan() {
		switch x := read.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(x)
		case *benchfmt.Result:
			trials[string(x.Name)]++
		}
	}
	sides := map[string]bool{}
	for _, c := range r.Cells {
		sides[string(c.Side)] = true
	}
	if len(trials) != len(levels)*len(sides) {
		t.Errorf("%d treatments and %d sides have the names %v", len(levels), len(sides), trials)
	}
	for name, n := range trials {
		if n != 3 {
			t.Errorf("%s has %d trials", name, n)
		}
	}
}

// A share is no count, and not of an operation.
func TestBenchUnitOfAShare(t *testing.T) {
	for response, want := range map[string]string{"failed_share": "failed_share-ratio", "packets": "packets-count/op",
		"notifications_missed": "notifications_missed-ratio", "resent": "resent-count/op"} {
		if got := benchUnit(Panel{measure.Client, response, "1"}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
