// Package history judges the same study over commits, versions or days: where did a
// level change, and was it the program, the machine, or one odd run? It reads no file.
// What it finds is a suspect until both versions were measured in the blocks of one study.
package history

import (
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// A Point is what one run of the study gave for a series.
type Point struct {
	Run    int     // place in the history, from 0
	Log    float64 // mean of the logarithms of the trials' means, of values in the series' unit; where Linear, of these
	SE     float64 // its standard error, from the spread of the trials
	Trials int
	// Machine are facts of what measured, such as "local: kernel 6.1": a change of one is
	// no regression.
	Machine []string
	// Program identifies the programs that were measured; empty: the results do not say.
	Program string
}

// A Series is one response of one side of one treatment over the runs.
type Series struct {
	Treatment string
	Side      measure.Side
	Response  string
	Unit      string
	Higher    bool    // is better, as of a throughput
	Points    []Point // in the order of the runs; runs without a figure are left out
	Why       string  // there is no judgement, such as figures of 0
	// Linear says that points are of values as they are, such as shares, which may be 0, and not of logarithms; ratios of
	// marks are then differences.
	Linear bool
	// OfAll says that points are of the trials' medians among all requests, of which some failed, and not of means.
	OfAll bool
}

// At is what stands at a place on the scale of the points: a value, or a ratio, where Linear a difference.
func (s Series) At(place float64) float64 {
	if s.Linear {
		return place
	}
	return math.Exp(place)
}

// Is reports whether two series are of the same figure.
func (s Series) Is(treatment string, side measure.Side, response string) bool {
	return s.Treatment == treatment && s.Side == side && s.Response == response
}

// A Verdict is what measuring again, interleaved, said of a suspect.
type Verdict string

// The verdicts of a confirmation.
const (
	Worse        Verdict = "confirmed worse"
	Better       Verdict = "confirmed better"
	NotConfirmed Verdict = "not confirmed" // a change of the size looked for is excluded
	CannotTell   Verdict = "cannot tell"
)

// A Confirmation is a study of both versions in the same blocks, of one series.
type Confirmation struct {
	Treatment string
	Side      measure.Side
	Response  string
	Old, New  int // the runs whose versions were measured again
	Verdict   Verdict
	Ratio     stat.Comparison // new over old, of blocks
	Dir       string          // results
	Blocks    int
	Why       string // nobody can tell; empty: the doubts of the whole say so
}

// A Kind says what a mark stands for.
type Kind string

// The kinds of marks.
const (
	Machine      Kind = "machine changed"
	Suspect      Kind = "suspect"
	Surroundings Kind = "surroundings changed" // the level moved, and the programs are the same
	Confirmed    Kind = "confirmed"            // by its Confirmation, which says in which way
	Dismissed    Kind = "not confirmed"        // by its Confirmation
	Odd          Kind = "odd run"              // one run lies far from its level
)

// A Mark is something to see in a series.
type Mark struct {
	Kind  Kind
	At    int  // point: the first of the new level, or the odd one
	Worse bool // the new level is the worse
	// Ratio of the levels, new over old, with its 95 % interval; of an odd run to its level; where Linear, what is
	// added. NaN where one side has no level.
	Ratio, Lo, Hi float64
	P             float64 // over all places and series looked at; NaN: not tested
	Since         int     // point whose version a confirmation takes as the old one: surely of the old level
	Confirmation  *Confirmation
	Facts         []string // of the machine: "was → is"
}

// A Level is a stretch of points without a change.
type Level struct {
	From, To int // points, To excluded
	Log, SE  float64
	Between  float64 // standard deviation of runs beyond their own errors
}

// A Judged is a series with what was found in it.
type Judged struct {
	Series
	Between float64 // of the newest machine: standard deviation of runs beyond their own errors, on logarithms
	Levels  []Level
	Marks   []Mark

	newest []stat.Shift // of the last level, by its own places
	ses    []float64    // of the points, each beside the others of its machine
}

// Terms of the judgement.
const (
	// FreshLevel is the level of the test for a change for the worse in the newest runs,
	// one-sided and made after each run: so often a quiet history has a suspect to confirm.
	FreshLevel = 0.05
	// Fresh is how many runs are the newest.
	Fresh = 5
	// OldLevel is the level for a change at any place, in either direction, over all places and series.
	OldLevel = 0.01
	// loneRun is how clear a shift must be without the run that speaks most for it, in
	// standard errors.
	loneRun = 1
	// odd is how far a run lies from its level before it is called odd, in standard deviations.
	odd = 3.5
	// Confidence of all intervals.
	Confidence = 0.95
)

// Judge judges all series of a history together: the levels of its tests are shared by
// the series (Holm for the newest runs, Bonferroni further back).
func Judge(all []Series, confirmations []Confirmation) []Judged {
	out := make([]Judged, len(all))
	var ps []float64
	fresh := map[int]stat.Shift{} // by series
	own := make([][]Confirmation, len(all))
	judged := 0
	for _, s := range all {
		if s.Why == "" {
			judged++
		}
	}
	for i, s := range all {
		out[i] = Judged{Series: s, Between: math.NaN(), ses: s.errors()}
		ps = append(ps, math.NaN()) // takes no share of the level
		if s.Why != "" || len(s.Points) == 0 {
			continue
		}
		ps[i] = 1
		for _, c := range confirmations {
			if s.Is(c.Treatment, c.Side, c.Response) {
				own[i] = append(own[i], c)
			}
		}
		if shift, ok := out[i].levels(judged, own[i]); ok {
			fresh[i], ps[i] = shift, oneSided(shift)
		}
	}
	for i, p := range stat.Holm(ps) {
		j := &out[i]
		if shift, ok := fresh[i]; ok && p <= FreshLevel {
			j.split(shift, p)
		}
		j.finish(own[i])
	}
	return out
}

// oneSided is the p of a shift in the direction that was found, of which only the worse is looked for.
func oneSided(s stat.Shift) float64 { return s.P / 2 }

// levels finds the machines and the changes far back, and returns what is most suspect
// in the newest runs.
func (j *Judged) levels(series int, confirmations []Confirmation) (fresh stat.Shift, ok bool) {
	from := 0
	for to := 1; to <= len(j.Points); to++ {
		if to < len(j.Points) && slices.Equal(j.Points[to].Machine, j.Points[to-1].Machine) {
			continue
		}
		ys, ses := j.values(from, to)
		j.Between = stat.BetweenRuns(ys, ses)
		if from > 0 {
			j.Marks = append(j.Marks, Mark{Kind: Machine, At: from, P: math.NaN(),
				Facts: changed(j.Points[from-1].Machine, j.Points[from].Machine)})
		}
		j.segment(from, to, series, confirmations)
		from = to
	}
	last := j.Levels[len(j.Levels)-1]
	fresh.P = math.Inf(1)
	for _, s := range j.newest {
		worse := s.By > 0 != j.Higher
		if at := last.From + s.At; worse && last.To-at <= Fresh && s.Least >= loneRun && s.P < fresh.P &&
			j.confirmed(at, confirmations) == nil {
			fresh, ok = s, true
			fresh.At = at
		}
	}
	return fresh, ok
}

// values are logarithms and standard errors of points.
func (j *Judged) values(from, to int) (ys, ses []float64) {
	for _, p := range j.Points[from:to] {
		ys = append(ys, p.Log)
	}
	return ys, j.ses[from:to]
}

// errors are the standard errors of all points, each beside the others of its machine.
func (s Series) errors() []float64 {
	var out []float64
	from := 0
	for to := 1; to <= len(s.Points); to++ {
		if to < len(s.Points) && slices.Equal(s.Points[to].Machine, s.Points[to-1].Machine) {
			continue
		}
		var ses []float64
		var trials []int
		for _, p := range s.Points[from:to] {
			ses, trials = append(ses, p.SE), append(trials, p.Trials)
		}
		out = append(out, stat.ErrorsBesideOthers(ses, trials)...)
		from = to
	}
	return out
}

func (j *Judged) shifts(from, to int) []stat.Shift {
	ys, ses := j.values(from, to)
	all, err := stat.Shifts(ys, ses, j.Between, Confidence)
	if err != nil {
		return nil
	}
	return all
}

// segment splits points of one machine where a change was confirmed, then where one is
// beyond doubt, and notes the levels.
func (j *Judged) segment(from, to, series int, confirmations []Confirmation) {
	all := j.shifts(from, to)
	best := stat.Shift{P: math.Inf(1), Gain: math.Inf(-1)}
	var by *Confirmation
	for _, s := range all {
		c := j.confirmed(from+s.At, confirmations)
		confirms := c != nil && (c.Verdict == Worse || c.Verdict == Better) &&
			math.Signbit(s.By) == (c.Ratio.Estimate < 1)
		switch {
		case confirms && (by == nil || s.Gain > best.Gain):
			best, by = s, c
		case by == nil && s.Least >= loneRun && s.Gain > best.Gain:
			best = s
		}
	}
	p := min(1, best.P*float64(len(all)*series))
	switch {
	case by != nil:
		p = math.NaN()
		// One confirmation marks one change: the rest is judged without it.
		confirmations = slices.DeleteFunc(slices.Clone(confirmations), func(c Confirmation) bool { return c.Dir == by.Dir })
	case !(p <= OldLevel):
		j.Levels = append(j.Levels, Level{From: from, To: to, Between: j.Between})
		j.newest = all
		return
	default:
		by = j.confirmed(from+best.At, confirmations)
	}
	j.Marks = append(j.Marks, j.mark(best, from, p, by))
	j.segment(from, from+best.At, series, confirmations)
	j.segment(from+best.At, to, series, confirmations)
}

// confirmed is the newest confirmation that covers a change at a point.
func (j *Judged) confirmed(at int, all []Confirmation) *Confirmation {
	for i := len(all) - 1; i >= 0; i-- {
		c := &all[i]
		if c.Verdict != CannotTell && at > 0 && j.Points[at-1].Run >= c.Old && j.Points[at].Run <= c.New {
			return c
		}
	}
	return nil
}

func (j *Judged) mark(s stat.Shift, from int, p float64, c *Confirmation) Mark {
	lo, hi := s.Interval()
	m := Mark{Kind: Suspect, At: from + s.At, Worse: s.By > 0 != j.Higher, Ratio: j.At(s.By), Lo: j.At(lo),
		Hi: j.At(hi), P: p, Since: max(from, from+s.At-3), Confirmation: c}
	switch {
	case c != nil && (c.Verdict == Worse || c.Verdict == Better):
		m.Kind, m.Worse = Confirmed, c.Verdict == Worse
	case c != nil:
		m.Kind = Dismissed
	case j.sameProgram(m.At):
		m.Kind = Surroundings
	}
	return m
}

// sameProgram: the runs beside a change, which may lie a run or two off, are all known
// to be of the same programs.
func (j *Judged) sameProgram(at int) bool {
	near := j.Points[max(0, at-3):min(len(j.Points), at+2)]
	return !slices.ContainsFunc(near, func(p Point) bool { return p.Program == "" || p.Program != near[0].Program })
}

// split makes a suspect of the newest runs.
func (j *Judged) split(s stat.Shift, p float64) {
	last := &j.Levels[len(j.Levels)-1]
	at := s.At
	s.At -= last.From
	j.Marks = append(j.Marks, j.mark(s, last.From, p, nil))
	next := Level{From: at, To: last.To, Between: last.Between}
	last.To = at
	j.Levels = append(j.Levels, next)
}

// finish gives levels their figures, and marks odd runs, machines and confirmations that
// found nothing.
func (j *Judged) finish(confirmations []Confirmation) {
	for i := range j.Levels {
		l := &j.Levels[i]
		ys, ses := j.values(l.From, l.To)
		l.Log, l.SE = stat.Level(ys, ses, l.Between)
		for k := range ys {
			off := ys[k] - l.Log
			if sd := math.Hypot(l.Between, ses[k]); len(ys) > 2 && math.Abs(off) > odd*sd && math.Abs(off) > 1e-4 {
				j.Marks = append(j.Marks, Mark{Kind: Odd, At: l.From + k, Worse: off > 0 != j.Higher, Ratio: j.At(off),
					Lo: math.NaN(), Hi: math.NaN(), P: math.NaN()})
			}
		}
	}
	for i := range j.Marks {
		if m := &j.Marks[i]; m.Kind == Machine {
			j.across(m)
		}
	}
	for i := range confirmations {
		c := &confirmations[i]
		if slices.ContainsFunc(j.Marks, func(m Mark) bool { return m.Confirmation != nil && m.Confirmation.Dir == c.Dir }) {
			continue
		}
		if at := j.place(*c); at > 0 {
			j.unmarked(at, c)
		}
	}
	slices.SortStableFunc(j.Marks, func(a, b Mark) int { return a.At - b.At })
}

// unmarked shows a confirmation where no change is marked by it.
func (j *Judged) unmarked(at int, c *Confirmation) {
	m := Mark{Kind: Dismissed, At: at, Ratio: c.Ratio.Estimate, Lo: c.Ratio.Lo, Hi: c.Ratio.Hi, P: math.NaN(),
		Confirmation: c}
	switch c.Verdict {
	case Worse, Better:
		m.Kind, m.Worse = Confirmed, c.Verdict == Worse
	case CannotTell: // the suspect stays one, and shows that it was measured again
		for i := range j.Marks {
			if x := &j.Marks[i]; x.Kind == Suspect && x.Confirmation == nil && j.Points[x.At].Run <= c.New &&
				j.Points[x.At-1].Run >= c.Old {
				x.Confirmation = c
			}
		}
		return
	}
	j.Marks = append(j.Marks, m)
}

// place is the point between the runs of a confirmation where the level changes most; 0: none.
func (j *Judged) place(c Confirmation) int {
	at, most := 0, math.Inf(-1)
	for _, s := range j.shifts(0, len(j.Points)) {
		if j.Points[s.At-1].Run >= c.Old && j.Points[s.At].Run <= c.New && math.Abs(s.T) > most {
			at, most = s.At, math.Abs(s.T)
		}
	}
	if at == 0 {
		at = max(0, slices.IndexFunc(j.Points, func(p Point) bool { return p.Run == c.New }))
	}
	return at
}

// across is what the level did when the machine changed, which decides nothing.
func (j *Judged) across(m *Mark) {
	m.Ratio, m.Lo, m.Hi = math.NaN(), math.NaN(), math.NaN()
	i := slices.IndexFunc(j.Levels, func(l Level) bool { return l.From == m.At })
	if i < 1 {
		return
	}
	a, b := j.Levels[i-1], j.Levels[i]
	by, half := b.Log-a.Log, 2*math.Hypot(a.SE, b.SE)
	m.Ratio, m.Worse = j.At(by), by > 0 != j.Higher
	if b.To-b.From > 2 && a.To-a.From > 2 {
		m.Lo, m.Hi = j.At(by-half), j.At(by+half)
	}
}

// changed are facts that are not in both lists: "was → is" where they are of one thing.
func changed(was, is []string) []string {
	var out []string
	for _, b := range is {
		if slices.Contains(was, b) {
			continue
		}
		name, now, _ := strings.Cut(b, "=")
		before := "unknown"
		for _, a := range was {
			if x, v, _ := strings.Cut(a, "="); x == name {
				before = v
			}
		}
		out = append(out, name+": "+before+" → "+now)
	}
	for _, a := range was {
		name, before, _ := strings.Cut(a, "=")
		if !slices.ContainsFunc(is, func(b string) bool { return strings.HasPrefix(b, name+"=") }) {
			out = append(out, name+": "+before+" → none")
		}
	}
	return out
}

// Suspects counts marks of a change for the worse that wait for a confirmation.
func Suspects(all []Judged) (n int) {
	for _, j := range all {
		for _, m := range j.Marks {
			if m.Kind == Suspect && m.Worse {
				n++
			}
		}
	}
	return n
}

// Decide is the verdict of a confirmation: by is the least relative change that matters,
// such as 0.05. A change is confirmed where the ratio's interval excludes none, at the
// confidence of the ratio; it is not confirmed where the interval of 95 % lies within
// the bounds. Where waiting for a CPU may have changed the ratio by a factor above 1, that
// must be excluded, too.
func Decide(ratio stat.Comparison, by, allowance float64, higher bool) Verdict {
	if math.IsNaN(ratio.Lo) || math.IsNaN(ratio.Hi) {
		return CannotTell
	}
	wide := max(1, allowance)
	up, down := Worse, Better
	if higher {
		up, down = Better, Worse
	}
	usual := ratio.At(Confidence)
	switch {
	case ratio.Lo > wide:
		return up
	case ratio.Hi < 1/wide:
		return down
	case usual.Hi*wide < 1+by && usual.Lo/wide > 1/(1+by):
		return NotConfirmed
	}
	return CannotTell
}
