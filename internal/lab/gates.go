package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// check passes the trial through the gates of doc/method.md and adds the figures of
// which a trial has only one. What a gate says is the reason why the trial is
// invalid.
func (t *trialRunner) check(context.Context) error {
	t.summarize()
	if why := t.surroundings.slept(); why != "" {
		return errors.New("no figure of it holds")
	}
	for _, gate := range t.gates() {
		if why := gate(); why != "" {
			log := t.programs.client.log
			if t.programs.server != nil {
				log = t.programs.server.log
			}
			return fmt.Errorf("%s; see %s", why, log)
		}
	}
	return nil
}

// gates say why the trial is invalid, or nothing.
func (t *trialRunner) gates() []func() string {
	if populated(t.setup) {
		return t.gatesOfDevices()
	}
	if existing(t.setup) {
		return []func() string{t.joint.tooFarApart, t.counts, t.possible, t.answers, t.warm, t.accounts, t.littlesLaw,
			t.driver, t.late, t.stalled}
	}
	return []func() string{t.joint.tooFarApart, t.counts, t.possible, t.answers, t.warm, t.accounts, t.bytes,
		t.littlesLaw, t.driver, t.late, t.stalled}
}

// gatesOfDevices judge a trial of many devices. Failed requests are what it measures, unless the study bounds them;
// a driver that was late, or lost answers, is no measurement.
func (t *trialRunner) gatesOfDevices() []func() string {
	d, served := &t.devices, int64(t.records.sides[atServer].n)
	if existing(t.setup) {
		served = -1
	}
	return []func() string{
		func() string { return d.counts(served) }, t.possible,
		func() string { return d.answers(t.records.sides[atClient].why) }, t.answers, d.outageMet, t.warm, t.accounts,
		d.punctual, func() string { return d.driver(t.stated()) }, t.stalled}
}

// stated is for how long requests are sent, as the study says.
func (t *trialRunner) stated() time.Duration {
	return max(time.Duration(t.conversation.asked.Duration), 1)
}

// summarize adds throughput, CPU and memory, and the quality record.
func (t *trialRunner) summarize() {
	f, c := &t.findings, &t.conversation
	client, server, ends := &t.records.sides[atClient], &t.records.sides[atServer], t.records.ends
	one := func(side measure.Side, response string, v float64) {
		f.results = append(f.results, single(side, response, v))
	}
	if client.n > 0 && t.devices.result == nil && (t.programs.link.lossy() || t.mayFail() != nil) {
		one(measure.Client, "failed_share", float64(client.failed)/float64(client.n))
	}
	answered, took := client.n-client.failed, client.last
	if t.devices.result != nil {
		took = c.asked.Duration // also where the last answer came later
	}
	if answered > 0 && took > 0 {
		one(measure.Client, "throughput", float64(answered)/time.Duration(took).Seconds())
	}
	for _, once := range []struct {
		response string
		took     time.Duration
	}{{"discovery", c.phases.Discovery}, {"metadata", c.phases.Metadata}, {"first_invoke", c.phases.FirstInvoke}} {
		if once.took > 0 {
			one(measure.Client, once.response, once.took.Seconds())
		}
	}
	for i, side := range sides {
		if i == atServer && existing(t.setup) {
			continue
		}
		before, after := t.usage.of[i][beforeRun], t.usage.of[i][behindRun]
		switch {
		case !t.usage.knowsCPU(i, ends[i].CPU):
			f.note("cpu_uncounted_"+string(side), "1", 1)
		case client.n > 0:
			one(side, "cpu", t.usage.cpu(i, ends[i].CPU).Seconds()/float64(client.n))
		}
		one(side, "peak_rss", float64(after.PeakRSS))
		if i == atServer && after.Instructions > 0 && client.n > 0 {
			one(side, "instructions", float64(after.Instructions-before.Instructions)/float64(client.n))
		}
		f.note("run_queue_wait_"+string(side), "s", (after.Waiting - before.Waiting).Seconds())
		if stolen := after.Stolen - before.Stolen; stolen > 0 {
			f.note("stolen_"+string(side), "s", stolen.Seconds())
		}
		if after.Periods > 0 {
			f.note("quota_periods_"+string(side), "1", float64(after.Periods-before.Periods))
			f.note("quota_throttled_"+string(side), "1", float64(after.Throttled-before.Throttled))
			f.note("quota_wait_"+string(side), "s", (after.ThrottledFor - before.ThrottledFor).Seconds())
		}
	}
	if t.setup.Local() {
		f.note("run_queue_wait_others", "s", t.usage.waitForOthers(c.run.Ended.Sub(c.run.Began), len(t.cpus())).Seconds())
	}
	f.note("requests", "1", float64(client.n))
	f.note("failures", "1", float64(client.failed))
	f.note("repetitions", "1", float64(ends[atClient].Repetitions))
	f.note("retransmissions", "1", float64(ends[atClient].Retransmissions))
	if n := ends[atClient].Reconnects; n > 0 {
		f.note("reconnects", "1", float64(n))
	}
	t.connections.note(f)
	if client.waited > 0 && t.setup.Connection == "multiplexed" {
		f.note("waited_for_stream", "1", float64(client.waited))
		f.note("wait_for_stream", "s", time.Duration(client.wait).Seconds())
	}
	if n := ends[atClient].Unsure; n > 0 {
		f.note("unsure_answers", "1", float64(n))
	}
	if w := &c.warmUp; w.Failed > 0 {
		f.note("warm_up_requests", "1", float64(w.Client))
		f.note("warm_up_failures", "1", float64(w.Failed))
	}
	if !existing(t.setup) {
		f.note("requests_at_server", "1", float64(server.n))
	}
	if n := t.surroundings.otherLabs(); n > 0 {
		f.note("other_labs", "1", float64(n))
	}
	f.note("span", "s", time.Duration(client.last).Seconds())
	t.devices.summarize(f, t.stated())
	if client.thirds[0] > 0 {
		f.note("rtt_first_third", "s", client.thirds[0])
		f.note("rtt_last_third", "s", client.thirds[1])
	}
}

