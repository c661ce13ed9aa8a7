package wire

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Attend tells when the hub has said nothing for so long, and when it answers again, until ctx ends.
func (b *Board) Attend(ctx context.Context, patience time.Duration, tell func(string)) {
	attend(ctx, b.nc, b.url, patience, tell)
}

// Attend tells when the hub has said nothing for so long, and when it answers again, until ctx ends.
func (b *Bench) Attend(ctx context.Context, patience time.Duration, tell func(string)) {
	attend(ctx, b.nc, b.url, patience, tell)
}

// A hub that is stopped keeps its connections, and the library takes minutes to see it.
func attend(ctx context.Context, nc *nats.Conn, url string, patience time.Duration, tell func(string)) {
	answers := make(chan struct{})
	go ask(ctx, nc, patience/beats, answers)
	silent, since := false, time.Now()
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-answers:
			if silent {
				tell("the hub answers again")
			}
			silent, since = false, time.Now()
			over.Reset(patience)
		case <-over.C:
			if time.Since(since) > patience*3/2 { // this process itself stood still
				since = time.Now()
				over.Reset(patience)
				continue
			}
			silent = true
			tell(fmt.Sprintf("the hub at %s has not answered for %v; is it running, and reachable from here? This waits for "+
				"it; to stop and go on later, press ^C", url, patience))
		}
	}
}

// beats is how often a hub is asked while patience lasts.
const beats = 4

// ask asks the hub every so often, and passes on that it answered, or said anything else: on a slow line what was
// asked waits behind results. It may be held up by a write that waits, and so has a goroutine of its own.
func ask(ctx context.Context, nc *nats.Conn, every time.Duration, answers chan<- struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		before := nc.Stats().InMsgs
		if nc.IsConnected() && nc.FlushTimeout(every) == nil || nc.Stats().InMsgs != before {
			select {
			case answers <- struct{}{}:
			case <-ctx.Done():
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// farewell is for how long a hub is waited for once more, when its connection is to end.
const farewell = 2 * time.Second

// errSilent is that a hub takes or says nothing.
var errSilent = errors.New("the hub does not answer")

// within waits for do, but no longer: the library holds up for a minute whoever has to do with a connection of which
// a write waits. Then do is left to itself.
func within(most time.Duration, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(most):
		return errSilent
	}
}
