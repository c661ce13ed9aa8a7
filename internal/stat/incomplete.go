package stat

import (
	"fmt"
	"math"
	"slices"
)

// An Incomplete is what benches say of treatments that not all of them can run. The model
// is that of Benches. The means of each treatment on each bench form a table with holes, in
// which effects of treatments and of benches add up; they are fitted by least squares, each
// bench counted once. A treatment is so compared by way of those that its benches share with
// others.
//
// The error for these benches is what blocks of a bench differ by. For benches like these
// treatment×bench is added. Both variances are pooled over treatments, and estimated by
// restricted maximum likelihood; the degrees of freedom are those of their stratum
// ("containment").
type Incomplete struct {
	*Benches
	has      [][]bool    // treatment, bench
	mean     [][]float64 // of a treatment on a bench; 0 where it has none
	counts   []int       // treatments of each bench
	effects  []float64   // of treatments; their sum is 0
	levels   []float64   // of benches
	squares  []float64   // of the error, of each bench
	blocks   []float64   // of each block: its mean over its treatments, without their effects
	inter, e float64     // variances: treatment×bench, error
}

// NewIncomplete takes the bench of each block, and one row a treatment, one column a block;
// NaN where the block lacks the treatment. All blocks of a bench must have the same
// treatments, each treatment must have a bench, and benches must connect all treatments:
// two benches with no treatment in common say nothing about each other's.
func NewIncomplete(ofBlock []string, ys [][]float64) (*Incomplete, error) {
	b, err := NewBenches(ofBlock)
	if err != nil {
		return nil, err
	}
	x := &Incomplete{Benches: b, counts: make([]int, len(b.n))}
	for _, row := range ys {
		has, means := make([]bool, len(b.n)), make([]float64, len(b.n))
		for i := range b.n {
			own := b.own(row, i)
			has[i] = !math.IsNaN(own[0])
			for _, y := range own {
				if math.IsNaN(y) == has[i] {
					return nil, fmt.Errorf("%w: blocks of bench %s differ in their treatments", ErrTooFew, b.Names[i])
				}
			}
			if has[i] {
				means[i] = meanOf(own)
				x.counts[i]++
			}
		}
		x.has, x.mean = append(x.has, has), append(x.mean, means)
	}
	if !x.connected() {
		return nil, fmt.Errorf("%w: benches fall into groups with no treatment in common", ErrTooFew)
	}
	x.effects = solve(x.pull(x.once()))
	x.levels = x.levelsFor(x.effects)
	x.within(ys)
	x.inter, x.e = x.variances()
	return x, nil
}

// connected reports whether all treatments are reached from the first, by benches.
func (x *Incomplete) connected() bool {
	seen, benches := make([]bool, len(x.has)), make([]bool, len(x.n))
	seen[0] = true
	for again := true; again; {
		again = false
		for t, has := range x.has {
			for i, h := range has {
				if h && seen[t] != benches[i] {
					seen[t], benches[i], again = true, true, true
				}
			}
		}
	}
	return !slices.Contains(seen, false) && !slices.Contains(benches, false)
}

// once weighs each bench alike.
func (x *Incomplete) once() []float64 {
	w := make([]float64, len(x.n))
	for i := range w {
		w[i] = 1
	}
	return w
}

// laplacian is the information on treatments where the table's cells of bench i have the
// weight w[i], benches eliminated. Its rows sum to 0.
func (x *Incomplete) laplacian(w []float64) [][]float64 {
	l := square(len(x.has))
	for s, hs := range x.has {
		for t, ht := range x.has {
			for i := range x.n {
				if hs[i] && ht[i] {
					l[s][t] -= w[i] / float64(x.counts[i])
				}
			}
		}
		for i, h := range hs {
			if h {
				l[s][s] += w[i]
			}
		}
	}
	return l
}