// exact is the number of requests that the run was to have; 0: a time limited it.
func (t *trialRunner) exact() int {
	if t.setup.MinDuration > 0 {
		return 0
	}
	return t.setup.Requests
}

// counts: every request asked for was sent, and each one is known at both sides; of those that failed, the server may
// know less, and nobody more.
func (t *trialRunner) counts() string {
	client, server := &t.records.sides[atClient], &t.records.sides[atServer]
	switch {
	case t.exact() > 0 && client.n != t.exact():
		return fmt.Sprintf("%d requests were recorded, %d were requested", client.n, t.exact())
	case client.n == 0:
		return "no request was sent"
	case t.tooFew() != "":
		return t.tooFew()
	case existing(t.setup):
		return "" // its own count is not known
	case client.failed == 0 && server.n != client.n && t.records.ends[atClient].Repetitions > 0:
		return fmt.Sprintf("the client counted %d requests and retried %d of them; the server served %d",
			client.n, t.records.ends[atClient].Repetitions, server.n)
	case client.failed == 0 && client.wrong == "" && server.n != client.n:
		return fmt.Sprintf("the client counted %d requests, the server %d", client.n, server.n)
	case client.wrong == "" && server.n < client.n-client.failed:
		return fmt.Sprintf("the client counted %d answers, but the server served %d requests", client.n-client.failed,
			server.n)
	case t.mayFail() != nil && !t.programs.link.lossy() && client.wrong == "" &&
		server.n-client.n > t.records.ends[atClient].Repetitions:
		return fmt.Sprintf("the client counted %d requests, %d of them failed; the server served %d", client.n,
			client.failed, server.n)
	}
	return ""
}

// possible: no record contradicts itself, the others, or the lab's clock.
func (t *trialRunner) possible() string {
	for i, side := range sides {
		if w := t.records.sides[i].wrong; w != "" {
			return fmt.Sprintf("the %s's record of %s", side, w)
		}
	}
	if c := &t.records.sides[atClient]; t.exact() > 0 && c.check.highest > uint64(c.n) {
		return fmt.Sprintf("the client has %d records, but a seq of %d", c.n, c.check.highest)
	}
	return ""
}

// mayFail is the share of the requests that the study lets fail; nil: it does not say, or a search for the load that a
// server bears has an objective that does.
func (t *trialRunner) mayFail() *float64 {
	if t.lab.Overload {
		return nil
	}
	return t.lab.Plan.Study.Failures
}

// answers: every answer comes, and is right, but for those that the study lets fail. Where it does not say, those are
// what a link may lose, and of devices all.
func (t *trialRunner) answers() string {
	const bearable = 0.05 // of the requests, where the link itself may lose them
	c, may, more := &t.records.sides[atClient], t.mayFail(), ""
	switch {
	case c.failed == 0 || t.lab.Overload:
		return ""
	case may != nil:
		if float64(c.failed)/float64(c.n) <= *may {
			return ""
		}
		more = fmt.Sprintf(", more than the %.6g %% of failures", 100**may)
	case populated(t.setup), t.programs.link.lossy() && float64(c.failed) <= bearable*float64(c.n),
		t.lostByLink(c.failed, c.n):
		return ""
	}
	t.findings.note(store.FailuresRefused, "1", float64(c.failed))
	why := fmt.Sprintf("%d of %d requests failed%s; first failure: %s", c.failed, c.n, more,
		cmp.Or(c.why, "the client does not say why"))
	if c.failed < c.n { // else there would be no times
		why += "; to measure the service as it is, write failures: " + study.FailuresFor(c.failed, c.n)
	}
	return why
}

