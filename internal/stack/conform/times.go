package conform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/stack"
)

// session runs do between the server and a client of its own stack, or else a
// peer's; ran is false if there is neither.
func (c suite) session(srv *stack.Conn, client *program, asked stack.Call,
	do func(context.Context, *stack.Session) error) (ran bool, err error) {
	if c.has("client") {
		return true, c.seated(client, asked, srv, do)
	}
	peer, crossed := c.peer(asked.Service)
	if !crossed {
		return false, nil
	}
	return true, c.with(peer, "call", func(ctx context.Context, cl *stack.Conn) error {
		if _, err := call(ctx, cl, asked); err != nil {
			return err
		}
		return do(ctx, &stack.Session{Server: srv, Client: cl})
	})
}

// times checks that neither side leaves a phase at 0 in all records.
func (c suite) times(srv *stack.Conn, client *program, s, at string) error {
	var asked, answered exchangesOf
	ran, err := c.session(srv, client, c.call(s, at, 1023), func(ctx context.Context, both *stack.Session) error {
		_, err := both.Measure(ctx, stack.Run{Requests: 5}, &asked, &answered)
		return err
	})
	if err != nil || !ran {
		return err
	}
	err = timed("server", answered, "deserialization", "processing", "serialization", "total")
	if c.has("client") {
		err = errors.Join(err, timed("client", asked, "serialization", "deserialization", "total"))
	}
	if err != nil || !c.first || !c.grows(s) {
		return err
	}
	quickest := map[string][]time.Duration{}
	for range 3 {
		if err := c.grow(srv, client, s, at, quickest); err != nil {
			return err
		}
		if judgeGrowth(quickest, func(time.Duration) time.Duration { return sureGrowth }) == nil {
			return nil
		}
	}
	return judgeGrowth(quickest, leastGrowth)
}

// grows says whether the largest message that the stack is asked with is so large that each machine needs more time
// for it than for a small one, if another n makes another message at all.
func (c suite) grows(s string) bool {
	_, small := c.d.Deviates[largeMessages]
	return !small && s != string(service.Temperature)
}

// sureGrowth is by how much a phase is longer of a large message than of a small one if nothing else explains it.
// Less may be that of a busy machine, or of memory that is out of the caches: it is looked for again, and the
// quickest of all count.
const sureGrowth = 20 * time.Microsecond

// leastGrowth is by how much it is longer at least: no machine copies the largest message of the kit within a
// microsecond, nor within two where an interpreter or a cold cache makes a small one slow.
func leastGrowth(small time.Duration) time.Duration {
	return min(max(small, time.Microsecond), 2*time.Microsecond)
}

// grow notes how long encoding and decoding a small message takes, and a large one: the quickest of some. They
// are alike where a message was encoded once beforehand, or where times are in another unit.
func (c suite) grow(srv *stack.Conn, client *program, s, at string, quickest map[string][]time.Duration) error {
	sizes := c.messageSizes()
	for i, n := range []int{1, sizes[len(sizes)-1]} {
		var asked, answered exchangesOf
		_, err := c.session(srv, client, c.call(s, at, n), func(ctx context.Context, both *stack.Session) error {
			_, err := both.Measure(ctx, stack.Run{Requests: recorded}, &asked, &answered)
			return err
		})
		if err != nil {
			return err
		}
		note := func(side, phase string, records exchangesOf, of func(measure.Exchange) time.Duration) {
			var all []time.Duration
			for _, x := range records {
				all = append(all, of(x))
			}
			phase = side + "'s " + phase
			if q := quickest[phase]; len(all) > 0 && len(q) > i {
				q[i] = min(q[i], slices.Min(all))
			} else if len(all) > 0 && len(q) == i {
				quickest[phase] = append(q, slices.Min(all))
			}
		}
		serialization := func(x measure.Exchange) time.Duration { return x.Serialization }
		deserialization := func(x measure.Exchange) time.Duration { return x.Deserialization }
		note("server", "deserialization", answered, deserialization)
		if s == string(service.Echo) {
			note("server", "serialization", answered, serialization)
		}
		if c.has("client") {
			note("client", "serialization", asked, serialization)
			if s == string(service.Echo) {
				note("client", "deserialization", asked, deserialization)
			}
		}
	}
	return nil
}

