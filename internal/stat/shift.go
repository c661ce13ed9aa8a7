package stat

import (
	"fmt"
	"math"
	"slices"
)

// clip is where a run stops to pull harder, in standard deviations (Huber's constant).
// For runs without outliers it costs about 1 % of efficiency.
const clip = 2

// clippedSquare is the mean of min(Z², clip²) of a standard normal Z.
var clippedSquare = 1 - 2*normalUpper(clip) - 2*clip*math.Exp(-clip*clip/2)/math.Sqrt(2*math.Pi) +
	2*clip*clip*normalUpper(clip)

// resolution is the least standard deviation that a logarithm is given: runs that agree
// to the last digit are no surer than that.
const resolution = 1e-6

// BetweenRuns is the standard deviation of runs beyond their own standard errors, on the
// scale of ys: that of fresh starts, of the day, of the machine's mood. It is 0 where the
// runs differ no more than their errors say.
//
// It comes from differences of successive runs (von Neumann 1941), so that a change of
// level touches one difference only. An odd run touches two; their squares are clipped as
// in Huber's proposal 2 (1964). The variance is the one with which the squares add up to
// what they should, as in Paule and Mandel (1982).
func BetweenRuns(ys, ses []float64) float64 {
	excess := func(variance float64) float64 {
		var sum float64
		for i := 1; i < len(ys); i++ {
			d := ys[i] - ys[i-1]
			v := 2*variance + ses[i]*ses[i] + ses[i-1]*ses[i-1] + 2*resolution*resolution
			sum += min(d*d/v, clip*clip)
		}
		return sum - clippedSquare*float64(len(ys)-1)
	}
	if len(ys) < 2 || excess(0) <= 0 {
		return 0
	}
	lo, hi := 0.0, 1.0
	for excess(hi) > 0 && hi < 1e12 {
		hi *= 4
	}
	for range 60 {
		if mid := (lo + hi) / 2; excess(mid) > 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Sqrt(hi)
}

// typicalRuns are the degrees of freedom that the spread of a typical run counts for beside a run's own.
const typicalRuns = 10

// ErrorsBesideOthers are standard errors of runs, of so many trials each, as they are known beside each other. A few
// trials know their own spread badly, and a level in which those weigh most that happen to look steady is known worse
// than it seems: so the variance of a run's trials is averaged with that of a typical run, the median of all, by
// degrees of freedom (Smyth 2004 has its weight from the data). A run that is much less steady still weighs less.
func ErrorsBesideOthers(ses []float64, trials []int) []float64 {
	var all []float64
	for i, se := range ses {
		if df := float64(trials[i] - 1); df > 0 {
			all = append(all, se*se*float64(trials[i])/math.Pow(1-2/(9*df), 3)) // over the median of chi-squared by its df
		}
	}
	if len(all) == 0 {
		return slices.Clone(ses)
	}
	typical := Middle(all)
	out := make([]float64, len(ses))
	for i, se := range ses {
		n := float64(trials[i])
		own := max(0, n-1)
		out[i] = math.Sqrt((typicalRuns*typical + own*se*se*n) / (typicalRuns + own) / max(1, n))
	}
	return out
}

// A Shift is a change of level between two successive runs of a series.
type Shift struct {
	At         int     // the first run of the new level
	By         float64 // new level less old
	SE         float64 // of By
	Confidence float64 // of Interval
	T, DF, P   float64 // two-sided; of a test made here only, whatever else was looked at
	// Gain is how much better two levels fit than one: by Huber's loss of all runs, which
	// is half a square near 0 and grows evenly beyond 2 standard deviations.
	Gain float64
	// Least is |T| without the one run that speaks most for the shift; below 0: it then
	// points the other way. It is |T| where both sides are long.
	Least float64
}

// Interval is that of By.
func (s Shift) Interval() (lo, hi float64) {
	half := tCritical(s.Confidence, s.DF) * s.SE
	return s.By - half, s.By + half
}

// short is how many runs a side has of which one must not decide alone.
const short = 5

// Least runs on either side of a shift: one run shows no level, and the old one must be known better.
const (
	leastOld = 3
	leastNew = 2
)

// Shifts tests each place where the level of a series may have changed: each run weighs
// 1/(between² + its own standard error²), the levels are Huber's, and the t
// distribution has the degrees of freedom of BetweenRuns on as many runs.
func Shifts(ys, ses []float64, between, confidence float64) ([]Shift, error) {
	if err := usable(ys, confidence); err != nil {
		return nil, err
	}
	if len(ses) != len(ys) {
		return nil, fmt.Errorf("%d runs have %d standard errors", len(ys), len(ses))
	}
	n := float64(len(ys))
	df := 2 * (n - 1) * (n - 1) / (3*n - 4)
	ws := make([]float64, len(ys))
	for i, se := range ses {
		ws[i] = 1 / (between*between + se*se + resolution*resolution)
	}
	var out []Shift
	level, _ := huber(ys, ws, Middle(ys))
	old, new := level, level
	whole := loss(ys, ws, level)
	for at := leastOld; at <= len(ys)-leastNew; at++ {
		var oldW, newW float64
		old, oldW = huber(ys[:at], ws[:at], old)
		new, newW = huber(ys[at:], ws[at:], new)
		s := Shift{At: at, By: new - old, SE: math.Sqrt(1/oldW + 1/newW), DF: df, Confidence: confidence}
		s.T = s.By / s.SE
		s.P = tTwoSided(s.T, df)
		s.Gain = whole - loss(ys[:at], ws[:at], old) - loss(ys[at:], ws[at:], new)
		s.Least = math.Abs(s.T)
		way := math.Copysign(1, s.By)
		if len(ys)-at <= short {
			s.Least = min(s.Least, withoutOne(ys[at:], ws[at:], old, oldW, way))
		}
		if at <= short {
			s.Least = min(s.Least, withoutOne(ys[:at], ws[:at], new, newW, -way))
		}
		out = append(out, s)
	}
	return out, nil
}

// loss is Huber's, of runs about a level.
func loss(ys, ws []float64, level float64) (sum float64) {
	for i, y := range ys {
		r := (y - level) * (y - level) * ws[i]
		if r > clip*clip {
			sum += clip*math.Sqrt(r) - clip*clip/2
		} else {
			sum += r / 2
		}
	}
	return sum
}

// withoutOne is the distance of a short side from the level of the other, in the direction
// way, without its one run that lies farthest that way; in standard errors.
func withoutOne(ys, ws []float64, other, otherW, way float64) float64 {
	far := 0
	for i := range ys {
		if way*ys[i] > way*ys[far] {
			far = i
		}
	}
	var sum, w float64
	for i := range ys {
		if i != far {
			sum, w = sum+ws[i]*ys[i], w+ws[i]
		}
	}
	return way * (sum/w - other) / math.Sqrt(1/w+1/otherW)
}

// huber is the level of runs with known weights, and the sum of the weights. The search
// begins at a level, wherever that is: there is one answer only.
func huber(ys, ws []float64, begin float64) (level, weight float64) {
	var sum float64
	for i := range ys {
		sum, weight = sum+ws[i]*ys[i], weight+ws[i]
	}
	if len(ys) < 3 {
		return sum / weight, weight
	}
	level = begin
	for range 100 {
		var sum, w float64
		for i, y := range ys {
			v := ws[i]
			if r := (y - level) * (y - level) * v; r > clip*clip {
				v *= clip / math.Sqrt(r)
			}
			sum, w = sum+v*y, w+v
		}
		next := sum / w
		near := (next-level)*(next-level)*weight < 1e-12
		if level = next; near {
			break
		}
	}
	return level, weight
}

// middle is the median.
// Level is the level of runs as Shifts has it, and its standard error.
func Level(ys, ses []float64, between float64) (level, se float64) {
	if len(ys) == 0 {
		return math.NaN(), math.NaN()
	}
	ws := make([]float64, len(ys))
	for i, s := range ses {
		ws[i] = 1 / (between*between + s*s + resolution*resolution)
	}
	level, w := huber(ys, ws, Middle(ys))
	return level, math.Sqrt(1 / w)
}

// HalfWidth is that of the t interval of a mean of n values; NaN for fewer than two.
func HalfWidth(se float64, n int, confidence float64) float64 {
	if n < 2 {
		return math.NaN()
	}
	return tCritical(confidence, float64(n-1)) * se
}
