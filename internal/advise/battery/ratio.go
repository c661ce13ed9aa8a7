package battery

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
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
	one, other := newStudent(len(a), rand.New(rand.NewPCG(2, 1))), newStudent(len(b), rand.New(rand.NewPCG(3, 1)))
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

// A student draws from the t distribution of the mean of some trials.
type student struct {
	df     float64
	random *rand.Rand
}

func newStudent(trials int, random *rand.Rand) student {
	return student{float64(max(1, trials-1)), random}
}

// draw: a normal value over the root of a mean square of as many as there are degrees of freedom.
func (t student) draw() float64 {
	n := t.random.NormFloat64()
	return n / math.Sqrt(2*t.gamma(t.df/2)/t.df)
}

// gamma draws from the gamma distribution of that shape (Marsaglia & Tsang, ACM Trans. Math. Softw. 26.3, 2000).
func (t student) gamma(shape float64) float64 {
	if shape == 1 {
		return t.random.ExpFloat64()
	}
	d, m := shape-1.0/3, 1.0
	if shape < 1 {
		d, m = d+1, math.Pow(t.random.Float64(), 1/shape)
	}
	for c := 1 / (3 * math.Sqrt(d)); ; {
		x := t.random.NormFloat64()
		v := 1 + x*c
		if v <= 0 {
			continue
		}
		v *= v * v
		u := t.random.Float64()
		if u < 1-0.0331*(x*x)*(x*x) || math.Log(u) < 0.5*x*x+d*(1-v+math.Log(v)) {
			return m * d * v
		}
	}
}

// drawnLife is the life at drawn values, in s, with the mean power of the trials drawn, too; 0: the device does not
// work.
func (v *values) drawnLife(trials []Traffic, c Conditions, t student) float64 {
	mean, err := v.power(trials, c.Period.Seconds())
	if err > 0 {
		mean = max(mean+err*t.draw(), mean/100) // a mean power is positive
	}
	if v.allPossible(trials, c.Period) != nil {
		return 0
	}
	life, _ := v.life(mean)
	return life
}