// lostByLink says whether a link that loses may have cost so many of n requests that nobody
// sends again. To refuse what is likely would keep the lucky trials only.
func (t *trialRunner) lostByLink(failed, n int) bool {
	const unlikely = 1e-6
	l, ok := t.link()
	if !ok || !t.sentOnce() {
		return false
	}
	lost := 1 - (1-l.Up.Loss)*(1-l.Down.Loss)
	if max(l.Up.Burst, l.Down.Burst) > 1 { // neighbours are lost together: no count is unlikely
		return lost > 0
	}
	return stat.AtLeast(failed, n, lost) > unlikely
}

// sentOnce says whether a request that the link loses is not sent again, neither by
// the stack nor below it.
func (t *trialRunner) sentOnce() bool {
	s := t.setup
	return s.Transport == "udp" || s.Transport == "coap" && s.Options["confirmable"] == "off"
}

// cpuSlack is what the kernel's account of a program's CPU time may hold beside the run: ticks, and what it does before
// and behind.
const cpuSlack = 50 * time.Millisecond

// accounts: a program's own account of its CPU time agrees with the kernel's of
// all its life until then, which counts in ticks where it counts in nothing finer.
func (t *trialRunner) accounts() string {
	for i, side := range sides {
		own, kernel := t.records.ends[i].CPU, t.usage.of[i][behindRun].CPU
		switch {
		case own < 0:
			return fmt.Sprintf("the %s reports %v of CPU time for its run", side, own)
		case kernel > 0 && own > kernel+kernel/10+cpuSlack:
			return fmt.Sprintf("the %s reports %v of CPU time for its run, but the kernel counted %v since it started",
				side, own, kernel)
		}
	}
	return ""
}

// bytes: both sides saw the same bodies.
func (t *trialRunner) bytes() string {
	client, server := &t.records.sides[atClient], &t.records.sides[atServer]
	if client.failed > 0 || client.blind || (client.out == server.in && client.in == server.out) {
		return ""
	}
	return fmt.Sprintf("the client sent %d B and received %d B, the server received %d B and sent %d B",
		client.out, client.in, server.in, server.out)
}

// littlesLaw: mean number in the system = throughput × mean time in it; in a
// closed loop that number cannot exceed the connections (Jain 1991, chapter 30).
func (t *trialRunner) littlesLaw() string {
	c := &t.records.sides[atClient]
	if t.setup.Rate > 0 || c.last == 0 {
		return ""
	}
	inside, connections := float64(c.busy)/float64(c.last), t.setup.Concurrency*max(1, t.setup.DrivenFrom)
	if limit := float64(connections) * 1.01; inside > limit {
		return fmt.Sprintf("on average %.2f requests were in flight on %d connections: the timestamps are inconsistent",
			inside, connections)
	}
	return ""
}

// driver: under open load the client must have had time to send when it was due.
func (t *trialRunner) driver() string {
	c := &t.records.sides[atClient]
	if t.setup.Rate == 0 || c.last == 0 {
		return ""
	}
	const busiest = 0.8
	if t.setup.Joint() {
		return t.joint.driverBusy(busiest)
	}
	cpus := t.driverCPUs()
	if cpus == 0 {
		return ""
	}
	cpu := t.records.ends[atClient].CPU
	if cpu == 0 {
		cpu = max(0, t.usage.cpu(atClient, 0)-cpuSlack)
	}
	share, on := float64(cpu)/float64(c.last)/float64(cpus), ""
	if share < busiest {
		return ""
	}
	if cpus > 1 {
		on = fmt.Sprintf(" on each of %d CPUs", cpus)
	}
	return fmt.Sprintf("the client was busy for %.0f %% of the run%s: at %g requests per second it measures itself; "+
		"%sfree a CPU for it", 100*share, on, t.setup.Rate, t.lowerRate("or "))
}

// lowerRate is advice to whoever chose the rate, with what is to follow it. Of a search, which chooses the rates
// itself, nobody did.
func (t *trialRunner) lowerRate(then string) string {
	if t.lab.Overload {
		return "drive it from another machine, or "
	}
	return "lower the rate, " + then
}

// driverCPUs is how many CPUs the client can keep busy; 0: that is not known. CPU time is of all threads. A program
// that accounts for its own has a thread for each request under way at most. What the kernel counts of others holds
// all that a runtime does beside, which compiles and collects garbage on CPUs that requests do not need.
func (t *trialRunner) driverCPUs() int {
	here := t.clientCPUs()
	if t.records.ends[atClient].CPU > 0 {
		return min(max(1, here), t.setup.Concurrency)
	}
	return here
}
