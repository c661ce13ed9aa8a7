package paper

import (
	"fmt"
	"math"
	"strings"

	"edgegauge.example/edgegauge/internal/stat"
)

// power is the chance with which the blocks named by decides find what is there.
const power = 0.8

// Practical is the most blocks that anybody is told to run.
const Practical = 500

// Needs are what would decide an undecided claim, for a program to act on; Judged.Decides says it in words.
type Needs struct {
	Treatments bool   // published ones that were not measured
	Stacks     bool   // the paper's own, in place of others
	Messages   bool   // the paper's own, in place of those made after its sizes
	Meter      string // where a meter must stand in place of a model ("client"); empty: none
	Board      bool   // a board like the paper's, in place of another machine
	Answers    bool   // of the requests that failed, or of more of them
	Quiet      bool   // the same trials while nothing else runs, or on more CPUs
	Blocks     int    // that many in place of those there are; 0: no number can be said, or another need comes first
}

// kept reports whether something else than trials keeps a claim from being decided.
func (n Needs) kept() bool { return n.Board || n.Stacks || n.Messages }

// A provisional is a p value and the verdict that it would give.
type provisional struct {
	p       float64
	verdict stat.Verdict
}

// Where ours lies beside SizeBounds.
const (
	Inside = "inside"
	Above  = "above"
	Below  = "below"
	Astray = "above and below" // some comparisons are above, others below
)

// asModelled says what the model would say, by Holm over the modelled claims alone.
func (j *Judged) asModelled(holm, sizeHolm, alpha float64) {
	if !j.Modelled {
		return
	}
	direction, size := j.model[0].verdict, j.model[1].verdict
	if !(holm < alpha) {
		direction = stat.Undecided
	}
	if size != "" && !(sizeHolm < alpha) {
		size = stat.Undecided
	}
	j.AsModelled = both(direction, size)
	j.SizeIs = j.place(size, j.model[1].p, sizeHolm, alpha)
}

// place says on which side of the bounds a size lies that is decided, by the tests that decided it: p is that of the
// size, and holm among all claims.
func (j *Judged) place(size stat.Verdict, p, holm, alpha float64) string {
	switch size {
	case "", stat.Undecided:
		return ""
	case stat.Confirmed:
		return Inside
	}
	if holm > p && p > 0 { // as many claims share the level
		alpha *= p / holm
	}
	up, down := false, false
	for _, part := range j.Parts {
		lo, hi, ok := j.boundsOf(part)
		if !ok || part.Why != "" || part.Ours.Kind != j.Kind() {
			continue
		}
		above, below := j.outside(part.Ours, lo, hi)
		n := float64(len(j.Parts))
		up, down = up || above*n < alpha, down || below*n < alpha
	}
	switch {
	case up && down:
		return Astray
	case up:
		return Above
	case down:
		return Below
	}
	return ""
}

// decide says what would decide a claim that is undecided. claims is how many
// share the level.
func (j *Judged) decide(p Paper, claims int, alpha float64) {
	if j.Verdict != stat.Undecided {
		return
	}
	say := func(text string) { j.Decides = append(j.Decides, text) }
	if j.Needs.Treatments = len(j.Missing) > 0; j.Needs.Treatments {
		say("the treatments that were not measured; the paper had: " + p.Setup)
	}
	if j.Modelled {
		j.Needs.Meter = j.metered(p)
		text := "a power meter at the " + j.Needs.Meter + " (doc/energy-meter.md), on what the paper had: " + p.Setup +
			"; a pilot of 10 trials shows how many are enough"
		if p.Trials > 1 {
			text += fmt.Sprintf(", the paper had %d", p.Trials)
		}
		say(text)
	}
	if j.Needs.Messages = j.ofDesign(); j.Needs.Messages {
		say("the paper's own messages, in place of those made after its sizes")
	}
	if j.Needs.Stacks = len(j.foreign) > 0; j.Needs.Stacks {
		text := "a run with the paper's own stacks: " + strings.Join(j.foreign, ", ")
		if len(j.Beyond) > 0 {
			text += "; " + j.OutOfReach()
		}
		say(text)
	}
	if j.Needs.Board = j.needsBoard(); j.Needs.Board {
		text := "a board like the paper's, which had: " + p.Setup
		if j.Claim.Decide != "" {
			text += "; " + j.Claim.Decide
		}
		say(text)
	}
	if turned, _ := j.turnable(); turned && !j.Needs.kept() {
		j.Needs.Answers = true
		text := "results in which no request fails, or so few that they cannot turn the answer"
		if len(j.ended) > 0 {
			text += ", and no attempt is ended: raise timeouts.trial"
		}
		say(text)
	}
	if j.Needs.Quiet = j.Waiting > 0 && !j.Modelled && !j.Needs.kept(); j.Needs.Quiet {
		say("the same trials while nothing else runs on the machine, or on one with more CPUs")
	}
	if len(j.Decides) == 0 {
		n, text := j.trials(alpha / float64(max(1, claims)))
		j.Needs.Blocks = n
		say(text)
	}
}

