package advise

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// A sentAgainTruth is how many of the 200 requests of a trial are sent again.
type sentAgainTruth struct {
	words string
	draw  func(r *rand.Rand) int
}

func sentAlone(share float64) sentAgainTruth {
	return sentAgainTruth{fmt.Sprintf("%.3g %%", 100*share), func(r *rand.Rand) int { return drawnHits(r, 200, share) }}
}

// closed is a server that closes all kept connections in a share of the trials: so many requests are sent again.
func closed(connections int, share float64) sentAgainTruth {
	return sentAgainTruth{fmt.Sprintf("%d in %.0f %% of the trials", connections, 100*share), func(r *rand.Rand) int {
		if r.Float64() < share {
			return connections
		}
		return 0
	}}
}

func (x sentAgainTruth) of(r *rand.Rand, treatments, trials int) (out []Attempts) {
	for i := range treatments {
		a := attempts(fmt.Sprint("t", i), make([]stat.Share, trials)...)
		for j := range trials {
			a.Failed[j] = stat.Share{N: 200}
			a.Repeated = append(a.Repeated, stat.Share{Hits: x.draw(r), N: 200})
		}
		out = append(out, a)
	}
	return out
}

// saidOfSentAgain is how often, of so many pairs, compare and confirm say that requests sent again rose, run --like
// that they differ, and two probes, of which one treatment is, that they rose.
func saidOfSentAgain(r *rand.Rand, old, new sentAgainTruth, treatments, trials, pairs int) (results, like, probes int) {
	confirmed := func(all []Failures) int {
		for _, f := range all {
			if f.Verdict == stat.Confirmed {
				return 1
			}
		}
		return 0
	}
	for range pairs {
		a, b := old.of(r, treatments, trials), new.of(r, treatments, trials)
		results += confirmed(FailuresOfTrials(a, b, 0.95))
		like += confirmed(FailuresDiffer(a, b, 0.95))
		if treatments == 1 {
			probes += confirmed(JudgeSentAgain(a[0], b[0], 0.95))
		}
	}
	return results, like, probes
}

// Where no more requests are sent again than before, at most 2.5 % of comparisons say that more are (the rise is one
// side of a two-sided test), and at most 5 % of repetitions that another share is, whether each is by itself or all
// connections of a trial break together. Where more are, it is found.
func TestSimulatedRequestsSentAgain(t *testing.T) {
	pairs := 200
	if *full {
		pairs = 2000
	}
	r := rand.New(rand.NewPCG(30, 11))
	rate := func(n int) float64 { return 100 * float64(n) / float64(pairs) }
	for _, x := range []sentAgainTruth{sentAlone(0), sentAlone(0.001), sentAlone(0.01), sentAlone(0.05), closed(8, 0.1),
		closed(8, 0.3), closed(8, 0.5), closed(100, 0.2), closed(1, 0.5)} {
		for _, trials := range []int{2, 3, 5, 8} {
			for _, treatments := range []int{1, 3} {
				if testing.Short() && (trials != 5 || treatments != 1) {
					continue
				}
				results, like, probes := saidOfSentAgain(r, x, x, treatments, trials, pairs)
				t.Logf("equal, %s, %d treatments of %d trials: worse in %.1f %%, run --like differs in %.1f %%, probes worse in "+
					"%.1f %%", x.words, treatments, trials, rate(results), rate(like), rate(probes))
				if tooOften(results, pairs, 0.025) || tooOften(like, pairs, 0.05) || tooOften(probes, pairs, 0.025) {
					t.Errorf("equal, %s, %d treatments of %d trials: of %d pairs %d, %d and %d say otherwise", x.words, treatments,
						trials, pairs, results, like, probes)
				}
			}
		}
	}
	for _, x := range []struct {
		old, new sentAgainTruth
		least    [3]float64 // per cent that compare finds, of 3, 5 and 8 trials
	}{
		{sentAlone(0), sentAlone(0.01), [3]float64{0, 50, 95}}, {sentAlone(0), sentAlone(0.05), [3]float64{60, 95, 98}},
		{sentAlone(0.001), sentAlone(0.01), [3]float64{0, 40, 80}},
		{sentAlone(0.01), sentAlone(0.05), [3]float64{50, 93, 98}},
		{closed(8, 0), closed(8, 0.5), [3]float64{0, 8, 40}}, {closed(8, 0), closed(8, 1), [3]float64{98, 98, 98}},
		{closed(8, 0.1), closed(8, 0.9), [3]float64{40, 55, 85}},
	} {
		for i, trials := range []int{3, 5, 8} {
			results, like, probes := saidOfSentAgain(r, x.old, x.new, 1, trials, pairs)
			t.Logf("%s, then %s, %d trials: worse in %.1f %%, run --like differs in %.1f %%, probes worse in %.1f %%",
				x.old.words, x.new.words, trials, rate(results), rate(like), rate(probes))
			if rate(results) < x.least[i] {
				t.Errorf("%s, then %s, %d trials: found in %d of %d", x.old.words, x.new.words, trials, results, pairs)
			}
		}
	}
}
