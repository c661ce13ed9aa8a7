package testbed

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/study"
)

// lookAtCPUs is how long the load of this machine's CPUs is watched before a run.
const lookAtCPUs = 200 * time.Millisecond

// placed yields a trial of each treatment whose programs a placement puts on CPUs.
func (x *assembly) placed() iter.Seq[study.Trial] {
	return func(yield func(study.Trial) bool) {
		for t := range x.treatments() {
			if p := t.Setup.Placement; (p == study.Together || p == study.Apart) && !yield(t) {
				return
			}
		}
	}
}

// seePins finds CPUs that programs on this machine shall run on and may not.
func (x *assembly) seePins() {
	allowed := kernel.AllowedCPUs()
	for t := range x.treatments() {
		for i, cpus := range [][]int{x.plan.Study.Pin.Client, x.plan.Study.Pin.Server} {
			at := places(t.Setup)[i]
			if at == "" || x.onOther(at) {
				continue
			}
			for _, cpu := range cpus {
				if !slices.Contains(allowed, cpu) {
					x.lack(t, fmt.Sprintf("pin: CPU %d is not one of those that this process may use, %v", cpu, allowed),
						"pin to one of them, or remove pin", "placement")
				}
			}
		}
	}
}

// seePlacement finds treatments that need more CPUs than there are.
func (x *assembly) seePlacement() {
	for t := range x.placed() {
		if t.Setup.Placement == study.Apart && len(kernel.AllowedCPUs()) < 2 {
			x.lack(t, "placement apart needs two CPUs, and this process may use one", "write placement: together",
				"placement")
		}
	}
}

// seeLostPlacements finds treatments that are given a placement and cannot have it. Free is no wish: a study may say
// it of all its treatments, wherever their programs are.
func (x *assembly) seeLostPlacements() {
	pinned := len(x.plan.Study.Pin.Client)+len(x.plan.Study.Pin.Server) > 0
	for t := range x.treatments() {
		says := x.plan.Given(t, "placement")
		switch {
		case says == "" || says == study.Free || t.Setup.Placement != "":
		case pinned:
			x.fault(t, "placement "+says+" beside pin, which says where the programs run", "keep one of them", "placement")
		case x.plan.Study.Time == study.Instructions:
			x.fault(t, "placement "+says+" is of this machine's CPUs, and with time: instructions both programs share "+
				"another's", "write placement: free", "placement")
		default:
			at := t.Setup.Client.Device
			if at == "local" {
				at = t.Setup.Server.Device
			}
			x.fault(t, fmt.Sprintf("placement %s takes both programs on device local, and one is on %s", says, at),
				"write placement: free", "client.device", "server.device", "placement")
		}
	}
}

// quietestCPUs are the CPUs for placements, if the plan has any.
func (x *assembly) quietestCPUs(ctx context.Context) []int {
	for range x.placed() {
		return kernel.QuietestCPUs(ctx, lookAtCPUs)
	}
	return nil
}

// placements says where programs run, by the setting.
func (x *assembly) placements() map[string]study.Pin {
	out := map[string]study.Pin{}
	for t := range x.treatments() {
		if p := t.Setup.Placement; p != "" {
			out[p] = lab.CPUsOf(t.Setup, x.plan.Study.Pin, x.lab.CPUs)
		}
	}
	return out
}
