// Package historybench counts how often the judgement of histories is wrong: it
// simulates histories whose truth is known, and confirmations of what is suspected in
// them. It measures nothing.
package historybench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
)

// A Noise is how runs of one program differ, on logarithms.
type Noise struct {
	Between float64 // standard deviation of runs beyond their own errors
	Trial   float64 // standard deviation of the trials of a run
	Trials  int
	Series  int     // judged together; 0: one
	Follow  float64 // correlation of a run's deviation with that of the run before
	Odd     float64 // share of runs that take 20 % longer
}

// Usual is the noise of a run that shared/loaded machines showed: 3 % in all.
var Usual = Noise{Between: 0.0283, Trial: 0.0316, Trials: 10}

// blocks is how many a confirmation has; at the usual noise they confirm 5 % in 49 of 50.
const blocks = 32

// least is the relative change that matters to a confirmation.
const least = 0.05

// Counts are what became of simulated histories.
type Counts struct {
	Histories, Runs int
	Suspected       int // suspects that were confirmed or not
	Quiet           int // histories without any suspect
	False           int // confirmed worse, though nothing changed
	Found           int // histories whose step was suspected in time
	Confirmed       int // of these, confirmed worse
	Near            int // of those found, within a run of the truth
	Before          int // histories with an alarm of "5 % over the run before"
}

func (c *Counts) add(o Counts) {
	c.Histories += o.Histories
	c.Runs += o.Runs
	c.Suspected += o.Suspected
	c.Quiet += o.Quiet
	c.False += o.False
	c.Found += o.Found
	c.Confirmed += o.Confirmed
	c.Near += o.Near
	c.Before += o.Before
}

// A simulated history grows run by run.
type simulated struct {
	n      Noise
	r      *rand.Rand
	series []history.Series
	last   []float64 // deviations of the last run
	known  []history.Confirmation
}

func newSimulated(n Noise, r *rand.Rand) *simulated {
	s := &simulated{n: n, r: r, last: make([]float64, max(1, n.Series))}
	for i := range max(1, n.Series) {
		s.series = append(s.series, history.Series{Treatment: fmt.Sprintf("t%d", i+1), Side: measure.Client, Response: "rtt",
			Unit: "s"})
	}
	return s
}

// run adds a run; the first series has a level, the others none.
func (s *simulated) run(level float64) {
	for i := range s.series {
		fresh := math.Sqrt(1-s.n.Follow*s.n.Follow) * s.r.NormFloat64()
		s.last[i] = s.n.Follow*s.last[i] + fresh
		y := s.n.Between * s.last[i]
		if i == 0 {
			y += level
		}
		if s.r.Float64() < s.n.Odd {
			y += math.Log(1.2)
		}
		logs := make([]float64, s.n.Trials)
		for k := range logs {
			logs[k] = y + s.n.Trial*s.r.NormFloat64()
		}
		m, _ := stat.Mean(logs, 0.95) // finite
		p := history.Point{Run: len(s.series[i].Points), Log: m.Center, Trials: len(logs),
			SE: stat.SD(logs) / math.Sqrt(float64(len(logs)))}
		s.series[i].Points = append(s.series[i].Points, p)
	}
}

// suspect is the first mark that waits for a confirmation.
func (s *simulated) suspect() (history.Series, *history.Mark) {
	for _, j := range history.Judge(s.series, s.known) {
		for _, m := range j.Marks {
			if m.Kind == history.Suspect && m.Worse && m.Confirmation == nil {
				return j.Series, &m
			}
		}
	}
	return history.Series{}, nil
}

// confirm measures a suspect again, where the truth is a change by that much.
func (s *simulated) confirm(of history.Series, m *history.Mark, truth float64) history.Verdict {
	old, new := make([]float64, blocks), make([]float64, blocks)
	for i := range blocks {
		block := 0.1 * s.r.NormFloat64() // cancels
		old[i] = math.Exp(block + s.n.Trial*s.r.NormFloat64())
		new[i] = math.Exp(block + truth + s.n.Trial*s.r.NormFloat64())
	}
	ratio, err := stat.RatioOfBlocks(new, old, 1-report.Confirms{}.JudgedAt())
	if err != nil {
		return history.CannotTell
	}
	v := history.Decide(ratio, least, 1, false)
	s.known = append(s.known, history.Confirmation{Treatment: of.Treatment, Side: of.Side, Response: of.Response,
		Old: m.Since, New: len(of.Points) - 1, Verdict: v, Ratio: ratio, Dir: fmt.Sprint(len(s.known)), Blocks: blocks})
	return v
}

// firstLook is the run after which a history is looked at for the first time.
const firstLook = 6

// Quiet simulates a history without any change, looked at after each run; what is
// suspected is confirmed at once.
func Quiet(n Noise, runs int, r *rand.Rand) Counts {
	s, c := newSimulated(n, r), Counts{Histories: 1, Runs: runs}
	for i := range runs {
		s.run(0)
		if i+1 < firstLook {
			continue
		}
		for range 3 { // a confirmation that cannot tell leaves the suspect as it is
			of, m := s.suspect()
			if m == nil {
				break
			}
			c.Suspected++
			if s.confirm(of, m, 0) == history.Worse {
				c.False++
			}
		}
	}
	if c.Suspected == 0 {
		c.Quiet = 1
	}
	c.Before = overTheRunBefore(s.series[0])
	return c
}

// overTheRunBefore is 1 if any run is more than 5 % above the one before it.
func overTheRunBefore(s history.Series) int {
	for i := 1; i < len(s.Points); i++ {
		if s.Points[i].Log-s.Points[i-1].Log > math.Log(1.05) {
			return 1
		}
	}
	return 0
}

