package advise

import "edgegauge.example/edgegauge/internal/stat"

// front marks the Pareto front among those that meet the requirements or may. Who is beaten is so beyond doubt if
// one of the others is better beyond noise wherever the two differ: a figure that is worse within noise may be better
// in truth. Noise is judged as in the comparison with the best: by block, all pairs at once.
func (c *Choice) front(all []Series) {
	told := make([]func(i, j int) bool, len(c.Objectives))
	for k := range c.Objectives {
		told[k] = c.telling(all, k)
	}
	for i := range c.Candidates {
		x := &c.Candidates[i]
		x.Front = x.Meets != stat.Contradicted
		for j, y := range c.Candidates {
			if y.Meets == stat.Contradicted || j == i || !x.Front && !x.Unsure {
				continue
			}
			wins, loses := 0, 0
			for k := range c.Objectives {
				switch {
				case SameFigure(y.Objectives[k].Center.Center, x.Objectives[k].Center.Center):
				case c.better(y, *x, k):
					wins++
				default:
					loses++
				}
			}
			if wins == 0 || loses > 0 {
				continue
			}
			clear := true
			for k := range c.Objectives {
				clear = clear && (SameFigure(y.Objectives[k].Center.Center, x.Objectives[k].Center.Center) || told[k](j, i))
			}
			if x.Front || clear { // who is clearly better stands before who may be
				x.Front, x.BeatBy, x.Unsure = false, y.Name, !clear
			}
		}
	}
}

// telling says of two candidates whether the first is better than the second in an objective, beyond noise and beyond
// what waiting for a CPU may explain.
func (c *Choice) telling(all []Series, objective int) func(i, j int) bool {
	pairs, rows, series, err := c.pairs(all, objective)
	if err != nil {
		return func(int, int) bool { return false }
	}
	return func(i, j int) bool {
		r, err := pairs.Interval(i, j)
		if err != nil || !c.Candidates[i].alikeMeasured(c.Candidates[j], objective) ||
			!(r.Hi < r.Even()) && !(r.Lo > r.Even()) {
			return false
		}
		if more := r.Lo > r.Even(); more != c.Objectives[objective].Maximize {
			return false
		}
		return beyondWaiting(pairs, rows, series, i, j, r)
	}
}

// Rivals are the candidates that may meet the requirements, too, and are better than the best of those that surely do,
// or may be: they rank behind it only since nobody knows whether they meet them.
func (c Choice) Rivals() (better, perhaps []Candidate) {
	best, ok := c.Best()
	if !ok {
		return nil, nil
	}
	for _, x := range c.Candidates[1:] {
		if x.Meets != stat.Undecided || x.Same && !c.betterBeside(x, best) {
			continue
		}
		is, more := c.better(x, best, 0), x.Ratio.Estimate > x.Ratio.Even()
		switch sure := !x.Noise && !x.Odd && is == (more == c.Objectives[0].Maximize); {
		case !sure:
			perhaps = append(perhaps, x)
		case is:
			better = append(better, x)
		}
	}
	return better, perhaps
}

// betterBeside reports whether a is better than b in an objective beside the first.
func (c *Choice) betterBeside(a, b Candidate) bool {
	for k := range c.Objectives[1:] {
		if c.better(a, b, k+1) {
			return true
		}
	}
	return false
}