// pull are the normal equations: their matrix, made regular by the mean of all effects
// being 0, and their right side.
func (x *Incomplete) pull(w []float64) (root [][]float64, right []float64) {
	l := x.laplacian(w)
	right = make([]float64, len(l))
	for i := range x.n {
		mean := 0.0
		for t, has := range x.has {
			mean += x.mean[t][i] / float64(x.counts[i]) * one(has[i])
		}
		for t, has := range x.has {
			right[t] += w[i] * (x.mean[t][i] - mean) * one(has[i])
		}
	}
	return rootOf(withMean(l)), right
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// within takes from the values what blocks of a bench tell.
func (x *Incomplete) within(ys [][]float64) {
	x.blocks, x.squares = make([]float64, len(x.of)), make([]float64, len(x.n))
	for k, i := range x.of {
		level, share := 0.0, 1/float64(x.counts[i])
		for t, row := range ys {
			if x.has[t][i] {
				level += (row[k] - x.mean[t][i]) * share
				x.blocks[k] += (row[k] - x.effects[t]) * share
			}
		}
		for t, row := range ys {
			if x.has[t][i] {
				d := row[k] - x.mean[t][i] - level
				x.squares[i] += d * d
			}
		}
	}
}

// levelsFor are the levels of benches that fit best with effects of treatments.
func (x *Incomplete) levelsFor(effects []float64) []float64 {
	levels := make([]float64, len(x.n))
	for i := range levels {
		for t, has := range x.has {
			levels[i] += (x.mean[t][i] - effects[t]) / float64(x.counts[i]) * one(has[i])
		}
	}
	return levels
}

// misfit is what the table differs by from effects that add up, fitted with weights.
func (x *Incomplete) misfit(w []float64) (squares float64, root [][]float64) {
	root, right := x.pull(w)
	effects := solve(root, right)
	levels := x.levelsFor(effects)
	for i := range x.n {
		for t, has := range x.has {
			d := x.mean[t][i] - effects[t] - levels[i]
			squares += w[i] * d * d * one(has[i])
		}
	}
	return squares, root
}

// DF is what an interval of that kind rests on.
func (x *Incomplete) DF(kind BenchKind) int {
	df := 0
	if kind == RandomBenches {
		df -= len(x.has) - 1
	}
	for i, k := range x.counts {
		if kind == RandomBenches {
			df += k - 1
		} else {
			df += (k - 1) * (x.n[i] - 1)
		}
	}
	return df
}

// variances are those of treatment×bench and of the error, by restricted maximum likelihood;
// see Benches.oneWay. That of treatment×bench is NaN where effects that add up fit any table:
// then nothing tells it.
func (x *Incomplete) variances() (inter, within float64) {
	df, inside := float64(x.DF(FixedBenches)+x.DF(RandomBenches)), total(x.squares)
	if x.DF(RandomBenches) < 1 {
		return math.NaN(), inside / df
	}
	at := func(ratio float64) (loss, within float64) {
		w := make([]float64, len(x.n))
		for i, n := range x.n {
			w[i] = 1 / (ratio + 1/float64(n))
			loss -= float64(x.counts[i]-1) * math.Log(w[i])
		}
		squares, root := x.misfit(w)
		squares += inside
		constant := 0.0 // the eigenvalue that withMean adds
		for i, k := range x.counts {
			constant += w[i] * float64(k-1) / float64(len(root))
		}
		loss -= math.Log(constant)
		for i := range root {
			loss += 2 * math.Log(root[i][i])
		}
		return loss + df*math.Log(squares/df), squares / df
	}
	zero, atZero := at(0)
	if !(inside > 0) {
		return 0, atZero
	}
	ratio := minimum(func(u float64) float64 { loss, _ := at(math.Exp(u)); return loss }, -18, 30)
	if best, e := at(math.Exp(ratio)); best < zero {
		return e * math.Exp(ratio), e
	}
	return 0, atZero
}

// covariance is that of the effects of treatments.
func (x *Incomplete) covariance(kind BenchKind) [][]float64 {
	v := x.once()
	for i, n := range x.n {
		v[i] = x.e / float64(n)
		if kind == RandomBenches {
			v[i] += x.inter
		} else if df := x.DF(FixedBenches); df > 0 {
			v[i] = total(x.squares) / float64(df) / float64(n)
		}
	}
	return x.spread(v)
}

// spread is the covariance of the effects where a bench's cells have the variance v[i].
func (x *Incomplete) spread(v []float64) [][]float64 {
	root := rootOf(withMean(x.laplacian(x.once())))
	half := rootOf(x.laplacian(v))
	out := square(len(half))
	columns := make([][]float64, len(half))
	for j := range half {
		column := make([]float64, len(half))
		for i := range half {
			column[i] = half[i][j]
		}
		columns[j] = solve(root, column)
	}
	for i := range out {
		for j := range out {
			for _, c := range columns {
				out[i][j] += c[i] * c[j]
			}
		}
	}
	return out
}

// Contrast sets treatment i against j, on the scale of the values; log: these are
// logarithms, and it is a ratio.
func (x *Incomplete) Contrast(kind BenchKind, i, j int, confidence float64, log bool) (Comparison, error) {
	df := x.DF(kind)
	if df < 1 {
		return Comparison{}, fmt.Errorf("%w: the benches' treatments overlap too little; measure on more benches", ErrTooFew)
	}
	v := x.covariance(kind)
	c := Comparison{N: [2]int{df + 1, df + 1}, log: log,
		Method: "t, least squares over benches, error of blocks within benches"}
	if kind == RandomBenches {
		c.Method = "t, least squares over benches, error of treatment by bench (REML)"
	}
	return c.of(x.effects[i]-x.effects[j], math.Sqrt(max(0, v[i][i]+v[j][j]-2*v[i][j])), float64(df), confidence), nil
}

// Adjusted are the means of the treatments over all benches, as they would be if each
// bench ran each of them.
func (x *Incomplete) Adjusted() []float64 {
	out := slices.Clone(x.effects)
	for i := range out {
		out[i] += meanOf(x.levels)
	}
	return out
}

// Efficiency is how sure comparisons with a treatment are, against benches that ran all:
// the mean share of the variance, 0 to 1.
func (x *Incomplete) Efficiency(treatment int) float64 {
	v := x.once()
	for i, n := range x.n {
		v[i] = 1 / float64(n)
	}
	v2 := x.spread(v)
	sum := 0.0
	for j := range v2 {
		if j != treatment {
			sum += 2 * x.weight() / (v2[j][j] + v2[treatment][treatment] - 2*v2[j][treatment])
		}
	}
	return sum / float64(len(v2)-1)
}

// Units are Benches.Units, a row a treatment: their means are the adjusted ones, and paired t
// intervals of two rows are those of Contrast. Nothing else in them is data: with holes
// there are no values of which each is one bench's or block's. nil: too few degrees of freedom.
func (x *Incomplete) Units(kind BenchKind) [][]float64 {
	df := x.DF(kind)
	if df < max(1, len(x.has)-1) {
		return nil
	}
	v := x.covariance(kind)
	if own := x.common(kind, df); df >= len(v) {
		for i := range v {
			for j := range v {
				v[i][j] += own
			}
		}
	}
	root := rootOf(v)
	scale := math.Sqrt(float64(df) * float64(df+1))
	units := make([][]float64, len(v))
	for t, mean := range x.Adjusted() {
		units[t] = make([]float64, df+1)
		for i := range units[t] {
			units[t][i] = mean
		}
		for k := range min(df, t+1) { // Helmert's contrasts, as in Benches.Units
			h := root[t][k] * scale / math.Sqrt(float64((k+1)*(k+2)))
			for i := range k + 1 {
				units[t][i] += h
			}
			units[t][k+1] -= h * float64(k+1)
		}
	}
	return units
}

// common is the variance of what all treatments share: of the mean over benches, as a t of df
// degrees of freedom must have it to be as wide as its own.
func (x *Incomplete) common(kind BenchKind, df int) float64 {
	own := x.Benches.DF(kind)
	if own < 1 {
		return 0
	}
	_, v := moments(x.Benches.Units(kind, x.blocks))
	wider := tCritical(usual, float64(own)) / tCritical(usual, float64(df))
	return v / float64(own+1) * wider * wider
}

// usual is the confidence at which widths of different degrees of freedom are made equal.
const usual = 0.95

// Model is Benches.Model. The variances of benches and blocks are those of the means over the
// treatments that a bench has.
func (x *Incomplete) Model(confidence float64) BenchModel {
	none := Number(math.NaN())
	m := BenchModel{Bench: none, Interaction: Number(x.inter), Block: none, Error: Number(x.e), PWithout: none}
	count := 0.0 // harmonic mean
	for _, k := range x.counts {
		count += 1 / float64(k) / float64(len(x.counts))
	}
	if x.Benches.DF(FixedBenches) > 0 {
		between, within := x.oneWay([][]float64{x.blocks})
		m.Bench, m.Block = Number(max(0, between-x.inter*count)), Number(max(0, within-x.e*count))
	}
	m.F, m.DF1, m.DF2 = x.interaction()
	m.P = Number(fUpper(float64(m.F), float64(m.DF1), float64(m.DF2)))
	if !(float64(m.P) < 1-confidence) || len(x.n) < 3 {
		return m
	}
	for i, name := range x.Names {
		rest := x.without(i)
		if !rest.connected() || rest.DF(RandomBenches) < 1 || rest.DF(FixedBenches) < 1 {
			continue
		}
		f, d1, d2 := rest.interaction()
		if p := Number(fUpper(float64(f), float64(d1), float64(d2))); m.Driver == "" || p > m.PWithout {
			m.Driver, m.PWithout = name, p
		}
	}
	return m
}

// interaction is the F of treatment×bench: what the table differs by from effects that add
// up, against the error; NaN where either is not known.
func (x *Incomplete) interaction() (f, df1, df2 Number) {
	w := x.once()
	for i, n := range x.n {
		w[i] = float64(n)
	}
	between, _ := x.misfit(w)
	d1, d2 := float64(x.DF(RandomBenches)), float64(x.DF(FixedBenches))
	if d1 < 1 || d2 < 1 {
		return Number(math.NaN()), Number(d1), Number(d2)
	}
	return Number(between / d1 / (total(x.squares) / d2)), Number(d1), Number(d2)
}

// without is the table without a bench.
func (x *Incomplete) without(bench int) *Incomplete {
	out := &Incomplete{Benches: &Benches{n: dropped(x.n, bench)}, counts: dropped(x.counts, bench),
		squares: dropped(x.squares, bench)}
	for t := range x.has {
		out.has, out.mean = append(out.has, dropped(x.has[t], bench)), append(out.mean, dropped(x.mean[t], bench))
	}
	return out
}

func dropped[T any](xs []T, i int) []T { return slices.Delete(slices.Clone(xs), i, i+1) }

func total(xs []float64) (sum float64) {
	for _, x := range xs {
		sum += x
	}
	return sum
}

// ToAll is what a mean over the benches of a treatment is to be multiplied by to become one
// over all benches, as the fit has it; or, if the values are no logarithms, what is to be added.
func (x *Incomplete) ToAll(treatment int, log bool) float64 {
	var all, own []float64
	for i, has := range x.has[treatment] {
		fitted := x.effects[treatment] + x.levels[i]
		if log {
			fitted = math.Exp(fitted)
		}
		if all = append(all, fitted); has {
			own = append(own, fitted)
		}
	}
	if log {
		return meanOf(all) / meanOf(own)
	}
	return meanOf(all) - meanOf(own)
}
