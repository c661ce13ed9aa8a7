package lab

import (
	"slices"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/store"
)

// Each step of a trial fails for what the programs do, or for something else: who adds one says which.
func TestStepsOfFaults(t *testing.T) {
	others := []string{reachStep, "shape the link", "plug in the sensor", "reach the other benches", "capture packets",
		"start the meters", idleStep, "read the meters", "stop the other benches", "keep the records", "unplug the sensor",
		"read the packets", "read the link", "model the energy", "keep the results"}
	seen := map[string]bool{}
	for _, s := range (&trialRunner{task: task{lab: &Lab{}}}).steps() {
		seen[s.name] = true
		if slices.Contains(others, s.name) == slices.Contains(store.FaultSteps, s.name) {
			t.Errorf("step %q: a fault of the programs, or not?", s.name)
		}
	}
	for _, name := range store.FaultSteps {
		if !seen[name] {
			t.Errorf("no step is called %q", name)
		}
	}
}

// What gates say of the machine or the load driver is no fault of the programs; what they say of answers is.
func TestGatesOfFaults(t *testing.T) {
	fault := func(why string) bool {
		return store.AttemptState{State: store.Invalid, Reason: "trial 1: check the trial: " + why}.IsFault()
	}
	stalled := sound()
	stalled.stall = time.Minute
	busy := sound()
	busy.setup.Rate, busy.clientCPUs = 100, 1
	busy.ends[atClient].CPU = time.Duration(busy.sides[atClient].last)
	apart := sound()
	apart.setup.Rate, apart.setup.DrivenFrom, apart.apart = 100, 2, time.Hour
	wrong := failing(0, 20, 100)
	fewer := sound()
	fewer.sides[atServer].n--
	for what, tt := range map[string]struct {
		why  string
		want bool
	}{"stalled": {stalled.stalled(), false}, "busy driver": {busy.driver(), false},
		"apart":                                  {apart.togetherBegun(), false},
		"wrong answers":                          {wrong.answers(), true},
		"requests that the server does not know": {fewer.counts(), true}} {
		if tt.why == "" || fault(tt.why) != tt.want {
			t.Errorf("%s: %q: a fault of the programs: %v, want %v", what, tt.why, !tt.want, tt.want)
		}
	}
}
