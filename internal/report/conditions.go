package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/study"
)

// placements say where the programs of the treatments ran, and what that means; none
// for results that do not tell.
func (r *Report) placements() []string {
	var out []string
	for _, name := range []string{study.Together, study.Apart, study.Free} {
		pin, known := r.Facts.Placement[name]
		n := 0
		for _, t := range r.Treatments {
			if t.setup != nil && t.setup.Placement == name {
				n++
			}
		}
		if !known || n == 0 {
			continue
		}
		of := ""
		if n < len(r.Treatments) {
			of = fmt.Sprintf(", %d of %d treatments", n, len(r.Treatments))
		}
		out = append(out, fmt.Sprintf("Placement %s%s: %s.", name, of, placementMeans(name, pin)))
	}
	if p := r.Study.Pin; r.Facts.Placement != nil && len(p.Client)+len(p.Server) > 0 {
		out = append(out, fmt.Sprintf("Pinned: client on %s, server on %s.", cpus(p.Client), cpus(p.Server)))
	}
	return out
}

// placementMeans says what a placement is. Each bench of several chooses its CPUs: then there is no pin.
func placementMeans(name string, pin study.Pin) string {
	on := "client and server shared one CPU"
	switch known := len(pin.Client) > 0; {
	case name == study.Together:
		if known {
			on = "client and server shared " + cpus(pin.Client)
		}
		return on + "; times are the work of both, and no message waits for another CPU to wake up"
	case name == study.Apart:
		if on = "client and server had a CPU each"; known {
			on = fmt.Sprintf("client on %s, server on %s", cpus(pin.Client), cpus(pin.Server))
		}
		return on + "; times contain waking the other CPU"
	}
	return "the scheduler placed both programs; times depend on whether it put them on one CPU or on two"
}

// doubtPlacement warns where a side ran on this machine in several treatments, and not on as many CPUs in
// all: beside an emulated machine it is on no certain one, beside the other side it may share one.
func (r *Report) doubtPlacement() {
	p := r.Study.Pin
	if r.Facts.Placement == nil || len(p.Client)+len(p.Server) > 0 || r.Study.Time == study.Instructions {
		return
	}
	var sides, texts []string
	for i, side := range []measure.Side{measure.Client, measure.Server} {
		count := map[string]int{}
		for _, t := range r.Treatments {
			if s := t.setup; s != nil && s.URL == "" && r.here([...]string{s.Client.Device, s.Server.Device}[i]) {
				count[cmp.Or(s.Placement, study.Free)]++
			}
		}
		if len(count) < 2 {
			continue
		}
		var had []string
		for _, name := range []string{study.Together, study.Apart, study.Free} {
			if n := count[name]; n > 0 {
				had = append(had, fmt.Sprintf("%s in %s", map[string]string{study.Together: "one CPU with the other side",
					study.Apart: "a CPU of its own", study.Free: "any CPU"}[name], plural.Count(n, "treatment")))
			}
		}
		sides, texts = append(sides, string(side)), append(texts, strings.Join(had, ", "))
	}
	if len(texts) == 2 && texts[0] == texts[1] { // as mostly
		sides, texts = []string{"client and the server"}, texts[:1]
	}
	for i, side := range sides {
		r.Warnings = append(r.Warnings, fmt.Sprintf("placement differs: the %s had %s; a difference between these is one of "+
			"CPUs, too: on one, times have no waking of another, and Java another collector; placement: free gives all the "+
			"same", side, texts[i]))
	}
}

// here reports whether a device is this machine, with limits or without.
func (r *Report) here(device string) bool {
	d, known := r.Facts.Devices[device]
	return device == "local" || known && len(d.Emulation) == 0 && d.Agent == nil && !isBoard(device)
}

// isBoard reports whether a device is one that is reached over a network, by its name: ssh://pi@board.
func isBoard(device string) bool { return strings.Contains(device, "://") }