// judgeGrowth judges the quickest small and the quickest large message of each phase.
func judgeGrowth(quickest map[string][]time.Duration, least func(time.Duration) time.Duration) error {
	for _, phase := range slices.Sorted(maps.Keys(quickest)) {
		if q := quickest[phase]; len(q) == 2 && q[1] < q[0]+least(q[0]) {
			return fmt.Errorf("the %s (%v, %v) is as long for a large message as for a small one: is it a message's own "+
				"time, in ns?", phase, q[0], q[1])
		}
	}
	return nil
}

// timed finds a phase that is 0 in all records.
func timed(side string, records exchangesOf, phases ...string) error {
	var errs []error
	for _, p := range phases {
		f, _ := measure.FindField(p)
		if !slices.ContainsFunc(records, func(x measure.Exchange) bool { return f.Value(&x) > 0 }) {
			errs = append(errs, fmt.Errorf("the %s's %s is 0 in all %d records", side, p, len(records)))
		}
	}
	return errors.Join(errs...)
}

// waits checks that requests on one connection do not wait for a timer of TCP, as they
// do where a message is sent in two writes. What waits once may be a busy machine's.
func (c suite) waits(srv *stack.Conn, client *program, s, at string) error {
	var err error
	for range 3 {
		var asked, answered exchangesOf
		ran, e := c.session(srv, client, c.call(s, at, messageN), func(ctx context.Context, both *stack.Session) error {
			_, err := both.Measure(ctx, stack.Run{Requests: recorded}, &asked, &answered)
			return err
		})
		if e != nil || !ran {
			return e
		}
		if err = waited(asked, answered); err == nil {
			return nil
		}
	}
	return err
}

// waited finds a timer for which a third of the requests or more waited: RTT less what
// the server says that it did.
func waited(asked, answered exchangesOf) error {
	for _, t := range measure.Timers {
		n := 0
		for i, x := range asked {
			if i < len(answered) && t.Holds((x.RTT() - answered[i].Total).Seconds()) {
				n++
			}
		}
		if 3*n >= len(asked) {
			return fmt.Errorf("%d of %d requests waited: RTT, less the server's total, lies %s", n, len(asked), t.Says)
		}
	}
	return nil
}

// knownDelays are by how much a service is made slower. A delay that seems to be in the wrong phase is tried again
// longer: a program that a busy machine makes slow takes no longer then, one that misplaces the delay does.
var knownDelays = []time.Duration{50 * time.Millisecond, 500 * time.Millisecond}

// delays checks that a known slowness of the service shows in processing and
// nowhere else, and in the client's RTT. Times of a busy machine are longer: lower
// bounds hold for every request, upper ones for the quickest.
//
// What a stack takes by itself shrinks as its virtual machine compiles: more rounds follow while the quickest is too
// slow.
func (c suite) delays(srv *stack.Conn, client *program, s, at string, knownDelay time.Duration) error {
	const rounds = 6
	var err error
	for range rounds {
		if err = c.delayed(srv, client, s, at, knownDelay); !errors.Is(err, errMisplaced) {
			return err
		}
	}
	return err
}

// errMisplaced: the delay may show where it should not.
var errMisplaced = errors.New("the delay shows where it should not")

func (c suite) delayed(srv *stack.Conn, client *program, s, at string, knownDelay time.Duration) error {
	var asked, answered exchangesOf
	ran, err := c.session(srv, client, c.call(s, at, messageN), func(ctx context.Context, both *stack.Session) error {
		_, err := both.Measure(ctx, stack.Run{Requests: 5}, &asked, &answered)
		return err
	})
	if err != nil || !ran {
		return err
	}
	return delayShows(asked, answered, knownDelay)
}

