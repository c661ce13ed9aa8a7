package report

import (
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// ofRequests notes that so many of 200 requests failed.
func ofRequests(failed float64) []store.Quality {
	return []store.Quality{{Key: "requests", Unit: "1", Value: 200}, {Key: "failures", Unit: "1", Value: failed}}
}

// A server that answers 500 at once is quick: the answer says how many requests failed, of which treatment.
func TestFailedRequestsStandInTheAnswer(t *testing.T) {
	const line = "Failed requests: b 120 of 1200 (10 %); of 1 other treatment none of 1200. Times and throughput are of " +
		"those that were answered"
	for _, tt := range []struct {
		file   string
		failed float64
		want   bool
	}{
		{oneTreatment + "failures: 20%\n", 20, true},
		{oneTreatment + "failures: 20%\n", 0, false},
		{oneTreatment, 20, false}, // as on a link that loses
	} {
		w := exactly(func(at map[string]string, block int) float64 {
			return map[string]float64{"a": 2e-3, "b": 1e-3}[at["stack"]] * wobble(block)
		})
		w.quality = func(at map[string]string, _ int) []store.Quality {
			return ofRequests(map[string]float64{"b": tt.failed}[at["stack"]])
		}
		r := reportOf(t, w.write(t, tt.file))
		said := r.Verdict()
		if got := strings.Contains(strings.Join(said, "\n"), line); got != tt.want {
			t.Errorf("%g failed: got %q, want the line: %v", tt.failed, said, tt.want)
		}
		if tt.want && !strings.Contains(said[0], "of the 90 % of its requests that were answered (others: 100 %)") {
			t.Errorf("got %q", said[0])
		}
		for name, write := range Formats {
			var b strings.Builder
			if err := write(r, &b); err != nil {
				t.Fatal(err)
			}
			if slices.Contains([]string{"text", "markdown", "html", "latex"}, name) &&
				strings.Contains(b.String(), "Failed requests") != tt.want {
				t.Errorf("%g failed: %s says it: %v", tt.failed, name, !tt.want)
			}
		}
	}
}

// A treatment whose failed requests cost bytes that its figure does not have is not called frugal without a word.
func TestFailedRequestsSayOfWhichBytesAre(t *testing.T) {
	w := exactly(func(map[string]string, int) float64 { return 1e-3 })
	w.quality = func(map[string]string, int) []store.Quality { return ofRequests(20) }
	r := reportOf(t, w.write(t, oneTreatment+"failures: 20%\n"))
	const words = "answered, and so are bytes and packets on the wire"
	if said := r.sayFailed(); len(said) != 1 || strings.Contains(said[0], words) {
		t.Errorf("without packets: got %q", said)
	}
	r.Cells = append(r.Cells, Cell{Response: "wire_bytes"})
	if said := r.sayFailed(); len(said) != 1 || !strings.Contains(said[0], words) {
		t.Errorf("with packets: got %q", said)
	}
}

// Attempts that were refused for their failures, and run again until fewer failed, leave the lucky ones: that is said.
func TestRefusedFailuresAreSaid(t *testing.T) {
	w := exactly(func(at map[string]string, block int) float64 { return 1e-3 * wobble(block) })
	none := reportOf(t, w.write(t, oneTreatment))
	if len(none.Alarms) > 0 {
		t.Errorf("nothing was refused: got %q", none.Alarms)
	}
	w.refused = func(at map[string]string, block int) []store.Quality {
		if at["stack"] != "b" || block > 2 {
			return nil
		}
		return append(ofRequests(float64(25*block)), store.Quality{Key: store.FailuresRefused, Unit: "1", Value: 1})
	}
	r := reportOf(t, w.write(t, oneTreatment))
	const want = "Check: b: 2 attempts did not count, since requests failed (up to 25 %): what counts are the luckier " +
		"trials"
	if got := strings.Join(r.Verdict(), "\n"); !strings.Contains(got, want) ||
		!strings.Contains(got, "write failures: 40%") {
		t.Errorf("got %s", got)
	}
	if c, ok := r.Cell(1, measure.Client, "rtt"); !ok || len(c.Warnings) == 0 {
		t.Errorf("no warning at the figure: %+v", c)
	}
	w.exact = func(at map[string]string, _ int) []store.Result { return nil } // no trial counts at all
	if r := reportOf(t, w.write(t, oneTreatment)); len(r.Alarms) > 0 {
		t.Errorf("without a valid trial: got %q", r.Alarms)
	}
}

// What a study lets fail decides which trials count: results that differ in it have another set-up.
func TestFailuresAreOfTheSetup(t *testing.T) {
	w := exactly(func(_ map[string]string, block int) float64 { return 1e-3 * wobble(block) })
	old, new := reportOf(t, w.write(t, oneTreatment)), reportOf(t, w.write(t, oneTreatment+"failures: 5%\n"))
	if got := SetupDifferences(old, new); !slices.Contains(got, "failures: not set before, 5 % now") {
		t.Errorf("got %q", got)
	}
}

// Requests that failed took time, which no figure has: that a closed loop answered less than it could is then no fault
// of the client.
func TestThroughputWhereRequestsFail(t *testing.T) {
	for failed, alarmed := range map[float64]bool{0: true, 120: false} {
		w := exactly(nil)
		w.exact = func(map[string]string, int) []store.Result {
			var out []store.Result
			for response, v := range map[string]float64{"total_time": 1e-3, "throughput": 400} {
				x, _ := measure.FindResponse(response)
				out = append(out, store.Result{Side: measure.Client, Response: response, Unit: x.Unit, N: 80, Mean: v, SD: v / 10,
					Median: v, P95: v, Min: v, Max: v, Method: store.Measured})
			}
			return out
		}
		w.quality = func(map[string]string, int) []store.Quality { return ofRequests(failed) }
		r := reportOf(t, w.write(t, oneTreatment))
		if got := strings.Contains(strings.Join(r.Alarms, "\n"), "the client was idle"); got != alarmed {
			t.Errorf("%g of 200 failed: got %q", failed, r.Alarms)
		}
	}
}
