// Package capacity conducts searches for the load that a server bears: it finds bounds,
// brackets the knee, measures randomized blocks around it, each trial in fresh processes, and
// stops when the interval is narrow enough or the budget ends. Where to measure next and what
// trials say is package stat's.
//
// It prints nothing and knows no flags: a Host, a command or a page, opens and runs the labs.
package capacity

import (
	"math"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/advise/slo"
	"edgegauge.example/edgegauge/internal/stat"
)

// A Question is what a search is asked.
type Question struct {
	File      string   // name of the study file, for errors
	Text      []byte   // the study file as read
	Sets      []string // settings of the user, as --set has them
	Out       string   // results directory; empty: the newest below results/NAME if its search goes on, else the next
	SLO       slo.SLO
	Length    time.Duration // of a trial
	Late      time.Duration // how late the driver may be in a valid trial, p99; 0: by the SLO
	Period    time.Duration // of a device; 0: not asked
	Precision float64       // half-width of the interval to reach, in % of the rate
	Budget    int           // trials, at most
}

// A Trial is a trial of a search.
type Trial struct {
	Block   int     // 1, 2, …
	Rate    float64 // requests/s offered
	Kept    []slo.Kept
	Binding int  // which condition has the least margin
	Counts  bool // in the answer; the others only found the place
}

// Met reports whether the trial kept to all conditions.
func (t Trial) Met() bool { return t.Kept[t.Binding].Margin >= 1 }

// An Answer is what a search for the rate that a server bears came to.
type Answer struct {
	Study, Dir string // name of the study, results directory
	SLO        slo.SLO
	Precision  float64 // half-width over the rate that was asked
	Step       stat.CapacityStep
	Trials     []Trial       // in the order in which they were planned
	Budget     int           // trials, at most
	Invalid    int           // attempts that were not valid, and repeated
	Refused    int           // trials that these were of
	Why        []string      // the reason of the first invalid attempt of each
	Length     time.Duration // of a trial
	InFlight   int           // requests under way at once, at most
	Arrival    string        // process by which requests arrive, as a study has it
	Driver     float64       // requests/s that the driver itself does; 0: not measured
	Floor      string        // stack that it was measured against
	Most       float64       // requests/s that were searched up to
	Least      float64       // the same down to
	Period     time.Duration // of a device; 0: not asked
	Confidence float64       // of the interval, 0 to 1
}

// Found reports whether there is a capacity with an interval.
func (a *Answer) Found() bool {
	return a.Step.Capacity.Trials > 0 && !math.IsNaN(a.Step.Capacity.Lo)
}

// DriverBinds reports whether the search ended, without an answer, at half of what the driver can do.
func (a *Answer) DriverBinds() bool {
	return a.Step.Stage == stat.AboveMost && a.Driver > 0 && a.Most >= stat.Readable(a.Driver/2)
}

// Highest is the highest rate of a trial; 0: there was none.
func (a *Answer) Highest() float64 {
	most := 0.0
	for _, t := range a.Trials {
		most = max(most, t.Rate)
	}
	return most
}

// Rough are the highest rate at which a trial kept to the objective, and the lowest at which one did not; 0: there
// is none. The first may be above the second: trials differ.
func (a *Answer) Rough() (kept, broken float64) {
	for _, t := range a.Trials {
		switch {
		case t.Met():
			kept = max(kept, t.Rate)
		case broken == 0 || t.Rate < broken:
			broken = t.Rate
		}
	}
	return kept, broken
}

// Binding is the condition that was nearest to being broken in most of the trials that count.
func (a *Answer) Binding() slo.Condition {
	n := make([]int, len(a.SLO))
	for _, t := range a.Trials {
		if t.Counts {
			n[t.Binding]++
		}
	}
	return a.SLO[slices.Index(n, slices.Max(n))]
}

// Refused says that a question cannot be asked of this study, or of these results.
type Refused struct{ error }

func (r Refused) Unwrap() error { return r.error }
