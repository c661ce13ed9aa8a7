package stack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
)

// A Session is the conversation of one trial with two programs, a server and a
// client (stacks/PROTOCOL.md). Its methods are called in this order:
//
//	StartServer   serve → ready: the server listens
//	StartClient   call  → ready: the client is connected to its URL
//	WarmUp        run   → end, report → end: both sides forget the requests
//	Measure       run   → records, report → records
//	End           closes both programs' input and waits for the end of their output
//
// WarmUp and Measure may be repeated. Every wait ends with its context. It knows
// no process: in this one, in an emulated guest, in the conformance kit and in a
// test with net.Pipe it is the same. It is not for concurrent use, and of no
// further use after an error of WarmUp or Measure.
//
// What a program did wrong is a *SideError; any other error is of a caller's own
// function or sink, as that returned it.
type Session struct {
	// Server is nil where the server is no program of the session's: a service that
	// is already running. StartServer is not called then, and there are no records of it.
	Server, Client *Conn

	ReadyWithin time.Duration // limit of each wait for "ready"; 0: as long as the context lasts
	EndWithin   time.Duration // limit of each program's end; 0: as long as the context lasts
	// Late is how long a client may take to end a run after the duration that it was told; 0: as long
	// as the context lasts. A run at a rate has no such limit: a backlog is sent after its duration.
	Late time.Duration

	// RunEnded, if not nil, is called when the client has ended a run and before
	// more than the first of its records is read: the moment to read a process's
	// CPU time and memory, since printing records is no part of the run.
	RunEnded func() error

	// Sampled says that the client may keep fewer records than it sent requests.
	Sampled bool

	// Phases that the client reported so far.
	Phases Phases

	called time.Time // when the client was; zero: by nobody here, so its phases have no bound
}

// A Sink receives one side's records of a measured run.
type Sink interface {
	// Record takes one exchange; an error ends the run and is returned as it is.
	Record(x measure.Exchange) error
	// End closes the records. It is called once, and only if they were complete.
	End(e End) error
}

// A Span is when something happened, on the clock of the session's process.
type Span struct{ Began, Ended time.Time }

// Length is how long it took.
func (s Span) Length() time.Duration { return s.Ended.Sub(s.Began) }

// A SideError says which program did not do what, and why.
type SideError struct {
	Side   measure.Side
	DidNot string // such as `did not say "ready"`
	Err    error  // nil: there is no more to say
}

func (e *SideError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("the %s %s", e.Side, e.DidNot)
	}
	return fmt.Sprintf("the %s %s: %v", e.Side, e.DidNot, e.Err)
}

// Unwrap returns the cause.
func (e *SideError) Unwrap() error { return e.Err }

var (
	errNoURL  = errors.New(`its "ready" has no usable "url"`)
	errCounts = errors.New("it miscounted")
)

// MostRecordsOfTime is the limit of one side's records of a run that is bounded
// by its duration only. A run of a number of requests has that number as its limit.
const MostRecordsOfTime = 20_000_000

// NotReady is what a program did not that did not become ready.
const NotReady = `did not say "ready"`

// StartServer makes the server listen. Its answer has a URL with a scheme and a
// host. Of the credentials it is told those that its side needs, as is the client.
func (s *Session) StartServer(ctx context.Context, request Serve) (Ready, error) {
	ctx, cancel := limited(ctx, s.ReadyWithin)
	defer cancel()
	request.Credentials = CredentialsFor(request.Security, measure.Server, request.Credentials)
	ready, err := s.Server.Serve(ctx, request)
	if err == nil {
		if u, bad := url.Parse(ready.URL); bad != nil || u.Scheme == "" || u.Host == "" {
			err = fmt.Errorf("%w: %q", errNoURL, clip([]byte(ready.URL)))
		}
	}
	return ready, blame(ctx, measure.Server, NotReady, err)
}

