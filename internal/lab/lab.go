// Package lab conducts a plan, trial after trial: it takes a study of a service,
// starts a stack on a device, has it driven, and keeps what was measured. It
// judges no treatment and draws nothing.
//
// A trial (trial.go) is a session with a server's and a client's program
// (stack.Session) with attachments around it (attachment.go). Its steps method is
// the protocol of the experiment; what is to be done in it is its task (task.go),
// which does not change. The attachments are, in the order they begin:
//
//	placement   the devices, and what was staged on those that are away
//	linked      the link between the two programs
//	sensed      a simulated sensor
//	programs    the two processes, their session and their logs (logs.go)
//	joint       clients of other benches
//	capture     packets at the client, and the client's clock against them
//	meters      energy
//
// Each owns its state and names what it reads of others, and a trial that is
// abandoned closes them the last first. What is observed beside them has owners, too:
//
//	conversation  what the session did, and when
//	records       both sides' records: a recorder takes each side's to the store
//	              and to the accumulator of its figures
//	devices       a client that is many
//	usage         CPU time, memory and the like of both programs
//	connections   those that the kernels know
//	surroundings  what disturbs a trial from outside
//
// All of it becomes evidence (evidence.go): the trial is summed up from that
// (summary.go), and the gates judge by it alone (gates.go). In counted instructions
// a machine conducts the same session alone (internal/guest), and the lab reads
// what it wrote (counted.go).
//
// A trial's own failure makes it invalid, with a reason, and it is tried again as
// often as the study's retries say, unless it is that more requests failed than the
// study allows: then the lucky trials would be left. A failure of the lab itself (labFault) stops
// the run and counts as no attempt: the run can be resumed.
package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/sensor"
	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/instrument"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A Lab is everything a plan needs.
type Lab struct {
	Plan    study.Plan
	Store   *store.Store
	Devices map[string]device.Device
	Stacks  map[string]stack.Description // every stack the plan names
	Links   map[string]link.Link         // profiles, by name
	// CPUs of this machine that programs may be placed on, the quietest first; empty:
	// the scheduler places all.
	CPUs        []int
	Exe         string                           // this binary: the stacks inside it are its hidden verb
	Scratch     string                           // folder for temporary files; empty: this process's
	Credentials map[string]string                // for treatments with security
	Meters      map[string]instrument.Meter      // every meter the plan names, open
	Profiles    map[string]instrument.PowerModel // every power profile it names
	Sensors     map[string]sensor.Simulation     // every sensor it names that is simulated
	// what is asked of services that are already running, secrets included, by the
	// setup of their treatments
	Requests map[*study.Setup]drive.Job
	// why what a trial runs is not what the run began with; nil: not looked at
	Same func(study.Trial) error
	// Together is a file of which each lab on this machine holds a shared lock while it measures, so that they know of
	// each other; empty: they do not.
	Together string
	// Bench is the name of this one among those of a fleet, Address where the others reach it, and
	// Helpers are those that drive its servers as well, where a study asks for that.
	Bench, Address string
	Helpers        []Helper
	// Overload says that trials may ask more of a server than it can do: that requests fail
	// is then a figure, not a fault.
	Overload bool
	// Wide says which treatments have a figure that is known less surely than the study's
	// precision asks for, by number, and the widest of these figures in words; empty words: by
	// luck all may seem to have it. It is asked between blocks. Nil: no block is added.
	Wide func() (treatments []int, widest string, err error)
	// MostLate is how late a client under open load may take up requests; 0: as the study says.
	// LateShare is the share of the requests that must keep to it; less than 99 %: 99 %.
	MostLate  time.Duration
	LateShare float64
	Progress  func(Progress) // called from one goroutine; nil: nobody looks
	// Watch takes the mean power of a side's supply, in W, twice a second while a meter
	// reads it. The meters' goroutines call it: it must not wait. Nil: nobody looks.
	Watch func(side measure.Side, watts float64)
	// WatchDevices takes, once a second, how the devices of a running trial are. The
	// goroutine that reads the client calls it. Nil: nobody looks.
	WatchDevices func(population.State)

	spare  spare
	stages stages
	told   *os.File // by it other labs know that this one measures; nil: it does not, or they are not told
	// renewals are how seldom meters that hold their values renew them, as their last trials
	// showed, by meter. The readings of a board's meter arrive when a trial is over.
	renewals map[string]time.Duration
	launch   launch // nil: as a device starts it
	// Least is how long a trial of each treatment lasts at least, by Trial.Cell, as far as is known before.
	Least map[int]time.Duration
	// slept is for how long this machine has been suspended; nil: as its kernel says.
	slept func() time.Duration
}

