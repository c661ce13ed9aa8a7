package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// patience is Kit.Patience, where that is not given.
const patience = 2 * time.Minute

func (c suite) patience() time.Duration { return cmp.Or(c.kit.Patience, patience) }

// hangs count what programs were told without an answer in time. Each costs the kit's patience, and a program that
// hangs does so in most checks.
type hangs struct {
	mu   sync.Mutex
	told map[string]*outcome // by what was told to whom
}

type outcome struct {
	hung   int
	worked bool  // at least once
	first  error // that it hung
}

// What hung is tried again: once if it never worked, else a few times, since the fault may be of one check.
const mostHangs, mostHangsOfWhatWorks = 2, 6

// again says why what hung as often is not told again; nil: it may be.
func (h *hangs) again(what string) error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.told[what]
	if o == nil || o.hung < mostHangs || o.worked && o.hung < mostHangsOfWhatWorks {
		return nil
	}
	return fmt.Errorf("not checked, since it would only hang again, as %d times before: %w", o.hung, o.first)
}

func (h *hangs) note(what string, err error) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told == nil {
		h.told = map[string]*outcome{}
	}
	o := h.told[what]
	if o == nil {
		o = &outcome{}
		h.told[what] = o
	}
	if late := (hungError{}); !errors.As(err, &late) {
		o.worked = true
		return
	}
	o.hung++
	o.first = cmp.Or(o.first, err)
}

// hungError is the cause of the end of a wait.
type hungError struct{ after time.Duration }

func (e hungError) Error() string      { return fmt.Sprintf("it hung; it was waited for %v", e.after) }
func (hungError) Is(target error) bool { return target == context.DeadlineExceeded }

// patiently has a program do what it is told, for no longer than the kit's patience, and not once more where it hung
// too often.
func (c suite) patiently(what string, do func(context.Context) error) error {
	if err := c.hung.again(what); err != nil {
		return err
	}
	hung := hungError{c.patience()}
	ctx, cancel := context.WithTimeoutCause(c.ctx, c.patience(), hung)
	defer cancel()
	err := do(ctx)
	if c.ctx.Err() != nil {
		return err
	}
	if late := (hungError{}); errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil && !errors.As(err, &late) {
		err = fmt.Errorf("%w: %w", err, hung)
	}
	c.hung.note(what, err)
	return err
}
