package lab

import (
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/measure"
)

// summarize adds the figures of which a trial has only one: throughput, CPU and memory, and the quality record.
func (e *evidence) summarize() {
	f, c := e.findings, &e.conversation
	client, server := &e.sides[atClient], &e.sides[atServer]
	if client.n > 0 && e.devices == nil && (e.lossy || e.mayFail() != nil) {
		f.one(measure.Client, "failed_share", float64(client.failed)/float64(client.n))
	}
	answered, took := client.n-client.failed, e.told()
	if e.devices != nil {
		took = time.Duration(c.asked.Duration) // also where the last answer came later
	}
	if answered > 0 && took > 0 {
		f.one(measure.Client, "throughput", float64(answered)/took.Seconds())
	}
	for _, once := range []struct {
		response string
		took     time.Duration
	}{{"discovery", c.phases.Discovery}, {"metadata", c.phases.Metadata}, {"first_invoke", c.phases.FirstInvoke}} {
		if once.took > 0 {
			f.one(measure.Client, once.response, once.took.Seconds())
		}
	}
	for i := range sides {
		if i != atServer || !existing(e.setup) {
			e.summarizeUsage(i)
		}
	}
	if e.setup.Local() && !e.usage.waitingUntold() {
		f.note("run_queue_wait_others", "s", e.usage.waitForOthers(e.cpus).Seconds())
	}
	e.noteRequests()
	e.noteClocks()
	if e.devices != nil {
		e.devices.summarize(f, e.stated())
		if e.servers > 0 {
			f.note("server_processes", "1", float64(e.servers))
		}
	}
	if answered > 0 {
		f.note("gathers_at_timer", "s", client.gathersAt(float64(server.whole)/1e9/float64(max(1, server.n))))
	}
	if client.thirds[0] > 0 {
		f.note("rtt_first_third", "s", client.thirds[0])
		f.note("rtt_last_third", "s", client.thirds[1])
	}
}

// summarizeUsage adds what a side's programs used of its CPUs and memory, and what kept them from their CPUs.
func (e *evidence) summarizeUsage(i int) {
	f, side, n := e.findings, sides[i], e.sides[atClient].n
	before, after := e.usage.of[i][beforeRun], e.usage.of[i][behindRun]
	cpu := e.ends[i].CPU
	switch {
	case !e.usage.knowsCPU(i, cpu):
		f.note("cpu_uncounted_"+string(side), "1", 1)
	case n > 0:
		f.one(side, "cpu", e.usage.cpu(i, cpu).Seconds()/float64(n))
	}
	if after.PeakRSS > 0 { // 0: the kernel did not say
		f.one(side, "peak_rss", float64(after.PeakRSS))
	}
	if after.PeakLacks > 0 {
		f.note("peak_rss_lacks_"+string(side), "B", float64(after.PeakLacks))
	}
	if after.Killed > 0 {
		f.note("killed_for_memory_"+string(side), "1", float64(after.Killed))
	}
	if i == atServer && after.Instructions > 0 && n > 0 {
		f.one(side, "instructions", float64(after.Instructions-before.Instructions)/float64(n))
	}
	if untold := before.WaitingUntold || after.WaitingUntold; untold {
		f.note("waiting_untold_"+string(side), "1", 1)
	} else {
		f.note("run_queue_wait_"+string(side), "s", e.usage.waiting(i).Seconds())
	}
	if stolen := after.Stolen - before.Stolen; stolen > 0 {
		f.note("stolen_"+string(side), "s", stolen.Seconds())
	}
	if after.Periods > 0 {
		f.note("quota_periods_"+string(side), "1", float64(after.Periods-before.Periods))
		f.note("quota_throttled_"+string(side), "1", float64(after.Throttled-before.Throttled))
		f.note("quota_wait_"+string(side), "s", (after.ThrottledFor - before.ThrottledFor).Seconds())
	}
}

