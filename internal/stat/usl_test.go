package stat

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func points(n, x []float64) []LoadPoint {
	var out []LoadPoint
	for i := range n {
		out = append(out, LoadPoint{N: n[i], Throughput: x[i]})
	}
	return out
}

// SPEC SDM91 on a SPARCcenter 2000, as R's package usl 3.0.3 prints it: alpha 0.0277285
// (0.0091217), beta 0.0001044 (0.0000199), gamma 89.9952330 (14.2134894), peak 96.5
// (github.com/smoeding/usl, README). Further digits, the second set (the package's own
// tests/coef.R) and the third, which has no peak, are scipy's (testdata/usl.py).
var uslOracle = []struct {
	name            string
	trials          []LoadPoint
	estimate, error [3]float64
	peak, lo, hi    float64
}{
	{"specsdm91", points([]float64{1, 18, 36, 72, 108, 144, 216},
		[]float64{64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775, 1702.2}),
		[3]float64{0.027728475709956176, 0.00010436548276142526, 89.99523305185035},
		[3]float64{0.009121732247606004, 1.9875270564254176e-05, 14.213489964457766},
		96.5195614627134, 74.52999531328531, 124.99699893706936},
	{"tests/coef.R", points([]float64{1, 2, 4, 6, 8, 10}, []float64{1, 1.8868, 3.0769, 3.5294, 3.5398, 3.3557}),
		[3]float64{0.020005761328069492, 0.01999966527817233, 1.0000051217329067},
		[3]float64{3.525808477889965e-06, 2.6538491775311537e-07, 6.0907209800899696e-06},
		7.000038000681004, 6.999921303671129, 7.000154699636357},
	{"rising", points([]float64{1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64},
		[]float64{20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310}),
		[3]float64{0.07814784864211724, -0.00020112129101230284, 24.766174086852146},
		[3]float64{0.013405016522211828, 0.000119994793474069, 2.1570568587247516}, math.NaN(), math.NaN(), math.NaN()},
}

func TestUSLIsThatOfROnPublishedData(t *testing.T) {
	for _, o := range uslOracle {
		u, err := FitUSL(o.trials, false, 0.95)
		if err != nil {
			t.Errorf("%s: %v", o.name, err)
			continue
		}
		near := func(what string, got, want, within float64) {
			if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > within*math.Abs(want) {
				t.Errorf("%s: %s is %.9g, not %.9g", o.name, what, got, want)
			}
		}
		near("alpha", u.Alpha, o.estimate[0], 5e-7)
		near("beta", u.Beta, o.estimate[1], 5e-7)
		near("gamma", u.Gamma, o.estimate[2], 5e-7)
		near("error of alpha", u.AlphaSE, o.error[0], 1e-4)
		near("error of beta", u.BetaSE, o.error[1], 1e-4)
		near("error of gamma", u.GammaSE, o.error[2], 1e-4)
		near("peak", u.Peak, o.peak, 5e-7)
		near("lower end", u.PeakLo, o.lo, 1e-5)
		near("upper end", u.PeakHi, o.hi, 1e-5)
	}
}

// simulatedLoad are five trials of each number of requests under way, by a law that scatters by 3 %.
func simulatedLoad(r *rand.Rand, law USL, most float64) (trials []LoadPoint) {
	for n := 1.0; n <= most; n *= 2 {
		for range 5 {
			trials = append(trials, LoadPoint{N: n, Throughput: law.At(n) * (1 + 0.03*r.NormFloat64())})
		}
	}
	return trials
}

// Simulated servers of known peak: how often the interval holds it, and how often a
// server without a peak is said to have one.
func TestUSLPeakIsInItsInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	const rounds = 1000
	for _, truth := range []USL{
		{Alpha: 0.03, Beta: 1e-4, Gamma: 90}, {Alpha: 0.1, Beta: 2e-3, Gamma: 1000}, {Alpha: 0.02, Beta: 0, Gamma: 50},
	} {
		held, peaks := 0, 0
		for range rounds {
			u, err := FitUSL(simulatedLoad(r, truth, 256), true, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if !math.IsNaN(u.Peak) {
				peaks++
			}
			if p := math.Sqrt((1 - truth.Alpha) / truth.Beta); u.PeakLo <= p && p <= u.PeakHi {
				held++
			}
		}
		t.Logf("alpha %g beta %g: a peak in %d of %d, held by %d", truth.Alpha, truth.Beta, peaks, rounds, held)
		if truth.Beta == 0 && peaks > rounds*4/100 {
			t.Errorf("%d of %d servers without a peak were said to have one", peaks, rounds)
		}
		if truth.Beta > 0 && (peaks < rounds*99/100 || held < rounds*93/100 || held > rounds*99/100) {
			t.Errorf("alpha %g beta %g: %d of %d have a peak, %d intervals hold it", truth.Alpha, truth.Beta, peaks,
				rounds, held)
		}
	}
}

