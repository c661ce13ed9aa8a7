package lab

import (
	"context"
	"fmt"
	"time"

	"edgegauge.example/edgegauge/internal/store"
)

// awaitBlock waits until the trial's block may begin, if it has not: a block of a study that is spread
// over a time begins no sooner than its gap after the block before it, so that the blocks' differences hold
// what changes from one hour to the next. Blocks of a run that was stopped are spread as well.
func (c *conductor) awaitBlock(ctx context.Context, next store.TrialState) error {
	gap := c.Plan.Study.Design.Gap()
	if gap == 0 {
		return nil
	}
	latest, begun, err := c.latestBlock(next.Block)
	if err != nil || begun || latest.IsZero() {
		return err
	}
	// A clock that was set back must not make anybody wait for years.
	wait := min(gap, time.Until(latest.Add(gap)))
	if wait <= 0 {
		return nil
	}
	c.tell(c.trials[next.ID], fmt.Sprintf("wait until %s, since the blocks are spread",
		time.Now().Add(wait).Local().Format("15:04:05")), nil)
	c.rest() // who measures meanwhile is not disturbed
	defer func() { c.rest = c.measures() }()
	return sleep(ctx, wait)
}

// latestBlock is when the latest of the blocks began, zero if none did, and whether this one has.
func (c *conductor) latestBlock(block int) (began time.Time, begun bool, err error) {
	attempts, err := c.Store.Attempts(0)
	if err != nil {
		return began, false, err
	}
	first := map[int]time.Time{}
	for _, a := range attempts {
		t, mine := c.trials[a.Trial]
		if !mine {
			continue
		}
		if at, seen := first[t.Block]; !seen || a.Began.Before(at) {
			first[t.Block] = a.Began
		}
	}
	for _, at := range first {
		if at.After(began) {
			began = at
		}
	}
	_, begun = first[block]
	return began, begun, nil
}