// Progress is what a person wants to see of a running lab.
type Progress struct {
	Trial    study.Trial
	Step     string        // what happens now; empty: the trial ended
	Failure  error         // why the trial that ended is invalid
	Done     int           // valid trials, of Total
	Total    int           // trials of the plan, as far as it is extended
	Failures int           // invalid attempts so far
	Left     time.Duration // estimate; 0: not known yet
}

// An Outcome is what a run came to.
type Outcome struct {
	Valid, Invalid int                // attempts of this run
	Missing        []store.TrialState // trials given up, with the reason
	Advice         string             // what to do about Missing; empty: there are none
	Unmet          string             // why the wanted precision was not reached; empty: reached or not asked
}

// ErrStopped means that the run was asked to stop and can be resumed.
var ErrStopped = errors.New("stopped")

// Run conducts every trial that is not yet valid, block by block; an invalid
// one is run again at the end of its block, at most Study.Retries times.
func (l *Lab) Run(ctx context.Context) (Outcome, error) {
	c := conductor{Lab: l, began: time.Now(), trials: map[int]study.Trial{}, rest: l.measures(),
		remaining: remaining{least: l.Least}}
	defer func() { c.rest() }()
	for _, t := range l.Plan.Trials {
		c.trials[t.ID] = t
	}
	err := c.blocks(ctx)
	if err == nil {
		err = c.Store.End(c.outcome.Unmet)
	}
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
	before  time.Duration // that earlier runs took
	rest    func()        // tells other labs that this one does not measure

	remaining remaining
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
		if err := c.awaitBlock(ctx, pending[0]); err != nil {
			return err
		}
		for _, wave := range c.waves(pending) {
			if err := c.conduct(ctx, wave); err != nil {
				return err
			}
		}
	}
}

// pending lists the trials to run, and notes those that were given up.
func (c *conductor) pending() ([]store.TrialState, error) {
	all, err := c.Store.Pending()
	if err != nil {
		return nil, err
	}
	// A plan shorter than the one before leaves its further trials as they are.
	all = slices.DeleteFunc(all, func(t store.TrialState) bool { _, mine := c.trials[t.ID]; return !mine })
	c.done = len(c.trials) - len(all)
	c.outcome.Missing = nil
	var todo []store.TrialState
	var left []study.Trial
	refused := 0
	for _, t := range all {
		beyond, err := c.beyond(t)
		if err != nil {
			return nil, err
		}
		if beyond {
			refused++
		}
		if beyond || t.Refused > c.Plan.Study.Retries {
			c.outcome.Missing = append(c.outcome.Missing, t)
			continue
		}
		todo = append(todo, t)
		left = append(left, c.trials[t.ID])
	}
	c.remaining.plan(left)
	var advice []string
	if n := len(c.outcome.Missing) - refused; n > 0 {
		r := c.Plan.Study.Retries
		advice = append(advice, fmt.Sprintf("retries is %d: a trial is abandoned after %s; to retry the %d "+
			"abandoned, fix the cause and run again with --set retries=%d --out %s", r, plural.Count(r+1, "invalid attempt"),
			n, 2*r+1, printable.QuotedPath(c.Store.Dir())))
	}
	if refused > 0 {
		advice = append(advice, "a trial with more failures than the study allows is not run again, since the lucky trials "+
			"would be left; raise failures and run into a new directory, or fix the service")
	}
	c.outcome.Advice = strings.Join(advice, "\n  ")
	return todo, nil
}

