package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// NotShared is the error of a study or of results that one bench measures and not many,
// or the other way round.
type NotShared struct{ why string }

func (n NotShared) Error() string { return n.why }

// OpenShared makes or resumes the results of a plan that benches measure. Nothing of
// this machine is opened, and its lab conducts no trial. What the benches may run is for
// each of them to say, but for those of this machine itself (Request.Here).
func (b *Testbed) OpenShared(ctx context.Context, r Request) (*Experiment, error) {
	r.shared = true
	if foreign := b.Foreign(r.Plan, r.Given...); r.Here && foreign != nil && !r.Trust {
		return nil, &Untrusted{foreign}
	}
	x := b.assemble(r.Plan, b.Exe, b.Temp)
	e := &Experiment{assembly: x, Lab: x.lab}
	if err := e.openStore(ctx, r); err != nil {
		return nil, errors.Join(err, x.abandon())
	}
	return e, nil
}

// alone refuses to mix what one bench measures with what many do: blocks of both would
// be compared as if of one.
func alone(s *store.Store, shared bool) error {
	all, err := s.Attempts(0)
	if err != nil {
		return err
	}
	for _, a := range all {
		switch {
		case !shared && a.Bench.Name != "":
			return NotShared{s.Dir() + " was begun with benches; resume with --benches, or run into a new directory"}
		case shared && a.Bench.Name == "" && a.State == store.Valid:
			return NotShared{s.Dir() + " was begun without benches; resume without --benches, or run into a new directory"}
		}
	}
	return nil
}

// A Station measures blocks for a fleet with what this machine offers. The lab of a study
// stays open from block to block. What a study may run here is decided here: what came
// with edgegauge, and the stacks that the user of this machine named; with Trust, all.
type Station struct {
	Bed      *Testbed
	Trust    bool
	Progress func(lab.Progress) // nil: nobody looks
	// Name is the bench's, Address where others reach it, and Join opens a byte stream to another
	// that measures with it. Only studies that several benches drive together need them.
	Name    string
	Address func() string
	Join    func(ctx context.Context, bench string, t fleet.Task) (io.ReadWriteCloser, error)
	// Clock is what stands for this machine's monotonic clock in a test; nil: that itself.
	Clock func() time.Duration

	mu        sync.Mutex                    // one block at a time
	run       string                        // whose lab is open
	overrides []string                      // of that run
	helps     bool                          // the lab has clients alone
	clients   map[*study.Setup]*study.Setup // for it, the setups of the plan
	plan      study.Plan
	unable    map[int]string // treatments that cannot run here and need not, with the reason
	text      []byte
	facts     runFacts
	x         *assembly
	scratch   *Scratch
}

// Conduct measures an order's block into dir.
func (s *Station) Conduct(ctx context.Context, o fleet.Order, dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(ctx, o); err != nil {
		return err
	}
	leave, err := s.joinHelpers(ctx, o)
	if err != nil {
		return err
	}
	defer leave()
	p, err := longEnough(s.plan, o.Block)
	if err != nil {
		return err
	}
	p.Study.Design.Precision = 0 // the coordinator decides how many blocks there are
	p.Trials = slices.DeleteFunc(slices.Clone(p.Trials), func(t study.Trial) bool { return t.Block != o.Block })
	p.Study.Retries = o.Retries
	h, err := s.x.header(p, s.text, s.facts)
	if err != nil {
		return err
	}
	if !bytes.Equal(h.Plan, o.Plan) {
		return fmt.Errorf("block %d differs from the coordinator's; install the same edgegauge on both, with the same "+
			"stacks, devices and links", o.Block)
	}
	h.First = o.Attempt
	l := s.x.lab
	if l.Store, err = store.Create(dir, h); err != nil {
		return err
	}
	if p.Trials, err = s.leaveOut(l.Store, p.Trials); err == nil {
		l.Plan, l.Progress = p, s.Progress
		_, err = l.Run(ctx)
	}
	if s.cut() {
		err = fmt.Errorf("%w: %w", fleet.ErrCut, err)
	}
	return errors.Join(err, l.Store.Close())
}

// leaveOut notes which trials cannot run here, and returns the others.
func (s *Station) leaveOut(in *store.Store, all []study.Trial) (able []study.Trial, err error) {
	for _, t := range all {
		if why, ok := s.unable[t.Cell]; !ok {
			able = append(able, t)
		} else if err := in.Lack(t.ID, why); err != nil {
			return nil, err
		}
	}
	return able, nil
}

// longEnough is a plan with that block, which precision may have added.
func longEnough(p study.Plan, block int) (study.Plan, error) {
	more := block - p.Trials[len(p.Trials)-1].Block
	if more <= 0 {
		return p, nil
	}
	d := p.Study.Design
	if d.Precision == 0 || d.Budget.Blocks > 0 && more > d.Budget.Blocks {
		return p, fmt.Errorf("there is no block %d", block)
	}
	return p.Extend(more)
}

