package lab

import (
	"math"
	"slices"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// At a rate, throughput is of the whole schedule where that ends after the last answer: 5 of 5 per second are 5 per
// second, not 6.25.
func TestThroughputAtARate(t *testing.T) {
	for _, tt := range []struct {
		rate    float64
		arrival string
		last    time.Duration
		want    float64
	}{
		{0, "", 800 * time.Millisecond, 6.25},
		{5, "constant", 800 * time.Millisecond, 5},
		{5, "constant", 2 * time.Second, 2.5}, // the last answer came late
		{5, "poisson", 500 * time.Millisecond, 5},
		{5, "poisson", 1250 * time.Millisecond, 4},
	} {
		e := sound()
		e.setup.Rate, e.setup.Arrival, e.setup.Duration, e.setup.Requests = tt.rate, tt.arrival, time.Second, 0
		e.sides[atClient].n, e.sides[atClient].failed, e.sides[atClient].last = 5, 0, int64(tt.last)
		e.summarize()
		i := slices.IndexFunc(e.findings.results, func(x store.Result) bool { return x.Response == "throughput" })
		if i < 0 || e.findings.results[i].Mean != tt.want {
			t.Errorf("%+v: got %+v", tt, e.findings.results)
		}
	}
}

// A server that breaks midway is not quick: throughput and span are of the whole run, also where a failed request has
// no answer, and where its record does not tell when it ended.
func TestThroughputIsOfTheWholeRun(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		what   string
		failed measure.Exchange // the one after four right answers in 40 ms
		span   time.Duration
	}{
		{"a wrong answer", measure.Exchange{Sent: 40 * ms, Done: 80 * ms, Total: 40 * ms, Deserialization: ms}, 80 * ms},
		{"none in time", measure.Exchange{Sent: 60 * ms, Serialization: 5 * ms, Connection: 15 * ms, Total: 540 * ms},
			580 * ms},
		{"some bytes of one", measure.Exchange{Sent: 40 * ms, Done: 41 * ms, Total: 500 * ms}, 540 * ms},
		{"never sent", measure.Exchange{Total: 360 * ms}, 400 * ms},
		{"an end that nobody tells", measure.Exchange{Sent: 40 * ms}, 200 * ms},       // as the lab saw the run end
		{"nor does the lab see it soon", measure.Exchange{Sent: 700 * ms}, 1200 * ms}, // the timeout is 500 ms
	} {
		e := sound()
		e.timeout = 500 * ms
		e.conversation.run.Ended = e.conversation.run.Began.Add(200 * ms)
		if tt.span > 1000*ms {
			e.conversation.run.Ended = e.conversation.run.Began.Add(9000 * ms)
		}
		e.sides[atClient] = accumulator{check: recordCheck{side: measure.Client}}
		for i := range 4 {
			at := time.Duration(i) * 10 * ms
			e.sides[atClient].add(measure.Exchange{Seq: uint64(i + 1), Due: at, Sent: at, Done: at + 10*ms, Total: 10 * ms})
		}
		tt.failed.Seq, tt.failed.Due, tt.failed.Failure = 5, 40*ms, "broken"
		e.sides[atClient].add(tt.failed)
		e.summarize()
		i := slices.IndexFunc(e.findings.results, func(x store.Result) bool { return x.Response == "throughput" })
		if want := 4 / tt.span.Seconds(); i < 0 || math.Abs(e.findings.results[i].Mean/want-1) > 1e-9 {
			t.Errorf("%s: got %+v, want %g per second", tt.what, e.findings.results, want)
		}
		if j := slices.IndexFunc(e.findings.quality, func(q store.Quality) bool { return q.Key == "span" }); j < 0 ||
			e.findings.quality[j].Value != tt.span.Seconds() {
			t.Errorf("%s: got %+v, want a span of %v", tt.what, e.findings.quality, tt.span)
		}
	}
}

// A client at a rate is busy for the time in which requests fail, too.
func TestFailingIsNoBusyClient(t *testing.T) {
	e := sound()
	e.driven(900*time.Millisecond, 0, 1)
	if e.driver() == "" {
		t.Fatal("a client that was busy for 0.9 of 1 s is not busy")
	}
	e.sides[atClient].given = int64(10 * time.Second)
	if why := e.driver(); why != "" {
		t.Error(why)
	}
}
