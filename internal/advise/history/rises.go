package history

import (
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/stat"
)

// A Count is how many trials of a treatment in a run had something that should not be, such as requests that failed.
type Count struct {
	All  int // had it
	Sure int // of these, for another reason than that programs waited for a CPU
	Of   int // trials; 0: the run has none of the treatment
}

// A Rise is a stretch of runs in which more trials had it than in those before.
type Rise struct {
	From, To      int        // runs, To excluded: as far as it takes to be sure
	Base          int        // the first run of those before
	Before, Since stat.Share // of trials, of all treatments
	P             float64    // over all points of all looks at the history
	End           int        // the run at which fewer trials had it again; the number of runs: none
}

// Terms of rises.
const (
	// RiseLevel is shared by all looks at a history, however long it becomes, and by the points of each.
	RiseLevel = 0.01
	// apart is the level at which runs, as the units, must tell of it, too: they may differ from day to day.
	apart = 0.05
)

// Rises are where trials began to have it. Treatments are strata, trials the units. The runs up to each are looked at,
// as they were when it was the newest, and split at each point: looks share the level by 6/π²/n², so that what is
// found once stays. A fall is found alike, and what comes after it is beside the lower level. Runs that begin anew, as
// on another machine, are not beside those before. Counts are those of the runs from one to another, which is
// excluded.
func Rises(runs int, counts func(from, to int) [][]Count, anew func(run int) bool) []Rise {
	var out []Rise
	base := 0
	for to := 1; to <= runs; to++ {
		if anew(to - 1) {
			base = to - 1
		}
		seen := counts(base, to)
		sums := sumsOf(seen)
		best, up := Rise{P: 1}, false
		asked := float64(2*max(1, to-1)) * float64(to*to) * math.Pi * math.Pi / 6
		for from := base + 1; from < to; from++ {
			for _, rises := range []bool{true, false} {
				if x := split(seen, sums, from-base, rises, RiseLevel/asked); x.P < best.P {
					best, up = x, rises
				}
			}
		}
		if best.P *= asked; !(best.P < RiseLevel) {
			continue
		}
		best.From, best.To, best.Base, best.End = base+best.From, to, base, runs
		if last := len(out) - 1; last >= 0 && out[last].End == runs && !up {
			out[last].End = best.From
		}
		if up {
			out = append(out, best)
		}
		base = best.From
	}
	return out
}

// sumsOf are, of each treatment, the counts of all runs before one, and behind the last.
func sumsOf(runs [][]Count) [][]Count {
	sums := make([][]Count, len(runs)+1)
	for run, all := range runs {
		sums[run+1] = make([]Count, max(len(all), len(sums[run])))
		copy(sums[run+1], sums[run])
		for k, c := range all {
			x := &sums[run+1][k]
			x.All, x.Sure, x.Of = x.All+c.All, x.Sure+c.Sure, x.Of+c.Of
		}
	}
	return sums
}

// split is what the runs since a point say beside those before it: P is one-sided, 1 where it is not below a level, or
// runs as units do not say so. Of the side that should have more, only what is sure counts.
func split(runs, sums [][]Count, from int, rises bool, level float64) Rise {
	x := Rise{From: from, P: 1}
	share := func(c Count, sure bool) stat.Share {
		if sure {
			return stat.Share{Hits: c.Sure, N: c.Of}
		}
		return stat.Share{Hits: c.All, N: c.Of}
	}
	all := sums[len(runs)]
	old, new := make([]stat.Share, len(all)), make([]stat.Share, len(all)) // strata
	for k, c := range all {
		var before Count
		if k < len(sums[from]) {
			before = sums[from][k]
		}
		old[k] = share(before, !rises)
		new[k] = share(Count{c.All - before.All, c.Sure - before.Sure, c.Of - before.Of}, rises)
	}
	x.Before, x.Since = stat.Pooled(old), stat.Pooled(new)
	if !rises {
		old, new = new, old
	}
	if !worthATest(new, old) {
		return x
	}
	pooled := make([]stat.Share, len(runs))
	for run, counts := range runs {
		for _, c := range counts {
			s := share(c, (run >= from) == rises)
			pooled[run].Hits, pooled[run].N = pooled[run].Hits+s.Hits, pooled[run].N+s.N
		}
	}
	a, b := pooled[:from], pooled[from:]
	if !rises {
		a, b = b, a
	}
	if p := stat.StratifiedMore(new, old); p < level && stat.PermutedMore(b, a) <= apart+1e-9 {
		x.P = p
	}
	return x
}

// worthATest reports whether the sum of the strata's hits is so far above what is expected that the exact test may
// matter; that is far quicker.
func worthATest(new, old []stat.Share) bool {
	const least = 2.5 // standard deviations; RiseLevel needs more than 3
	var above, variance float64
	for k := range new {
		n, m := float64(new[k].N), float64(old[k].N)
		hits := float64(new[k].Hits + old[k].Hits)
		if all := n + m; all > 1 {
			above += float64(new[k].Hits) - hits*n/all
			variance += n * m * hits * (all - hits) / (all * all * (all - 1))
		}
	}
	return above > 0 && above*above > least*least*variance
}

// Failing counts trials of a treatment of which more requests failed than of the median trial: a trial's requests may
// fail together, so it counts once. Shares are by run; late are those of the requests that had no answer in time, by
// run; nil: nobody knows. Waited says in which runs programs waited for a CPU.
func Failing(shares [][]stat.Share, late [][]int, waited []bool) []Count {
	var all []float64
	for _, run := range shares {
		for _, s := range run {
			all = append(all, s.Of())
		}
	}
	out := make([]Count, len(shares))
	if len(all) == 0 {
		return out
	}
	slices.Sort(all)
	usual := all[(len(all)-1)/2]
	for i, run := range shares {
		out[i].Of = len(run)
		for k, s := range run {
			if !(s.Of() > usual) {
				continue
			}
			out[i].All++
			switch {
			case !waited[i]:
			case late[i] == nil:
				continue
			default:
				s.Hits -= late[i][k]
			}
			if s.Of() > usual {
				out[i].Sure++
			}
		}
	}
	return out
}
