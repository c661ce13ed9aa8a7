package testbed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"edgegauge.example/edgegauge/internal/device/rpc"
	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/study"
)

// Drivers is how many benches a plan's servers are driven from at most.
func Drivers(p study.Plan) int {
	most := 1
	for _, t := range p.Trials {
		most = max(most, t.Setup.DrivenFrom)
	}
	return most
}

// joinWithin is how long benches of an order may take to find each other: each reads the study, and
// one may have to build a stack's credentials.
const joinWithin = 2 * time.Minute

// joinHelpers connects to the benches that drive our servers as well. What it returns ends that.
func (s *Station) joinHelpers(ctx context.Context, o fleet.Order) (leave func(), err error) {
	l := s.x.lab
	l.Helpers = nil
	leave = func() {
		for _, h := range l.Helpers {
			h.Conn.Close()
		}
	}
	defer func() {
		if err != nil {
			leave()
		}
	}()
	if len(o.Helpers) > 0 && s.Join == nil {
		return leave, errors.New("this bench measures alone")
	}
	for _, bench := range o.Helpers {
		conn, err := s.reach(ctx, bench, o.Task)
		if err != nil {
			return leave, err
		}
		l.Helpers = append(l.Helpers, lab.Helper{Bench: bench, Conn: conn})
	}
	return leave, nil
}

func (s *Station) reach(ctx context.Context, bench string, t fleet.Task) (*rpc.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, joinWithin, fmt.Errorf("it was not there within %v", joinWithin))
	defer cancel()
	rw, err := s.Join(ctx, bench, t)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { rw.Close() })
	conn, _, err := rpc.Greet(rw, rpc.Lab, rpc.Hello{})
	if err != nil || !stop() {
		rw.Close()
		return nil, fmt.Errorf("%w: bench %s: %w", fleet.ErrCut, bench, errors.Join(err, context.Cause(ctx)))
	}
	conn.Start(nil)
	return conn, nil
}

// cut says whether a helper was lost.
func (s *Station) cut() bool {
	for _, h := range s.x.lab.Helpers {
		if h.Conn.Err() != nil {
			return true
		}
	}
	return false
}

// Help drives the servers of the bench whose block an order is, until that has measured it.
func (s *Station) Help(ctx context.Context, o fleet.Order) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Join == nil {
		return errors.New("this bench measures alone")
	}
	if err := s.open(ctx, o); err != nil {
		return err
	}
	p, err := longEnough(s.plan, o.Block)
	if err != nil {
		return err
	}
	s.x.lab.Plan = s.clientsOf(p)
	finding, cancel := context.WithTimeoutCause(ctx, joinWithin, fmt.Errorf("it was not there within %v", joinWithin))
	defer cancel()
	rw, err := s.Join(finding, o.Helps, o.Task)
	if err != nil {
		return err
	}
	if err := s.x.lab.Help(ctx, rw, s.Clock); err != nil {
		return fmt.Errorf("%w: %w", fleet.ErrCut, err)
	}
	return nil
}

// clientsOf is what of a plan a bench needs that drives another's servers: the clients of trials that
// several benches drive. The servers, and what they are measured by, are the other's.
func (s *Station) clientsOf(p study.Plan) study.Plan {
	var joint []study.Trial
	for _, t := range p.Trials {
		if !t.Setup.Joint() {
			continue
		}
		own := s.clients[t.Setup]
		if own == nil {
			copied := *t.Setup
			own = &copied
			own.Server = study.Side{Device: own.Client.Device, Stack: own.Client.Stack}
			own.Sensor, own.IODir, own.Placement = "", "", ""
			s.clients[t.Setup] = own
		}
		t.Setup = own
		joint = append(joint, t)
	}
	p.Trials = joint
	return p
}

// refuseJoint finds trials that one bench alone cannot measure.
func (x *assembly) refuseJoint() {
	for t := range x.treatments() {
		if n := t.Setup.DrivenFrom; t.Setup.Joint() {
			x.fault(t, fmt.Sprintf("driven_from %d takes %d benches, and this machine is one", n, n),
				"share the study with --benches", "driven_from")
		}
	}
}
