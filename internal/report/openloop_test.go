package report

import (
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// It is told how many requests waited, for what, and what to set; nothing is where they left when due.
func TestBehindSaysWhy(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		what        string
		w           measure.Waits
		connections int
		missed      bool
		want        []string
	}{
		{"in time", measure.Waits{Requests: 400, Waited: 4, Wait: ms, Pace: 1, Use: 44 * ms}, 1, false, nil},
		{"the rate is not reached", measure.Waits{Requests: 400, Waited: 399, Wait: 399 * 6 * time.Second, Pace: 0.227,
			Use: 44 * ms}, 1, true, []string{"left at 22.7 per second, not 100",
			"399 of 400 requests found the only connection in use and waited 6.00 s for it", "--concurrency to 6 or more",
			"the service cannot keep up with the rate"}},
		{"some wait", measure.Waits{Requests: 400, Waited: 60, Wait: 60 * 20 * ms, Pace: 1, Use: 35 * ms}, 4, false,
			[]string{"not every request left when it was due", "60 of 400 requests found all 4 connections in use and waited " +
				"20.0 ms for one", "--concurrency to 5 or more"}},
		{"a stall", measure.Waits{Requests: 500, Waited: 100, Wait: 50 * time.Second, Pace: 0.9, Use: 44 * ms,
			AtOnce: 101}, 4, true, []string{
			"--concurrency to 102 or more (up to 101 requests would have been under way at once"}},
		{"bursts", measure.Waits{Requests: 400, Waited: 60, Wait: 60 * ms, Pace: 1, Use: ms}, 4, false,
			[]string{"--concurrency to 8 or more"}},
		{"a slow client", measure.Waits{Requests: 400, Late: 400 * 50 * ms, Pace: 0.8, Use: ms}, 4, true,
			[]string{"left at 80.0 per second", "the client was slow, and took a request up 50.0 ms late",
				"lower the rate, or free a CPU"}},
	} {
		text, missed := Behind(tt.w, 100, tt.connections, "keep-alive", "--concurrency")
		if missed != tt.missed || (text == "") != (tt.want == nil) {
			t.Errorf("%s: missed %v: %s", tt.what, missed, text)
		}
		for _, part := range tt.want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %s; want %q", tt.what, text, part)
			}
		}
	}
}

// Of two trials, one of which reached the rate, the median lies between them: it was not reached.
func TestTwoTrialsHaveAMedian(t *testing.T) {
	w := Together([]measure.Waits{{Requests: 160, Pace: 0.48, Use: 10 * time.Millisecond},
		{Requests: 160, Pace: 1, Use: 30 * time.Millisecond}})
	_, missed := Behind(w, 80, 1, "keep-alive", "concurrency")
	if !missed || w.Pace != 0.74 || w.Use != 20*time.Millisecond {
		t.Errorf("got %+v, missed: %v", w, missed)
	}
	of := func(wait float64) map[string]float64 {
		return map[string]float64{"usage_span": 1, "run_queue_wait_client": wait}
	}
	if got := waitShare([]map[string]float64{of(0), of(0.5)}, measure.Client); got != 0.25 {
		t.Errorf("programs waited for %g of the time, want 0.25", got)
	}
}

// Clients that draw their arrivals a little too seldom are told of by all trials together; those whose trials are as
// probable are not, nor are results of earlier versions, which note nothing.
func TestRandomArrivalsOfAllTrials(t *testing.T) {
	for _, tt := range []struct {
		what     string
		arrivals float64 // of 400 that are expected in each of 12 trials; 0: nothing is noted
		want     bool
	}{{"at the rate", 397, false}, {"8 % too few", 368, true}, {"8 % too many", 432, true}, {"nothing noted", 0, false}} {
		w := exactly(func(_ map[string]string, block int) float64 { return 1e-3 * wobble(block) })
		w.quality = func(map[string]string, int) []store.Quality {
			if tt.arrivals == 0 {
				return nil
			}
			return []store.Quality{{Key: "requests", Unit: "1", Value: tt.arrivals},
				{Key: "arrivals", Unit: "1", Value: tt.arrivals}, {Key: "arrivals_expected", Unit: "1", Value: 400}}
		}
		r := reportOf(t, w.write(t, "study: s\nservice: monitor\nduration: 4s\nrate: 100\narrival: poisson\n"+
			"factors: {stack: [a, b]}\ndesign: {replications: 12, seed: 1}\n"))
		said := strings.Contains(strings.Join(r.Alarms, "\n"), "where 4800 are at random arrivals of 100 per second")
		if said != tt.want {
			t.Errorf("%s: told %v: %q", tt.what, said, r.Alarms)
		}
	}
}