// StartClient makes the client ready to send requests.
func (s *Session) StartClient(ctx context.Context, request Call) (Ready, error) {
	ctx, cancel := limited(ctx, s.ReadyWithin)
	defer cancel()
	request.Credentials = CredentialsFor(request.Security, measure.Client, request.Credentials)
	s.called = time.Now()
	ready, err := s.Client.Call(ctx, request)
	if err == nil {
		err = s.learn(ready.Phases)
	}
	return ready, blame(ctx, measure.Client, NotReady, err)
}

// learn takes phases that the client tells. None is longer than it has been since the client was called.
func (s *Session) learn(p Phases) error {
	for _, x := range []struct {
		name string
		took time.Duration
	}{{"discovery", p.Discovery}, {"metadata", p.Metadata}, {"first_invoke", p.FirstInvoke}} {
		since := time.Since(s.called)
		switch {
		case x.took < 0:
			return fmt.Errorf("%w: a negative phase: %s %s", errNotProtocol, x.name, plural.Duration(x.took))
		case !s.called.IsZero() && x.took > since+since/100+phaseSlack:
			return fmt.Errorf("%w: %s %s, but it was called %s ago on the lab's clock", errNotProtocol, x.name,
				plural.Duration(x.took), plural.Duration(since))
		}
	}
	s.Phases = s.Phases.Or(p)
	return nil
}

// phaseSlack is what two machines' clocks may differ by, and 1 % more.
const phaseSlack = 10 * time.Millisecond

// A WarmUp is what a warm-up came to.
type WarmUp struct {
	// Requests as each side counted them. They may differ without a fault: on a link
	// that loses packets the server may have seen fewer, or one of them twice.
	Client, Server int
	Repeated       int // by the client, over another connection
	Failures           // of the client's requests
	Span               // the client's run, without the server's report
}

// WarmUp has the client send requests that nobody records, and the server forget
// them.
func (s *Session) WarmUp(ctx context.Context, run Run) (WarmUp, error) {
	run.Record = false
	out := WarmUp{Span: Span{Began: time.Now()}}
	due, cancel, _ := s.dueIn(ctx, run)
	defer cancel()
	end, err := s.Client.run(due, run, 0, nil)
	out.Ended = time.Now()
	if err == nil {
		err = s.learn(end.Phases)
	}
	if err == nil && run.Requests > 0 && run.Duration == 0 && end.Count != run.Requests {
		err = fmt.Errorf("%w: %d requests instead of %d", errCounts, end.Count, run.Requests)
	}
	if err != nil {
		return out, s.orServer(due, blame(due, measure.Client, "did not end its warm-up", err))
	}
	out.Client, out.Failures, out.Repeated = end.Count, end.Failures, end.Repetitions
	if s.RunEnded != nil {
		if err := s.RunEnded(); err != nil {
			return out, err
		}
	}
	if s.Server == nil {
		return out, nil
	}
	end, err = s.Server.report(ctx, true, 0, nil)
	out.Server = end.Count
	return out, blame(ctx, measure.Server, "did not report on the warm-up", err)
}

// Measure has the client send requests that both sides record. The client's
// records go to their sink before the server's are asked for: only one side's
// need to be in memory at a time. The span is the client's run, without records.
func (s *Session) Measure(ctx context.Context, run Run, client, server Sink) (Span, error) {
	run.Record = true
	most := MostRecordsOfTime
	if run.Requests > 0 {
		most = run.Requests
	}
	span := Span{Began: time.Now()}
	due, cancel, inTime := s.dueIn(ctx, run)
	defer cancel()
	ended := func() error {
		inTime()
		span.Ended = time.Now()
		if s.RunEnded == nil {
			return nil
		}
		return s.RunEnded()
	}
	n, err := s.receive(due, measure.Client, "did not end its run", ended, client, func(emit emitter) (End, error) {
		return s.Client.run(due, run, most, emit)
	})
	if err != nil || s.Server == nil {
		return span, s.orServer(due, err)
	}
	// A server may have seen a request that the client gave up, or one of them twice.
	most = 2*n + 1000
	if s.Sampled { // n is not how many there were
		most = MostRecordsOfTime
	}
	_, err = s.receive(ctx, measure.Server, "did not report on the run", nil, server, func(emit emitter) (End, error) {
		return s.Server.report(ctx, false, most, emit)
	})
	return span, err
}

