package testbed

import (
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/study"
)

// A giver is what gives responses, and nothing else does.
type giver struct {
	responses []string
	what      string // in words, and what to write
	is        func(s *study.Setup) bool
}

// givers are all of them; of those of one response the first says the most general.
var givers = []giver{
	{[]string{"sent_rate", "resent", "datagram_bytes", "notification_rate", "notifications_missed", "driver_lateness",
		"recovery_time"}, "many devices (devices: 1000)",
		func(s *study.Setup) bool { return s.Population.Devices > 0 }},
	{[]string{"datagram_bytes"}, "devices that speak CoAP", overCoAP},
	{[]string{"notification_rate", "notifications_missed"}, "devices that observe (observe: on)", observes},
	{[]string{"notifications_missed"}, "devices that observe over CoAP",
		func(s *study.Setup) bool { return observes(s) && overCoAP(s) }},
	{[]string{"recovery_time"}, "devices with an outage (outage: {at: 30s, for: 30s})",
		func(s *study.Setup) bool { return s.Population.Outage.For > 0 }},
	{[]string{"instructions"}, "a server on a device that counts them (server: {device: instructions-arm64})",
		func(s *study.Setup) bool {
			_, counts := device.FindCore(s.Server.Device)
			return counts || s.URL != "" // of which measuresOnlyServers speaks
		}},
	{[]string{"sensor_time"}, "service temperature",
		func(s *study.Setup) bool { return s.Service == string(service.Temperature) || s.URL != "" }},
}

// capturer gives what packets tell.
var capturer = giver{ofPackets(), "captured packets (capture: on, one client, which is not many devices)",
	func(s *study.Setup) bool { return lab.Captured(s) && s.Population.Devices == 0 }}

func observes(s *study.Setup) bool { return s.Population.Observes() }

// overCoAP says whether devices send datagrams: all others have a connection each.
func overCoAP(s *study.Setup) bool { return s.Population.Devices > 0 && s.Transport == "coap" }

func ofPackets() (all []string) {
	for _, r := range measure.Responses() {
		if r.Packets {
			all = append(all, r.Name)
		}
	}
	return all
}

// seeGiven finds responses that no treatment of the study gives: a run would measure for nothing. A plan may have few
// of its treatments.
func (x *assembly) seeGiven() {
	all := givers
	// Where levels say whether packets are captured, a study may be run without those that have them (--set exclude=…).
	if !varies(x.plan.Study, "capture", "driven_from", "devices") {
		all = append(slices.Clip(all), capturer)
	}
	x.seeKept()
	if !x.seeAnyGiven() {
		return
	}
	for _, w := range x.plan.Study.Responses {
		if of, kept := x.only(w.Text); kept && of != "" && !slices.Contains(goesWithout, w.Text) {
			x.faults = append(x.faults, study.Error{Pos: w.Pos, What: "response " + w.Text + " is measured of " + of +
				" only, and no treatment has that", Advice: "remove it"})
			continue
		}
		for _, g := range all {
			if !slices.Contains(g.responses, w.Text) {
				continue
			}
			if why := g.lacks(x.plan.Study, w.Text); why != "" {
				x.faults = append(x.faults, study.Error{Pos: w.Pos, What: fmt.Sprintf("response %s is measured of %s only, and "+
					"%s", w.Text, g.what, why), Advice: "remove it"})
				break
			}
		}
	}
}

// goesWithout are responses whose absence says something, so that a study may name them beside others in any case:
// without a failed_share, no request of a valid trial failed.
var goesWithout = []string{"failed_share"}

// seeAnyGiven finds that none of the responses that a study names will be measured, where no giver of theirs lacks;
// true: one may be.
func (x *assembly) seeAnyGiven() bool {
	named := x.plan.Study.Responses
	if len(named) == 0 {
		return true
	}
	var all []string
	for _, w := range named {
		why := x.nowhere(w.Text)
		if why == "" {
			return true
		}
		all = append(all, why)
	}
	x.faults = append(x.faults, study.Error{Pos: named[0].Pos, What: "the study would measure nothing: " +
		strings.Join(all, "; "), Advice: "name a response that its treatments have, such as rtt; doc/responses.md lists all"})
	return false
}

