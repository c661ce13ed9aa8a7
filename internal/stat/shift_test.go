package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// noisy are runs with a spread between them beyond their own errors.
func noisy(r *rand.Rand, n int, between, own float64) (ys, ses []float64) {
	for range n {
		ys, ses = append(ys, between*r.NormFloat64()+own*r.NormFloat64()), append(ses, own)
	}
	return ys, ses
}

// The spread between runs comes out as it was put in, with a step and an odd run, too.
func TestBetweenRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, x := range []struct {
		name           string
		spoil          func([]float64)
		between, least float64
		most           float64
	}{
		{"quiet", func([]float64) {}, 0.03, 0.0285, 0.031},
		{"a step of 20 %", func(ys []float64) {
			for i := range ys[20:] {
				ys[20+i] += 0.2
			}
		}, 0.03, 0.0285, 0.033},
		{"an odd run", func(ys []float64) { ys[10] += 0.5 }, 0.03, 0.0285, 0.035},
		{"none", func([]float64) {}, 0, 0, 0.004},
	} {
		var sum float64
		for range 400 {
			ys, ses := noisy(r, 40, x.between, 0.01)
			x.spoil(ys)
			sum += BetweenRuns(ys, ses)
		}
		if got := sum / 400; got < x.least || got > x.most {
			t.Errorf("%s: got %.4f, want %.4f to %.4f", x.name, got, x.least, x.most)
		}
	}
	if got := BetweenRuns([]float64{1}, []float64{0.1}); got != 0 {
		t.Errorf("of one run: %v", got)
	}
}

// The p of a place keeps to its level where nothing changed.
func TestShiftsKeepTheirLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	const histories, alpha = 4000, 0.05
	for _, n := range []int{10, 30} {
		hits := map[int]int{}
		for range histories {
			ys, ses := noisy(r, n, 0.03, 0.01)
			all, err := Shifts(ys, ses, BetweenRuns(ys, ses), 0.95)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range all {
				if s.P <= alpha {
					hits[s.At]++
				}
			}
		}
		for _, at := range []int{leastOld, n / 2, n - leastNew} {
			got, slack := float64(hits[at])/histories, 4*math.Sqrt(alpha*(1-alpha)/histories)
			if got > alpha+slack || got < alpha/2-slack {
				t.Errorf("%d runs, place %d: p below %g in a share of %.4f", n, at, alpha, got)
			}
		}
	}
}

// So it does where a few trials of each run are all that tells its error, whether runs differ by themselves or not. By
// the errors as they stand it does not.
func TestShiftsKeepTheirLevelOfFewTrials(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const histories, alpha, n = 4000, 0.05, 20
	for _, trials := range []int{2, 3, 6} {
		for _, between := range []float64{0, 0.5} {
			r := rand.New(rand.NewPCG(29, 56))
			var hits [2]map[int]int
			hits[0], hits[1] = map[int]int{}, map[int]int{}
			for range histories {
				var ys, ses []float64
				for range n {
					xs, sum := make([]float64, trials), 0.0
					level := between * r.NormFloat64()
					for i := range xs {
						xs[i] = level + r.NormFloat64()
						sum += xs[i]
					}
					ys, ses = append(ys, 0.01*sum/float64(trials)), append(ses, 0.01*SD(xs)/math.Sqrt(float64(trials)))
				}
				for k, own := range [][]float64{ses, ErrorsBesideOthers(ses, slices.Repeat([]int{trials}, n))} {
					all, err := Shifts(ys, own, BetweenRuns(ys, own), 0.95)
					if err != nil {
						t.Fatal(err)
					}
					for _, s := range all {
						if s.P <= alpha {
							hits[k][s.At]++
						}
					}
				}
			}
			for _, at := range []int{leastOld, n / 2, n - leastNew} {
				raw, got := float64(hits[0][at])/histories, float64(hits[1][at])/histories
				t.Logf("%d trials, %g between, place %d: p below %g in %.1f %%, by the errors as they stand in %.1f %%", trials,
					between, at, alpha, 100*got, 100*raw)
				if slack := 4 * math.Sqrt(alpha*(1-alpha)/histories); got > alpha+slack || got < alpha/3-slack {
					t.Errorf("%d trials, %g between, place %d: p below %g in a share of %.4f", trials, between, at, alpha, got)
				}
			}
		}
	}
}