// Step simulates so many quiet runs and then a step, and looks after each of the runs that
// follow, up to within.
func Step(n Noise, quiet, within int, by float64, r *rand.Rand) Counts {
	s, c := newSimulated(n, r), Counts{Histories: 1, Runs: quiet + within}
	for range quiet {
		s.run(0)
	}
	for range within {
		s.run(math.Log1p(by))
		of, m := s.suspect()
		if m == nil || of.Treatment != s.series[0].Treatment || m.At < quiet-3 {
			continue
		}
		c.Found = 1
		if m.At >= quiet-1 && m.At <= quiet+1 {
			c.Near = 1
		}
		truth := 0.0
		if m.Since < quiet {
			truth = math.Log1p(by)
		}
		if s.confirm(of, m, truth) == history.Worse {
			c.Confirmed = 1
		}
		break
	}
	return c
}

// Many adds up simulations, on all CPUs, from seeds.
func Many(ctx context.Context, histories int, seed uint64, one func(r *rand.Rand) Counts) Counts {
	var total Counts
	var mu sync.Mutex
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		group.Go(func() {
			var own Counts
			for i := w; i < histories && ctx.Err() == nil; i += workers {
				own.add(one(rand.New(rand.NewPCG(seed, uint64(i)))))
			}
			mu.Lock()
			defer mu.Unlock()
			total.add(own)
		})
	}
	group.Wait()
	return total
}

// Parts is the part of bench that counts how histories are judged.
func Parts() []labbench.Part {
	return []labbench.Part{{Name: "history",
		Says: "how often history and confirm are wrong on simulated histories, and how soon they find a step", Measure: rows}}
}

// atMost is a row of a share that must not be larger, in per cent or per 10,000.
func row(figure, wanted, measured string, met bool) labbench.Row {
	r := labbench.Row{Figure: figure, Wanted: wanted, Measured: measured}
	if wanted != "" {
		if r.Verdict = "not met"; met {
			r.Verdict = "met"
		}
	}
	return r
}

// rows are the table of doc/method.md.
func rows(ctx context.Context, b *labbench.Bench) ([]labbench.Row, error) {
	const histories, runs, steps = 1000, 100, 1000
	var out []labbench.Row
	quiet := func(name string, n Noise, histories int, seed uint64) Counts {
		c := Many(ctx, histories, seed, func(r *rand.Rand) Counts { return Quiet(n, runs, r) })
		per := 1e4 * float64(c.False) / float64(c.Runs)
		out = append(out, row(name+": false alarms after confirmation in 10,000 runs", "≤ 1",
			fmt.Sprintf("%.2f (%d in %d)", per, c.False, c.Runs), per <= 1))
		out = append(out, row(name+": suspects in 100 runs, each a short study", "",
			fmt.Sprintf("%.1f", 100*float64(c.Suspected)/float64(c.Runs)), true))
		return c
	}
	c := quiet("quiet", Usual, histories, 1)
	out = append(out, row("quiet: histories with an alarm of \"5 % over the run before\"", "",
		fmt.Sprintf("%d of %d", c.Before, c.Histories), true))
	with := func(change func(*Noise)) Noise {
		n := Usual
		change(&n)
		return n
	}
	quiet("quiet, 6 series judged together", with(func(n *Noise) { n.Series = 6 }), histories/10, 2)
	quiet("quiet, 1 run of 50 takes 20 % longer", with(func(n *Noise) { n.Odd = 0.02 }), histories/4, 3)
	quiet("quiet, runs follow each other (correlation 0.3)", with(func(n *Noise) { n.Follow = 0.3 }), histories/4, 4)
	for _, x := range []struct {
		name   string
		n      Noise
		before int
		by     float64
		least  float64 // per cent
	}{
		{"5 % step after 30 runs", Usual, 30, 0.05, 90},
		{"5 % step after 20 runs", Usual, 20, 0.05, 0},
		{"5 % step after 10 runs", Usual, 10, 0.05, 0},
		{"3 % step after 30 runs", Usual, 30, 0.03, 0},
		{"10 % step after 30 runs", Usual, 30, 0.10, 90},
		{"5 % step after 30 runs, 6 series judged together", with(func(n *Noise) { n.Series = 6 }), 30, 0.05, 0},
		{"5 % step after 30 runs, 1.5 % noise", Noise{Between: 0.0112, Trial: 0.0316, Trials: 10}, 30, 0.05, 90},
		{"5 % step after 30 runs, 1 run of 50 odd", with(func(n *Noise) { n.Odd = 0.02 }), 30, 0.05, 0},
	} {
		n := steps
		if x.n.Series > 1 {
			n /= 5
		}
		c := Many(ctx, n, 5, func(r *rand.Rand) Counts { return Step(x.n, x.before, 4, x.by, r) })
		share := func(k int) float64 { return 100 * float64(k) / float64(c.Histories) }
		wanted := ""
		if x.least > 0 {
			wanted = fmt.Sprintf("≥ %g %%", x.least)
		}
		out = append(out, row(x.name+": suspected within 4 runs", wanted, fmt.Sprintf("%.1f %%", share(c.Found)),
			share(c.Found) >= x.least))
		out = append(out, row(x.name+": and confirmed at once", "", fmt.Sprintf("%.1f %%", share(c.Confirmed)), true))
	}
	if len(out) > 0 {
		out[0].How = fmt.Sprintf("%d simulated histories of %d runs, 10 trials a run; the noise of a run is 3 %% unless "+
			"said otherwise, 2.8 %% of it between runs; looked at after each run; a confirmation has %d blocks", histories, runs,
			blocks)
	}
	return out, ctx.Err()
}
