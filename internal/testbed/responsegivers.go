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
	x.seeAnyGiven()
	for _, w := range x.plan.Study.Responses {
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

// seeAnyGiven finds that none of the responses that a study names will be measured, where no giver of theirs lacks.
func (x *assembly) seeAnyGiven() {
	named := x.plan.Study.Responses
	if len(named) == 0 {
		return
	}
	var all []string
	for _, w := range named {
		why := x.nowhere(w.Text)
		if why == "" {
			return
		}
		all = append(all, why)
	}
	x.faults = append(x.faults, study.Error{Pos: named[0].Pos, What: "the study would measure nothing: " +
		strings.Join(all, "; "), Advice: "name a response that its treatments have, such as rtt; doc/responses.md lists all"})
}

// nowhere says why no treatment will have a response; empty: one may.
func (x *assembly) nowhere(response string) string {
	r, _ := measure.FindResponse(response)
	kept, of := false, ""
	for s := range x.plan.Study.Setups() {
		if !slices.ContainsFunc(r.Sides, func(side measure.Side) bool { return !s.LeavesOut(string(side), response) }) {
			continue
		}
		kept = true
		switch l := x.lab.Links[s.Link.Text]; response {
		default:
			return ""
		case "failed_share":
			of = "devices, links that lose packets, and studies with failures (failures: 1%)"
			if s.Population.Devices > 0 || l.Up.Loss > 0 || l.Down.Loss > 0 || x.plan.Study.Failures != nil {
				return ""
			}
		case "discovery", "metadata":
			of = "stacks that search for their server (transport dpws)"
			if s.Transport == "dpws" {
				return ""
			}
		}
	}
	if !kept {
		return "all treatments leave out " + response
	}
	return "response " + response + " is measured of " + of + " only"
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
