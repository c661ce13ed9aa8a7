package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/rpc"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
)

// A Helper is another bench, which drives the servers of this one as well: Lab.Help is at the
// other end of Conn.
type Helper struct {
	Bench string
	Conn  *rpc.Conn
}

// joint is the part of other benches in a trial: a client on each, which begins at the same instant
// as ours. Their records become those of one client.
type joint struct {
	task
	attempt  *store.Attempt
	programs *programs
	helpers  []*helping
	began    time.Duration // when our client was told to, on our clock
	own      *jointSink    // of our client
	apart    time.Duration // the largest difference of the instants of two benches, bound included
}

// A helping is one helper in a trial.
type helping struct {
	Helper
	session       *stack.Session
	sink          *jointSink
	before, after offset
	began         began
	warmUp        stack.WarmUp
	usage         [2]device.Usage // before and after the recorded run
	arrived       chan struct{}   // closed when its run has ended
	turn          chan struct{}   // closed when its records may come
	done          chan struct{}   // closed when its part has ended, with failed
	failed        error
	stopped       bool
}

// leastLead is how long before they begin the benches are told to.
const leastLead = 20 * time.Millisecond

func (j *joint) wanted() bool { return j.setup.Joint() }

// before starts a client on each of the other benches.
func (j *joint) before(context.Context) error {
	t := &j.task
	if !j.wanted() {
		return nil
	}
	if n := t.setup.DrivenFrom - 1; len(t.lab.Helpers) < n {
		return fmt.Errorf("%w: the server is to be driven from %d benches; share the study with run --benches", errLab, n+1)
	}
	for _, h := range t.lab.Helpers[:t.setup.DrivenFrom-1] {
		j.helpers = append(j.helpers, &helping{Helper: h})
	}
	return nil
}

// start starts the clients, which connect to the server.
func (j *joint) start(ctx context.Context) error {
	t := &j.task
	return j.each(func(h *helping) error {
		args := helpArgs{Trial: t.plan.ID, URL: j.programs.url()}
		if !existing(t.setup) {
			var err error
			if args.Credentials, err = carried(t.credentials(atClient)); err != nil {
				return labFault(err)
			}
		}
		var ready stack.Ready
		ctx, cancel := context.WithTimeout(ctx, t.lab.Plan.Study.Timeouts.Ready)
		defer cancel()
		if err := h.Conn.Call(ctx, opClient, args, &ready); err != nil {
			return err
		}
		s := h.Conn.Open()
		go func() { // ends with the client's output, or with the connection
			if h.Conn.Call(context.Background(), opPipe, nil, nil, s) != nil {
				s.Close()
			}
		}()
		h.session = &stack.Session{Client: stack.NewConn(toHelper{s}, s), EndWithin: grace,
			Late: t.overdue()}
		return nil
	})
}

// toHelper is the sending half of a stream.
type toHelper struct{ *rpc.Stream }

func (s toHelper) Close() error { return s.CloseWrite(nil) }

