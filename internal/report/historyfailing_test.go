package report

import (
	"bytes"
	"errors"
	"fmt"
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

// A history says at which run requests, or attempts at trials, began to fail more often, though each run by itself says
// too little, and until when.
func TestHistorySaysWhereItBegan(t *testing.T) {
	const file = "study: s\nservice: echo\nfactors: {stack: [a, b]}\nrequests: 30\ndesign: {replications: 6, seed: 1}\n" +
		"responses: [rtt]\nfailures: 50%\n"
	run := func(fail, crash bool) Past {
		w := exactly(func(_ map[string]string, block int) float64 { return 1e-3 * wobble(block) })
		w.quality = func(at map[string]string, block int) []store.Quality {
			failed := 0.0
			if fail && at["stack"] == "a" {
				failed = 1
			}
			return []store.Quality{{Key: "requests", Unit: "1", Value: 30}, {Key: "failures", Unit: "1", Value: failed}}
		}
		w.failed = func(_ map[string]string, block int) []string {
			if crash && block%2 == 0 {
				return []string{`trial 1: start the server: a serve did not say "ready": it ended with SIGABRT`}
			}
			return nil
		}
		return PastOf(reportOf(t, w.write(t, file)), nil)
	}
	for _, tt := range []struct {
		what        string
		fail, crash string // by run
		answer      string
		says        []string
	}{
		{"nothing", "........", "........", "", nil},
		{"requests", "....xxxxxx", "..........", "; more requests fail from 2026-11-30 04:00 on", []string{
			"! failed requests: from run4 on, more requests fail: "}},
		{"attempts", "......", "...xxx", "; more attempts fail from 2026-11-30 03:00 on", []string{
			"! failed attempts: from run3 on, attempts fail in more trials: in 18 of 36 trials up to run5, in 0 of 36 bef"}},
		{"and no more", "............", "...xxx......", "", []string{"! failed attempts: from run3 on, ",
			", and fewer again from run6 on: chance does not explain it"}},
		{"one odd run", "........", "..x.....", "", nil},
	} {
		var past []Past
		for i := range tt.fail {
			past = append(past, run(tt.fail[i] == 'x', tt.crash[i] == 'x'))
			past[i].Began, past[i].Dir = time.Date(2026, 11, 30, i, 0, 0, 0, time.Local), fmt.Sprint("run", i)
		}
		h, err := MakeHistory(past, "", ByDate, nil)
		if err != nil {
			t.Fatal(err)
		}
		var text, json bytes.Buffer
		if err := errors.Join(h.Text(&text), h.JSON(&json)); err != nil {
			t.Fatal(err)
		}
		flat := strings.Join(strings.Fields(text.String()), " ")
		for _, says := range tt.says {
			if !strings.Contains(flat, says) || strings.Count(json.String(), `"says": "from run`) != 1 {
				t.Errorf("%s: want %q, got\n%s\n%s", tt.what, says, text.String(), json.String())
			}
		}
		if got := strings.Contains(h.Answer(), " fail from "); got != (tt.answer != "") ||
			!strings.Contains(h.Answer(), tt.answer) || tt.says == nil && strings.Contains(flat, " on, ") {
			t.Errorf("%s: answer %q\n%s", tt.what, h.Answer(), flat)
		}
	}
}