// doubtRamps warns where devices were switched on one after the other in some treatments and not in others. By
// default that depends on the stack, which the trials know.
func (r *Report) doubtRamps(noted [][]map[string]float64) {
	if slices.Contains(r.Factors, "ramp") {
		return
	}
	var slow, atOnce []string
	ramp := 0.0
	for i, t := range r.Treatments {
		own := 0.0
		for _, m := range noted[i] {
			own = max(own, m["ramp"])
		}
		switch {
		case t.setup == nil || t.setup.Population.Devices == 0 || len(noted[i]) == 0:
		case own > 0:
			slow, ramp = append(slow, r.Treatments[i].Name()), own
		default:
			atOnce = append(atOnce, r.Treatments[i].Name())
		}
	}
	if len(slow) > 0 && len(atOnce) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("ramp differs: the devices of %s were switched on one after the other, "+
			"%g a second, those of %s all at once; sent_rate contains the time until all are on, and an outage meets only "+
			"those that are; set ramp to switch all on alike", list(slow, mostNames), ramp, list(atOnce, mostNames)))
	}
}

// doubtModelledBytes warns where energy was modelled from the bytes on the wire in some treatments and from those of
// the bodies alone in others.
func (r *Report) doubtModelledBytes(noted [][]map[string]float64) {
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		var from [2][]string // bodies, the wire
		for i, trials := range noted {
			for _, m := range trials {
				if v, ok := m[string(side)+"_model_on_wire"]; ok {
					k := min(1, int(v))
					from[k] = append(from[k], r.Treatments[i].Name())
					break
				}
			}
		}
		if len(from[0]) > 0 && len(from[1]) > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("the energy of the %s is modelled from bodies alone in %s, and from "+
				"all bytes on the wire in %s: do not compare these; give all the response wire_bytes, and capture: on", side,
				list(from[0], mostNames), list(from[1], mostNames)))
		}
		r.doubtModelledFrames(side, from[1])
	}
}

// doubtModelledFrames warns where energy was modelled from frames with an Ethernet header in some treatments, and from
// bare packets in others.
func (r *Report) doubtModelledFrames(side measure.Side, onWire []string) {
	of := map[int][]string{}
	for i, t := range r.Treatments {
		if n, known := r.frameHeader(i); known && slices.Contains(onWire, t.Name()) {
			of[n] = append(of[n], t.Name())
		}
	}
	if len(of[0]) > 0 && len(of[ethernetHeader]) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the energy of the %s is modelled from bytes that contain %d B of an "+
			"Ethernet header for each packet of %s, and none of %s: no radio sends that header, so the former is modelled too "+
			"large, by as many bytes", side, ethernetHeader, list(of[ethernetHeader], mostNames), list(of[0], mostNames)))
	}
}

// doubtCPU warns where there is no CPU time since the kernel did not count all of it.
func (r *Report) doubtCPU(noted [][]map[string]float64) {
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		var without []string
		for i, trials := range noted {
			for _, m := range trials {
				if m["cpu_uncounted_"+string(side)] > 0 {
					without = append(without, r.Treatments[i].Name())
					break
				}
			}
		}
		if len(without) > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("no cpu of the %s, and no energy modelled from it, in %s: one of its "+
				"processes does not wait for its children, and without a control group of the program (cgroup v2) their CPU "+
				"time is lost; run as root, or with: systemd-run --user --scope -p Delegate=yes edgegauge …", side,
				list(without, mostNames)))
		}
	}
}

// recordBytes is about what a program keeps of a request until the run has ended (stacks/reference/records.go).
const recordBytes = 64

// doubtMemory warns where programs kept records of so unlike numbers of requests that it shows in their memory.
func (r *Report) doubtMemory(noted [][]map[string]float64) {
	const shows = 0.02
	fewest, most, least := math.Inf(1), 0.0, math.Inf(1)
	for i, trials := range noted {
		for _, side := range []measure.Side{measure.Client, measure.Server} {
			c, ok := r.Cell(i, side, "peak_rss")
			if !ok || r.isFloor(r.Treatments[i].Stack) || r.Treatments[i].setup == nil ||
				r.Treatments[i].setup.Population.Devices > 0 {
				continue
			}
			least = min(least, c.Mean.Center)
			for _, m := range trials {
				fewest, most = min(fewest, m["requests"]), max(most, m["requests"])
			}
		}
	}
	if (most-fewest)*recordBytes > shows*least {
		r.Warnings = append(r.Warnings, fmt.Sprintf("peak_rss contains what a program keeps of each request until the run "+
			"has ended, some %d B: %s for %.0f requests, %s for %.0f; requests without min_duration or duration give all as "+
			"many",
			recordBytes, Format(fewest*recordBytes, "B"), fewest, Format(most*recordBytes, "B"), most))
	}
}

