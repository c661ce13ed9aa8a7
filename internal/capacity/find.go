package capacity

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/internal/testbed"
)

// A Host is the program that a search runs in, a command or a page. It decides what may
// run, and shows it.
type Host struct {
	Bed *testbed.Testbed
	// Open opens the experiment of a plan in a results directory; empty: the one that
	// testbed.Open chooses. The search closes it by Close.
	Open func(ctx context.Context, p study.Plan, text []byte, dir string) (*testbed.Experiment, error)
	// Run runs its lab. For Find, trials that could not be measured are no error: it words them itself.
	Run   func(context.Context, *testbed.Experiment) (lab.Outcome, error)
	Close func(*testbed.Experiment)
	// Resuming, if not nil, is told the results directory of a search that goes on.
	Resuming func(dir string)
}

// inFlight is how many requests may be under way where a study does not say: a server that
// waits for one client's next request shows nothing of what it bears.
const inFlight = 64

// Find searches for the rate at which a study's server just keeps to an objective. The
// study has one treatment; its load is replaced. Errors of Host.Open and Host.Run are
// passed on; a question that cannot be asked is Refused; others say what could not be
// measured. The answer's Dir says where results are, also of a search that was stopped.
func Find(ctx context.Context, h Host, q Question) (*Answer, error) {
	s := &studied{Host: h, asked: q, out: &Answer{}}
	search, err := s.prepare(ctx)
	if err != nil {
		return s.out, err
	}
	c := &Conductor{Server: s, Search: search}
	s.noted = func() error { return s.note(c).write(s.out.Dir) }
	c.Note = s.noted
	resumed, err := s.resume(c)
	if err == nil && !resumed {
		err = c.Bound(ctx, q.Length)
	}
	if err != nil {
		return s.out, err
	}
	s.out.Driver, s.out.Most = c.Driver, c.Search.Most
	err = c.Conduct(ctx)
	s.gather(c)
	return s.out, err
}

// prepare reads the study and says how every trial is loaded.
func (s *studied) prepare(ctx context.Context) (stat.CapacitySearch, error) {
	var none stat.CapacitySearch
	q := s.asked
	p, _, err := s.Bed.ReadAvailable(ctx, q.File, q.Text, nil, q.Sets...)
	if err != nil {
		return none, Refused{err}
	}
	s.base = p.Study
	if n := s.base.Treatments(); n != 1 {
		return none, Refused{fmt.Errorf("%s has %d treatments, and a capacity is of one: choose the levels with --set, "+
			"for example%s", q.File, n, choosing(p, ""))}
	}
	s.levels = levelsOf(p)
	if err := requests(p, q.File); err != nil {
		return none, err
	}
	if s.base.Time == study.Instructions {
		return none, Refused{fmt.Errorf("%s counts instructions; a capacity needs a clock", q.File)}
	}
	if t := s.base.Timeouts.Request; t <= q.SLO.Longest() {
		return none, Refused{fmt.Errorf("a request fails after %s (timeouts.request), which the bound of %s never sees; "+
			"raise it", study.DurationText(t), study.DurationText(q.SLO.Longest()))}
	}
	if err := lasts(q.Length, s.base); err != nil {
		return none, err
	}
	least := leastRate(q.SLO.Needs(), q.Length)
	if !(least > 0 && least <= drive.MostRate) {
		return none, Refused{fmt.Errorf("a trial of %s that judges %s has more requests than can be sent, which is %d/s; "+
			"lengthen it with --length, or choose an objective that fewer requests tell", study.DurationText(q.Length), q.SLO,
			drive.MostRate)}
	}
	s.load = append(s.loadOf(), warmUp(p, q.SLO.Needs())...)
	search := stat.CapacitySearch{Least: least, Most: drive.MostRate,
		Precision: q.Precision / 100, Budget: q.Budget, Confidence: s.base.Design.Confidence, Seed: s.base.Design.Seed}
	*s.out = Answer{Study: s.base.Name, SLO: q.SLO, Precision: search.Precision, Length: q.Length, Period: q.Period,
		Budget: q.Budget, Confidence: search.Confidence, Least: search.Least}
	if p, err = s.expand(ctx); err != nil {
		return none, err
	}
	search.First = p.Trials[0].Setup.Rate
	if p, err = s.plan(ctx, [][]float64{{search.Least}}); err != nil {
		return none, err
	}
	s.setup = p.Trials[0].Setup // without a rate its default placement may be another
	return search, nil
}

