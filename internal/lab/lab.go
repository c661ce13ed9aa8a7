// Package lab conducts a plan, trial after trial: it takes a study of a
// service, starts a stack on a device, has it driven, and keeps what was
// measured. It judges no treatment and draws nothing.
package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"edgegauge/internal/device"
	"edgegauge/internal/device/sensor"
	"edgegauge/internal/instrument"
	"edgegauge/internal/link"
	"edgegauge/internal/stack"
	"edgegauge/internal/store"
	"edgegauge/internal/study"
)

// A Lab is everything a plan needs.
type Lab struct {
	Plan        study.Plan
	Store       *store.Store
	Devices     map[string]device.Device
	Stacks      map[string]stack.Description  // every stack the plan names
	Links       map[string]link.Link          // profiles, by name
	Exe         string                        // this binary: the stacks inside it are its hidden verb
	Credentials map[string]string             // for treatments with security
	Meters      map[string]instrument.Meter   // every meter the plan names, open
	Profiles    map[string]instrument.Profile // every power profile it names
	Sensors     map[string]sensor.Simulation  // every sensor it names that is simulated
	Progress    func(Progress)                // called from one goroutine; nil: nobody looks

	spare  spare
	stages stages
}

// Progress is what a person wants to see of a running lab.
type Progress struct {
	Trial    study.Trial
	Step     string        // what happens now; empty: the trial ended
	Failure  error         // why the trial that ended is invalid
	Done     int           // valid trials, of Total
	Total    int           //
	Failures int           // invalid attempts so far
	Left     time.Duration // estimate; 0: not known yet
}

// An Outcome is what a run came to.
type Outcome struct {
	Valid, Invalid int                // attempts of this run
	Missing        []store.TrialState // trials given up, with the reason
	Unmet          string             // why the wanted precision was not reached; empty: reached or not asked
}

// ErrStopped means that the run was asked to stop and can be resumed.
var ErrStopped = errors.New("stopped")

// Run conducts every trial that is not yet valid, block by block; an invalid
// one is run again at the end of its block, at most Study.Retries times.
func (l *Lab) Run(ctx context.Context) (Outcome, error) {
	c := conductor{Lab: l, began: time.Now(), trials: map[int]study.Trial{}}
	for _, t := range l.Plan.Trials {
		c.trials[t.ID] = t
	}
	err := c.blocks(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ErrStopped, context.Cause(ctx))
	}
	return c.outcome, err
}

// A conductor is a Lab at work.
type conductor struct {
	*Lab
	outcome Outcome
	trials  map[int]study.Trial
	done    int
	began   time.Time
	clean   int // attempts that took their usual time, for the estimate
}

// blocks runs pending trials until none is left that may be run again.
func (c *conductor) blocks(ctx context.Context) error {
	for {
		pending, err := c.pending()
		if err != nil {
			return err
		}
		if len(pending) == 0 {
			if done, err := c.enough(); done || err != nil {
				return err
			}
			continue
		}
		block := pending[0].Block
		for _, t := range pending {
			if t.Block != block {
				break
			}
			if err := c.conduct(ctx, c.trials[t.ID]); err != nil {
				return err
			}
		}
	}
}

// pending lists the trials to run, and takes note of those given up.
func (c *conductor) pending() ([]store.TrialState, error) {
	all, err := c.Store.Pending()
	if err != nil {
		return nil, err
	}
	c.done = len(c.trials) - len(all)
	c.outcome.Missing = nil
	var todo []store.TrialState
	for _, t := range all {
		if t.Refused > c.Plan.Study.Retries {
			c.outcome.Missing = append(c.outcome.Missing, t)
			continue
		}
		todo = append(todo, t)
	}
	return todo, nil
}

// conduct runs one attempt of t and keeps it, valid or not. Its error is the
// lab's own: a trial's failure is recorded, not returned.
func (c *conductor) conduct(ctx context.Context, t study.Trial) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	attempt, err := c.Store.Begin(t.ID)
	if err != nil {
		return err
	}
	r := newRig(c.Lab, t, attempt)
	failure := r.trial(ctx, func(step string) { c.tell(t, step, nil) })
	switch {
	case ctx.Err() != nil:
		return ctx.Err() // the ledger calls it interrupted
	case errors.Is(failure, errLab):
		return failure
	case failure != nil:
		c.outcome.Invalid++
		if err := attempt.Invalidate(failure.Error(), r.log(), r.quality); err != nil {
			return err
		}
	default:
		c.outcome.Valid++
		c.done++
	}
	c.clean++
	c.tell(t, "", failure)
	return sleep(ctx, c.Plan.Study.Design.CoolDown)
}

func (c *conductor) tell(t study.Trial, step string, failure error) {
	if c.Progress == nil {
		return
	}
	p := Progress{Trial: t, Step: step, Failure: failure, Done: c.done, Total: len(c.trials), Failures: c.outcome.Invalid}
	if c.clean > 0 {
		p.Left = time.Since(c.began) / time.Duration(c.clean) * time.Duration(p.Total-p.Done)
	}
	c.Progress(p)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
