package stack

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A host is a server of the stack under the kit, started when first used and
// used until it fails a check.
type host struct {
	c       conformer
	service string
	n       int // of the message, for a stack whose sizes are agreed at start; 0: any

	running Running
	cancel  context.CancelFunc
	url     string
}

// use runs do with the server, which has nothing to report yet.
func (h *host) use(do func(srv *Conn, url string) error) error {
	if h.running != nil {
		ctx, cancel := context.WithTimeout(h.c.ctx, time.Minute)
		defer cancel()
		if _, err := h.running.Conn().Report(ctx, true, nil); err != nil {
			return errors.Join(fmt.Errorf("after the check before: %w", err), h.close())
		}
	} else if err := h.start(); err != nil {
		return errors.Join(err, h.close())
	}
	if err := do(h.running.Conn(), h.url); err != nil {
		h.close() // whatever it says: the check has failed already
		return err
	}
	return nil
}

func (h *host) start() error {
	ctx, cancel := context.WithCancel(h.c.ctx)
	p, err := h.c.kit.Start(ctx, h.c.d, "serve")
	if err != nil {
		cancel()
		return err
	}
	h.running, h.cancel = p, cancel
	patience, done := context.WithTimeout(ctx, 2*time.Minute)
	defer done()
	s := h.c.serve(h.service)
	if h.n > 0 {
		s.Message.N = h.n
	}
	ready, err := p.Conn().Serve(patience, s)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	h.url = ready.URL
	return nil
}

// close sees a running server end cleanly.
func (h *host) close() error {
	if h.running == nil {
		return nil
	}
	defer h.cancel()
	p := h.running
	h.running = nil
	return ended(p, h.c.d, "serve")
}
