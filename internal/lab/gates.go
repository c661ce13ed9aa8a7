package lab

import (
	"context"
	"fmt"
	"time"

	"edgegauge/internal/measure"
	"edgegauge/internal/store"
)

// check passes the trial through the gates of doc/method.md and adds the figures of
// which a trial has only one. What a gate says is the reason why the trial is
// invalid.
func (r *rig) check(context.Context) error {
	r.summarize()
	for _, gate := range r.gates() {
		if reason := gate(); reason != "" {
			return fmt.Errorf("%s; see %s", reason, r.server.log)
		}
	}
	return nil
}

// gates say why the trial is invalid, or nothing.
func (r *rig) gates() []func() string {
	return []func() string{r.counts, r.answers, r.instants, r.bytes, r.littlesLaw, r.driver}
}

// summarize adds throughput, CPU and memory, and the quality record.
func (r *rig) summarize() {
	client, server := &r.tally[atClient], &r.tally[atServer]
	answered := client.n - client.failed
	if answered > 0 && client.last > 0 {
		r.results = append(r.results, single(measure.Client, "throughput", float64(answered)/time.Duration(client.last).Seconds()))
	}
	for _, once := range []struct {
		response string
		took     time.Duration
	}{{"discovery", r.phases.Discovery}, {"metadata", r.phases.Metadata}, {"first_invoke", r.phases.FirstInvoke}} {
		if once.took > 0 {
			r.results = append(r.results, single(measure.Client, once.response, once.took.Seconds()))
		}
	}
	for i, side := range []measure.Side{measure.Client, measure.Server} {
		before, after := r.usage[i][0], r.usage[i][1]
		cpu := r.cpuOf(i)
		if client.n > 0 {
			r.results = append(r.results, single(side, "cpu", cpu.Seconds()/float64(client.n)))
		}
		r.results = append(r.results, single(side, "peak_rss", float64(after.PeakRSS)))
		if i == atServer && after.Instructions > 0 && client.n > 0 {
			r.results = append(r.results, single(side, "instructions", float64(after.Instructions-before.Instructions)/float64(client.n)))
		}
		r.quality = append(r.quality,
			store.Quality{Key: "run_queue_wait_" + string(side), Unit: "s", Value: (after.Waiting - before.Waiting).Seconds()})
		if after.Periods > 0 {
			r.quality = append(r.quality,
				store.Quality{Key: "quota_periods_" + string(side), Unit: "1", Value: float64(after.Periods - before.Periods)},
				store.Quality{Key: "quota_throttled_" + string(side), Unit: "1", Value: float64(after.Throttled - before.Throttled)},
				store.Quality{Key: "quota_wait_" + string(side), Unit: "s", Value: (after.ThrottledFor - before.ThrottledFor).Seconds()})
		}
	}
	r.quality = append(r.quality,
		store.Quality{Key: "requests", Unit: "1", Value: float64(client.n)},
		store.Quality{Key: "failures", Unit: "1", Value: float64(client.failed)},
		store.Quality{Key: "requests_at_server", Unit: "1", Value: float64(server.n)},
		store.Quality{Key: "span", Unit: "s", Value: time.Duration(client.last).Seconds()},
	)
	if client.thirds[0] > 0 {
		r.quality = append(r.quality, store.Quality{Key: "rtt_first_third", Unit: "s", Value: client.thirds[0]}, store.Quality{Key: "rtt_last_third", Unit: "s", Value: client.thirds[1]})
	}
}

// cpuOf is a side's CPU time in the recorded run, by its own account if it keeps one.
func (r *rig) cpuOf(side int) time.Duration {
	if r.cpu[side] > 0 {
		return r.cpu[side]
	}
	return r.usage[side][1].CPU - r.usage[side][0].CPU
}

// counts: every request asked for was sent, and each one is known at both sides.
func (r *rig) counts() string {
	client, server := r.tally[atClient], r.tally[atServer]
	switch {
	case r.s.Requests > 0 && client.n != r.s.Requests:
		return fmt.Sprintf("%d requests were recorded, %d were asked for", client.n, r.s.Requests)
	case client.n == 0:
		return "no request was sent"
	case client.failed == 0 && server.n != client.n:
		return fmt.Sprintf("the client counts %d requests, the server %d", client.n, server.n)
	}
	return ""
}

// answers: on a link that loses nothing every answer comes, and is right.
func (r *rig) answers() string {
	t := r.tally[atClient]
	if t.failed == 0 {
		return ""
	}
	const bearable = 0.05 // of the requests, where the link itself may lose them
	lossy := r.s.Link.Up.Loss > 0 || r.s.Link.Down.Loss > 0 || r.line != nil && (r.line.Link.Up.Loss > 0 || r.line.Link.Down.Loss > 0)
	if lossy && float64(t.failed) <= bearable*float64(t.n) {
		return ""
	}
	return fmt.Sprintf("%d of %d requests failed, the first with: %s", t.failed, t.n, t.why)
}

// instants: no exchange contradicts itself.
func (r *rig) instants() string {
	for i, side := range []string{"client", "server"} {
		if w := r.tally[i].wrong; w != "" {
			return "the " + side + "'s record of " + w
		}
	}
	return ""
}

// fault says what is impossible in a record, if anything.
func fault(x measure.Exchange) string {
	phases := x.Serialization + x.Connection + x.Processing + x.Deserialization + x.RTT()
	switch {
	case x.Sent < x.Due || x.Done < x.Sent:
		return fmt.Sprintf("request %d has due %v, sent %v, done %v", x.Seq, x.Due, x.Sent, x.Done)
	case x.Serialization < 0 || x.Connection < 0 || x.Processing < 0 || x.Deserialization < 0:
		return fmt.Sprintf("request %d has a negative phase", x.Seq)
	case phases > x.Total+time.Microsecond: // the clocks of different reads may straddle a step
		return fmt.Sprintf("request %d has phases of %v in a total of %v", x.Seq, phases, x.Total)
	}
	return ""
}

// bytes: both sides saw the same bodies.
func (r *rig) bytes() string {
	client, server := r.tally[atClient], r.tally[atServer]
	if client.failed > 0 || client.blind || (client.out == server.in && client.in == server.out) {
		return ""
	}
	return fmt.Sprintf("the client sent %d B and received %d B, the server received %d B and sent %d B", client.out, client.in, server.in, server.out)
}

// littlesLaw: mean number in the system = throughput × mean time in it; in a
// closed loop that number cannot exceed the connections (Jain 1991, chapter 30).
func (r *rig) littlesLaw() string {
	t := r.tally[atClient]
	if r.s.Rate > 0 || t.last == 0 {
		return ""
	}
	inside := float64(t.busy) / float64(t.last)
	if limit := float64(r.s.Concurrency) * 1.01; inside > limit {
		return fmt.Sprintf("on average %.2f requests were under way on %d connections: the instants are wrong", inside, r.s.Concurrency)
	}
	return ""
}

// driver: under open load the client must have had time to send when it was due.
func (r *rig) driver() string {
	t := r.tally[atClient]
	if r.s.Rate == 0 || r.cpu[atClient] == 0 || t.last == 0 {
		return ""
	}
	const busiest = 0.8
	if share := float64(r.cpu[atClient]) / float64(t.last); share >= busiest {
		return fmt.Sprintf("the client was busy for %.0f %% of the run: at %g requests a second it measures itself; lower the rate", 100*share, r.s.Rate)
	}
	return ""
}