// loadInBlocks are five blocks of a trial of each number of requests under way: blocks differ by spread, trials by 3 %.
func loadInBlocks(r *rand.Rand, law USL, spread float64) (trials []LoadPoint) {
	for b := range 5 {
		slow := math.Exp(spread * r.NormFloat64())
		for n := 1.0; n <= 256; n *= 2 {
			trials = append(trials, LoadPoint{n, law.At(n) * slow * (1 + 0.03*r.NormFloat64()), b})
		}
	}
	return trials
}

// Blocks between which the machine becomes slower or faster: the interval of the peak holds it as often as it says,
// and what is said of the throughput of one request includes how far blocks differ.
func TestUSLInBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 7))
	const rounds = 1000
	spreads := []float64{0, 0.02, 0.1}
	if testing.Short() {
		spreads = spreads[1:2]
	}
	for _, truth := range []USL{{Alpha: 0.03, Beta: 1e-4, Gamma: 90}, {Alpha: 0.1, Beta: 2e-3, Gamma: 1000},
		{Alpha: 0.02, Beta: 0, Gamma: 50}} {
		for _, spread := range spreads {
			held, peaks, misfits := 0, 0, 0
			var said, off float64 // variances of γ
			for range rounds {
				u, err := FitUSL(loadInBlocks(r, truth, spread), true, 0.95)
				if err != nil {
					t.Fatal(err)
				}
				if !math.IsNaN(u.Peak) {
					peaks++
				}
				if p := math.Sqrt((1 - truth.Alpha) / truth.Beta); u.PeakLo <= p && p <= u.PeakHi {
					held++
				}
				if u.Misfit < 0.05 {
					misfits++
				}
				said += u.GammaSE * u.GammaSE / rounds
				off += (u.Gamma - truth.Gamma) * (u.Gamma - truth.Gamma) / rounds
			}
			t.Logf("alpha %g beta %g, blocks %g: a peak in %d of %d, held by %d, %d misfits, gamma's variance %.3g of %.3g",
				truth.Alpha, truth.Beta, spread, peaks, rounds, held, misfits, said, off)
			if truth.Beta == 0 && peaks > rounds*4/100 || truth.Beta > 0 && (held < rounds*93/100 || held > rounds*97/100) {
				t.Errorf("%d have a peak, %d intervals hold it", peaks, held)
			}
			if ratio := said / off; ratio < 0.85 || ratio > 1.2 || misfits < rounds*3/100 || misfits > rounds*7/100 {
				t.Errorf("gamma's variance is said to be %.2f of what it is, and %d laws not to fit", ratio, misfits)
			}
		}
	}
}

// What slows all of a block by one factor says nothing of the form of the law, also where a trial is missing.
func TestUSLOfABlockThatIsSlow(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 8))
	for _, missing := range []int{0, 1, 7} {
		one := loadInBlocks(r, USL{Alpha: 0.03, Beta: 1e-4, Gamma: 90}, 0)[missing:]
		other := slices.Clone(one)
		for i := range other {
			other[i].Throughput *= []float64{1, 1.3, 0.5, 2, 1.7}[other[i].Block]
		}
		a, err := FitUSL(one, true, 0.95)
		b, err2 := FitUSL(other, true, 0.95)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		for what, x := range map[string][2]float64{"alpha": {a.Alpha, b.Alpha}, "beta": {a.Beta, b.Beta},
			"error of beta": {a.BetaSE, b.BetaSE}, "peak": {a.Peak, b.Peak}, "lower end": {a.PeakLo, b.PeakLo},
			"misfit": {a.Misfit, b.Misfit}} {
			if math.IsNaN(x[0]) || math.Abs(x[0]-x[1]) > 1e-6*x[0] {
				t.Errorf("without %d trials: %s is %g, and %g where blocks differ", missing, what, x[0], x[1])
			}
		}
		if b.GammaSE < 5*a.GammaSE {
			t.Errorf("the error of gamma is %g, and only %g where blocks differ", a.GammaSE, b.GammaSE)
		}
	}
}

func TestUSLSaysThatTheLawDoesNotFit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var trials []LoadPoint
	for n := 1.0; n <= 256; n *= 2 {
		for range 5 {
			x := 100 * min(n, 16) // straight up, then flat
			trials = append(trials, LoadPoint{N: n, Throughput: x * (1 + 0.02*r.NormFloat64())})
		}
	}
	u, err := FitUSL(trials, true, 0.95)
	if err != nil || u.Fits() {
		t.Errorf("p %g, %v", u.Misfit, err)
	}
	q, err := FitClosedQueue(trials)
	if err != nil || math.Abs(q.At(256)-1600) > 40 || math.Abs(q.At(1)-100) > 5 {
		t.Errorf("%+v: %g, %g, %v", q, q.At(1), q.At(256), err)
	}
}

