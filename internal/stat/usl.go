package stat

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// A LoadPoint is one trial with so many requests under way at once.
type LoadPoint struct {
	N          float64 // requests under way, 1 or more
	Throughput float64 // answers/s
	Block      int     // that it ran in: what slows the machine down for a while slows down all of a block
}

// A USL is the Universal Scalability Law (Gunther, Guerrilla Capacity Planning, 2007)
// fitted to trials: X(N) = γN / (1 + α(N−1) + βN(N−1)), where α is contention, β the
// cost of coherency and γ the throughput of one request at a time.
type USL struct {
	Alpha, Beta, Gamma       float64
	AlphaSE, BetaSE, GammaSE float64 // standard errors
	DF                       int     // of the residuals
	Confidence               float64
	Largest                  float64 // N that was measured
	// Peak is the N of the highest throughput, with an interval by the delta method on its
	// logarithm; 1 and no wider where the law falls from one request on; NaN: none is within
	// reach, since β is not told from 0, or the law has its peak above twice the largest N measured.
	Peak, PeakLo, PeakHi float64
	// Misfit is the p-value of the law against the means of the levels, by F; NaN where no
	// level has two trials.
	Misfit float64

	weights []float64 // of the trials' errors
}

// ErrNoFit means that no law was found that the trials would follow.
var ErrNoFit = errors.New("the fit does not converge")

// At is the throughput at n, in answers/s.
func (u USL) At(n float64) float64 {
	return u.Gamma * n / (1 + u.Alpha*(n-1) + u.Beta*n*(n-1))
}

// Fits reports whether the trials do not contradict the law, at 1 %.
func (u USL) Fits() bool { return !(u.Misfit < 0.01) }

// FitUSL fits the law by nonlinear least squares. Its errors are taken to be equal at
// all N, as R's usl takes them, or relative to the level's mean: throughputs of trials scatter
// in per cent, and with equal errors the interval of a peak then holds it too seldom. A block that is
// slower by some per cent at all N says nothing of α, β and the peak: it is taken out before the fit (aligned), and
// counts in the error of γ alone. At least four different N are wanted: three fit any law.
func FitUSL(trials []LoadPoint, relative bool, confidence float64) (USL, error) {
	u := USL{Confidence: confidence, Peak: math.NaN(), PeakLo: math.NaN(), PeakHi: math.NaN(), Misfit: math.NaN()}
	for _, t := range trials {
		if !(t.N >= 1) || !(t.Throughput > 0) || math.IsInf(t.N+t.Throughput, 0) {
			return u, fmt.Errorf("%w: %g answers/s with %g under way", ErrNotFinite, t.Throughput, t.N)
		}
		u.Largest = max(u.Largest, t.N)
	}
	trials, blocks := aligned(trials)
	levels := map[float64][]float64{}
	for _, t := range trials {
		levels[t.N] = append(levels[t.N], t.Throughput)
	}
	if u.DF = len(trials) - 3 - (len(blocks) - 1); u.DF < 1 && len(levels) >= 4 {
		return u, fmt.Errorf("%w: %d trials in %d blocks", ErrTooFew, len(trials), len(blocks))
	}
	if len(levels) < 4 {
		return u, fmt.Errorf("%w: %d levels of concurrency; measure at least 4", ErrTooFew, len(levels))
	}
	u.weights = make([]float64, len(trials))
	for i, t := range trials {
		if u.weights[i] = 1; relative {
			u.weights[i] = 1 / meanOf(levels[t.N])
		}
	}
	rest, j, err := u.fit(trials)
	if err != nil {
		return u, err
	}
	noise := rest / float64(u.DF) // relative, where the errors are
	spread := func(alpha, beta, gamma float64) float64 {
		return math.Sqrt(noise) * j.spread([]float64{alpha, beta, gamma})
	}
	u.AlphaSE, u.BetaSE = spread(1, 0, 0), spread(0, 1, 0)
	own := noise // of a trial's logarithm
	if !relative {
		own = 0
		for _, t := range trials {
			own += noise / (u.At(t.N) * u.At(t.N)) / float64(len(trials))
		}
	}
	own *= float64(len(blocks)) / float64(len(trials))
	u.GammaSE = math.Hypot(spread(0, 0, 1), u.Gamma*between(blocks, own))
	u.misfit(levels, rest, len(blocks), relative)
	t := tCritical(confidence, float64(u.DF))
	falls := u.Alpha + u.Beta - 1 // above 0: the law has its peak below one request under way
	if falls > t*spread(1, 1, 0) {
		u.Peak, u.PeakLo, u.PeakHi = 1, 1, 1
		return u, nil
	}
	if !(u.Beta-t*u.BetaSE > 0) || u.Alpha >= 1 || (1-u.Alpha)/u.Beta > 4*u.Largest*u.Largest {
		return u, nil
	}
	u.Peak = math.Sqrt((1 - u.Alpha) / u.Beta)
	// ln N = (ln(1−α) − ln β)/2
	se := spread(-1/(2*(1-u.Alpha)), -1/(2*u.Beta), 0)
	u.PeakLo, u.PeakHi = max(1, u.Peak*math.Exp(-t*se)), max(1, u.Peak*math.Exp(t*se))
	u.Peak = max(1, u.Peak)
	return u, nil
}

