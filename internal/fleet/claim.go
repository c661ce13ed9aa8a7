package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/study"
)

// ErrAnother means that another coordinator is at work: benches would be torn between
// the two.
var ErrAnother = errors.New("another study is shared on this hub now; wait until it is done, or stop it")

// A Hold says which coordinator conducts.
type Hold struct {
	ID string `json:"id"` // NewID, of a coordinator's process
	// Place is store.Store's, of its results directory. Who holds its lock knows that whoever
	// held it before has ended.
	Place string `json:"place"`
	Words string `json:"words"` // for people
}

// A Register keeps one Hold for all coordinators of a hub. Each write has a greater
// revision than those before, unless the hub was emptied or set back.
type Register interface {
	// Read returns what was written last, or what was before it; revision 0: nothing.
	Read(ctx context.Context) (Hold, uint64, error)
	// Write fails unless after is still the last revision, and returns the new one.
	Write(ctx context.Context, h Hold, after uint64) (uint64, error)
	// Remove empties the register if after is still the last revision.
	Remove(ctx context.Context, after uint64) error
	// Ask returns the Hold of a coordinator that answers now.
	Ask(ctx context.Context) (Hold, bool)
}

// A Claim makes one of many coordinators the one that conducts. Which of those that start
// at the same instant is decided by the register, which one of them writes first. One that
// was killed is succeeded after a lease without a write, on the monotonic clock of who
// waits; one that was only away for so long no longer holds the claim by then.
type Claim struct {
	Register Register
	Hold     Hold
	Lease    time.Duration
	Tell     func(string) // nil: nobody listens

	mu    sync.Mutex
	until time.Time // the claim is held
	rev   uint64    // of what was written last
	// What another wrote, and when it was seen first.
	other    Hold
	otherRev uint64
	since    time.Time
}

// Held says whether this coordinator conducts now. It ends before another's patience does.
func (c *Claim) Held() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.until)
}

// Take waits until the claim is held, ErrAnother, or a lease in which the register could
// not be reached.
func (c *Claim) Take(ctx context.Context) error {
	reached, told := time.Now(), false
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, c.lease()/(2*beats), time.Second) {
		err := c.step(ctx)
		switch {
		case errors.Is(err, ErrAnother) || c.Held():
			return err
		case err == nil:
			reached = time.Now()
		case time.Since(reached) > c.lease():
			return err
		}
		if err == nil && !told && c.Tell != nil {
			told = true
			c.Tell(fmt.Sprintf("%s was shared on this hub, and its coordinator does not answer: waiting up to %s", c.other.Words,
				study.DurationText(c.lease())))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// Keep holds a claim until ctx ends, or another has it (ErrAnother).
func (c *Claim) Keep(ctx context.Context) error {
	tick := time.NewTicker(c.lease() / beats)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if err := c.step(ctx); errors.Is(err, ErrAnother) {
			return err
		}
	}
}

func (c *Claim) lease() time.Duration { return cmp.Or(c.Lease, Lease) }

// step writes the register if this coordinator may.
func (c *Claim) step(ctx context.Context) error {
	soon := func() (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, c.lease()/(2*beats)) }
	read, done := soon()
	defer done()
	now, rev, err := c.Register.Read(read)
	if err != nil {
		return err
	}
	own := rev > 0 && (now.ID == c.Hold.ID || now.Place == c.Hold.Place)
	if !own && !c.Held() {
		asked, done := soon()
		defer done()
		if h, ok := c.Register.Ask(asked); ok && h.ID != c.Hold.ID {
			return c.another(h)
		}
	}
	if rev > 0 && !own {
		changed := now.ID != c.other.ID || rev != c.otherRev
		switch {
		case c.since.IsZero() || changed && rev < c.rev: // it may be what this coordinator has replaced
			c.other, c.otherRev, c.since = now, rev, time.Now()
			return nil
		case changed: // it lives
			return c.another(now)
		case time.Since(c.since) <= c.lease():
			return nil
		}
	}
	began := time.Now()
	write, done := soon()
	defer done()
	if rev, err = c.Register.Write(write, c.Hold, rev); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// Another counts its lease from after the write, this coordinator from before it.
	c.rev, c.until, c.since = rev, began.Add(c.lease()*(beats-1)/beats), time.Time{}
	return nil
}

func (c *Claim) another(h Hold) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
	return fmt.Errorf("%w (%s)", ErrAnother, printable.Line(h.Words))
}

// Release gives up what Take took, once Keep has ended: the next need not wait.
func (c *Claim) Release(ctx context.Context) error {
	if !c.Held() {
		return nil
	}
	return c.Register.Remove(ctx, c.rev)
}
