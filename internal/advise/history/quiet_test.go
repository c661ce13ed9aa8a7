package history

import (
	"math"
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// A made history is one of runs of so many trials, of which each differs by 1, and each run by between besides.
type made struct {
	runs, trials int
	between      float64
	last         int     // of the runs are another level
	by           float64 // higher
}

// series draws it. The unit of all is the deviation of a trial.
func (m made) series(r *rand.Rand) Series {
	s := Series{Treatment: "rest", Side: measure.Client, Response: "rtt", Unit: "s"}
	for i := range m.runs {
		level := m.between * r.NormFloat64()
		if i >= m.runs-m.last {
			level += m.by
		}
		logs := make([]float64, m.trials)
		sum := 0.0
		for k := range logs {
			logs[k] = 0.02 * (level + r.NormFloat64())
			sum += logs[k]
		}
		n := float64(m.trials)
		s.Points = append(s.Points, Point{Run: i, Log: sum / n, SE: stat.SD(logs) / math.Sqrt(n), Trials: m.trials})
	}
	return s
}

// moved is in how many of so many histories a level moves, and in how many of them for the worse in the newest runs.
func (m made) moved(histories int) (any, fresh int) {
	r := rand.New(rand.NewPCG(29, uint64(1000*m.trials+m.runs)))
	for range histories {
		j := one(m.series(r))
		moves, worse := false, false
		for _, x := range j.Marks {
			if x.Kind == Suspect {
				moves = true
				worse = worse || x.Worse && x.At >= m.runs-Fresh
			}
		}
		if moves {
			any++
		}
		if worse {
			fresh++
		}
	}
	return any, fresh
}

// A quiet history, looked at for the first time, has a level that moved no more often than doc/history.md says, however
// few trials its runs have and whether runs differ by themselves: there are four places for a change in the newest
// runs. A step is found as often as before.
func TestQuietHistoriesKeepTheirRate(t *testing.T) {
	histories := 4000
	if testing.Short() {
		histories = 1000
	}
	const most, least = 0.09, 0.92
	for _, runs := range []int{10, 20, 40} {
		for _, trials := range []int{2, 3, 6, 20} {
			for _, between := range []float64{0, 0.4, 1} {
				m := made{runs: runs, trials: trials, between: between}
				any, fresh := m.moved(histories)
				step := m
				step.last, step.by = 3, 2.5*math.Sqrt(between*between+1/float64(trials))
				_, found := step.moved(histories / 4)
				share := func(n, of int) float64 { return 100 * float64(n) / float64(of) }
				t.Logf("%d runs of %d trials, %g between: a level moved in %.1f %%, newest %.1f %%; step of 2.5 found in %.1f %%",
					runs, trials, between, share(any, histories), share(fresh, histories), share(found, histories/4))
				slack := func(p float64, n int) float64 { return 3 * math.Sqrt(p*(1-p)*float64(n)) }
				if n := float64(histories); float64(any) > most*n+slack(most, histories) {
					t.Errorf("%+v: a level moved in %d of %d quiet histories", m, any, histories)
				}
				if n := histories / 4; runs > 10 && float64(found) < least*float64(n)-slack(least, n) {
					t.Errorf("%+v: %d of %d steps found", step, found, n)
				}
			}
		}
	}
}
