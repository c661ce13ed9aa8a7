package capacity

import (
	"context"
	"fmt"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
)

// A Server is what is searched: that of a study, or a simulated one.
type Server interface {
	// Driver measures how many requests/s the driver itself does; 0: it is not known.
	Driver(ctx context.Context) (float64, error)
	// Closed measures how many requests/s the server answers in a closed loop.
	Closed(ctx context.Context) (float64, error)
	// Trials measures what of these blocks of rates it has not measured yet, in their
	// order, and returns the trials of all.
	Trials(ctx context.Context, blocks [][]float64) ([]stat.CapacityTrial, error)
}

// A Conductor conducts a search from its first trial to its last.
type Conductor struct {
	Server Server
	Search stat.CapacitySearch // First is 0 where Bound is to find it
	// Note, if not nil, is called after every block: a search that ends can go on from
	// Search and Blocks.
	Note func() error

	Blocks [][]float64       // rates that were asked for, requests/s
	Driver float64           // requests/s, by Bound; 0: not known
	Step   stat.CapacityStep // the last
}

// Bound finds how far to search and where to begin. The driver bounds the search by half of
// what it can do: above, it would be the driver that is late. A search whose first rate is
// not given begins at half of what the server answers in a closed loop. length is that of a
// trial.
func (c *Conductor) Bound(ctx context.Context, length time.Duration) error {
	var err error
	if c.Driver, err = c.Server.Driver(ctx); err != nil {
		return err
	}
	if c.Driver > 0 {
		if c.Search.Most = min(c.Search.Most, stat.Readable(c.Driver/2)); c.Search.Most < c.Search.Least {
			return fmt.Errorf("the driver does %.0f requests/s here, too few to judge a trial of %s; lengthen it with "+
				"--length, or free a CPU", c.Driver, study.DurationText(length))
		}
	}
	if c.Search.First > 0 {
		return nil
	}
	closed, err := c.Server.Closed(ctx)
	c.Search.First = max(stat.Readable(closed/2), c.Search.Least)
	return err
}

// Conduct measures until the search ends. It goes on from Blocks.
func (c *Conductor) Conduct(ctx context.Context) error {
	for {
		var trials []stat.CapacityTrial
		if len(c.Blocks) > 0 {
			var err error
			if trials, err = c.Server.Trials(ctx, c.Blocks); err != nil {
				return err
			}
			if n := len(slices.Concat(c.Blocks...)); len(trials) != n {
				return fmt.Errorf("%d trials for %d rates", len(trials), n)
			}
		}
		c.Step = c.Search.Next(trials)
		if c.Note != nil && len(c.Blocks) > 0 { // before, there are no results to put it beside
			if err := c.Note(); err != nil {
				return err
			}
		}
		if c.Ended() {
			return nil
		}
		c.Blocks = append(c.Blocks, c.Step.Rates)
	}
}

// Ended reports whether the search wants no more trials.
func (c *Conductor) Ended() bool { return len(c.Step.Rates) == 0 }

// Counts reports whether a block, from 1, is one that the answer comes from.
func (c *Conductor) Counts(block int) bool {
	return slices.Contains(c.Step.Starts, len(slices.Concat(c.Blocks[:block-1]...)))
}
