package capacity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/internal/testbed"
)

// studied is the server of a study, whose trials labs conduct and a results directory keeps.
type studied struct {
	Host
	asked  Question
	base   study.Study   // as the file and the user have it
	levels []study.Level // of its one treatment, of each factor
	load   []string      // settings of every trial
	setup  *study.Setup  // of a trial, but for how high its rate is
	dir    string        // of the results; empty: Host.Open chooses
	noted  func() error  // says beside the results where the search stands
	judged []judged      // trials, in the order in which they were planned
	out    *Answer
}

// judged is a trial as the search sees it, and as the answer has it.
type judged struct {
	stat.CapacityTrial
	Trial
}

// Driver is measured against the bare server of the same transport.
func (s *studied) Driver(ctx context.Context) (float64, error) {
	if s.out.Floor = floor(s.setup); s.out.Floor == "" {
		return 0, nil
	}
	text := driverStudy(s.out.Floor, s.setup, s.base.Pin)
	p, err := s.Bed.Read(ctx, "driver.yaml", text)
	if err != nil {
		return 0, err
	}
	return s.once(ctx, p, text)
}

// driverStudy measures the driver on the CPUs on which the study has it.
func driverStudy(floor string, of *study.Setup, pin study.Pin) []byte {
	text := fmt.Appendf(nil, "study: driver\nservice: echo\nsize: 100B\nstack: %s\nconcurrency: %d\nduration: 1s\n"+
		"design: {replications: 1, warmup: 100}\nresponses: [throughput]\n", floor, of.Concurrency)
	if of.Placement != "" {
		text = fmt.Appendf(text, "placement: %s\n", of.Placement)
	}
	list := func(cpus []int) string { return strings.ReplaceAll(fmt.Sprint(cpus), " ", ", ") }
	switch {
	case len(pin.Client) > 0 && len(pin.Server) > 0:
		text = fmt.Appendf(text, "pin: {client: %s, server: %s}\n", list(pin.Client), list(pin.Server))
	case len(pin.Client) > 0:
		text = fmt.Appendf(text, "pin: {client: %s}\n", list(pin.Client))
	case len(pin.Server) > 0:
		text = fmt.Appendf(text, "pin: {server: %s}\n", list(pin.Server))
	}
	return text
}

// Closed is with as many requests under way as trials have, and where they have their programs.
func (s *studied) Closed(ctx context.Context) (float64, error) {
	sets := []string{"duration=1s"}
	if s.setup.Placement != "" {
		sets = append(sets, "placement="+s.setup.Placement)
	}
	p, err := s.expand(ctx, sets...)
	if err != nil {
		return 0, err
	}
	return s.once(ctx, p, s.asked.Text)
}

// Trials conducts those of the last block, and whatever else is not there yet.
func (s *studied) Trials(ctx context.Context, blocks [][]float64) ([]stat.CapacityTrial, error) {
	p, err := s.plan(ctx, blocks)
	if err != nil {
		return nil, err
	}
	e, err := s.Open(ctx, p, s.asked.Text, s.dir)
	if err != nil {
		return nil, err
	}
	defer s.Close(e)
	s.dir, s.out.Dir = e.Dir, e.Dir
	if s.noted != nil { // a search that is ended in its first block, by whatever, goes on
		if err := s.noted(); err != nil {
			return nil, err
		}
	}
	outcome, err := s.run(ctx, e)
	if errors.Is(err, lab.ErrStopped) {
		err = fmt.Errorf("stopped; results so far are in %s; run the same command again to resume", e.Dir)
	}
	if err == nil {
		err = lost(outcome, e.Dir, s.base.Retries)
	}
	if err != nil {
		return nil, err
	}
	attempts, err := e.Lab.Store.Attempts(0) // those of runs before this one, too
	if err != nil {
		return nil, err
	}
	s.count(attempts)
	for _, t := range p.Trials[len(s.judged):] {
		j, err := s.judge(e.Lab.Store, t)
		if err != nil {
			return nil, err
		}
		s.judged = append(s.judged, j)
	}
	all := make([]stat.CapacityTrial, len(s.judged))
	for i, j := range s.judged {
		all[i] = j.CapacityTrial
	}
	return all, nil
}

// count notes which attempts were not valid, and why.
func (s *studied) count(attempts []store.AttemptState) {
	s.out.Invalid, s.out.Refused, s.out.Why = 0, 0, nil
	of := map[int]bool{}
	for _, a := range attempts {
		if a.State != store.Invalid {
			continue
		}
		if s.out.Invalid++; !of[a.Trial] {
			of[a.Trial] = true
			s.out.Why = append(s.out.Why, a.Reason)
		}
	}
	s.out.Refused = len(of)
}

