package stack

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A seat holds one program of the stack under the kit, server or client. It is
// started when first needed, asked again and again if it takes that, and left
// when it failed a check: a virtual machine takes seconds to start.
type seat struct {
	c       conformer
	verb    string
	running Running
	cancel  context.CancelFunc
	again   bool // the program takes another line of its verb
}

const patience = 2 * time.Minute // for a program on a busy machine to get ready

// ask sends a serve or call line, to a new program if the one at hand takes no other.
func (p *seat) ask(line func(ctx context.Context, to *Conn) (Ready, error)) (Ready, error) {
	if p.running != nil && !p.again {
		if err := p.close(); err != nil {
			return Ready{}, err
		}
	}
	if p.running == nil {
		ctx, cancel := context.WithCancel(p.c.ctx)
		running, err := p.c.kit.Start(ctx, p.c.d, p.verb)
		if err != nil {
			cancel()
			return Ready{}, err
		}
		p.running, p.cancel = running, cancel
	}
	ctx, done := context.WithTimeout(p.c.ctx, patience)
	defer done()
	ready, err := line(ctx, p.running.Conn())
	p.again = ready.Again
	if err != nil {
		p.close()
		return Ready{}, fmt.Errorf("%s: %w", p.verb, err)
	}
	return ready, nil
}

// rest closes the program if it takes nothing more.
func (p *seat) rest() error {
	if p.again {
		return nil
	}
	return p.close()
}

// close sees a running program end cleanly.
func (p *seat) close() error {
	if p.running == nil {
		return nil
	}
	defer p.cancel()
	running := p.running
	p.running, p.again = nil, false
	return ended(running, p.c.d, p.verb)
}

// A host is a seat for a server, and what it serves.
type host struct {
	seat
	service string
	url     string
}

// use runs do with a server of the service that has nothing to report yet.
func (h *host) use(s Serve, do func(srv *Conn, url string) error) error {
	if h.running == nil || h.service != s.Service {
		ready, err := h.ask(func(ctx context.Context, to *Conn) (Ready, error) { return to.Serve(ctx, s) })
		if err != nil {
			return err
		}
		h.service, h.url = s.Service, ready.URL
	} else {
		ctx, cancel := context.WithTimeout(h.c.ctx, patience)
		defer cancel()
		if _, err := h.running.Conn().Report(ctx, true, nil); err != nil {
			return errors.Join(fmt.Errorf("after the check before: %w", err), h.close())
		}
	}
	if err := do(h.running.Conn(), h.url); err != nil {
		h.close() // whatever it says: the check has failed already
		return err
	}
	return nil
}