// requests refuses a study of devices: a search sets how many requests there are.
func requests(p study.Plan, file string) error {
	if !slices.ContainsFunc(p.Trials, func(t study.Trial) bool { return t.Setup.Population.Devices > 0 }) {
		return nil
	}
	return Refused{fmt.Errorf("%s has devices, which send once per period, and a search sets the rate of requests: "+
		"write a study without devices, of which --period gives the answer in devices, or run this one with several "+
		"numbers of devices", file)}
}

// lasts refuses a trial that the study does not let last so long.
func lasts(length time.Duration, of study.Study) error {
	if of.Timeouts.Trial > length {
		return nil
	}
	return Refused{fmt.Errorf("a trial is given up after %s (timeouts.trial), and --length %s is no shorter; raise it, "+
		"for example with --set timeouts.trial=%s", study.DurationText(of.Timeouts.Trial), study.DurationText(length),
		study.DurationText(2*length))}
}

// leastRate is the lowest rate of four digits, in requests/s, at which a trial of a length has so many requests.
func leastRate(needs int, length time.Duration) float64 {
	exact := float64(needs) / length.Seconds()
	rate := stat.Readable(exact)
	if rate < exact {
		rate = stat.Readable(rate * (1 + 1e-3)) // at least one, at most ten of the fourth digit
	}
	return rate
}

// choosing are the words of a command that leave a study the levels of its first trial, but for one factor. A level
// that sets several things, or has a name of its own, is left by excluding all others.
func choosing(p study.Plan, but string) (words string) {
	var others []string
	for i, l := range levelsOf(p) {
		f := p.Study.Factors[i]
		if f.Name == but {
			continue
		}
		if isSetting(f, l) {
			words += " --set " + printable.Quoted(f.Name+"="+l.Text)
			continue
		}
		var names []string
		for _, other := range f.Levels {
			if other.Text != l.Text {
				names = append(names, strconv.Quote(other.Text))
			}
		}
		others = append(others, fmt.Sprintf("{%s: [%s]}", f.Name, strings.Join(names, ", ")))
	}
	if others != nil {
		words += " --set " + printable.Quoted("exclude=["+strings.Join(others, ", ")+"]")
	}
	return words
}

// shaped are settings whose value may be a mapping, of which a level's text is only the name.
var shaped = []string{"link", "request", "reconnect", "outage", "mix", "sleep", "leave_out"}

// isSetting reports whether a level's text is a value of the setting that its factor is called after: --set may fix it.
func isSetting(f study.Factor, l study.Level) bool {
	return len(l.Sets) == 1 && l.Sets[0].Key == f.Name && l.Sets[0].Value.Text == l.Text &&
		!slices.Contains(shaped, f.Name)
}

// levelsOf are the levels of the first trial of a plan, of each factor: a study may exclude others.
func levelsOf(p study.Plan) []study.Level {
	levels := make([]study.Level, len(p.Study.Factors))
	for i, f := range p.Study.Factors {
		at := slices.IndexFunc(f.Levels, func(l study.Level) bool { return l.Text == p.Trials[0].Treatment[i].Text })
		levels[i] = f.Levels[at]
	}
	return levels
}

// fixes reports whether the study gives a setting, fixed or as a factor.
func (s *studied) fixes(name string) bool {
	named := func(x study.Setting) bool { return x.Key == name }
	return slices.ContainsFunc(s.base.Fixed, named) || slices.ContainsFunc(s.levels, func(l study.Level) bool {
		return slices.ContainsFunc(l.Sets, named)
	})
}

