package lab

import (
	"cmp"
	"fmt"
	"time"

	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// fault is why the trial is invalid: what the first gate says that it does not pass; empty: it is valid.
func (e *evidence) fault() string {
	for _, gate := range e.gates() {
		if why := gate(); why != "" {
			return why
		}
	}
	return ""
}

// gates are those of doc/method.md that the trial has to pass. Each says why it does not, or nothing.
func (e *evidence) gates() []func() string {
	switch {
	case e.devices != nil:
		return e.gatesOfDevices()
	case existing(e.setup):
		return []func() string{e.togetherBegun, e.counts, e.possible, e.answers, e.scheduled, e.warm, e.accounts,
			e.littlesLaw, e.driver, e.onTime, e.stalled}
	}
	return []func() string{e.togetherBegun, e.counts, e.possible, e.answers, e.scheduled, e.warm, e.accounts, e.bytes,
		e.littlesLaw, e.driver, e.onTime, e.stalled}
}

// gatesOfDevices judge a trial of many devices. Failed requests are what it measures, unless the study bounds them;
// a driver that was late, or lost answers, is no measurement.
func (e *evidence) gatesOfDevices() []func() string {
	d, served := e.devices, int64(e.sides[atServer].n)
	if existing(e.setup) {
		served = -1
	}
	return []func() string{
		func() string { return d.counts(served) }, e.possible,
		func() string { return d.answers(e.sides[atClient].why) }, e.answers, d.outageMet, e.warm, e.accounts,
		d.punctual, func() string { return d.driver(e.stated()) }, e.stalled}
}

// togetherBegun: the benches began at one instant, as far as that matters to the load.
func (e *evidence) togetherBegun() string {
	most := e.setup.MostApart()
	if !e.setup.Joint() || e.apart <= most {
		return ""
	}
	return fmt.Sprintf("the benches began up to %v apart, as far as their clocks tell; %v is allowed, 1 %% of %v; "+
		"measure longer, or lower the rate, or write arrival: poisson, or connect the benches better",
		e.apart.Round(time.Microsecond), most, e.setup.Interval())
}

// exact is the number of requests that the run was to have; 0: a time limited it.
func (e *evidence) exact() int {
	if e.setup.MinDuration > 0 {
		return 0
	}
	return e.setup.Requests
}

// counts: every request asked for was sent, and each one is known at both sides; of those that failed, the server may
// know less, and nobody more.
func (e *evidence) counts() string {
	client, server := &e.sides[atClient], &e.sides[atServer]
	switch {
	case e.exact() > 0 && client.n != e.exact():
		return fmt.Sprintf("%d requests were recorded, %d were requested", client.n, e.exact())
	case client.n == 0:
		return "no request was sent"
	case e.tooFew() != "":
		return e.tooFew()
	case existing(e.setup):
		return "" // its own count is not known
	case client.failed == 0 && server.n != client.n && e.ends[atClient].Repetitions > 0:
		return fmt.Sprintf("the client counted %d requests and retried %d of them; the server served %d",
			client.n, e.ends[atClient].Repetitions, server.n)
	case client.failed == 0 && client.wrong == "" && server.n != client.n:
		return fmt.Sprintf("the client counted %d requests, the server %d", client.n, server.n)
	case client.wrong == "" && server.n < client.n-client.failed:
		return fmt.Sprintf("the client counted %d answers, but the server served %d requests", client.n-client.failed,
			server.n)
	case e.mayFail() != nil && !e.lossy && client.wrong == "" &&
		server.n-client.n > e.ends[atClient].Repetitions:
		return fmt.Sprintf("the client counted %d requests, %d of them failed; the server served %d", client.n,
			client.failed, server.n)
	}
	return ""
}

// possible: no record contradicts itself, the others, or the lab's clock.
func (e *evidence) possible() string {
	for i, side := range sides {
		if w := e.sides[i].wrong; w != "" {
			return fmt.Sprintf("the %s's record of %s", side, w)
		}
	}
	if c := &e.sides[atClient]; e.exact() > 0 && c.check.highest > uint64(c.n) {
		return fmt.Sprintf("the client has %d records, but a seq of %d", c.n, c.check.highest)
	}
	return ""
}

// mayFail is the share of the requests that the study lets fail; nil: it does not say, or a search for the load that a
// server bears has an objective that does.
func (e *evidence) mayFail() *float64 {
	if e.overload {
		return nil
	}
	return e.failures
}

// answers: every answer comes, and is right, but for those that the study lets fail. Where it does not say, those are
// what a link may lose, and of devices all.
func (e *evidence) answers() string {
	c, may, more := &e.sides[atClient], e.mayFail(), ""
	switch {
	case c.failed == 0 || e.overload:
		return ""
	case may != nil:
		if float64(c.failed)/float64(c.n) <= *may {
			return ""
		}
		more = fmt.Sprintf(", more than the %.6g %% of failures", 100**may)
	case e.devices != nil, e.lossy && Bears(e.setup, e.link, c.failed, c.n), lostByLink(e.setup, e.link, c.failed, c.n):
		return ""
	}
	e.findings.note(store.FailuresRefused, "1", float64(c.failed))
	why := fmt.Sprintf("%d of %d requests failed%s; first failure: %s", c.failed, c.n, more,
		cmp.Or(c.why, "the client does not say why"))
	if c.failed < c.n { // else there would be no times
		why += "; to measure the service as it is, write failures: " + study.FailuresFor(c.failed, c.n)
	}
	return why
}

// Bears reports whether a trial behind a link that loses is valid though so many of n requests failed, where a study
// does not say how many may: few did, or nobody sends again what the link may have cost.
func Bears(s *study.Setup, l link.Link, failed, n int) bool {
	const bearable = 0.05
	return float64(failed) <= bearable*float64(n) || lostByLink(s, l, failed, n)
}

// lostByLink says whether a link that loses may have cost so many of n requests that nobody
// sends again. To refuse what is likely would keep the lucky trials only.
func lostByLink(s *study.Setup, l link.Link, failed, n int) bool {
	const unlikely = 1e-6
	if !s.SentOnce() {
		return false
	}
	lost := 1 - (1-l.Up.Loss)*(1-l.Down.Loss)
	if max(l.Up.Burst, l.Down.Burst) > 1 { // neighbours are lost together: no count is unlikely
		return lost > 0
	}
	return stat.AtLeast(failed, n, lost) > unlikely
}

// cpuSlack is what the kernel's account of a program's CPU time may hold beside the run: ticks, and what it does before
// and behind.
const cpuSlack = 50 * time.Millisecond

// accounts: a program's own account of its CPU time agrees with the kernel's of
// all its life until then, which counts in ticks where it counts in nothing finer.
func (e *evidence) accounts() string {
	for i, side := range sides {
		own, kernel := e.ends[i].CPU, e.usage.of[i][behindRun].CPU
		switch {
		case own < 0:
			return fmt.Sprintf("the %s reports %v of CPU time for its run", side, own)
		case kernel > 0 && own > kernel+kernel/10+cpuSlack:
			return fmt.Sprintf("the %s reports %v of CPU time for its run, but the kernel counted %v since it started",
				side, own, kernel)
		}
	}
	own, kernel, here := e.ends[atClient].CPU, e.usage.cpu(atClient, 0), e.clientCPUs > 0
	beside := cpuSlack + time.Duration(e.sides[atClient].n)*cpuOfRecord
	if here && own > 0 && kernel > 2*own+beside {
		return fmt.Sprintf("the client reports %v of CPU time for its run, but the kernel counted %v in it", own, kernel)
	}
	return ""
}

// cpuOfRecord is what a client may need to make a request's record, and to print it, which its own account leaves out.
const cpuOfRecord = 5 * time.Microsecond

// bytes: both sides saw the same bodies.
func (e *evidence) bytes() string {
	client, server := &e.sides[atClient], &e.sides[atServer]
	if client.failed > 0 || client.blind || (client.out == server.in && client.in == server.out) {
		return ""
	}
	return fmt.Sprintf("the client sent %d B and received %d B, the server received %d B and sent %d B",
		client.out, client.in, server.in, server.out)
}

// littlesLaw: mean number in the system = throughput × mean time in it; in a
// closed loop that number cannot exceed the connections (Jain 1991, chapter 30).
func (e *evidence) littlesLaw() string {
	c := &e.sides[atClient]
	if e.setup.Rate > 0 || c.last == 0 {
		return ""
	}
	inside, connections := float64(c.busy)/float64(c.last), e.setup.Concurrency*max(1, e.setup.DrivenFrom)
	if limit := float64(connections) * 1.01; inside > limit {
		return fmt.Sprintf("on average %.2f requests were in flight on %d connections: the timestamps are inconsistent",
			inside, connections)
	}
	return ""
}

// driver: under open load the client must have had time to send when it was due.
func (e *evidence) driver() string {
	c := &e.sides[atClient]
	ended := e.ended()
	if e.setup.Rate == 0 || ended == 0 {
		return ""
	}
	const busiest = 0.8
	if e.setup.Joint() {
		return e.busyBench(busiest)
	}
	cpus := e.driverCPUs()
	if cpus == 0 {
		return ""
	}
	cpu := e.ends[atClient].CPU
	if cpu == 0 {
		cpu = max(0, e.usage.cpu(atClient, 0)-cpuSlack)
	}
	lasted := float64(ended)
	if e.setup.Arrival != "poisson" { // of few requests the last is answered long before another would be due
		lasted = max(lasted, float64(c.n)/e.setup.Rate*1e9)
	}
	share, on := float64(cpu)/lasted/float64(cpus), ""
	if share < busiest {
		return ""
	}
	if cpus > 1 {
		on = fmt.Sprintf(" on each of %d CPUs", cpus)
	}
	return fmt.Sprintf("the client was busy for %.0f %% of the run%s: at %g requests per second it measures itself; "+
		"%sfree a CPU for it", 100*share, on, e.setup.Rate, e.lowerRate("or "))
}

// busyBench is driver for each bench.
func (e *evidence) busyBench(busiest float64) string {
	for _, b := range e.benches {
		if share := float64(b.cpu) / float64(max(b.last, 1)); share >= busiest {
			of := ""
			if b.bench != "" {
				of = " of bench " + b.bench
			}
			return fmt.Sprintf("the client%s was busy for %.0f %% of the run: at %g requests per second it measures itself; "+
				"lower the rate", of, 100*share, e.setup.Rate)
		}
	}
	return ""
}

// lowerRate is advice to whoever chose the rate, with what is to follow it. Of a search, which chooses the rates
// itself, nobody did.
func (e *evidence) lowerRate(then string) string {
	if e.overload {
		return "drive it from another machine, or "
	}
	return "lower the rate, " + then
}

// driverCPUs is how many CPUs the client can keep busy; 0: that is not known. CPU time is of all threads. A program
// that accounts for its own has a thread for each request under way at most. What the kernel counts of others holds
// all that a runtime does beside, which compiles and collects garbage on CPUs that requests do not need.
func (e *evidence) driverCPUs() int {
	if e.ends[atClient].CPU > 0 {
		return min(max(1, e.clientCPUs), e.setup.Concurrency)
	}
	return e.clientCPUs
}
