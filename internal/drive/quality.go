package drive

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
)

// DriverStats is what the driver can say about itself during a recorded run: is a
// figure the stack's, or the driver's own trouble?
type DriverStats struct {
	Elapsed time.Duration `json:"elapsed"` // from the start of the run to its last exchange
	// CPU is the time this process ran, all threads; Spin the part of it that
	// waited busily for a due instant, so CPU − Spin is work.
	CPU  time.Duration `json:"cpu"`
	Spin time.Duration `json:"spin"`
	// System is the part of CPU that system calls took.
	System time.Duration `json:"system"`
	// RunQueueWait is how long its threads were ready to run and had no CPU; -1
	// where the kernel does not say (no schedstat).
	RunQueueWait time.Duration `json:"run_queue_wait"`
	Watched      time.Duration `json:"watched"` // for which RunQueueWait was counted, longer than Elapsed
	CPUs         []int         `json:"cpus"`    // on which it may run
	GOMAXPROCS   int           `json:"gomaxprocs"`
	// Lateness, open loop only: from the instant a request was due and a
	// connection free to the instant the driver took it up. Waiting for a free
	// connection is the server's slowness and not in it.
	LatenessP50 time.Duration `json:"lateness_p50"`
	LatenessP99 time.Duration `json:"lateness_p99"`
	LatenessMax time.Duration `json:"lateness_max"`
	// Reconnects are connections made anew that were to be kept alive.
	Reconnects int `json:"reconnects"`
	// Surplus are answers over HTTP/1 that bytes came with beyond their length: no other request may follow on their
	// connection, which the driver closes.
	Surplus int `json:"surplus,omitempty"`
	// Held are answers over HTTP/1 that stood still between two of their parts for as long as a delayed
	// acknowledgement takes.
	Held int `json:"held,omitempty"`
	// Repetitions are requests sent again over another connection, since the one
	// before broke: idempotent ones, or such as the server said it had not taken
	// up. What the first cost lies in their RTT; the server may have seen them twice.
	Repetitions int `json:"repetitions"`
	// Retransmissions are messages that the protocol itself sent again: CoAP (RFC
	// 7252, section 4.2), and MQTT with QoS 1 and 2 (section 4.4). Receivers know
	// them for what they are.
	Retransmissions int `json:"retransmissions"`
	// Unsure are answers over MQTT that may be those of earlier requests, since nothing in them says whose they are and
	// those had none when theirs came (Spec.ResponseTopic without {id}, no correlation data).
	Unsure int `json:"unsure,omitempty"`
	// Collections of garbage while running: 0, unless the Call made a lot of it.
	Collections int `json:"collections"`
	// StartedMonotonic and StartedReal are the run's instant 0 on
	// CLOCK_MONOTONIC and CLOCK_REALTIME, to align it with other instruments.
	StartedMonotonic time.Duration `json:"started_monotonic"`
	StartedReal      time.Duration `json:"started_real"`
}

// effort is what the process has used so far.
type effort struct {
	at                time.Time
	cpu, system, wait time.Duration
	gcs               int64
}

func effortNow() effort {
	var g debug.GCStats
	debug.ReadGCStats(&g)
	e := effort{at: time.Now(), cpu: kernel.OwnCPUTime(), system: kernel.OwnSystemTime(), wait: -1, gcs: g.NumGC}
	if waiting, ok := kernel.Waiting(os.Getpid()); ok {
		e.wait = waiting
	}
	return e
}

func (q *DriverStats) since(e effort) {
	now := effortNow()
	q.CPU, q.System, q.Watched = now.cpu-e.cpu, now.system-e.system, now.at.Sub(e.at)
	q.Collections = int(now.gcs - e.gcs)
	if q.RunQueueWait = -1; now.wait >= 0 && e.wait >= 0 {
		q.RunQueueWait = max(now.wait-e.wait, 0) // a thread that ended takes its share along
	}
}

func (q *DriverStats) place() {
	q.CPUs, q.GOMAXPROCS = kernel.AllowedCPUs(), runtime.GOMAXPROCS(0)
}
