package lab

import (
	"time"

	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/study"
)

// evidence is what is known of a trial that has ended: what was asked for, and what was observed. The trial is summed
// up from it (summary.go), and the gates judge by it (gates.go). Both change nothing of it but its findings. There is
// no lab, store or process in it: a test writes down what it needs.
type evidence struct {
	setup     *study.Setup
	failures  *float64 // the share of the requests that the study lets fail; nil: it does not say
	overload  bool     // Lab.Overload, MostLate and LateShare
	mostLate  time.Duration
	lateShare float64
	timeout   time.Duration // of a request

	link       link.Link // of the treatment; zero: it has none
	lossy      bool      // a link between the two programs loses packets
	cpus       int       // of this machine, on which the programs may run
	clientCPUs int       // those on which the client may; 0: it runs on another device

	conversation conversation
	*tallies
	usage       usage
	devices     *devices // nil: the client is one
	servers     int      // processes that share the devices' connections; 0: one has all
	connections int      // how many a client that is to keep them had, at least; 0: nobody knows
	opened      [2]int64 // by the kernel of a client that is to open one for each request, before and behind the run
	benches     []benchRun
	apart       time.Duration // the largest difference of the instants at which two benches began, bound included
	others      int           // labs that measured on this machine beside this one
	stall       time.Duration // for which this lab did not run in the recorded run, the longest

	findings *findings
}

// A benchRun is what one bench's client used in the recorded run of a trial that several drive.
type benchRun struct {
	bench string // empty: ours
	cpu   time.Duration
	last  time.Duration // when its last request was over
}

// evidence is what the trial comes to, by now.
func (t *trialRunner) evidence() *evidence {
	l, s := t.lab, &t.surroundings
	e := &evidence{setup: t.setup, failures: l.Plan.Study.Failures, overload: l.Overload, mostLate: l.MostLate,
		lateShare: l.LateShare, timeout: l.Plan.Study.Timeouts.Request, lossy: t.programs.link.lossy(),
		cpus: len(t.cpus()), clientCPUs: t.clientCPUs(),
		conversation: t.conversation, tallies: &t.records.tallies, usage: t.usage, connections: t.connections.most,
		opened:  t.connections.opened,
		benches: t.joint.runs(), apart: t.joint.apart, others: s.otherLabs(), stall: s.stall, findings: &t.findings}
	if between, ok := t.link(); ok {
		e.link = between
	}
	if populated(t.setup) {
		e.devices, e.servers = &t.devices, t.programs.served.Processes
	}
	return e
}

// stated is for how long requests were to be sent, as the study says.
func (e *evidence) stated() time.Duration {
	return max(time.Duration(e.conversation.asked.Duration), 1)
}
