package stat

import (
	"fmt"
	"math"
	"slices"
)

// A BenchKind says of which benches an interval speaks.
type BenchKind string

const (
	// FixedBenches: of these benches, measured again. The error is what blocks of one bench differ by.
	FixedBenches BenchKind = "fixed"
	// RandomBenches: of benches like these. The error is what benches differ by; each counts once.
	RandomBenches BenchKind = "random"
)

// KindOfBenches is the kind that a study says, "fixed" or "random"; where it says none,
// of benches like these from three benches on.
func KindOfBenches(said string, benches int) BenchKind {
	switch {
	case said != "":
		return BenchKind(said)
	case benches >= 3:
		return RandomBenches
	}
	return FixedBenches
}

// Benches says on which bench each complete block of a study ran. The model of a
// value, usually a logarithm, is
//
//	mean + treatment + bench + treatment×bench + block(bench) + error
//
// with benches and blocks random. Every estimate is the mean over benches of their
// own means, so that a bench counts once, however many blocks it did.
type Benches struct {
	Names []string // in the order in which they first occur
	of    []int    // block to bench
	n     []int    // blocks of each bench
}

// NewBenches takes the bench of each block.
func NewBenches(ofBlock []string) (*Benches, error) {
	b := &Benches{}
	for _, name := range ofBlock {
		i := slices.Index(b.Names, name)
		if i < 0 {
			i = len(b.Names)
			b.Names, b.n = append(b.Names, name), append(b.n, 0)
		}
		b.of = append(b.of, i)
		b.n[i]++
	}
	if len(b.Names) < 2 {
		return nil, fmt.Errorf("%w: all blocks ran on one bench; measure on at least 2", ErrTooFew)
	}
	return b, nil
}

// DF is what an interval of that kind rests on: benches less one, or blocks less benches.
func (b *Benches) DF(kind BenchKind) int {
	if kind == RandomBenches {
		return len(b.n) - 1
	}
	return len(b.of) - len(b.n)
}

// Units turns one value a block into independent units for the methods that know
// blocks only: their mean is the estimate, and their t interval that of the kind, with
// DF degrees of freedom. For benches like these a unit is a bench's mean. For these
// benches the units keep the mean over benches and what blocks of one bench differ by,
// and leave out what benches differ by. They are linear in the values, so units of two
// treatments pair as blocks do.
func (b *Benches) Units(kind BenchKind, ys []float64) []float64 {
	means := b.means(ys)
	if kind == RandomBenches {
		return means
	}
	m := meanOf(means)
	rest := b.deviations(ys, means)
	units := make([]float64, len(rest)+1)
	scale := math.Sqrt(b.weight() * float64(len(units)))
	for k, e := range rest { // Helmert's contrasts: orthogonal to each other and to the mean
		h := e * scale / math.Sqrt(float64((k+1)*(k+2)))
		for i := range k + 1 {
			units[i] += h
		}
		units[k+1] -= h * float64(k+1)
	}
	for i := range units {
		units[i] += m
	}
	return units
}

// weight is the variance of the mean over benches, where each block's is 1.
func (b *Benches) weight() float64 {
	w := 0.0
	for _, n := range b.n {
		w += 1 / float64(n)
	}
	return w / float64(len(b.n)*len(b.n))
}

func (b *Benches) means(ys []float64) []float64 {
	means := make([]float64, len(b.n))
	for i := range means {
		own := b.own(ys, i)
		means[i], _ = moments(own)
	}
	return means
}

func (b *Benches) own(ys []float64, bench int) []float64 {
	var own []float64
	for k, y := range ys {
		if b.of[k] == bench {
			own = append(own, y)
		}
	}
	return own
}

// deviations are the independent ones of blocks from the means of their benches:
// Helmert's contrasts within each bench, DF(FixedBenches) in all.
func (b *Benches) deviations(ys, means []float64) []float64 {
	var out []float64
	for i := range b.n {
		sum := 0.0
		for k, y := range b.own(ys, i) {
			y -= means[i]
			if k > 0 {
				out = append(out, (sum-float64(k)*y)/math.Sqrt(float64(k*(k+1))))
			}
			sum += y
		}
	}
	return out
}