// orServer is err, of a client that did not end its run in time, or what the server did meanwhile: one that writes to
// its standard output unasked fills the pipe, and then waits in the middle of a request for somebody who reads it.
func (s *Session) orServer(due context.Context, err error) error {
	if s.Server == nil || err == nil || !errors.Is(due.Err(), context.DeadlineExceeded) &&
		!errors.Is(context.Cause(due), context.DeadlineExceeded) { // of its own accord, or stopped by somebody
		return err
	}
	text := s.Server.unasked()
	if text == "" {
		return err
	}
	return &SideError{measure.Server, "wrote to its standard output unasked, which nobody reads during a run; it may " +
		"wait for that, so that the client did not end", fmt.Errorf("%w: %q; stdout belongs to the protocol alone",
		errNotProtocol, text)}
}

// receive hands one side's records to its sink; first is called at the first of
// them, or at the end if there are none.
func (s *Session) receive(ctx context.Context, side measure.Side, didNot string, first func() error, sink Sink,
	fetch func(emitter) (End, error)) (int, error) {
	var own error // not the program's fault
	begin := func() error {
		if first == nil {
			return nil
		}
		f := first
		first = nil
		return f()
	}
	end, err := fetch(func(x measure.Exchange) error {
		if own = begin(); own == nil {
			own = sink.Record(x)
		}
		return own
	})
	if own != nil {
		return 0, own
	}
	if err != nil {
		return 0, blame(ctx, side, didNot, err)
	}
	if err := begin(); err != nil {
		return 0, err
	}
	if err := s.learn(end.Phases); err != nil {
		return 0, blame(ctx, side, didNot, err)
	}
	return end.Count, sink.End(end)
}

// End closes the client's input and then the server's, and waits for each until it
// has closed its output, to which it must print nothing more.
func (s *Session) End(ctx context.Context) error {
	for _, p := range []struct {
		side measure.Side
		conn *Conn
	}{{measure.Client, s.Client}, {measure.Server, s.Server}} {
		if p.conn == nil {
			continue
		}
		ctx, cancel := limited(ctx, s.EndWithin)
		err := blame(ctx, p.side, "did not exit", p.conn.End(ctx))
		cancel()
		var late limitError
		if errors.As(err, &late) {
			return &SideError{Side: p.side, DidNot: fmt.Sprintf("did not exit %v of the end of its input", late)}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dueIn limits the wait for the end of a run that a duration limits, until inTime is called.
func (s *Session) dueIn(ctx context.Context, run Run) (due context.Context, cancel func(), inTime func()) {
	if s.Late == 0 || run.Duration == 0 || run.Rate > 0 {
		return ctx, func() {}, func() {}
	}
	due, end := context.WithCancelCause(ctx)
	most := time.Duration(run.Duration)
	timer := time.AfterFunc(most+s.Late, func() { end(lateError{most, s.Late}) })
	return due, func() { timer.Stop(); end(nil) }, func() { timer.Stop() }
}

// lateError is the cause of the end of a run that did not end by itself.
type lateError struct{ run, late time.Duration }

func (e lateError) Error() string {
	return fmt.Sprintf("it was told to run for %s and had not ended %s later", plural.Duration(e.run),
		plural.Duration(e.late))
}
func (lateError) Is(err error) bool { return err == context.DeadlineExceeded }

// limited limits a wait; a d of 0 does not.
func limited(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d, limitError{d})
}

// limitError is the cause of a wait's end.
type limitError struct{ d time.Duration }

func (e limitError) Error() string   { return "within " + plural.Duration(e.d) }
func (limitError) Is(err error) bool { return err == context.DeadlineExceeded }

// blame makes err one of a side's program; the end of a wait is told by its cause.
func blame(ctx context.Context, side measure.Side, didNot string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		cause := context.Cause(ctx)
		if errors.Is(err, errDeaf) {
			cause = fmt.Errorf("%w: %w", errDeaf, cause)
		}
		err = cause
	}
	return &SideError{side, didNot, err}
}