// beyond reports whether more requests of the trial failed than the study allows. A bench of a fleet runs such a trial
// again, too, since it owes its block: there the report says what was refused.
func (c *conductor) beyond(t store.TrialState) (bool, error) {
	if c.Plan.Study.Failures == nil || c.Bench != "" || t.State != store.Invalid {
		return false, nil
	}
	noted, err := c.Store.Quality(t.ID, t.Attempt)
	return slices.ContainsFunc(noted, func(q store.Quality) bool { return q.Key == store.FailuresRefused }), err
}

// waves parts the pending trials of the first block: each is alone, or with others that
// run at the same time. A wave stands where the plan has its first trial.
func (c *conductor) waves(pending []store.TrialState) [][]study.Trial {
	var waves [][]study.Trial
	open := map[int]int{} // the wave that takes more, by how many run at once
	for _, state := range pending {
		if state.Block != pending[0].Block {
			break
		}
		t := c.trials[state.ID]
		n := t.Setup.AtOnce
		if i, ok := open[n]; ok && len(waves[i]) < n {
			waves[i] = append(waves[i], t)
			continue
		}
		open[n] = len(waves)
		waves = append(waves, []study.Trial{t})
	}
	return waves
}

// conduct runs one attempt of each trial of a wave and keeps it, valid or not. Its error
// is the lab's own: a trial's failure is recorded, not returned.
func (c *conductor) conduct(ctx context.Context, wave []study.Trial) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	runners := make([]*trialRunner, len(wave))
	for i, t := range wave {
		if c.Same != nil {
			if err := c.Same(t); err != nil {
				return err
			}
		}
		attempt, err := c.Store.Begin(t.ID)
		if err != nil {
			return err
		}
		runners[i] = newTrialRunner(c.Lab, t, attempt)
	}
	began := time.Now()
	failures := conductAll(ctx, runners, func(t study.Trial, step string) { c.tell(t, step, nil) })
	if ctx.Err() != nil {
		return ctx.Err() // the ledger calls them interrupted
	}
	var fault error
	for i, one := range runners {
		if errors.Is(failures[i], errLab) {
			fault = errors.Join(fault, failures[i])
			continue
		}
		c.remaining.ended(one.plan, time.Since(began), failures[i] == nil)
		if err := c.settle(one, failures[i]); err != nil {
			return err
		}
	}
	if fault != nil {
		return fault
	}
	return sleep(ctx, c.Plan.Study.Design.CoolDown)
}

// settle keeps why an attempt is invalid, and tells that it ended.
func (c *conductor) settle(one *trialRunner, failure error) error {
	if failure != nil {
		c.outcome.Invalid++
		err := one.attempt.Invalidate(shorten(failure.Error()), one.programs.failed(), one.findings.quality)
		if err != nil {
			return err
		}
	} else {
		c.outcome.Valid++
		c.done++
	}
	c.tell(one.plan, "", failure)
	return nil
}

// mostReason is how much of the reason for an invalid trial is kept.
const mostReason = 4000 // B

// shorten cuts a reason to mostReason, and says so in it. Its end, which names the
// log, stays.
func shorten(reason string) string {
	if len(reason) <= mostReason {
		return reason
	}
	const half = mostReason / 2
	head, tail := strings.ToValidUTF8(reason[:half], ""), strings.ToValidUTF8(reason[len(reason)-half:], "")
	return fmt.Sprintf("%s… (truncated: %d B in total) …%s", head, len(reason), tail)
}

func (c *conductor) tell(t study.Trial, step string, failure error) {
	if c.Progress == nil {
		return
	}
	p := Progress{Trial: t, Step: step, Failure: failure, Done: c.done, Total: len(c.trials), Failures: c.outcome.Invalid}
	if c.remaining.beyond.n > 0 {
		p.Left = c.remaining.time(c.Plan.Study.Design.CoolDown)
		last := c.Plan.Trials[len(c.Plan.Trials)-1].Block
		p.Left = max(p.Left, c.Plan.Study.Design.Gap()*time.Duration(last-t.Block))
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