// Ratio sets x against y, one value a block, both positive: the geometric mean of
// their ratio over benches, with the interval of the kind. Benches that did unequal
// numbers of blocks have means that are unequally sure; the t interval with benches less
// one degrees of freedom then covers the truth at least as often as it says (Ibragimov &
// Müller 2010), while Satterthwaite's, from so few benches, is far too wide.
func (b *Benches) Ratio(kind BenchKind, x, y []float64, confidence float64) (Comparison, error) {
	return b.contrast(kind, x, y, confidence, true)
}

// Difference is Ratio for values that may be 0 or negative.
func (b *Benches) Difference(kind BenchKind, x, y []float64, confidence float64) (Comparison, error) {
	return b.contrast(kind, x, y, confidence, false)
}

func (b *Benches) contrast(kind BenchKind, x, y []float64, confidence float64, log bool) (Comparison, error) {
	if len(x) != len(b.of) {
		return Comparison{}, fmt.Errorf("%w: %d values for %d blocks", ErrTooFew, len(x), len(b.of))
	}
	if b.DF(kind) < 1 {
		return Comparison{}, fmt.Errorf("%w: every bench has one block; run at least 2 on one of them", ErrTooFew)
	}
	p, q, err := sides(x, y, confidence, log)
	if err != nil {
		return Comparison{}, err
	}
	d := make([]float64, len(p))
	size := 0.0
	if log {
		size = 1 // see paired
	}
	for i := range p {
		d[i] = p[i] - q[i]
		size = max(size, math.Abs(p[i]), math.Abs(q[i]))
	}
	units := b.Units(kind, d)
	m, v := moments(units)
	c := Comparison{N: [2]int{len(units), len(units)}, log: log,
		Method: "t over blocks within benches, each bench counted once"}
	if kind == RandomBenches {
		c.Method = "t over bench means"
	}
	if lo, hi := extremes(units); hi-lo <= roundingOf(size) {
		v = 0
	}
	return c.of(m, math.Sqrt(v/float64(len(units))), float64(b.DF(kind)), confidence), nil
}

// A BenchModel is what several benches say of the treatments of one response. Its
// variances are on the scale of the values: of logarithms, 0.01 is a spread of 10 %.
type BenchModel struct {
	Bench, Interaction, Block, Error Number // variances (REML, by stratum); 0 where the estimate is negative, NaN: unknown
	F, DF1, DF2, P                   Number // do benches rank treatments differently? F of treatment×bench
	// Driver is the bench without which treatment×bench has the largest p, PWithout; empty
	// where the test is not significant or there are but two.
	Driver   string
	PWithout Number
}

// Model analyses one row a treatment, one column a block, on the scale of the model.
func (b *Benches) Model(ys [][]float64, confidence float64) BenchModel {
	none := Number(math.NaN())
	m := BenchModel{Bench: none, Interaction: none, Block: none, Error: none, F: none, DF1: none, DF2: none, P: none,
		PWithout: none}
	k := len(ys)
	if k < 2 || b.DF(FixedBenches) < 1 {
		return m
	}
	mean, contrasts := acrossTreatments(ys)
	between, within := b.oneWay(contrasts)
	m.Interaction, m.Error = Number(between), Number(within)
	benchAndShare, blockAndShare := b.oneWay([][]float64{mean})
	m.Bench = Number(max(0, benchAndShare-between/float64(k)))
	m.Block = Number(max(0, blockAndShare-within/float64(k)))
	size := sizeOf(true, ys...)
	m.F, m.DF1, m.DF2 = b.interaction(contrasts, size, -1)
	m.P = Number(fUpper(float64(m.F), float64(m.DF1), float64(m.DF2)))
	if !(float64(m.P) < 1-confidence) || len(b.n) < 3 {
		return m
	}
	for i, name := range b.Names {
		f, d1, d2 := b.interaction(contrasts, size, i)
		p := Number(fUpper(float64(f), float64(d1), float64(d2)))
		if !math.IsNaN(float64(p)) && (m.Driver == "" || p > m.PWithout) { // NaN: the rest have one block each
			m.Driver, m.PWithout = name, p
		}
	}
	return m
}

