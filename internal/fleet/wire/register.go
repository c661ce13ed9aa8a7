package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
)

// chairKey is where the coordinator that conducts is written, beside the orders: no bench
// is called so (CheckName).
const chairKey = "_coordinator"

// A chair is a fleet.Register at the hub.
type chair struct {
	board *Board
	claim *fleet.Claim
	end   context.CancelFunc
	kept  sync.WaitGroup
}

// Conduct makes this board's coordinator the one that conducts, until it is closed. It
// waits where another has ended without a word, at most for a lease, and tells so;
// fleet.ErrAnother is that one is at work. The context ends when another has taken over.
// Who only listens need not call it.
func (b *Board) Conduct(ctx context.Context, h fleet.Hold, lease time.Duration, tell func(string)) (context.Context,
	error) {
	c := &chair{board: b}
	c.claim = &fleet.Claim{Register: c, Hold: h, Lease: lease, Tell: tell}
	if err := c.claim.Take(ctx); errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, fmt.Errorf("%s: %w; run the same command again once it does", b.url, errSilent)
	} else if err != nil {
		return nil, err
	}
	// Not before: of nobody who listens the hub says so at once, and nobody waits for an answer.
	_, err := b.nc.Subscribe(admit.ConductSubject, func(m *nats.Msg) {
		if text, err := json.Marshal(h); err == nil && c.claim.Held() {
			m.Respond(text)
		}
	})
	if err != nil {
		return nil, err
	}
	b.chair = c
	held, lost := context.WithCancelCause(ctx)
	var keeping context.Context
	keeping, c.end = context.WithCancel(held)
	c.kept.Go(func() { lost(c.claim.Keep(keeping)) })
	context.AfterFunc(b.ctx, func() { lost(context.Cause(b.ctx)) }) // as where its key was replaced
	return held, nil
}

// leave makes room for another.
func (c *chair) leave() {
	c.end()
	c.kept.Wait()
	ctx, cancel := context.WithTimeout(c.board.ctx, farewell)
	defer cancel()
	c.claim.Release(ctx) // else the next waits for a lease
}

// Read is fleet.Register's.
func (c *chair) Read(ctx context.Context) (fleet.Hold, uint64, error) {
	var h fleet.Hold
	kv, err := c.board.bucket(ctx)
	if err != nil {
		return h, 0, err
	}
	e, err := kv.Get(ctx, chairKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return h, 0, nil
	}
	if err != nil {
		return h, 0, err
	}
	json.Unmarshal(e.Value(), &h) // what nobody understands is another's
	return h, e.Revision(), nil
}

// Write is fleet.Register's.
func (c *chair) Write(ctx context.Context, h fleet.Hold, after uint64) (uint64, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return 0, err
	}
	kv, err := c.board.bucket(ctx)
	if err != nil {
		return 0, err
	}
	if after == 0 {
		return kv.Create(ctx, chairKey, text)
	}
	return kv.Update(ctx, chairKey, text, after)
}

// Remove is fleet.Register's.
func (c *chair) Remove(ctx context.Context, after uint64) error {
	kv, err := c.board.bucket(ctx)
	if err != nil {
		return err
	}
	return kv.Delete(ctx, chairKey, jetstream.LastRevision(after))
}

// Ask is fleet.Register's.
func (c *chair) Ask(ctx context.Context) (fleet.Hold, bool) {
	var h fleet.Hold
	m, err := c.board.nc.RequestWithContext(ctx, admit.ConductSubject, nil)
	return h, err == nil && json.Unmarshal(m.Data, &h) == nil
}