// OutOfReach says what no run can decide; empty: nothing.
func (j *Judged) OutOfReach() string {
	if len(j.Beyond) == 0 {
		return ""
	}
	return "what rests on " + strings.Join(j.Beyond, " and ") +
		" stays undecided, since that holds less than the paper's of the name"
}

// metered are the sides at which a modelled figure is to be measured.
func (j *Judged) metered(p Paper) string {
	switch {
	case j.Side != "":
		return j.Side
	case p.Side != "":
		return p.Side
	}
	return "client and the server"
}

// trials says how many blocks would decide, if the figures stay as they are: all
// of the parts that hold, or the one that fails most clearly. 0: no number can be said.
func (j *Judged) trials(alpha float64) (int, string) {
	all, one, have := 0, 0, 0
	for _, p := range j.Parts {
		if p.Ours.hidden(j.open(p)) {
			return 0, "a clock of finer steps, or longer times: however many blocks there are, these steps leave it open"
		}
		if p.Why != "" {
			return 0, fmt.Sprintf("at least %d blocks of every treatment, preferably 10", max(2, p.leastBlocks(alpha)))
		}
		n := p.blocks(j.open(p), alpha)
		have = max(have, p.Ours.N[0])
		if n == 0 {
			return 0, "more trials; how many cannot be said from these"
		}
		all = max(all, n)
		if p.Fails < p.Holds { // one that fails is enough, and any of them may
			if n = p.blocks(j.open(p), alpha/float64(len(j.Parts))); n > 0 && (one == 0 || n < one) {
				one = n
			}
		}
	}
	if one > 0 {
		all = one
	}
	if all == 0 {
		return 0, "results in which it can be tested"
	}
	all = max(twoDigits(all), have+1)
	text := fmt.Sprintf("about %d blocks instead of %d, if the figures stay as they are (power %g)", all, have, power)
	if all > Practical {
		text += ", which is not practical: the interval itself is the answer"
	}
	return all, text
}

// open are the bounds of a part of which it is open on which side of them it lies: of its size where the direction is
// confirmed.
func (j *Judged) open(p Part) []float64 {
	if lo, hi, ok := j.boundsOf(p); ok && j.Direction == stat.Confirmed {
		return []float64{lo, hi}
	}
	return p.bounds
}

// twoDigits rounds up to two digits: no more are known of a number of blocks.
func twoDigits(n int) int {
	step := 1
	for n/step >= 100 {
		step *= 10
	}
	return (n + step - 1) / step * step
}

// leastBlocks is how many decide a part without spread; 0: it has one.
func (p Part) leastBlocks(alpha float64) int {
	if p.Ours.alike == 0 {
		return 0
	}
	return stepsNeed(alpha)
}

// blocks is how many decide on which side of the nearest bound a figure lies; 0: that cannot be said.
func (p Part) blocks(bounds []float64, alpha float64) int {
	gap := math.Inf(1)
	for _, x := range p.Ours.all() {
		for _, b := range bounds {
			d := x.Estimate - b
			if p.Ours.Kind == "ratio" || p.Ours.Kind == "share" {
				d = math.Log(x.Estimate / b)
			}
			if gap = min(gap, math.Abs(d)); !x.ordered(b) {
				gap = min(gap, max(0, math.Abs(d)-x.off))
			}
		}
	}
	if p.Ours.Kind == "spread ratio" || p.Ours.Method == "" || math.IsNaN(gap) || math.IsInf(gap, 0) {
		return 0
	}
	if p.Ours.alike > 0 {
		if gap == 0 {
			return 0
		}
		return stepsNeed(alpha)
	}
	n, err := stat.Blocks(p.Ours.SD(), p.Ours.DF, gap, alpha, power)
	if err != nil {
		return 0
	}
	return n
}

// Decided is all that would decide a claim, in one line; empty where it is decided.
func (j Judged) Decided() string { return strings.Join(j.Decides, "; ") }
