package report

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// A history says at which run requests began to fail, whatever response is asked for, and nothing where as many failed
// as before.
func TestHistorySeesRequestsThatBeginToFail(t *testing.T) {
	const file = "study: s\nservice: echo\nfactors: {stack: [a, b]}\nrequests: 100\ndesign: {replications: 8, seed: 1}\n" +
		"responses: [rtt]\nfailures: 50%\n"
	const burst = 50 // so many fail in one trial alone, which chance may explain
	run := func(fail float64) Past {
		w := world{method: store.Measured}
		w.value = func(_ map[string]string, side measure.Side, response string) (float64, float64) {
			if response == "rtt" && side == measure.Client {
				return 1e-3, 2e-5
			}
			return math.NaN(), 0
		}
		w.quality = func(at map[string]string, block int) []store.Quality {
			failed := 0.0
			switch {
			case at["stack"] != "a":
			case fail < burst:
				failed = max(0, fail+float64(block%2))
			case block == 3:
				failed = fail
			}
			return []store.Quality{{Key: "requests", Unit: "1", Value: 100}, {Key: "failures", Unit: "1", Value: failed}}
		}
		return PastOf(reportOf(t, w.write(t, file)), nil)
	}
	for _, tt := range []struct {
		fail []float64
		want int // remarks
	}{{[]float64{-1, -1, -1}, 0}, {[]float64{2, 2, 2}, 0}, {[]float64{-1, -1, 10, 10}, 1}, {[]float64{10, 10, -1}, 0},
		{[]float64{-1, -1, burst}, 0}} {
		var past []Past
		for i, f := range tt.fail {
			past = append(past, run(f))
			past[i].Began = time.Date(2026, 11, 30, i, 0, 0, 0, time.UTC)
		}
		h, err := MakeHistory(past, "", ByDate, nil)
		if err != nil {
			t.Fatal(err)
		}
		var text, json bytes.Buffer
		if err := h.Text(&text); err != nil {
			t.Fatal(err)
		}
		if err := h.JSON(&json); err != nil {
			t.Fatal(err)
		}
		for form, got := range map[string]int{"text": strings.Count(text.String(), "! failed requests:"),
			"json": strings.Count(json.String(), `"more_requests_failed"`)} {
			if got != tt.want {
				t.Errorf("%v failed in runs: %s has %d remarks, want %d\n%s", tt.fail, form, got, tt.want, text.String())
			}
		}
	}
}
