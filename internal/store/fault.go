package store

import (
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/lazy"
)

// FaultSteps are the steps of a trial at which an attempt fails for what the programs under test do, and not for what
// the lab, its devices or its meters do. The reasons of attempts begin with theirs.
var FaultSteps = []string{"start the programs", "start the server", "start the client", "warm up", "measure",
	"stop the programs", "see the programs gone", "check the trial"}

// ofMachine are in the reasons of attempts that failed at one of these for what the machine, the load driver or another
// bench did, or the study asked for. The reasons of earlier versions have them, too.
var ofMachine = []string{"this machine was suspended", "the connection was lost", "this lab did not run for",
	"the client took up requests late", "the client was busy for", "the client of bench", "the benches began up to",
	"the driver was late", "the driver was busy", "the kernel dropped", "the outage met nobody",
	"the run was slower than its warm-up", ": bench "}

// IsFault reports whether an attempt does not count for what its programs did, as one that crashed, did not start or
// answered wrongly, by its reason in the ledger.
func (a AttemptState) IsFault() bool {
	if a.State != Invalid {
		return false
	}
	_, rest, _ := strings.Cut(a.Reason, ": ") // behind "trial 7"
	step, why, ok := strings.Cut(rest, ": ")
	return ok && slices.Contains(FaultSteps, step) &&
		!slices.ContainsFunc(ofMachine, func(words string) bool { return strings.Contains(": "+why, words) })
}

// late is in the reasons of attempts that ended as something took too long.
var late = lazy.Regexp(`\bwithin\b|\bin time\b|timed out|timeout`)

// MayBeLate reports whether an attempt may have failed since programs waited for a CPU.
func (a AttemptState) MayBeLate() bool { return late().MatchString(a.Reason) }

// Why is the reason of an attempt without its place: the number of the trial, the step, and the log.
func (a AttemptState) Why() string {
	rest := a.Reason
	if parts := strings.SplitN(rest, ": ", 3); len(parts) == 3 {
		rest = parts[2]
	}
	rest, _, _ = strings.Cut(rest, "; see trials/")
	rest, _, _ = strings.Cut(rest, "; to measure the service as it is")
	return rest
}
