package testbed

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
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

// A pinnedSide is a side of a treatment whose program shall run on some CPUs of its device.
type pinnedSide struct {
	trial        study.Trial
	side, device string
	cpus         []int
}

// pinned yields each side of each treatment that the study pins and the lab starts.
func (x *assembly) pinned() iter.Seq[pinnedSide] {
	return func(yield func(pinnedSide) bool) {
		for t := range x.treatments() {
			at := places(t.Setup)
			for _, p := range []pinnedSide{{t, "client", at[0], x.plan.Study.Pin.Client},
				{t, "server", at[1], x.plan.Study.Pin.Server}} {
				if p.device != "" && len(p.cpus) > 0 && !yield(p) {
					return
				}
			}
		}
	}
}

// seePins finds CPUs that programs shall run on and may not. Those of boards are known when they are reached.
func (x *assembly) seePins() {
	x.seePinnedServices()
	allowed := kernel.AllowedCPUs()
	for p := range x.pinned() {
		if isMachine(x.bed, p.device) {
			x.seePin(p, []int{0}) // emulated machines have no other
		}
		if x.onOther(p.device) {
			continue
		}
		for _, cpu := range p.cpus {
			if !slices.Contains(allowed, cpu) {
				x.lack(p.trial, fmt.Sprintf("pin: CPU %d is not one of those that this process may use, %v", cpu, allowed),
					"pin to one of them, or remove pin", "placement")
			}
		}
	}
}

// seePinnedServices finds that no treatment has a server which the lab could pin.
func (x *assembly) seePinnedServices() {
	if t, all := x.allRunning(); all && len(x.plan.Study.Pin.Server) > 0 {
		at, _ := x.plan.Place(t, "server.url")
		x.faults = append(x.faults, study.Error{Pos: at, Advice: "remove it",
			What: "with server.url, pin: {server: …} has no effect: edgegauge does not start that service"})
	}
}

// seePin finds that a device lacks a CPU.
func (x *assembly) seePin(p pinnedSide, has []int) {
	for _, cpu := range p.cpus {
		if !slices.Contains(has, cpu) {
			x.fault(p.trial, fmt.Sprintf("pin: device %s has %s only", lab.First(p.device), cpusText(has)),
				"pin to what it has, or remove pin", p.side+".device")
			return
		}
	}
}

// cpusText names CPUs.
func cpusText(all []int) string {
	numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ", "), "[]")
	if len(all) == 1 {
		return "CPU " + numbers
	}
	return "CPUs " + numbers
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