// loadOf are the settings of every trial, but for its rate. What varies with one level
// becomes fixed: the rate is the one factor.
func (s *studied) loadOf() []string {
	load := []string{"duration=" + s.asked.Length.String(), "design.replications=1", "design.precision=off"}
	for i, f := range s.base.Factors {
		if l := s.levels[i]; isSetting(f, l) {
			load = append(load, f.Name+"="+l.Text)
		}
	}
	if !s.fixes("concurrency") {
		load = append(load, fmt.Sprintf("concurrency=%d", inFlight))
	}
	return load
}

// warmUp is the warm-up of trials whose study says none: their load is not the study's, and would have none, but their
// programs are as fresh. It has no more requests than a trial, however low its rate. What runs already is warm.
func warmUp(p study.Plan, most int) []string {
	s := p.Trials[0].Setup
	if p.Study.Design.SaysWarmUp() || s.URL != "" || s.Population.Devices > 0 {
		return nil
	}
	return []string{fmt.Sprintf("design.warmup=%d", min(study.DefaultWarmUp, most))}
}

// settings are what tells two searches with the same objective apart.
func (s *studied) settings() []string {
	all := append(measured(slices.Concat(s.asked.Sets, s.load)), fmt.Sprintf("precision %g %%", s.asked.Precision))
	if s.asked.Late > 0 {
		all = append(all, fmt.Sprintf("late %v", s.asked.Late))
	}
	return all
}

// note says where the search stands.
func (s *studied) note(c *Conductor) Note {
	n := Note{Format: noteFormat, SLO: s.asked.SLO.String(), Settings: s.settings(), First: c.Search.First,
		Most: c.Search.Most, Driver: c.Driver, Floor: s.out.Floor, Ended: c.Ended(), Budget: s.asked.Budget}
	if s.asked.Period > 0 {
		n.Period = s.asked.Period.String()
	}
	return n
}

// resume finds a search to go on with: in the directory that was named, or in the newest
// of this study, if its search has not ended.
func (s *studied) resume(c *Conductor) (bool, error) {
	s.dir = s.asked.Out
	dir, named := s.asked.Out, s.asked.Out != ""
	if !named {
		base := filepath.Join("results", s.base.Name)
		n := testbed.LastNumber(base)
		if n == 0 {
			return false, nil
		}
		dir = filepath.Join(base, fmt.Sprintf("%03d", n))
	}
	n, err := ReadNote(dir)
	if errors.As(err, new(*fs.PathError)) {
		return false, nil // whatever else is there, Host.Open says
	}
	var blocks [][]float64
	if err == nil {
		if err = n.asks(dir, s.asked.SLO.String(), s.settings()); err == nil {
			blocks, err = blocksOf(dir)
		}
	}
	switch {
	case err != nil && named:
		return false, Refused{err}
	case err != nil, n.Ended && !named:
		return false, nil
	}
	c.Search.First, c.Search.Most, c.Driver, c.Blocks = n.First, n.Most, n.Driver, blocks
	s.dir, s.out.Dir, s.out.Floor = dir, dir, n.Floor
	if s.Resuming != nil {
		s.Resuming(dir)
	}
	return true, nil
}

// floor is the bare server of a transport, against which the driver itself is measured;
// empty: the client drives itself, and its own lateness tells, or it is on another machine.
func floor(s *study.Setup) string {
	switch {
	case s.URL == "" && !strings.HasPrefix(s.Client.Stack, "reference/"), s.Client.Device != "local":
		return ""
	case strings.HasPrefix(s.Transport, "coap"), s.Transport == "udp", strings.HasPrefix(s.URL, "coap"),
		strings.HasPrefix(s.URL, "udp"):
		return "floor-udp"
	}
	return "floor-tcp"
}

// late is how late the driver may be in a valid trial.
func (q Question) late() time.Duration {
	const most = 50 * time.Millisecond
	switch short := q.SLO.Shortest(); {
	case q.Late > 0:
		return q.Late
	case short > 0:
		return min(short/10, most)
	}
	return most
}
