package battery

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Ratio is how many times as long the battery lasts with some reports as with others.
type Ratio struct{ Estimate, Lo, Hi float64 }

// Compare says how many times as long the battery lasts with the reports of some trials, one Traffic each, as with
// those of others. In each draw radio and battery are the same for both: what is not known of them widens the interval
// of each life, and that of the ratio only as far as it concerns the two differently. Trials of the two are taken for
// independent.
func Compare(a, b []Traffic, c Conditions) (Ratio, error) {
	if len(a) == 0 || len(b) == 0 {
		return Ratio{}, errors.New("no trial was measured")
	}
	figures, err := c.figures()
	if err != nil {
		return Ratio{}, err
	}
	v, period := at(figures, stated), c.Period.Seconds()
	if err := errors.Join(v.allPossible(a, c.Period), v.allPossible(b, c.Period)); err != nil {
		return Ratio{}, err
	}
	out := Ratio{Estimate: v.lifeOf(a, period) / v.lifeOf(b, period)}
	random := rand.New(rand.NewPCG(1, 1))
	one, other := student(len(a), 2), student(len(b), 3)
	var ratios []float64
	for range draws {
		// One by one: what goes together, as draw has it, would cancel in a ratio more than anybody states.
		v := at(figures, func(f Figure) float64 { return f.drawn(random.Float64()) })
		// Of a device that works with neither there is no ratio.
		if r := v.drawnLife(a, c, one) / v.drawnLife(b, c, other); !math.IsNaN(r) {
			ratios = append(ratios, r)
		}
	}
	slices.Sort(ratios)
	tail := int((1 - c.Confidence) / 2 * float64(len(ratios)))
	out.Lo, out.Hi = ratios[tail], ratios[len(ratios)-1-tail]
	return out, nil
}

// student is the t distribution of the mean of n trials.
func student(n int, seed uint64) distuv.StudentsT {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(max(1, n-1)), Src: rand.NewPCG(seed, 1)}
}

// drawnLife is the life at drawn values, in s, with the mean power of the trials drawn, too; 0: the device does not
// work.
func (v values) drawnLife(trials []Traffic, c Conditions, t distuv.StudentsT) float64 {
	mean, err := v.power(trials, c.Period.Seconds())
	if err > 0 {
		mean = max(mean+err*t.Rand(), mean/100) // a mean power is positive
	}
	if v.allPossible(trials, c.Period) != nil {
		return 0
	}
	life, _ := v.life(mean)
	return life
}
