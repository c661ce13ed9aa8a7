package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// Limits from which a figure cannot be right as it stands.
const (
	farAboveTotals = 5    // RTT over what both sides did, on loopback
	farAbove       = 5e-3 // s by which it must exceed that besides
	littleSlack    = 0.10 // of the requests under way in a closed loop
	littleIdle     = 0.50 // share of them that may be missing
)

// checkSanity looks for figures that cannot be right as they stand: each alarm
// names what was seen, the likely cause and what to try.
func (r *Report) checkSanity() {
	for i := range r.Treatments {
		if r.isFloor(r.Treatments[i].Stack) {
			continue
		}
		if onLoopback(r.Treatments[i].setup) {
			r.checkTotals(i)
			r.checkTimers(i)
		}
		r.checkThroughput(i)
	}
	r.checkFloors()
}

// alarm notes a doubt about a treatment's times, at its figures and for the answer.
func (r *Report) alarm(treatment int, text string) {
	r.Alarms = append(r.Alarms, r.Treatments[treatment].Name()+": "+text)
	r.warnCells(treatment, measure.Client, timed, text)
}

// onLoopback reports whether nothing but this machine lies between the sides.
func onLoopback(s *study.Setup) bool {
	if s != nil && s.URL != "" {
		return IsLocal(s.URL) && s.Client.Device == "local"
	}
	return s != nil && s.Link.Text == "none" && s.Client.Device == "local" && s.Server.Device == "local"
}

// center is a cell's figure; 0 where there is none.
func (r *Report) center(treatment int, side measure.Side, response string) float64 {
	if c, ok := r.Cell(treatment, side, response); ok {
		return c.Median.Center
	}
	return 0
}

func (r *Report) checkTotals(i int) {
	rtt, server := r.center(i, measure.Client, "rtt"), r.center(i, measure.Server, "total_time")
	if !(server > 0) {
		return
	}
	work := server + r.center(i, measure.Client, "serialization") + r.center(i, measure.Client, "deserialization")
	// A virtual machine that compiles works beside the phases of requests, and what waits for a CPU has no timer.
	busy := max(work, r.center(i, measure.Client, "cpu")+r.center(i, measure.Server, "cpu"))
	if c, ok := r.Cell(i, measure.Client, "rtt"); ok {
		busy += c.Waiting * rtt
	}
	if rtt > farAboveTotals*work && rtt-busy > farAbove {
		r.alarm(i,
			fmt.Sprintf("RTT is %s on loopback, and both sides together worked for %s of it: the rest is waiting; look for a "+
				"timer (Nagle's algorithm with delayed acknowledgements: set TCP_NODELAY), a poll or a sleep",
				Format(rtt, "s"), Format(work, "s")))
	}
}

// checkTimers looks for values that gather where timers are, unless the
// service itself takes as long.
func (r *Report) checkTimers(i int) {
	c, ok := r.Cell(i, measure.Client, "rtt")
	if !ok {
		return
	}
	server := r.center(i, measure.Server, "total_time")
	var medians, p95s []float64
	for _, p := range c.Points {
		medians, p95s = append(medians, p.Median-server), append(p95s, p.P95-server)
	}
	gathers := func(w measure.Timer) bool { // what earlier versions measured does not tell
		timers := r.Treatments[i].timers
		n := 0
		for _, from := range timers {
			if from == w.From {
				n++
			}
		}
		return len(timers) == 0 || 3*n >= len(timers)
	}
	if hint := TimerHint(medians, p95s, gathers, "trials"); hint != "" && len(c.Points) > 1 {
		r.alarm(i, hint)
	}
}

// TimerHint says that RTTs lie where timers are, by the medians and 95th
// percentiles of trials or runs, in s, and gather there; empty: they do not.
func TimerHint(medians, p95s []float64, gathers func(measure.Timer) bool, runs string) string {
	for _, w := range measure.Timers {
		if !gathers(w) {
			continue
		}
		var median, p95 int
		for i, m := range medians {
			switch {
			case w.Holds(m):
				median++
			case w.Holds(p95s[i]) && p95s[i] > 3*m:
				p95++
			}
		}
		if n := len(medians); n > 0 && 3*(median+p95) >= n {
			what := "the median RTT"
			if p95 > median {
				what = "the p95 of RTT"
			}
			return fmt.Sprintf("%s lies %s (%d of %d %s)", what, w.Says, median+p95, n, runs)
		}
	}
	return ""
}

