package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// A recordCheck finds what is impossible in one side's records, each alone and
// among the others. Everything is bounded before anything is added up, so nothing
// overflows.
type recordCheck struct {
	side measure.Side
	// elapsed is how long the run and the reading of its records have taken so far,
	// on the clock of the session's process; nil: unknown.
	elapsed func() time.Duration
	// unnumbered records have no seq: they only count requests (hooks off).
	unnumbered bool

	x       measure.Exchange
	longest time.Duration // by the last reading of elapsed
	seen    []uint64      // a bit for each seq
	highest uint64
}

// A keptField is a field of records. Not a size: a time.
type keptField struct {
	*measure.Field
	size bool
}

// kept are found once, since each record is held against all of them.
var kept = keptFields()

func keptFields() (all []keptField) {
	for i := range measure.Fields {
		if f := &measure.Fields[i]; f.Kept() {
			all = append(all, keptField{f, strings.HasSuffix(f.Column, "_B")})
		}
	}
	return all
}

const (
	largestBody = 1 << 33 // B; 2³³ B in each of 2²⁹ records do not overflow a sum
	highestSeq  = 1 << 29
	farFuture   = 100 * 365 * 24 * time.Hour // where no clock bounds a record
	clockSlack  = 10 * time.Millisecond      // two machines' clocks, and 1 % more
	phaseSlack  = time.Microsecond           // the clocks of different reads may straddle a step
)

// fault says what is impossible in the next record, if anything.
func (c *recordCheck) fault(x measure.Exchange) string {
	if why := c.outOfRange(x); why != "" {
		return fmt.Sprintf("request %d: %s", x.Seq, why)
	}
	if why := c.repeated(x.Seq); why != "" {
		return why
	}
	if x.Failure != "" {
		return "" // what it lacks is the failure's
	}
	if why := c.contradiction(x); why != "" {
		return fmt.Sprintf("request %d: %s", x.Seq, why)
	}
	return ""
}

// outOfRange: times lie between 0 and what the lab's own clock saw, sizes between
// 0 and what a message can be.
func (c *recordCheck) outOfRange(x measure.Exchange) string {
	c.x = x // a parameter whose address is taken would be allocated
	for _, f := range kept {
		switch v := *f.At(&c.x); {
		case f.size && (v < 0 || v > largestBody):
			return fmt.Sprintf("a size %q of %d B", f.Name, v)
		case f.size:
		case v < 0 && slices.Contains([]string{"due", "sent", "done"}, f.Name):
			return fmt.Sprintf("due %v, sent %v, done %v", x.Due, x.Sent, x.Done)
		case v < 0:
			return fmt.Sprintf("a negative phase: %s %v", f.Name, time.Duration(v))
		case !c.possible(time.Duration(v)):
			return fmt.Sprintf("%s %v, but the run took at most %v on the lab's clock", f.Name, time.Duration(v), c.longest)
		}
	}
	return ""
}

// possible says whether d may have passed in this run. The clock is read only when
// a value exceeds what it showed before.
func (c *recordCheck) possible(d time.Duration) bool {
	if d <= c.longest {
		return true
	}
	c.longest = farFuture
	if c.elapsed != nil {
		e := c.elapsed()
		c.longest = e + e/100 + clockSlack
	}
	return d <= c.longest
}

// repeated: each request has one record.
func (c *recordCheck) repeated(seq uint64) string {
	switch {
	case c.unnumbered:
		return ""
	case seq == 0:
		return "a request has no seq, or seq 0"
	case seq > highestSeq:
		return fmt.Sprintf("a request has seq %d", seq)
	}
	word, bit := seq/64, uint64(1)<<(seq%64)
	for uint64(len(c.seen)) <= word {
		c.seen = append(c.seen, 0)
	}
	if c.seen[word]&bit != 0 {
		return fmt.Sprintf("request %d appears twice", seq)
	}
	c.seen[word] |= bit
	c.highest = max(c.highest, seq)
	return ""
}

// contradiction: the figures of an answered exchange agree with each other.
func (c *recordCheck) contradiction(x measure.Exchange) string {
	phases := x.Serialization + x.Connection + x.Processing + x.Deserialization + x.RTT()
	switch {
	case x.Sent < x.Due || x.Done < x.Sent || c.side == measure.Client && x.Done == x.Sent:
		return fmt.Sprintf("due %v, sent %v, done %v", x.Due, x.Sent, x.Done)
	case phases > x.Total+phaseSlack && !c.unnumbered:
		return fmt.Sprintf("phases sum to %v, more than the total %v", phases, x.Total)
	case x.Sensor > x.Processing+phaseSlack:
		return fmt.Sprintf("a sensor's time of %v in a processing of %v", x.Sensor, x.Processing)
	}
	return ""
}
