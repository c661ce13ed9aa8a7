package testbed

import (
	"context"
	"fmt"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/study"
)

// A Sharing says which benches measure a plan.
type Sharing struct {
	Benches int  // how many are named; 0: whoever is there
	Here    bool // they are of this machine, and its user's
}

// localHub is where benches of one machine reach their hub, and so each other.
const localHub = "127.0.0.1"

// ObstaclesAlone are Obstacles, and trials that take several benches: what Open refuses.
func (b *Testbed) ObstaclesAlone(ctx context.Context, p study.Plan) study.Errors {
	return b.obstacles(ctx, p, (*assembly).refuseJoint)
}

// ObstaclesShared lists what stands in the way of a plan that benches measure: what is wrong with it on any bench, and
// where they are of this machine, what that lacks. What another lacks it says itself (Station.Able).
func (b *Testbed) ObstaclesShared(ctx context.Context, p study.Plan, with Sharing) study.Errors {
	see := func(x *assembly) { x.seeSharing(with) }
	if with.Here {
		o := b.Options
		o.Rootless = false // a worker does not run itself again
		return New(o).obstacles(ctx, p, see)
	}
	x := b.assemble(p, b.Exe, b.Temp)
	x.looking = true
	see(x)
	x.lookAnywhere()
	return study.Collect(x.faults)
}

// seeSharing finds what keeps such benches from measuring the plan together.
func (x *assembly) seeSharing(with Sharing) {
	if x.plan.Study.Design.Spread > 0 {
		x.faults = append(x.faults, study.Error{Pos: x.plan.Study.SpreadAt, What: "design.spread is for one machine: " +
			"benches measure blocks as they come", Advice: "set it to 0, or leave --benches out"})
	}
	for t := range x.treatments() {
		s := t.Setup
		if !s.Joint() {
			continue
		}
		if n := s.DrivenFrom; with.Benches > 0 && n > with.Benches {
			x.fault(t, fmt.Sprintf("the study is driven from %d benches (driven_from), and %d are named", n, with.Benches),
				"add others to --benches", "driven_from")
		}
		if at := s.Server.Device; !with.Here || s.URL != "" || lab.IsAway(at) || IsMachine(at) {
			continue
		}
		if _, err := lab.ReachedAt(localHub, s.IP); err != nil {
			x.fault(t, fmt.Sprintf("the study asks for %s, but benches of one machine reach each other at %s", s.IP, localHub),
				"write ip: ipv4, or name benches of other machines", "driven_from", "ip")
		}
	}
}

// lookAnywhere finds what is wrong with a plan on any machine.
func (x *assembly) lookAnywhere() {
	x.refuse()
	x.seePackets()
	x.seeGiven()
	x.seeFew()
	x.seeUnread()
	x.seeOptions()
	x.seeMessages()
}

// Able answers whether this bench can measure a study, as far as that is known without reaching its boards. A bench
// that measures is not disturbed by it.
func (s *Station) Able(ctx context.Context, q fleet.Question) fleet.Reply {
	if !s.mu.TryLock() {
		return fleet.Reply{Busy: true}
	}
	defer s.mu.Unlock()
	p, _, err := s.Bed.ReadElsewhere(ctx, "the study", q.Study, q.Overrides)
	if err != nil {
		return fleet.Reply{Why: err.Error()}
	}
	// One that keeps nothing of it: a lab may be open, for a study that goes on.
	asked := &Station{Bed: s.Bed, Trust: s.Trust, Address: s.Address, helps: q.Helps,
		clients: map[*study.Setup]*study.Setup{}}
	if q.Helps {
		p = asked.clientsOf(p)
	}
	able, err := asked.choose(ctx, p)
	if err == nil {
		err = asked.mayLink(able)
	}
	if err != nil {
		return fleet.Reply{Why: err.Error()}
	}
	return fleet.Reply{Why: asked.obstacle(ctx, able), Lacks: asked.unable}
}

// mayLink refuses links that this process may make only in a user namespace, as a command does that runs itself again.
func (s *Station) mayLink(p study.Plan) error {
	if s.Bed.NeedsNetwork(p) && link.Able() != nil {
		return fmt.Errorf("%w; start the worker as root", link.Able())
	}
	return nil
}