// The machine repairman's queue, by its closed form: X = (1 − p0)/D, where
// 1/p0 = Σ N!/(N−k)! (D/Z)^k.
func TestClosedQueueIsTheMachineRepairmans(t *testing.T) {
	q := ClosedQueue{Demand: 0.01, Elsewhere: 0.1}
	for _, n := range []int{1, 5, 20, 60} {
		sum, term := 1.0, 1.0
		for k := 0; k < n; k++ {
			term *= float64(n-k) * q.Demand / q.Elsewhere
			sum += term
		}
		if want := (1 - 1/sum) / q.Demand; math.Abs(q.At(n)-want) > 1e-9*want {
			t.Errorf("N %d: %.9g, not %.9g", n, q.At(n), want)
		}
	}
}

func TestUSLRefuses(t *testing.T) {
	if _, err := FitUSL(points([]float64{1, 2, 4}, []float64{1, 2, 3}), true, 0.95); !errors.Is(err, ErrTooFew) {
		t.Error(err)
	}
	apart := points([]float64{1, 2, 4, 8}, []float64{1, 2, 3, 4}) // each in a block of its own
	for i := range apart {
		apart[i].Block = i
	}
	if _, err := FitUSL(apart, true, 0.95); !errors.Is(err, ErrTooFew) {
		t.Error(err)
	}
	if _, err := FitUSL(points([]float64{1, 2, 4, 8}, []float64{1, 2, 3, 0}), true, 0.95); !errors.Is(err, ErrNotFinite) {
		t.Error(err)
	}
}

// A server that more requests under way only slow down, as behind a lock that is handed on slowly: it is said to have
// its highest throughput with one. One that answers a request after the other, so that more change nothing, is said so
// as rarely as the level allows, as is one whose peak lies at two.
func TestUSLFallsFromTheFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const rounds = 1000
	for _, x := range []struct {
		truth       USL
		least, most float64 // share that is said to fall
	}{{USL{Alpha: 1.3, Beta: 0, Gamma: 1000}, 0.99, 1}, {USL{Alpha: 1.2, Beta: 0.01, Gamma: 100}, 0.99, 1},
		{USL{Alpha: 0.9, Beta: 0.4, Gamma: 1000}, 0.99, 1}, {USL{Alpha: 0.9, Beta: 0.3, Gamma: 100}, 0.99, 1},
		{USL{Alpha: 1, Beta: 0, Gamma: 1000}, 0, 0.04}, {USL{Alpha: 0.2, Beta: 0.2, Gamma: 100}, 0, 0.025},
		{USL{Alpha: 0.8, Beta: 0.02, Gamma: 1000}, 0, 0}} {
		falls, two := 0, 0
		for range rounds {
			u, err := FitUSL(simulatedLoad(r, x.truth, 64), true, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if u.Peak == 1 && u.PeakLo == 1 && u.PeakHi == 1 {
				falls++
			}
			if u.PeakLo <= 2 && 2 <= u.PeakHi {
				two++
			}
			if u.Peak < 1 || u.PeakLo < 1 || u.PeakHi < 1 {
				t.Fatalf("a peak below one request: %+v", u)
			}
		}
		t.Logf("alpha %g beta %g: %d of %d fall from the first, %d hold two", x.truth.Alpha, x.truth.Beta, falls, rounds, two)
		if share := float64(falls) / rounds; share < x.least || share > x.most {
			t.Errorf("alpha %g beta %g: %d of %d are said to fall from the first, want a share of %g to %g", x.truth.Alpha,
				x.truth.Beta, falls, rounds, x.least, x.most)
		}
		if peak := math.Sqrt((1 - x.truth.Alpha) / x.truth.Beta); math.Abs(peak-2) < 1e-9 && two < rounds*93/100 {
			t.Errorf("alpha %g beta %g: two is held by %d of %d", x.truth.Alpha, x.truth.Beta, two, rounds)
		}
	}
}

// Standard errors are in the units of what they are of: with throughputs a thousand times as high, γ's is so, too, and
// those of α and β stay. What blocks differ by is a share of γ, whichever way errors are taken.
func TestUSLInAnotherUnit(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	one := loadInBlocks(r, USL{Alpha: 0.03, Beta: 1e-4, Gamma: 1}, 0.1)
	for _, relative := range []bool{true, false} {
		a, err := FitUSL(one, relative, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		// Five blocks that differ by 10 % tell a mean to 0.1/√5, within what chance makes of five.
		if share := a.GammaSE / a.Gamma; share < 0.01 || share > 0.1 {
			t.Errorf("relative %v: the standard error of gamma is %.2g of it", relative, share)
		}
		for _, unit := range []float64{1e-3, 1e3} {
			other := slices.Clone(one)
			for i := range other {
				other[i].Throughput *= unit
			}
			b, err := FitUSL(other, relative, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			for what, x := range map[string][2]float64{"gamma": {a.Gamma * unit, b.Gamma},
				"error of gamma": {a.GammaSE * unit, b.GammaSE}, "error of alpha": {a.AlphaSE, b.AlphaSE},
				"error of beta": {a.BetaSE, b.BetaSE}} {
				if math.Abs(x[0]-x[1]) > 1e-6*x[0] {
					t.Errorf("relative %v, in %g of the unit: %s is %g, want %g", relative, 1/unit, what, x[1], x[0])
				}
			}
		}
	}
}