// delayShows finds a known delay of the service that does not show in processing and RTT, or shows elsewhere.
func delayShows(asked, answered exchangesOf, knownDelay time.Duration) error {
	const clocks = time.Millisecond
	if len(asked) != len(answered) {
		return fmt.Errorf("%d records of the client, %d of the server", len(asked), len(answered))
	}
	for i, x := range answered {
		if x.Processing < knownDelay-clocks {
			return fmt.Errorf("server's record %d: processing %v, with a delay of %v in it", x.Seq, x.Processing, knownDelay)
		}
		if rtt := asked[i].RTT(); rtt < knownDelay-clocks {
			return fmt.Errorf("request %d: RTT %v, of a server that takes %v", asked[i].Seq, rtt, knownDelay)
		}
	}
	for _, p := range elsewhere {
		quickest := time.Duration(1 << 62)
		for i := range asked {
			quickest = min(quickest, p.of(asked[i], answered[i], knownDelay))
		}
		if quickest >= knownDelay {
			return fmt.Errorf("%w: %s %v or more, with a delay of %v", errMisplaced, p.words, quickest, knownDelay)
		}
	}
	return nil
}

// elsewhere is where a delay of the service must not show, of a request as its client and its server recorded it.
var elsewhere = []struct {
	words string
	of    func(client, server measure.Exchange, delay time.Duration) time.Duration
}{
	{"processing exceeds the delay by", func(_, s measure.Exchange, delay time.Duration) time.Duration {
		return s.Processing - delay
	}},
	{"the server's deserialization and serialization take", func(_, s measure.Exchange, _ time.Duration) time.Duration {
		return s.Deserialization + s.Serialization
	}},
	{"the rest of the server's total is", func(_, s measure.Exchange, _ time.Duration) time.Duration {
		return s.Total - s.Deserialization - s.Processing - s.Serialization
	}},
	{"the client's serialization and deserialization take", func(c, _ measure.Exchange, _ time.Duration) time.Duration {
		return c.Serialization + c.Deserialization
	}},
	{"the client's connecting takes", func(c, _ measure.Exchange, _ time.Duration) time.Duration { return c.Connection }},
	{"RTT exceeds the server's total by", func(c, s measure.Exchange, _ time.Duration) time.Duration {
		return c.RTT() - s.Total
	}},
}

// paces checks the due instants of runs that are paced. A client that does not
// support a setting may say so: it ends then, and another goes on.
func (c suite) paces(srv *stack.Conn, client *program, s, at string) error {
	runs := []stack.Run{
		{Requests: 4, Interval: int64(paceStep)},
		{Requests: 4, Rate: float64(time.Second) / float64(paceStep), Arrival: "constant"},
		{Duration: int64(5 * paceStep), Interval: int64(paceStep)},
		{Requests: poissonRequests, Rate: 500, Arrival: "poisson", Seed: 7},
		{Requests: 300, Duration: int64(2 * paceStep)},                              // more than are answered within that
		{Duration: int64(time.Millisecond / 2), Rate: 100_000, Arrival: "constant"}, // more than a client can send
	}
	for len(runs) > 0 {
		before := len(runs)
		err := c.seated(client, c.call(s, at, messageN), srv, func(ctx context.Context, both *stack.Session) error {
			for len(runs) > 0 {
				run := runs[0]
				runs = runs[1:]
				if err := pacedRun(ctx, both, run); err != nil {
					return err
				}
			}
			return nil
		})
		var own *stack.ProgramError
		if err != nil && (!errors.As(err, &own) || len(runs) == before) {
			return err
		}
	}
	return nil
}

// poissonRequests are so many that no generator of random numbers makes them look even: each client has its own.
const poissonRequests = 24

// paceStep is the time between two requests that are due evenly.
const paceStep = 20 * time.Millisecond