// nowhere says why no treatment will have a response; empty: one may.
func (x *assembly) nowhere(response string) string {
	of, kept := x.only(response)
	switch {
	case !kept:
		return "all treatments leave out " + response
	case of != "":
		return "response " + response + " is measured of " + of + " only"
	}
	return ""
}

// only says of what alone a response is measured where no treatment will have it; empty: one may. None has kept one
// that all leave out on purpose.
func (x *assembly) only(response string) (of string, kept bool) {
	for s := range x.plan.Study.Setups() {
		if leavesOut(s, response) {
			continue
		}
		kept = true
		if of = x.untold(s, response); of == "" {
			break
		}
	}
	return of, kept
}

// leavesOut says whether trials of a treatment give a response of no side, on purpose.
func leavesOut(s *study.Setup, response string) bool {
	r, _ := measure.FindResponse(response)
	return !slices.ContainsFunc(r.Sides, func(side measure.Side) bool { return !s.LeavesOut(string(side), response) })
}

// AdviseResponses says which treatments have none of a response that the study names, and others have.
func (b *Testbed) AdviseResponses(p study.Plan) (out []error) {
	const most = 3 // treatments that are named
	x := b.assemble(p, b.Exe, b.Temp)
	x.openLinks()
	for _, w := range p.Study.Responses {
		var without []string
		of, all := "", 0
		for t := range x.treatments() {
			if leavesOut(t.Setup, w.Text) || slices.Contains(goesWithout, w.Text) {
				continue
			}
			all++
			if why := x.wanting(t.Setup, w.Text); why != "" {
				of, without = why, append(without, nameOf(t))
			}
		}
		if len(without) == 0 || len(without) == all {
			continue // seeGiven refuses those that nothing gives
		}
		names := without[:min(most, len(without))]
		if len(without) > most {
			names = append(slices.Clip(names), "…")
		}
		out = append(out, &study.Error{Pos: w.Pos, What: fmt.Sprintf("%d of %d treatments have no %s (%s): it is measured "+
			"of %s only", len(without), all, w.Text, strings.Join(names, "; "), of)})
	}
	return out
}

// nameOf is a treatment by its levels.
func nameOf(t study.Trial) string {
	var levels []string
	for _, w := range t.Treatment {
		levels = append(levels, w.Text)
	}
	return strings.Join(levels, ", ")
}

// wanting says of what a response is measured where a treatment has none of it; empty: it may have.
func (x *assembly) wanting(s *study.Setup, response string) string {
	for _, g := range givers {
		if slices.Contains(g.responses, response) && !g.is(s) {
			return g.what
		}
	}
	return x.untold(s, response)
}

// seeKept finds that packets are to be kept and none are captured. Package study refuses those of several benches.
func (x *assembly) seeKept() {
	if !x.plan.Study.Packets || varies(x.plan.Study, "capture") {
		return
	}
	for t := range x.treatments() {
		if t.Setup.Capture != "off" {
			return
		}
		advice := "write capture: on, or remove packets: keep"
		if t.Setup.Joint() {
			advice = "remove packets: keep"
		}
		x.fault(t, "packets: keep keeps none, since no treatment has its packets captured", advice, "capture")
		return // it is the same of all
	}
}

// varies says whether levels of a study set one of the settings.
func varies(of study.Study, settings ...string) bool {
	return slices.ContainsFunc(of.Factors, func(f study.Factor) bool {
		return slices.ContainsFunc(f.Levels, func(l study.Level) bool {
			return slices.ContainsFunc(l.Sets, func(s study.Setting) bool { return slices.Contains(settings, s.Key) })
		})
	})
}

// lacks says why no treatment of a study gives a response; empty: one does, or all leave it out on purpose.
func (g *giver) lacks(of study.Study, response string) string {
	why, asked := "no treatment has that", false
	r, _ := measure.FindResponse(response)
	for s := range of.Setups() {
		given := slices.ContainsFunc(r.Sides, func(side measure.Side) bool { return !s.LeavesOut(string(side), response) })
		switch asked = asked || given; {
		case !g.is(s):
		case given:
			return ""
		default:
			why = "all treatments that have that leave it out"
		}
	}
	if !asked {
		return ""
	}
	return why
}
