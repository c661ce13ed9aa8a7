package report

import (
	"fmt"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
)

// From these on the CPU itself did not run at one speed. Eighteen runs of the quickstart on
// a shared virtual machine: while its floors kept to their times, the slower trials took
// 1.03 to 1.09 times as long, on a bad afternoon 1.38 to 1.94 times (correlation 0.98).
const (
	speedTrials = 20   // of all treatments together, for a correlation to mean anything
	speedAgrees = 0.7  // correlation of the two programs' computing
	speedApart  = 1.15 // slowest tenth of trials over quickest tenth
)

// checkSpeed looks at computing alone. Deserialization is the same work in each trial of a
// treatment and waits for nothing, and client and server are two programs. If both are slow
// in the same trials, it is the CPU that was slow; no counter of this machine says so, since
// time stolen by a host is time without a CPU, not with half of one.
func (r *Report) checkSpeed() {
	if r.Study.Time == study.Instructions {
		return
	}
	var client, server, both []float64
	for i, t := range r.Treatments {
		if t.setup == nil || t.setup.Client.Device != t.setup.Server.Device {
			continue
		}
		c, ok := r.Cell(i, measure.Client, "deserialization")
		s, ok2 := r.Cell(i, measure.Server, "deserialization")
		if ok && ok2 {
			x, y := speeds(c, s)
			client, server = append(client, x...), append(server, y...)
		}
	}
	if len(client) < speedTrials || !(stat.Correlation(client, server) >= speedAgrees) {
		return
	}
	for i := range client {
		both = append(both, (client[i]+server[i])/2)
	}
	slices.Sort(both)
	tenth := len(both) / 10
	apart := math.Exp(both[len(both)-1-tenth] - both[tenth])
	if apart < speedApart {
		return
	}
	r.Alarms = slices.Insert(r.Alarms, 0, fmt.Sprintf("the CPU did not run at one speed: for the same computing, "+
		"deserialization, client and server both took %s times as long in the slowest tenth of %d trials as in the "+
		"quickest. Another virtual machine on the same core may cause this, or a clock frequency that changes; no "+
		"counter shows either. Intervals include this variation; a machine of your own makes them narrower",
		significant(apart), len(both)))
}

// speeds are how much longer than usual, as logarithms, each trial's typical
// deserialization took at both sides; of trials that have both.
func speeds(client, server *Cell) (c, s []float64) {
	for _, p := range client.Points {
		i := slices.IndexFunc(server.Points, func(q Point) bool { return q.Trial == p.Trial })
		if i >= 0 && p.Median > 0 && server.Points[i].Median > 0 {
			c, s = append(c, math.Log(p.Median)), append(s, math.Log(server.Points[i].Median))
		}
	}
	return centered(c), centered(s)
}

func centered(xs []float64) []float64 {
	mean := 0.0
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for i := range xs {
		xs[i] -= mean
	}
	return xs
}