// Requests that share a connection wait for one of them to end, and not for a connection.
func TestBehindSaysWhatLimitsASharedConnection(t *testing.T) {
	const ms = time.Millisecond
	slow := measure.Waits{Requests: 400, Late: 400 * 50 * ms, Pace: 0.8, Use: ms}
	full := measure.Waits{Requests: 400, Waited: 399, Wait: 399 * 6 * time.Second, Pace: 0.227, Use: 44 * ms}
	for _, connection := range []string{"pipelined", "multiplexed"} {
		late, _ := Behind(slow, 100, 4, connection, "concurrency")
		waited, _ := Behind(full, 100, 4, connection, "concurrency")
		for want, text := range map[string]string{
			"found 4 requests in flight, the most there may be, and waited 6.00 s for one to end":  waited,
			"set concurrency to 6 or more (the rate times the 44.0 ms that a request is in flight": waited,
			"if more in flight change nothing":                waited,
			"late (mean) though it might have been in flight": late,
		} {
			if !strings.Contains(text, want) || strings.Contains(text, "connection") {
				t.Errorf("%s: %s; want %q", connection, text, want)
			}
		}
	}
}

// A report tells of a rate that was not reached in its answer, and of waits beside the response time.
func TestReportTellsOfRates(t *testing.T) {
	const study = "study: s\nservice: monitor\nstack: a\nrequests: 100\nrate: 100\ndesign: {replications: 8, seed: 1}\n"
	for _, tt := range []struct {
		what           string
		waited, pace   float64
		warned, missed bool
	}{
		{"reached", 0, 1, false, false}, {"some waited", 20, 1, true, false}, {"not reached", 99, 0.2, true, true},
	} {
		w := exactly(nil)
		w.exact = func(_ map[string]string, block int) []store.Result {
			var all []store.Result
			for _, name := range []string{"rtt", "response_time"} {
				v := 1e-3 * wobble(block)
				all = append(all, store.Result{Side: measure.Client, Response: name, Unit: "s", N: 100, Mean: v, SD: v / 10,
					Median: v, P95: v, Min: v, Max: v, Method: store.Measured})
			}
			return all
		}
		w.quality = func(map[string]string, int) []store.Quality {
			return []store.Quality{{Key: "requests", Unit: "1", Value: 100},
				{Key: "waited_for_connection", Unit: "1", Value: tt.waited},
				{Key: "wait_for_connection", Unit: "s", Value: tt.waited}, {Key: "rate_reached", Unit: "1", Value: tt.pace},
				{Key: "connection_use_p99", Unit: "s", Value: 0.044}}
		}
		r := reportOf(t, w.write(t, study))
		of := map[string]bool{}
		for _, c := range r.Cells {
			of[c.Response] = strings.Contains(strings.Join(c.Warnings, " "), "set concurrency to 6 or more")
		}
		if of["response_time"] != tt.warned || of["rtt"] {
			t.Errorf("%s: warned of %v", tt.what, of)
		}
		if said := strings.Join(r.Verdict(), " "); strings.Contains(said, "the rate was not reached: requests left at 20.0 "+
			"per second, not 100") != tt.missed {
			t.Errorf("%s: %s", tt.what, said)
		}
	}
}

// Where requests waited for a stream, figures of more in flight than the server takes say so.
func TestReportTellsOfWaitsForAStream(t *testing.T) {
	const study = "study: s\nservice: monitor\nstack: a\nconnection: multiplexed\nconcurrency: 50\nrequests: 100\n" +
		"design: {replications: 3, seed: 1}\n"
	for waited, warned := range map[float64]bool{0: false, 1: false, 2: true} {
		w := exactly(nil)
		w.exact = func(_ map[string]string, block int) []store.Result {
			v := 1e-3 * wobble(block)
			return []store.Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 100, Mean: v, SD: v / 10, Median: v,
				P95: v, Min: v, Max: v, Method: store.Measured}}
		}
		w.quality = func(map[string]string, int) []store.Quality {
			return []store.Quality{{Key: "requests", Unit: "1", Value: 100},
				{Key: "waited_for_stream", Unit: "1", Value: waited}, {Key: "wait_for_stream", Unit: "s", Value: waited / 4}}
		}
		said := strings.Join(reportOf(t, w.write(t, study)).Cells[0].Warnings, " ")
		if strings.Contains(said, "6 of 300 requests waited 250 ms (mean) for a stream on their connection: the server "+
			"takes fewer at once than concurrency 50") != warned || strings.Contains(said, "stream") != warned {
			t.Errorf("%g of 100 waited: %s", waited, said)
		}
	}
}