// aligned are trials as they would be if all blocks were alike, and the logarithms by which the blocks differ, around
// 0. Two-way on logarithms; where trials are missing, one way after the other until nothing moves.
func aligned(trials []LoadPoint) (out []LoadPoint, blocks []float64) {
	level, block := map[float64]float64{}, map[int]float64{}
	for range 1000 {
		level = meansBy(trials, func(t LoadPoint) float64 { return t.N }, func(t LoadPoint) float64 { return block[t.Block] })
		next := meansBy(trials, func(t LoadPoint) int { return t.Block }, func(t LoadPoint) float64 { return level[t.N] })
		moved := 0.0
		for b, x := range next {
			moved = max(moved, math.Abs(x-block[b]))
		}
		if block = next; moved < 1e-12 {
			break
		}
	}
	for _, b := range slices.Sorted(maps.Keys(block)) {
		blocks = append(blocks, block[b])
	}
	middle := meanOf(blocks)
	for i := range blocks {
		blocks[i] -= middle
	}
	for _, t := range trials {
		t.Throughput *= math.Exp(middle - block[t.Block])
		out = append(out, t)
	}
	return out, blocks
}

// meansBy are the mean logarithms of the throughputs by a key, beyond what the other key accounts for.
func meansBy[K comparable](trials []LoadPoint, key func(LoadPoint) K, other func(LoadPoint) float64) map[K]float64 {
	sums, n := map[K]float64{}, map[K]float64{}
	for _, t := range trials {
		sums[key(t)] += math.Log(t.Throughput) - other(t)
		n[key(t)]++
	}
	for k := range sums {
		sums[k] /= n[k]
	}
	return sums
}

// between is the standard error of the mean of blocks that differ so, beyond the variance that each has of its own
// trials; 0 of one block.
func between(blocks []float64, own float64) float64 {
	if len(blocks) < 2 {
		return 0
	}
	sum := 0.0
	for _, b := range blocks {
		sum += b * b
	}
	return math.Sqrt(max(0, sum/float64(len(blocks)-1)-own) / float64(len(blocks)))
}

// fit finds α, β and γ by Levenberg and Marquardt's method from the solution of the
// linear form N/X = (1 + α(N−1) + βN(N−1))/γ; it returns the sum of squares that is left,
// and how X changes with α, β and γ there.
func (u *USL) fit(trials []LoadPoint) (rest float64, j *basis, err error) {
	var linear [3][]float64
	for i, t := range trials {
		w := u.weights[i] * t.Throughput / t.N // so that the errors of X weigh alike
		for k, x := range []float64{w, w * (t.N - 1), w * t.N * (t.N - 1)} {
			linear[k] = append(linear[k], x)
		}
	}
	u.Gamma = trials[0].Throughput / trials[0].N
	if b, ok := basisOf(linear); ok {
		if x := b.coefficients(u.weights); x[0] > 0 {
			u.Gamma = 1 / x[0]
			u.Alpha, u.Beta = x[1]*u.Gamma, x[2]*u.Gamma
		}
	}
	if !u.sound() {
		u.Alpha, u.Beta = max(u.Alpha, 0), max(u.Beta, 0)
	}
	rest = u.rest(trials)
	for step, damp := 0, 1e-3; step < 1000 && damp <= 1e20; step++ {
		columns, residuals := u.jacobian(trials)
		jj, jr := square(3), make([]float64, 3)
		for i := range jj {
			jr[i] = dot(columns[i], residuals)
			for k := range jj {
				jj[i][k] = dot(columns[i], columns[k])
			}
			jj[i][i] *= 1 + damp
		}
		root := rootOf(jj)
		if root[0][0] == 0 || root[1][1] == 0 || root[2][2] == 0 {
			damp *= 10
			continue
		}
		d := solve(root, jr)
		next := *u
		next.Alpha, next.Beta, next.Gamma = u.Alpha+d[0], u.Beta+d[1], u.Gamma+d[2]
		r := next.rest(trials)
		if !next.sound() || !(r <= rest) {
			damp *= 10
			continue
		}
		small := math.Abs(d[0]) < 1e-12 && math.Abs(d[1]) < 1e-14 && math.Abs(d[2]) < 1e-12*u.Gamma
		*u, rest, damp = next, r, max(damp/10, 1e-15)
		if small {
			break
		}
	}
	columns, _ := u.jacobian(trials)
	j, ok := basisOf(columns)
	if !ok || !u.sound() {
		return rest, nil, ErrNoFit
	}
	return rest, j, nil
}

