package report

import (
	"fmt"
	"math"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
)

// From when on it is told that requests at a rate did not leave when they were due.
const (
	paceFrom   = 0.95 // share of the rate that was reached, below which
	waitedFrom = 0.01 // share of the requests that waited for a connection, above which
)

// Together are the waits of several trials: sums, medians of what is of a trial, and the most that were under way.
func Together(all []measure.Waits) (w measure.Waits) {
	var paces []float64
	var uses []time.Duration
	for _, x := range all {
		w.Requests, w.Waited = w.Requests+x.Requests, w.Waited+x.Waited
		w.Wait, w.Late = w.Wait+x.Wait, w.Late+x.Late
		w.AtOnce = max(w.AtOnce, x.AtOnce)
		paces, uses = append(paces, x.Pace), append(uses, x.Use)
	}
	if len(all) > 0 {
		w.Pace, w.Use = stat.Middle(paces), time.Duration(stat.Middle(uses))
	}
	return w
}

// Behind says that requests at a rate did not leave when they were due, why, and what to set: setting is the name of
// concurrency, which is a number of connections, or of requests in flight where connection has them share one. It is
// empty where they did. Missed: the rate was not reached.
func Behind(w measure.Waits, rate float64, concurrency int, connection, setting string) (text string, missed bool) {
	missed = w.Pace < paceFrom
	if w.Requests == 0 || !missed && float64(w.Waited) <= waitedFrom*float64(w.Requests) {
		return "", false
	}
	text = "not every request left when it was due: "
	if missed {
		text = fmt.Sprintf("the rate was not reached: requests left at %s per second, not %g: ", significant(rate*w.Pace),
			rate)
	}
	free, keeps, more := "a connection was free", "keeps a connection", "more connections"
	busy, it := fmt.Sprintf("all %d connections in use", concurrency), "one"
	if concurrency == 1 {
		busy, it = "the only connection in use", "it"
	}
	if connection == "pipelined" || connection == "multiplexed" {
		free, keeps, more = "it might have been in flight", "is in flight", "more in flight"
		busy, it = plural.Count(concurrency, "request")+" in flight, the most there may be,", "one to end"
	}
	if missed && (w.Late > w.Wait || w.Waited == 0) {
		late := w.Late.Seconds() / float64(w.Requests)
		return text + fmt.Sprintf("the client was slow, and took a request up %s late (mean) though %s, which "+
			"response time includes; lower the rate, or free a CPU for the client", Format(late, "s"), free), missed
	}
	n := connectionsFor(w, rate, concurrency)
	why := fmt.Sprintf("the rate times the %s that a request %s, p99, and one", Format(w.Use.Seconds(), "s"), keeps)
	if w.AtOnce >= n {
		n, why = w.AtOnce+1, fmt.Sprintf("up to %d requests would have been under way at once, had none waited", w.AtOnce)
	}
	text += fmt.Sprintf("%d of %d requests found %s and waited %s for %s (mean), which response time includes; set "+
		"%s to %d or more (%s), or lower the rate", w.Waited, w.Requests, busy,
		Format(w.Wait.Seconds()/float64(w.Waited), "s"), it, setting, n, why)
	if missed {
		text += "; if " + more + " change nothing, the service cannot keep up with the rate"
	}
	return text, missed
}

// connectionsFor is how many connections are advised where so many were not enough: as many as there are requests due
// while a slow one is answered, and one.
func connectionsFor(w measure.Waits, rate float64, connections int) int {
	if n := int(math.Ceil(rate*w.Use.Seconds())) + 1; n > connections {
		return n
	}
	return 2 * connections
}

// doubtRates warns where requests at a rate waited for a connection, or the rate was not reached.
func (r *Report) doubtRates(noted [][]map[string]float64) {
	for i, trials := range noted {
		var all []measure.Waits
		for _, m := range trials {
			if pace, ok := m["rate_reached"]; ok {
				all = append(all, measure.Waits{Requests: int(m["requests"]), Waited: int(m["waited_for_connection"]),
					Wait: time.Duration(m["wait_for_connection"] * 1e9), Late: time.Duration(m["wait_for_client"] * 1e9),
					Pace: pace, Use: time.Duration(m["connection_use_p99"] * 1e9),
					AtOnce: int(m["requests_at_once"])})
			}
		}
		s := r.Treatments[i].setup
		if s == nil || len(all) == 0 {
			continue
		}
		text, missed := Behind(Together(all), s.Rate, s.Concurrency, s.Connection, "concurrency")
		if text == "" {
			continue
		}
		r.warnCells(i, measure.Client, []string{"response_time", "throughput"}, text)
		if missed {
			r.Alarms = append(r.Alarms, r.Treatments[i].Name()+": "+text)
		}
	}
}

// arrivalsUnlikely is how often it is said of a study whose clients draw their arrivals at the rate that one does not.
const arrivalsUnlikely = 1e-3

// doubtArrivals says whose clients draw random arrivals at another rate, by all trials of a treatment together: of one
// trial alone chance explains more.
func (r *Report) doubtArrivals(noted [][]map[string]float64) {
	told := 0
	for _, trials := range noted {
		if sum(trials, "arrivals_expected") > 0 {
			told++
		}
	}
	for i, trials := range noted {
		drawn, expected := sum(trials, "arrivals"), sum(trials, "arrivals_expected")
		if !(expected > 0) || r.Treatments[i].setup == nil ||
			stat.ArrivalsBeside(drawn, expected)*float64(told) >= arrivalsUnlikely {
			continue
		}
		text := fmt.Sprintf("%.0f requests were due in all trials, where %.0f are at random arrivals of %g per second, "+
			"which chance does not explain: the client does not draw them so; see how it does", drawn, expected,
			r.Treatments[i].setup.Rate)
		r.warnCells(i, measure.Client, []string{"response_time", "throughput"}, text)
		r.Alarms = append(r.Alarms, r.Treatments[i].Name()+": "+text)
	}
}

// Streams says that requests waited until the server took one more stream on the connection that they share: how many,
// of how many, and for how long in all, in s. Setting is the name of concurrency. It is empty where hardly any did.
func Streams(waited, requests int, wait float64, concurrency int, setting string) string {
	if float64(waited) <= waitedFrom*float64(requests) {
		return ""
	}
	return fmt.Sprintf("%d of %d requests waited %s (mean) for a stream on their connection: the server takes fewer at "+
		"once than %s %d, so more in flight change nothing; response time, total time and connection include that wait, "+
		"RTT does not; lower %s, or have the server take more streams", waited, requests,
		Format(wait/float64(waited), "s"), setting, concurrency, setting)
}

// doubtStreams warns where requests waited for a stream.
func (r *Report) doubtStreams(noted [][]map[string]float64) {
	for i, trials := range noted {
		s := r.Treatments[i].setup
		if s == nil {
			continue
		}
		if text := Streams(int(sum(trials, "waited_for_stream")), int(sum(trials, "requests")),
			sum(trials, "wait_for_stream"), s.Concurrency, "concurrency"); text != "" {
			r.warnCells(i, measure.Client, []string{"rtt", "response_time", "connection", "total_time", "throughput"}, text)
		}
	}
}