// noteRequests notes how many requests there were, and what became of them.
func (e *evidence) noteRequests() {
	f, c, ends := e.findings, &e.conversation, e.ends
	client, server := &e.sides[atClient], &e.sides[atServer]
	f.note("requests", "1", float64(client.n))
	f.note("failures", "1", float64(client.failed))
	f.note("repetitions", "1", float64(ends[atClient].Repetitions))
	f.note("retransmissions", "1", float64(ends[atClient].Retransmissions))
	if n := ends[atClient].Reconnects; n > 0 {
		f.note("reconnects", "1", float64(n))
	}
	if n := ends[atClient].Surplus; n > 0 {
		f.note("surplus_answers", "1", float64(n))
	}
	e.noteConnections()
	e.noteOpened()
	if client.waited > 0 && e.setup.Connection == "multiplexed" {
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
	if !existing(e.setup) {
		f.note("requests_at_server", "1", float64(server.n))
	}
	if e.others > 0 {
		f.note("other_labs", "1", float64(e.others))
	}
	if s := e.schedule; s != nil {
		if s.end(); s.expected > 0 { // a rate that is a little off shows in many trials only
			f.note("arrivals", "1", s.drawn)
			f.note("arrivals_expected", "1", s.expected)
		}
	}
	f.note("span", "s", e.ended().Seconds())
	if watched := e.usage.span(); watched > 0 {
		f.note("usage_span", "s", watched.Seconds())
	}
}

// ended is when the last request of the run was over, answered rightly or not: time in which requests fail is time in
// which none is answered. Those whose records do not tell when were over by the timeout, and by the end of the run on
// the lab's clock.
func (e *evidence) ended() time.Duration {
	client := &e.sides[atClient]
	end := max(client.last, client.given)
	if client.endless {
		end = max(end, min(client.begun+int64(e.timeout), int64(e.conversation.run.Length())))
	}
	return time.Duration(end)
}

// told is how long the run took by the client's clock: until its last request was over, or the end of its schedule.
func (e *evidence) told() time.Duration {
	client, s := &e.sides[atClient], e.setup
	return max(e.ended(), measure.Scheduled(s.Rate, s.Arrival == drive.Random, client.n, s.Requests,
		s.Duration))
}

// noteClocks notes what cannot be, if the programs tell true times. It is no gate: on a busy machine the lab may read
// its own clock late, so only all trials of a treatment together tell.
func (e *evidence) noteClocks() {
	const (
		most   = 20                    // times as long as its requests may a run take, beside what is late
		late   = 10 * time.Millisecond // from the client's end of the run to the lab's
		beyond = 1.5                   // a server that writes while it serializes may be read before it has ended
	)
	client, server := &e.sides[atClient], &e.sides[atServer]
	if e.devices != nil || client.failed > 0 || client.n == 0 || e.usage.instructions() {
		return
	}
	if here := e.clientCPUs > 0; here && !e.setup.Joint() {
		took, told := e.conversation.run.Length(), e.told()
		if took > most*told+e.usage.waiting(atClient)+late || e.idle(took-told) > max(took/20, 10*late) {
			e.findings.note("untold", "s", (took - told).Seconds())
		}
	}
	answers := e.setup.Transport == "http" || e.setup.Transport == "coap" // they come when the request was handled
	if n := int64(client.n); answers && server.n == client.n && client.busy > 0 &&
		float64(server.handled) > beyond*float64(client.busy) {
		e.findings.note("handled_beyond_rtt", "s", time.Duration((server.handled-client.busy)/n).Seconds())
	}
}

// idle is for how much of a time in the run, of which the client does not tell, nobody worked or waited for a CPU.
// Where the server is far, a client may wait so while it connects, before it begins.
func (e *evidence) idle(untold time.Duration) time.Duration {
	if e.link.Name != "" || !e.setup.Local() || existing(e.setup) {
		return 0
	}
	for side := range sides {
		untold -= e.usage.cpu(side, e.ends[side].CPU) + e.usage.waiting(side)
	}
	return untold
}