// basisOf is that of three columns, false if they span less.
func basisOf(columns [3][]float64) (b *basis, ok bool) {
	b = &basis{}
	return b, b.add(columns[0]) && b.add(columns[1]) && b.add(columns[2])
}

// sound: the law is positive at every N that was measured.
func (u USL) sound() bool {
	for _, n := range []float64{1, u.Largest / 2, u.Largest} {
		if !(1+u.Alpha*(n-1)+u.Beta*n*(n-1) > 0) {
			return false
		}
	}
	return u.Gamma > 0
}

func (u USL) rest(trials []LoadPoint) float64 {
	sum := 0.0
	for i, t := range trials {
		d := (t.Throughput - u.At(t.N)) * u.weights[i]
		sum += d * d
	}
	return sum
}

// jacobian is how X of each trial changes with α, β and γ, and what is left of it, both in units of its error.
func (u USL) jacobian(trials []LoadPoint) (columns [3][]float64, residuals []float64) {
	for k := range columns {
		columns[k] = make([]float64, len(trials))
	}
	residuals = make([]float64, len(trials))
	for i, t := range trials {
		n, w := t.N, u.weights[i]
		q := 1 + u.Alpha*(n-1) + u.Beta*n*(n-1)
		columns[0][i] = -w * u.Gamma * n * (n - 1) / (q * q)
		columns[1][i] = columns[0][i] * n
		columns[2][i] = w * n / q
		residuals[i] = w * (t.Throughput - u.At(n))
	}
	return columns, residuals
}

// misfit compares what the law leaves with what the levels' own means leave.
func (u *USL) misfit(levels map[float64][]float64, rest float64, blocks int, relative bool) {
	pure, n := 0.0, 0
	for _, level := range slices.Sorted(maps.Keys(levels)) { // so that the sum is the same to the last digit
		xs := levels[level]
		m := meanOf(xs)
		w := 1.0
		if relative {
			w = 1 / m
		}
		for _, x := range xs {
			pure += w * w * (x - m) * (x - m)
		}
		n += len(xs)
	}
	d1, d2 := len(levels)-3, n-len(levels)-(blocks-1)
	if d1 < 1 || d2 < 1 || pure == 0 {
		return
	}
	u.Misfit = fUpper(max(0, rest-pure)/float64(d1)/(pure/float64(d2)), float64(d1), float64(d2))
}

// A ClosedQueue is a server that takes Demand of every request for itself, one after
// another, while each request spends Elsewhere besides: the network, the client, and what
// the server does for all at once. It has no coherency cost, so its throughput never falls.
type ClosedQueue struct {
	Demand, Elsewhere float64 // s
}

// FitClosedQueue takes both from the data: Demand from the highest mean throughput of a
// level, and the rest from the mean at the smallest N.
func FitClosedQueue(trials []LoadPoint) (ClosedQueue, error) {
	levels := map[float64][]float64{}
	least := math.Inf(1)
	for _, t := range trials {
		levels[t.N] = append(levels[t.N], t.Throughput)
		least = min(least, t.N)
	}
	if len(levels) == 0 {
		return ClosedQueue{}, ErrNoData
	}
	most := 0.0
	for _, xs := range levels {
		most = max(most, meanOf(xs))
	}
	one := least / meanOf(levels[least])
	return ClosedQueue{1 / most, max(0, one-1/most)}, nil
}

// At is its throughput with n requests under way, in answers/s: exact mean value
// analysis (Reiser and Lavenberg 1980), for exponential times of service.
func (q ClosedQueue) At(n int) float64 {
	waiting, x := 0.0, 0.0
	for i := 1; i <= n; i++ {
		r := q.Demand * (1 + waiting)
		x = float64(i) / (r + q.Elsewhere)
		waiting = x * r
	}
	return x
}
