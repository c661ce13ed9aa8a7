package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// Thinning keeps the order, the number asked for, and every extreme.
func TestThinnedKeepsExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 5, 2000, 2001, 12345, 100_000} {
		values := make([]int64, n)
		for i := range values {
			values[i] = r.Int64N(1000)
		}
		if n > 10 {
			values[n/3], values[n/2] = 1_000_000, -5
		}
		places := Thinned(values, 2000)
		if len(places) > 2000 || !slices.IsSorted(places) || len(slices.Compact(slices.Clone(places))) != len(places) {
			t.Errorf("%d values: %d places", n, len(places))
		}
		if n <= 2000 && len(places) != n {
			t.Errorf("%d values: only %d places", n, len(places))
		}
		if n > 10 && (!slices.Contains(places, n/3) || !slices.Contains(places, n/2)) {
			t.Errorf("%d values: an extreme is lost", n)
		}
	}
}

// What stands between the page's head and its scripts is Parts, byte for byte.
func TestPartsAreThePages(t *testing.T) {
	r := fakeReport(t, 3, 2, 4)
	var page, parts strings.Builder
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := r.Parts(&parts); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(page.String(), "<body>\n")
	if !strings.HasPrefix(body, parts.String()) ||
		!strings.HasPrefix(body[parts.Len():], "<script>") || parts.Len() < 10_000 {
		t.Errorf("the page of %d B has other parts than the %d B of Parts", page.Len(), parts.Len())
	}
	for _, not := range []string{"style=", "<style", "onclick", "javascript:"} {
		if strings.Contains(parts.String(), not) {
			t.Errorf("the parts have %q, which a page without inline code refuses", not)
		}
	}
}

func TestDrawingsSayWhatTheyShow(t *testing.T) {
	f, _ := measure.FindField("rtt")
	values := []int64{1000, 2000, 3000, 9_000_000}
	for want, p := range map[string]Picture{
		"RTT: serialization 2.00 µs; total 5.00 µs": Waterfall("w", "RTT", []Bar{{"serialization", 0, 2e-6, "a"},
			{"total", 0, 5e-6, "b"}}),
		"RTT of the 4 requests in their order: least 1.00 µs, median": Scatter("s", "RTT", f, values, []int{0, 1, 2, 3}),
		"RTT p50": Spread("d", "RTT", f, values),
	} {
		if !strings.HasPrefix(p.Says, want) || p.Height == 0 || strings.Contains(p.body, "NaN") {
			t.Errorf("%s: says %q; %s", p.ID, p.Says, p.body)
		}
	}
	// 4 ms of 8 ms is half the width of an axis that ends 4 % beyond 8 ms
	p := Waterfall("w", "x", []Bar{{"a", 0, 4e-3, "one"}, {"b", 4e-3, 8e-3, "two"}})
	if want := `<rect class="two" x="48.08%" width="48.08%"`; !strings.Contains(p.body, want) {
		t.Errorf("no %s in %s", want, p.body)
	}
}

// Readings at unequal intervals count for their times in a thinned trace, too: 1 W for 1 ms, 2 W for 9 ms, and so on.
func TestThinnedPowerIsThatOfTheTime(t *testing.T) {
	all := []TracePoint{{At: 0, Mean: 5, Lo: 5, Hi: 5}}
	for i := range 1000 {
		w, took := 1.0, 1e-3
		if i%2 == 1 {
			w, took = 2, 9e-3
		}
		all = append(all, TracePoint{all[i].At + took, w, w, w})
	}
	x := Trace{Points: thinned(all)}
	if got := x.mean(0, all[1000].At); len(x.Points) != traceParts || math.Abs(got-1.9) > 1e-9 {
		t.Errorf("got %v W in %d points, want 1.9", got, len(x.Points))
	}
	if x.Points[0].Hi != 5 || x.Points[100].Lo != 1 || x.Points[100].Hi != 2 {
		t.Errorf("extremes are lost: %+v, %+v", x.Points[0], x.Points[100])
	}
}