// each does something with all helpers at once, and names the first that failed.
func (j *joint) each(do func(*helping) error) error {
	errs := make([]error, len(j.helpers))
	var running sync.WaitGroup
	for i, h := range j.helpers {
		running.Go(func() { errs[i] = h.blame(do(h)) })
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// blame names the bench. A connection that is lost will not be there for the next trial either.
func (h *helping) blame(err error) error {
	if err == nil {
		return nil
	}
	if h.Conn.Err() != nil || errors.Is(err, rpc.ErrLost) {
		return fmt.Errorf("%w: bench %s: %w", errLab, h.Bench, err)
	}
	return reason{fmt.Errorf("bench %s: %w", h.Bench, err)}
}

// warmUp has all clients send what nobody records. The server is asked for its count when all have ended.
func (j *joint) warmUp(ctx context.Context, run stack.Run) (all stack.WarmUp, err error) {
	err = j.together(ctx, nil, func(ctx context.Context, h *helping) (err error) {
		h.warmUp, err = h.session.WarmUp(ctx, h.share(j, run))
		return err
	}, func(ctx context.Context) (err error) {
		all, err = j.programs.session.WarmUp(ctx, run)
		return j.programs.explain(err)
	})
	for _, h := range j.helpers {
		all.Client += h.warmUp.Client
		all.Repeated += h.warmUp.Repeated
		all.Add(h.warmUp.Failures)
	}
	return all, err
}

// share is a helper's part of a run: the same load, with arrivals of its own.
func (h *helping) share(j *joint, run stack.Run) stack.Run {
	for i, other := range j.helpers {
		if other == h && run.Seed > 0 {
			run.Seed += uint64(i+1) << 32
		}
	}
	return run
}

// measure has all clients begin at one instant. The records of the other benches come before ours,
// one bench after the other, when all runs have ended. How that ends is the same as without other benches.
func (j *joint) measure(ctx context.Context, run stack.Run, client *recorder, server stack.Sink,
	ends runEnd) (ours stack.Span, err error) {
	at, err := j.agree(ctx)
	if err != nil {
		return ours, err
	}
	j.own = &jointSink{recorder: client, joint: j}
	compare := func(ctx context.Context) error { return j.compare(ctx, ends) }
	err = j.together(ctx, compare, func(ctx context.Context, h *helping) error {
		h.sink = &jointSink{recorder: client, joint: j, other: true}
		_, err := h.session.Measure(ctx, h.share(j, run), h.sink, nil)
		return err
	}, func(ctx context.Context) (err error) {
		sleepUntil(at)
		j.began = kernel.Monotonic()
		ours, err = j.programs.session.Measure(ctx, run, j.own, server)
		return j.programs.explain(err)
	})
	return ours, err
}

// agree measures the clocks, and tells all benches when to begin: the instant on our clock.
func (j *joint) agree(ctx context.Context) (at time.Duration, err error) {
	lead := leastLead
	for _, h := range j.helpers { // one after the other, so that none delays another
		if h.before, err = measureOffset(ctx, h.Conn); err != nil {
			return 0, h.blame(err)
		}
		lead = max(lead, 20*h.before.Bound)
	}
	at = kernel.Monotonic() + lead
	return at, j.each(func(h *helping) error { return h.Conn.Call(ctx, opHold, at+h.before.Ahead, nil) })
}

// together runs a part of the session with all clients at once. When all have ended it calls ended,
// and lets the records of the helpers come, then ours. The first that fails ends the others.
func (j *joint) together(ctx context.Context, ended func(context.Context) error,
	theirs func(context.Context, *helping) error, ours func(context.Context) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	wait := func(c <-chan struct{}) error {
		select {
		case <-c:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for _, h := range j.helpers {
		h.arrived, h.turn, h.done = make(chan struct{}), make(chan struct{}), make(chan struct{})
		h.session.RunEnded = func() error {
			close(h.arrived)
			return wait(h.turn)
		}
		go func() {
			defer close(h.done)
			if h.failed = h.blame(theirs(ctx, h)); h.failed != nil {
				fail(h.failed)
			}
		}()
	}
	j.programs.session.RunEnded = func() error {
		for _, h := range j.helpers {
			if err := wait(h.arrived); err != nil {
				return err
			}
		}
		if ended != nil {
			if err := ended(ctx); err != nil {
				return err
			}
		}
		for _, h := range j.helpers {
			close(h.turn)
			if <-h.done; h.failed != nil {
				return h.failed
			}
		}
		return nil
	}
	defer func() { j.programs.session.RunEnded = nil }()
	err := ours(ctx)
	if err != nil {
		fail(err)
	}
	for _, h := range j.helpers {
		if <-h.done; h.failed != nil {
			err = context.Cause(ctx) // of whoever failed first
		}
	}
	return err
}

// compare takes what the run cost, and what the clocks say when it has ended: the instants at which
// benches began, on our clock.
func (j *joint) compare(ctx context.Context, ends runEnd) error {
	if err := ends.cost(); err != nil {
		return err
	}
	if err := j.each(func(h *helping) error { return h.Conn.Call(ctx, opBegan, nil, &h.began) }); err != nil {
		return err
	}
	first := j.began
	for _, h := range j.helpers {
		var err error
		if h.after, err = measureOffset(ctx, h.Conn); err != nil {
			return h.blame(err)
		}
		first = min(first, h.at())
	}
	j.own.shift = j.began - first
	for _, h := range j.helpers {
		h.usage = h.began.Usage
		h.sink.shift = h.at() - first
	}
	j.apart = j.farthest()
	return ends.behind(ctx)
}

// runs are those of all benches, the helpers' first: ours has no name. Without other benches there are none.
func (j *joint) runs() (all []benchRun) {
	if j.own == nil {
		return nil
	}
	for _, h := range j.helpers {
		all = append(all, benchRun{h.Bench, h.sink.end.CPU, h.sink.last})
	}
	return append(all, benchRun{"", j.own.end.CPU, j.own.last})
}

// end is what all clients said at the end of their records.
func (j *joint) end(own stack.End) stack.End {
	all := own
	for _, h := range j.helpers {
		e := h.sink.end
		all.Count += e.Count
		all.Repetitions += e.Repetitions
		all.Retransmissions += e.Retransmissions
		all.Reconnects += e.Reconnects
		all.Surplus += e.Surplus
		all.Unsure += e.Unsure
		if all.CPU += e.CPU; e.CPU == 0 || own.CPU == 0 { // one that does not say leaves it to the kernel
			all.CPU = 0
		}
	}
	return all
}

// addUsage adds what the helpers' clients used.
func (j *joint) addUsage(to *usage) {
	for when := range to.of[atClient] {
		u := &to.of[atClient][when]
		for _, h := range j.helpers {
			v := h.usage[when]
			u.CPU += v.CPU
			u.Waiting += v.Waiting
			u.WaitingUntold = u.WaitingUntold || v.WaitingUntold
			u.PeakRSS, u.PeakLacks = max(u.PeakRSS, v.PeakRSS), max(u.PeakLacks, v.PeakLacks)
			u.Killed += v.Killed
			u.Periods += v.Periods
			u.Throttled += v.Throttled
			u.ThrottledFor += v.ThrottledFor
		}
	}
}

// keep writes which bench sent which requests, and how far apart they began.
func (j *joint) keep() error {
	if !j.wanted() {
		return nil
	}
	out := store.Joint{Apart: j.apart, Allowed: j.setup.MostApart()}
	at := uint64(1)
	for _, h := range j.helpers {
		out.Benches = append(out.Benches, store.JointBench{Bench: h.Bench, First: at, Requests: h.sink.n,
			Began: h.sink.shift, Ahead: h.before.Ahead, Bound: h.bound()})
		at += uint64(h.sink.n)
	}
	out.Benches = append(out.Benches, store.JointBench{Bench: j.lab.Bench, First: at, Requests: j.own.n,
		Began: j.own.shift})
	b, err := json.MarshalIndent(out, "", "  ")
	if err == nil {
		err = j.attempt.Keep(store.JointFile, append(b, '\n'))
	}
	return labFault(err)
}

// after ends the clients.
func (j *joint) after(ctx context.Context) (findings, error) {
	var f findings
	if !j.wanted() {
		return f, nil
	}
	f.note("begun_apart", "s", j.apart.Seconds())
	err := j.each(func(h *helping) error {
		if err := h.session.End(ctx); err != nil {
			return err
		}
		return j.stop(ctx, h)
	})
	return f, err
}

// stop ends a helper's client, and keeps its log.
func (j *joint) stop(ctx context.Context, h *helping) error {
	h.stopped = true
	var e helpExit
	if err := h.Conn.Call(ctx, opStop, nil, &e); err != nil {
		return err
	}
	path, told := logNames(j.attempt, "call-"+h.Bench+".log")
	if len(e.Log) > 0 {
		if err := os.WriteFile(path, e.Log, 0o644); err != nil {
			return labFault(err)
		}
	}
	switch {
	case e.Killed:
		return fmt.Errorf("its client did not exit within %v of the end of its input; see %s", grace, told)
	case e.Orphans > 0:
		return fmt.Errorf("its client left %s; see %s", device.Exit{Orphans: e.Orphans, Left: e.Left}.LeftBehind(), told)
	}
	return nil
}

// close ends clients that nobody has stopped, and keeps their logs, which may say what was wrong.
func (j *joint) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*grace)
	defer cancel()
	j.each(func(h *helping) error {
		if h.stopped {
			return nil
		}
		return j.stop(ctx, h)
	})
}