// A run that is far less steady than the others weighs less, one that happens to look steady no more than they; runs of
// one trial have the error of a typical one.
func TestErrorsBesideOthers(t *testing.T) {
	got := ErrorsBesideOthers([]float64{1, 1.1, 0.9, 1, 0.01, 8}, []int{6, 6, 6, 6, 6, 6})
	if got[4] < 0.7*got[0] || got[5] < 3*got[0] || got[5] > 8 || math.Abs(got[0]-1) > 0.15 {
		t.Errorf("got %.2f", got)
	}
	if got = ErrorsBesideOthers([]float64{1, 1, 1, 0}, []int{4, 4, 4, 1}); math.Abs(got[3]-2.1) > 0.2 {
		t.Errorf("a run of one trial: %.2f", got)
	}
	if got = ErrorsBesideOthers([]float64{0, 0}, []int{1, 1}); got[0] != 0 || got[1] != 0 {
		t.Errorf("nobody knows: %v", got)
	}
	r, mean := rand.New(rand.NewPCG(29, 57)), 0.0
	two := make([]float64, 1000)
	for i := range two {
		two[i] = SD([]float64{r.NormFloat64(), r.NormFloat64()}) / math.Sqrt2
	}
	for _, se := range ErrorsBesideOthers(two, slices.Repeat([]int{2}, len(two))) {
		mean += se * se / float64(len(two))
	}
	if math.Abs(mean-0.5) > 0.06 { // the median of chi-squared is less than half of that
		t.Errorf("runs of two trials have a variance of %.2f, want 0.5", mean)
	}
	if got = ErrorsBesideOthers(nil, nil); len(got) != 0 {
		t.Errorf("no runs: %v", got)
	}
}

// A step is estimated without bias and covered; weights are those of the errors.
func TestShiftsEstimate(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	const histories, truth = 1500, 0.05
	var sum float64
	covered, placed := 0, 0
	for range histories {
		ys, ses := noisy(r, 30, 0.02, 0.01)
		for i := 20; i < 30; i++ {
			ys[i] += truth
		}
		all, err := Shifts(ys, ses, BetweenRuns(ys, ses), 0.95)
		if err != nil {
			t.Fatal(err)
		}
		s := all[slices.IndexFunc(all, func(s Shift) bool { return s.At == 20 })]
		sum += s.By
		if lo, hi := s.Interval(); lo <= truth && truth <= hi {
			covered++
		}
		best := slices.MaxFunc(all, func(a, b Shift) int { return int(math.Copysign(1, a.Gain-b.Gain)) })
		if best.At >= 18 && best.At <= 22 {
			placed++
		}
	}
	if got := sum / histories; math.Abs(got-truth) > 0.001 {
		t.Errorf("a step of %g is %.4f on average", truth, got)
	}
	if got := float64(covered) / histories; got < 0.93 || got > 0.985 {
		t.Errorf("the interval covers the truth in a share of %.3f", got)
	}
	if placed < histories*9/10 {
		t.Errorf("in %d of %d the step is found within 2 runs", placed, histories)
	}
	// One run of the old level knows nothing: the weighted mean is nearly without it.
	level, se := Level([]float64{0, 0, 5}, []float64{0.1, 0.1, 100}, 0)
	if math.Abs(level) > 1e-4 || math.Abs(se-0.1/math.Sqrt2) > 1e-4 {
		t.Errorf("level %v, standard error %v", level, se)
	}
}

// One odd run never makes a shift alone.
func TestOneRunDoesNotDecide(t *testing.T) {
	ys := []float64{0, 0.01, -0.01, 0, 0.01, -0.01, 0.01, 0, 0.005, 0.5}
	ses := slices.Repeat([]float64{0.01}, len(ys))
	all, err := Shifts(ys, ses, BetweenRuns(ys, ses), 0.95)
	if err != nil {
		t.Fatal(err)
	}
	last := all[len(all)-1]
	if last.At != 8 || last.P > 1e-3 || last.Least > 1 {
		t.Errorf("got %+v: p is small, and without the odd run nothing is left", last)
	}
	if _, err := Shifts(ys, ses[1:], 0, 0.95); err == nil {
		t.Error("runs without standard errors are taken")
	}
}