// acrossTreatments splits each block into the mean of its treatments and what they
// differ by: Helmert's contrasts, orthonormal.
func acrossTreatments(ys [][]float64) (mean []float64, contrasts [][]float64) {
	mean = slices.Clone(ys[0])
	for k := 1; k < len(ys); k++ {
		c := make([]float64, len(mean))
		for i, y := range ys[k] {
			c[i] = (mean[i] - float64(k)*y) / math.Sqrt(float64(k*(k+1)))
			mean[i] += y
		}
		contrasts = append(contrasts, c)
	}
	for i := range mean {
		mean[i] /= float64(len(ys))
	}
	return mean, contrasts
}

// interaction is the F of treatment×bench, from the contrasts of treatments, of values of a size, without one
// of the benches (-1: with all). NaN: the blocks of each bench differ by rounding alone.
func (b *Benches) interaction(contrasts [][]float64, size float64, without int) (f, df1, df2 Number) {
	var between, within, blocks, benches float64
	for _, c := range contrasts {
		var all []float64
		for i := range b.n {
			if i != without {
				all = append(all, b.own(c, i)...)
			}
		}
		m, _ := moments(all)
		for i, n := range b.n {
			if i == without {
				continue
			}
			own := b.own(c, i)
			mean, _ := moments(own)
			between += float64(n) * (mean - m) * (mean - m)
			for _, y := range own {
				within += (y - mean) * (y - mean)
			}
			blocks, benches = blocks+float64(n), benches+1
		}
	}
	rows := float64(len(contrasts))
	d1, d2 := benches-rows, blocks-benches // over all contrasts
	if isRounding(within, blocks, size) {
		within = math.NaN()
	}
	return Number(between / d1 / (within / d2)), Number(d1), Number(d2)
}

// oneWay estimates the variances between and within benches of contrasts that share
// them, each with a mean of its own, by restricted maximum likelihood (Patterson &
// Thompson 1971). The likelihood has one unknown left, their ratio, once the variance
// within is put at its best.
func (b *Benches) oneWay(contrasts [][]float64) (between, within float64) {
	var inside float64
	means := make([][]float64, len(contrasts))
	for i, c := range contrasts {
		means[i] = b.means(c)
		for _, e := range b.deviations(c, means[i]) {
			inside += e * e
		}
	}
	rows, df := float64(len(contrasts)), float64(len(contrasts)*(len(b.of)-1))
	at := func(ratio float64) (loss, within float64) {
		var logs, weights float64
		w := make([]float64, len(b.n))
		for i, n := range b.n {
			logs += math.Log(1 + float64(n)*ratio)
			w[i] = float64(n) / (1 + float64(n)*ratio)
			weights += w[i]
		}
		squares := inside
		for _, ms := range means {
			var m float64
			for i := range ms {
				m += w[i] * ms[i] / weights
			}
			for i := range ms {
				squares += w[i] * (ms[i] - m) * (ms[i] - m)
			}
		}
		return df*math.Log(squares/df) + rows*(logs+math.Log(weights)), squares / df
	}
	if !(inside > 0) {
		return varianceOf(means[0]), 0
	}
	ratio := minimum(func(u float64) float64 { loss, _ := at(math.Exp(u)); return loss }, -18, 30)
	zero, atZero := at(0)
	if best, c := at(math.Exp(ratio)); best < zero {
		return c * math.Exp(ratio), c
	}
	return 0, atZero
}

// minimum is where f is least between lo and hi, by golden section around the best of a grid.
func minimum(f func(float64) float64, lo, hi float64) float64 {
	const steps = 96
	best, at := math.Inf(1), lo
	for i := range steps + 1 {
		x := lo + (hi-lo)*float64(i)/steps
		if y := f(x); y < best {
			best, at = y, x
		}
	}
	golden := (math.Sqrt(5) - 1) / 2
	a, z := at-(hi-lo)/steps, at+(hi-lo)/steps
	p, q := z-golden*(z-a), a+golden*(z-a)
	fp, fq := f(p), f(q)
	for range 60 {
		if fp < fq {
			z, q, fq = q, p, fp
			p = z - golden*(z-a)
			fp = f(p)
		} else {
			a, p, fp = p, q, fq
			q = a + golden*(z-a)
			fq = f(q)
		}
	}
	return (a + z) / 2
}