// checkThroughput holds throughput and times against each other: in a closed
// loop of n connections, throughput × time is n (Little 1961). Requests that failed
// took time, too, which no figure has: where there are some, less than n proves nothing.
func (r *Report) checkThroughput(i int) {
	s := r.Treatments[i].setup
	if s == nil || s.Rate > 0 || s.Concurrency < 1 || s.Connection == "pipelined" || s.Connection == "multiplexed" ||
		s.Population.Devices > 0 {
		return
	}
	most := s.Concurrency * max(s.DrivenFrom, 1)
	n := float64(most)
	if under := r.underWay(i, "rtt"); under > n*(1+littleSlack) {
		r.alarm(i,
			fmt.Sprintf("throughput × RTT is %s requests in flight, but at most %d are possible: one of the two is wrong; "+
				"check the clocks, and look for requests answered twice", significant(under), most))
		return
	}
	if under := r.underWay(i, "total_time"); under < n*littleIdle && stat.Pooled(r.Treatments[i].failed).Hits == 0 {
		r.alarm(i,
			fmt.Sprintf("throughput × total time is %s requests in flight, but there should be %d: the client was idle between "+
				"requests; give it a CPU, or look for time that no phase covers", significant(under), most))
	}
}

// underWay is the median over the trials of throughput × a time; NaN where one
// of them was not measured.
func (r *Report) underWay(treatment int, response string) float64 {
	x, ok := r.Cell(treatment, measure.Client, "throughput")
	c, ok2 := r.Cell(treatment, measure.Client, response)
	if !ok || !ok2 {
		return math.NaN()
	}
	var products []float64
	for _, p := range x.Points {
		for _, q := range c.Points {
			if p.Trial == q.Trial {
				products = append(products, p.Mean*q.Mean)
			}
		}
	}
	m, err := stat.Median(products, 0.95)
	if err != nil {
		return math.NaN()
	}
	return m.Center
}

// checkFloors finds stacks that are quicker than a bare exchange of as many
// bytes, Holm over all of them.
func (r *Report) checkFloors() {
	ps := make([]float64, len(r.Cells))
	for i, c := range r.Cells {
		if ps[i] = math.NaN(); c.HasFloor && c.Response == "rtt" {
			ps[i] = c.AboveFloor.P
		}
	}
	for i, p := range stat.Holm(ps) {
		if c := r.Cells[i]; p < warnAt && c.AboveFloor.Hi < 1 {
			r.alarm(c.Treatment,
				fmt.Sprintf("RTT is %s times its floor (%s): no stack is faster than a bare exchange of the same number of "+
					"bytes; the floor ran under other conditions, or the stack answers before it has read the request; compare "+
					"placement (pin) and message sizes",
					ratioText(c.AboveFloor.Estimate), ratioRange(c.AboveFloor)))
		}
	}
}

// doubtModels warns where the constants of one board meet the CPU time of
// another machine.
func (r *Report) doubtModels() {
	said := map[string]bool{}
	for i, t := range r.Treatments {
		if t.setup == nil {
			continue
		}
		for side, s := range map[measure.Side]study.Side{measure.Client: t.setup.Client, measure.Server: t.setup.Server} {
			board, ok := strings.CutPrefix(s.Meter, "model:")
			if m, known := r.Facts.Models[board]; known && m.BusyWPerCore == 0 {
				continue // it says nothing of CPU time
			}
			if !ok || s.Device == board || r.modelOf(s.Device, board) || !r.hasModelled(i, side) {
				continue
			}
			text := fmt.Sprintf("modelled energy at the %s: the constants of %s are applied to the CPU time of another "+
				"machine (%s), so the result is the energy of neither; run on the board, or use a meter", side, board, s.Device)
			r.warnCells(i, side, metered, text)
			if !said[text] {
				said[text] = true
				r.Alarms = append(r.Alarms, text)
			}
		}
	}
	slices.Sort(r.Alarms) // the sides come in any order
}

func (r *Report) hasModelled(treatment int, side measure.Side) bool {
	return slices.ContainsFunc(r.Cells, func(c Cell) bool {
		return c.Treatment == treatment && c.Side == side && c.Method == store.Modelled
	})
}

// modelOf reports whether a device says of itself that it is the board.
func (r *Report) modelOf(device, board string) bool {
	model := strings.ToLower(r.Facts.Devices[device].Model)
	return model != "" && !slices.ContainsFunc(strings.Split(board, "-"),
		func(word string) bool { return !strings.Contains(model, word) })
}
