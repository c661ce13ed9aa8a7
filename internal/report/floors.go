package report

import (
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/stat"
)

// floorMark is in the names of bare exchanges, before the transport. Results that
// do not say which stacks are floors are judged by it.
const floorMark = "floor-"

// stackFacts finds a stack's facts; a study may use a reference stack's short name.
func (r *Report) stackFacts(stack string) StackFacts {
	facts, ok := r.Facts.Stacks[stack]
	if !ok {
		facts = r.Facts.Stacks["reference/"+stack]
	}
	return facts
}

// isFloor tells whether a stack is a bare exchange of bytes.
func (r *Report) isFloor(stack string) bool {
	if floor := r.stackFacts(stack).Floor; floor != nil {
		return *floor
	}
	return strings.Contains(stack, floorMark)
}

// isFloorOver is isFloor of the bare exchange over that transport.
func (r *Report) isFloorOver(stack, transport string) bool {
	facts := r.stackFacts(stack)
	if facts.Floor != nil {
		return *facts.Floor && slices.Contains(facts.Transports, transport)
	}
	return strings.HasSuffix(stack, floorMark+transport)
}

// floorOf finds the bare exchange over the same transport whose other factors
// are the same.
func (r *Report) floorOf(i int) int {
	t := r.Treatments[i]
	if r.isFloor(t.Stack) || t.setup != nil && t.setup.URL != "" { // a floor has the sizes of the lab's messages
		return -1
	}
	kind := "tcp"
	for _, tr := range r.stackFacts(t.Stack).Transports {
		if tr == "coap" || tr == "coap-draft" || tr == "udp" {
			kind = "udp"
		}
	}
	for j, u := range r.Treatments {
		if !r.isFloorOver(u.Stack, kind) {
			continue
		}
		differ := 0
		for k := range t.Levels {
			if t.Levels[k] != u.Levels[k] {
				differ++
			}
		}
		if differ <= 1 {
			return j
		}
	}
	return -1
}

// aboveFloor compares each stack's times with its floor's, paired by block: where requests of either failed, medians
// among all of them, which it says, as why there are none.
func (r *Report) aboveFloor() {
	for i := range r.Cells {
		c := &r.Cells[i]
		floor := r.Treatments[c.Treatment].Floor
		if floor < 0 || c.Response != "rtt" && c.Response != "response_time" {
			continue
		}
		f, ok := r.Cell(floor, c.Side, c.Response)
		if !ok {
			continue
		}
		lost, kept, err := r.lossesOf([]*Cell{c, f})
		switch {
		case err != nil:
			continue
		case lost.unseen():
			c.noFloor = "the exchanges that tell of all requests are not read here"
		case len(kept) < 2:
			c.noFloor = "the median among all requests of a trial is one that failed"
		case lost.known():
			c.AboveFloor, err = ratioBy(lost.value, c, f, r.Study.Design.Confidence)
		default:
			c.AboveFloor, err = Ratio(c, f, r.Study.Design.Confidence)
		}
		c.HasFloor = err == nil && c.noFloor == ""
		c.ofAll = c.HasFloor && lost.known()
		if c.noFloor != "" {
			c.Warnings = append(c.Warnings, "requests of it or of its floor failed, so it is not set against its floor: "+
				c.noFloor)
		}
		if c.ofAll {
			c.Warnings = append(c.Warnings, "requests of it or of its floor failed: its multiple of the floor is of medians "+
				"among all requests, with those as the slowest")
		}
	}
}

// Ratio is a/b with its interval, on the blocks that both have: of medians where both are shown so, else of means.
func Ratio(a, b *Cell, confidence float64) (stat.Comparison, error) {
	value := (*Cell).value
	if a.ByMedian != b.ByMedian {
		value = func(_ *Cell, p Point) float64 { return p.Mean }
	}
	return ratioBy(value, a, b, confidence)
}

// ratioBy is a/b of values of the blocks that both have.
func ratioBy(value func(*Cell, Point) float64, a, b *Cell, confidence float64) (stat.Comparison, error) {
	var xs, ys []float64
	for _, p := range a.replicates() {
		for _, q := range b.replicates() {
			if p.Block == q.Block {
				xs, ys = append(xs, value(a, p)), append(ys, value(b, q))
			}
		}
	}
	how := stat.RatioOfManyBlocks
	if a.on != nil { // units have no order
		how = stat.RatioPaired
	}
	x, err := how(xs, ys, confidence)
	if err == nil && a.ticks() {
		x = x.OfClock(xs, ys, stepOf([]*Cell{a, b}))
	}
	if err == nil {
		x = x.Hiding(xs, ys, a.Unseen, b.Unseen)
	}
	return x, err
}