// plan is that of blocks of rates.
func (s *studied) plan(ctx context.Context, blocks [][]float64) (study.Plan, error) {
	rates := slices.Concat(blocks...)
	slices.Sort(rates)
	if rates = slices.Compact(rates); len(rates) == 1 {
		rates = append(rates, 2*rates[0]) // a factor has two levels; this one has no trial
	}
	list := make([]string, len(rates))
	for i, r := range rates {
		list[i] = strconv.FormatFloat(r, 'f', -1, 64)
	}
	sets := []string{"factors.rate=[" + strings.Join(list, ", ") + "]"}
	if !s.fixes("arrival") {
		sets = append(sets, "arrival=poisson")
	}
	p, err := s.expand(ctx, sets...)
	if err != nil {
		return p, err
	}
	texts := make([][]string, len(blocks))
	for i, b := range blocks {
		for _, r := range b {
			at, _ := slices.BinarySearch(rates, r)
			texts[i] = append(texts[i], p.Study.Factors[len(p.Study.Factors)-1].Levels[at].Text)
		}
	}
	if p, err = study.Sequence(p.Study, texts); err != nil {
		return p, Refused{err}
	}
	return p, nil
}

// expand reads the study with the load and some more settings.
func (s *studied) expand(ctx context.Context, more ...string) (study.Plan, error) {
	p, _, err := s.Bed.ReadAvailable(ctx, s.asked.File, s.asked.Text, nil, slices.Concat(s.asked.Sets, s.load, more)...)
	if err != nil {
		err = Refused{err}
	}
	return p, err
}

// run runs a lab whose server may be overloaded.
func (s *studied) run(ctx context.Context, e *testbed.Experiment) (lab.Outcome, error) {
	e.Lab.Overload, e.Lab.MostLate, e.Lab.LateShare = true, s.asked.late(), s.asked.SLO.Highest()
	if s.asked.Late == 0 && slices.ContainsFunc(e.Lab.Plan.Trials, func(t study.Trial) bool {
		return t.Setup.Population.Lateness > 0
	}) {
		e.Lab.MostLate = 0 // as the study says
	}
	return s.Run(ctx, e)
}

// judge reads what a trial's client recorded.
func (s *studied) judge(kept *store.Store, t study.Trial) (judged, error) {
	y := s.asked.SLO.NewTally()
	for batch, err := range kept.Exchanges(t.ID, measure.Client) {
		if err != nil {
			return judged{}, err
		}
		for _, x := range batch {
			y.Add(x)
		}
	}
	of, binding := y.Judge()
	s.out.InFlight, s.out.Arrival = t.Setup.Concurrency, t.Setup.Arrival
	return judged{stat.CapacityTrial{Rate: t.Setup.Rate, Margin: of[binding].Margin},
		Trial{Block: t.Block, Rate: t.Setup.Rate, Kept: of, Binding: binding}}, nil
}

// once conducts a plan of one trial in a folder that is not kept, and returns its throughput.
func (s *studied) once(ctx context.Context, p study.Plan, text []byte) (float64, error) {
	scratch, err := testbed.NewScratch(s.Bed.Temp) // what is killed here is swept by the next
	if err != nil {
		return 0, err
	}
	defer scratch.Close()
	e, err := s.Open(ctx, p, text, filepath.Join(scratch.Dir, "results"))
	if err != nil {
		return 0, err
	}
	defer s.Close(e)
	outcome, err := s.run(ctx, e)
	if errors.Is(err, lab.ErrStopped) {
		err = errors.New("stopped before the first trial; nothing was kept")
	}
	if err == nil {
		err = lost(outcome, "", s.base.Retries)
	}
	if err != nil {
		return 0, err
	}
	for row, err := range e.Lab.Store.Results() {
		if err != nil {
			return 0, err
		}
		if row.Response == "throughput" && !math.IsNaN(row.Mean) {
			return row.Mean, nil
		}
	}
	return 0, nil // not one request was answered
}

// gather completes the answer.
func (s *studied) gather(c *Conductor) {
	s.out.Step = c.Step
	for _, j := range s.judged {
		j.Trial.Counts = c.Counts(j.Block)
		s.out.Trials = append(s.out.Trials, j.Trial)
	}
}