// pacedRun has a run, and judges when its requests were due and sent.
func pacedRun(ctx context.Context, both *stack.Session, run stack.Run) error {
	const clocks = time.Millisecond
	const rounding = 10 * time.Microsecond // of an instant that a rate alone determines
	var asked, answered exchangesOf
	span, err := both.Measure(ctx, run, &asked, &answered)
	if err != nil {
		return err
	}
	if len(asked) == 0 || run.Requests > 0 && run.Duration == 0 && len(asked) != run.Requests {
		return fmt.Errorf("%d records of a run %s", len(asked), words(run))
	}
	// the span began before the run, and ended when the first record was read
	if done := asked[len(asked)-1].Done; span.Length() < done {
		return fmt.Errorf("records were printed %v after the beginning of a run %s whose last answer came after %v: print "+
			"them when it is over", span.Length(), words(run), done)
	}
	step := time.Duration(run.Interval)
	if run.Rate > 0 {
		step = time.Duration(float64(time.Second) / run.Rate)
	}
	if run.Duration > 0 && run.Arrival == "constant" {
		if due := int(time.Duration(run.Duration) / step); len(asked) < due-1 || len(asked) > due+1 {
			return fmt.Errorf("%d records of a run %s, in which %d requests are due: at a rate all are sent, the late ones "+
				"after the duration", len(asked), words(run), due)
		}
	}
	for i, x := range asked {
		var due time.Duration
		if i > 0 {
			due = x.Due - asked[i-1].Due
		}
		switch {
		case x.Sent < x.Due:
			return fmt.Errorf("request %d: sent %v before it is due, in a run %s", x.Seq, x.Due-x.Sent, words(run))
		case i > 0 && run.Arrival != "poisson" && due < step-clocks,
			i > 0 && run.Arrival == "constant" && due > step+rounding:
			return fmt.Errorf("request %d: due %v after the one before, in a run %s", x.Seq, due, words(run))
		case run.Duration > 0 && x.Due >= time.Duration(run.Duration):
			return fmt.Errorf("request %d: due at %v, in a run %s", x.Seq, x.Due, words(run))
		}
	}
	if run.Arrival == "poisson" && even(asked, clocks) {
		return fmt.Errorf("requests are due at even intervals, in a run %s", words(run))
	}
	return nil
}

// even says whether requests are due at intervals that differ by less than clocks.
func even(asked exchangesOf, clocks time.Duration) bool {
	for i := 2; i < len(asked); i++ {
		if ((asked[i].Due - asked[i-1].Due) - (asked[1].Due - asked[0].Due)).Abs() >= clocks {
			return false
		}
	}
	return true
}

// words say what a run is told.
func words(r stack.Run) string {
	var w []string
	if r.Requests > 0 {
		w = append(w, fmt.Sprintf("of %d requests", r.Requests))
	}
	if r.Duration > 0 {
		w = append(w, fmt.Sprint("of ", time.Duration(r.Duration)))
	}
	if r.Interval > 0 {
		w = append(w, fmt.Sprint("every ", time.Duration(r.Interval)))
	}
	if r.Rate > 0 {
		w = append(w, fmt.Sprintf("at %v/s, %s", r.Rate, r.Arrival))
	}
	return strings.Join(w, ", ")
}

// givesUp has the client ask a server that takes the connection and says nothing.
func (c suite) givesUp(client *program, s string) error {
	const timeout = 300 * time.Millisecond
	const clocks = 20 * time.Millisecond // what a timer in another unit may round off, and two clocks differ by
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	if err := c.hung.again(c.d.Name + " runs"); err != nil {
		return err
	}
	asked := c.call(s, c.scheme()+"://"+l.Addr().String()+"/"+s, messageN)
	asked.Timeout = int64(timeout)
	if _, err := client.ask(func(ctx context.Context, to *stack.Conn) (stack.Ready, error) {
		return call(ctx, to, asked)
	}); err != nil {
		var own *stack.ProgramError
		if errors.As(err, &own) {
			return nil // it connects before it is ready, and says why it is not
		}
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, patience/4)
	defer cancel()
	var got []measure.Exchange
	began := time.Now()
	_, err = client.running.Conn().Run(ctx, stack.Run{Requests: 1, Record: true}, func(x measure.Exchange) {
		got = append(got, x)
	})
	waited := time.Since(began)
	switch {
	case err != nil:
		err = fmt.Errorf("a request that nobody answers, with a timeout of %v: %w", timeout, err)
	case len(got) != 1 || got[0].Failure == "":
		err = errors.New("a request that nobody answered is recorded as a success")
	case got[0].Done != 0:
		err = fmt.Errorf("a request that nobody answered is recorded as done at %v", got[0].Done)
	case waited < timeout-clocks:
		err = fmt.Errorf("a request that nobody answered failed after %v already, with a timeout of %v (in ns in the call "+
			"line): %s", waited, timeout, got[0].Failure)
	default:
		return client.rest()
	}
	client.close() // what hangs may leave something behind
	return err
}

// scheme is how a URL of this transport begins.
func (c suite) scheme() string {
	switch {
	case c.wish.Transport == "coap-tcp":
		return "coap+tcp"
	case c.wish.Security == "tls":
		return "https"
	}
	return "http"
}
