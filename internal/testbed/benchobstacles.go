package testbed

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/study"
)

// ReadElsewhere is ReadAvailable for benches: stacks need not be able to run on this machine,
// only known here.
func (b *Testbed) ReadElsewhere(ctx context.Context, file string, text []byte, kept []string, sets ...string) (
	p study.Plan, left []string, err error,
) {
	v := b.Vocabulary(ctx)
	find := v.Stacks
	v.Stacks = func(name string) (study.StackFacts, bool) {
		f, ok := find(name)
		f.Missing = ""
		return f, ok
	}
	return b.readAvailable(ctx, v, file, text, kept, sets)
}

// unableOf lists the treatments (study.Trial.Cell) that cannot run on this machine, each with
// the reason. Boards are not reached.
func (s *Station) unableOf(ctx context.Context, p study.Plan) map[int]string {
	if s.obstacle(ctx, p) == "" { // as a rule all can, and one look is quick
		return nil
	}
	out := map[int]string{}
	x := s.Bed.assemble(p, s.Bed.Exe, s.Bed.Temp)
	for t := range x.treatments() {
		one := p
		one.Trials = []study.Trial{t}
		if why := s.obstacle(ctx, one); why != "" {
			out[t.Cell], _, _ = strings.Cut(why, "\n")
		}
	}
	return out
}

// obstacle is the first that stands in the way of a plan; empty: nothing.
func (s *Station) obstacle(ctx context.Context, p study.Plan) string {
	needed := s.Bed.needed(p)
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		if why := s.Bed.StackState(ctx, needed[name]); why != "" {
			return fmt.Sprintf("stack %s cannot run here: %s", name, why)
		}
	}
	if err := s.allows(p); err != nil {
		return err.Error()
	}
	if why := s.unreached(p); why != "" {
		return why
	}
	if found := s.Bed.Obstacles(ctx, p); len(found) > 0 {
		return found[0].What
	}
	return ""
}

// allows refuses what a study may not have this bench run.
func (s *Station) allows(p study.Plan) error {
	if s.Trust {
		return nil
	}
	if foreign := s.Bed.Foreign(p); foreign != nil {
		return fmt.Errorf("this bench may not run what the study names: %w; to allow it, start its worker with --trust",
			foreign)
	}
	for _, t := range p.Trials {
		if t.Setup.URL != "" { // a study could have it read files and send them anywhere
			return fmt.Errorf("this bench may not call a service that is already running (%s); to allow it, start its "+
				"worker with --trust", t.Setup.URL)
		}
	}
	return nil
}

// unreached says why other benches cannot reach a server of the plan on this one; empty: they can, or need not.
func (s *Station) unreached(p study.Plan) string {
	if s.helps {
		return ""
	}
	address := ""
	if s.Address != nil {
		address = s.Address()
	}
	for _, t := range p.Trials {
		at := t.Setup.Server.Device
		if !t.Setup.Joint() || t.Setup.URL != "" || lab.IsAway(at) || IsMachine(at) {
			continue
		}
		if _, err := lab.ReachedAt(address, t.Setup.IP); err != nil {
			return err.Error()
		}
	}
	return ""
}