func cpus(all []int) string {
	switch len(all) {
	case 0:
		return "any CPU"
	case 1:
		return fmt.Sprintf("CPU %d", all[0])
	}
	return "CPUs " + strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ", "), "[]")
}

// clusterCause says what most likely splits a treatment's times in two.
func (r *Report) clusterCause(treatment int) string {
	s := r.Treatments[treatment].setup
	if s != nil && s.URL != "" {
		if IsLocal(s.URL) {
			return "most likely client and server ran on one CPU in some trials and on two in others; pin both: " +
				"pin: {client: 0} for the client, taskset for the server, which the lab did not start"
		}
		return "look for what else the server or the network did in part of the time"
	}
	together := s != nil && s.Placement == study.Together ||
		len(r.Study.Pin.Client) == 1 && slices.Equal(r.Study.Pin.Client, r.Study.Pin.Server)
	if together {
		return "both programs shared one CPU, so look for other programs that ran part of the time, and for a CPU that " +
			"changes its frequency"
	}
	return "most likely both programs ran on one CPU in some trials and on two in others; placement: together, or pin, " +
		"prevents that"
}

// lengths says how long trials were at least, where the study wanted a least time.
func (r *Report) lengths() []string {
	var times, requests []string
	for _, t := range r.Treatments {
		if t.setup == nil || t.setup.MinDuration == 0 {
			continue
		}
		if text := study.DurationText(t.setup.MinDuration); !slices.Contains(times, text) {
			times = append(times, text)
		}
		if text := fmt.Sprint(t.setup.Requests); !slices.Contains(requests, text) {
			requests = append(requests, text)
		}
	}
	if len(times) == 0 {
		return nil
	}
	differs := ""
	if len(times)+len(requests) > 2 {
		differs = ", by treatment"
	}
	return []string{fmt.Sprintf("Each trial measured for at least %s and at least %s requests%s.",
		strings.Join(times, " or "), strings.Join(requests, " or "), differs)}
}

// atOnce says which trials ran at the same time as others.
func (r *Report) atOnce() []string {
	with := map[int]int{} // treatments, by how many of them may run at once: a block has a trial of each
	for _, t := range r.Treatments {
		if t.setup != nil && t.setup.AtOnce > 1 {
			with[t.setup.AtOnce]++
		}
	}
	n, most := 0, 0
	for allowed, treatments := range with {
		if treatments > 1 {
			n, most = n+treatments, max(most, min(allowed, treatments))
		}
	}
	if n == 0 {
		return nil
	}
	of := ""
	if n < len(r.Treatments) {
		of = fmt.Sprintf(" of %d of %d treatments", n, len(r.Treatments))
	}
	why := "behind a link of its own: they waited for their links, not for the CPU"
	if r.Study.Time == study.Instructions {
		why = "in an emulated machine of its own: it counts instructions, so the others change no figure"
	}
	return []string{fmt.Sprintf("Trials%s ran up to %d at once, each %s.", of, most, why)}
}

// sayJoint says which servers several benches drove, and how far apart those began.
func (r *Report) sayJoint(noted [][]map[string]float64) {
	n, most, apart := 0, 0, 0.0
	for i, t := range r.Treatments {
		if t.setup == nil || !t.setup.Joint() {
			continue
		}
		if len(noted[i]) == 0 {
			continue
		}
		n, most = n+1, max(most, t.setup.DrivenFrom)
		for _, m := range noted[i] {
			apart = max(apart, m["begun_apart"])
		}
	}
	if n == 0 {
		return
	}
	of := ""
	if n < len(r.Treatments) {
		of = fmt.Sprintf(" of %d of %d treatments", n, len(r.Treatments))
	}
	r.joint = []string{fmt.Sprintf("The servers%s were driven from up to %d benches at once. In no trial did these begin "+
		"more than %s apart, as far as their clocks tell; throughput is the sum of all, and times are those of all requests.",
		of, most, Format(apart, "s"))}
}

// conditions are what a reader must know of how it was measured, below the scope.
func (r *Report) conditions() []string {
	return slices.Concat(r.placements(), r.atOnce(), r.joint, r.lengths(), r.precise())
}