// open opens the lab of an order's run, unless it is open.
func (s *Station) open(ctx context.Context, o fleet.Order) error {
	// A run that is resumed may have another text, with more retries or blocks.
	if s.run == o.Run && s.helps == (o.Helps != "") && bytes.Equal(s.text, o.Study) &&
		slices.Equal(s.overrides, o.Overrides) {
		return nil
	}
	if err := s.close(); err != nil {
		return err
	}
	p, _, err := s.Bed.ReadElsewhere(ctx, "the study", o.Study, o.Overrides)
	if err != nil {
		return err
	}
	s.plan, s.text, s.overrides, s.clients = p, o.Study, o.Overrides, map[*study.Setup]*study.Setup{}
	if s.helps = o.Helps != ""; s.helps {
		p = s.clientsOf(p)
	}
	able, err := s.choose(ctx, p)
	if err != nil {
		return err
	}
	if s.scratch, err = NewScratch(s.Bed.Temp); err != nil {
		return err
	}
	exe, err := ownExe(s.scratch.Dir)
	if err == nil {
		s.x = s.Bed.assemble(able, exe, s.scratch.Dir)
		if s.x.lab.Bench = s.Name; s.Address != nil {
			s.x.lab.Address = s.Address()
		}
		err = s.prepare(ctx)
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	s.run = o.Run
	return nil
}

// choose is the plan of the treatments that can run here. It refuses to leave some out,
// unless the study says that benches may be incomplete, and to leave out all.
func (s *Station) choose(ctx context.Context, p study.Plan) (study.Plan, error) {
	s.unable = nil
	unable := s.unableOf(ctx, p)
	if len(unable) == 0 {
		return p, nil
	}
	first := unable[slices.Min(slices.Collect(maps.Keys(unable)))]
	n := p.Study.Treatments()
	switch {
	case len(unable) == n:
		return p, fmt.Errorf("this bench can run no treatment of the study: %s", first)
	case !p.Study.Design.Incomplete:
		return p, fmt.Errorf("this bench cannot run %d of %d treatments: %s; fix that, or write design: {benches: "+
			"incomplete}, and it measures the others", len(unable), n, first)
	}
	s.unable = unable
	p.Trials = slices.DeleteFunc(slices.Clone(p.Trials), func(t study.Trial) bool { return unable[t.Cell] != "" })
	return p, nil
}

// prepare opens what the plan needs.
func (s *Station) prepare(ctx context.Context) error {
	x := s.x
	if err := s.allows(x.plan); err != nil {
		return err
	}
	x.look(ctx)
	if err := x.found(ctx); err != nil {
		return err
	}
	if err := s.mayLink(x.plan); err != nil {
		return err
	}
	x.openDevices(ctx)
	x.openMeters(ctx)
	x.lab.CPUs = x.quietestCPUs(ctx)
	if err := x.found(ctx); err != nil {
		return err
	}
	if err := x.meetBoards(ctx); err != nil {
		return err
	}
	var err error
	if s.facts, err = x.gatherFacts(ctx); err != nil {
		return err
	}
	if x.lab.Same, err = x.watchStacks(s.facts); err != nil {
		return err
	}
	return x.openCredentials(ctx)
}

// Close closes the lab that is open.
func (s *Station) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.close()
}

func (s *Station) close() error {
	var errs []error
	if s.x != nil {
		errs = append(errs, s.x.abandon())
	}
	if s.scratch != nil {
		errs = append(errs, s.scratch.Close())
	}
	s.run, s.x, s.scratch = "", nil, nil
	return errors.Join(errs...)
}

// Coordinator is the coordinator of a shared experiment; its board is to be added.
func (e *Experiment) Coordinator() (fleet.Coordinator, error) {
	s := e.Lab.Store
	text, sets, err := s.Study()
	if err != nil {
		return fleet.Coordinator{}, err
	}
	id, err := s.ID()
	c := fleet.Coordinator{Run: id, Program: e.assembly.bed.Version, Study: text, Overrides: sets,
		Retries: e.Lab.Plan.Study.Retries, Ledger: s, Drivers: Drivers(e.Lab.Plan), Moved: e.moved,
		Blocks: e.Lab.Plan.Trials[len(e.Lab.Plan.Trials)-1].Block}
	began := time.Now()
	c.More = func(n int) (added int, err error) {
		if out, err := e.Outcome(); err != nil {
			return 0, err
		} else if len(out.Missing) > 0 {
			return 0, s.End("")
		}
		added, e.unmet, err = e.Lab.MoreBlocks(n, began)
		return added, err
	}
	return c, err
}

// Outcome is what a plan that was measured elsewhere came to.
func (e *Experiment) Outcome() (lab.Outcome, error) {
	out := lab.Outcome{Unmet: e.unmet}
	all, err := e.Lab.Store.Trials()
	measured := map[string]bool{} // treatments
	var lacking []store.TrialState
	for _, t := range all {
		out.Invalid += t.Refused
		switch {
		case t.State == store.Valid:
			out.Valid++
			measured[fmt.Sprint(t.Treatment)] = true
		case t.State == store.Lacking:
			lacking = append(lacking, t)
		case t.Refused > e.Lab.Plan.Study.Retries:
			out.Missing = append(out.Missing, t)
		}
	}
	if n := len(out.Missing); n > 0 {
		out.Advice = "fix the cause and run again with more retries, such as --set retries=5 --out " +
			printable.QuotedPath(e.Dir)
	}
	for _, t := range lacking {
		if of := fmt.Sprint(t.Treatment); !measured[of] {
			measured[of] = true // it is said once
			out.Missing = append(out.Missing, t)
			out.Advice = "no bench can run it: install what it needs on at least two, and run into a new directory"
		}
	}
	return out, err
}
