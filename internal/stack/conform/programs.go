package conform

import (
	"context"
	"errors"
	"fmt"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
)

// programs of the stack are held for many checks. What ends connections may be a matter of the whole program, so
// clients that open one for each request are other programs than those that keep theirs.
type programs struct {
	server, second     server // the second beside the first
	client, perRequest program
}

func newPrograms(c suite) *programs {
	serves := server{program: program{c: c, verb: "serve"}}
	calls := program{c: c, verb: "call"}
	return &programs{serves, serves, calls, calls}
}

// close sees those that run end cleanly.
func (p *programs) close() error {
	return errors.Join(p.server.close(), p.second.close(), p.client.close(), p.perRequest.close())
}

// A program holds one program of the stack under the kit, server or client. It is
// started when first needed, asked again and again if it takes that, and left
// when it failed a check: a virtual machine takes seconds to start.
type program struct {
	c       suite
	verb    string
	running Running
	cancel  context.CancelFunc
	again   bool // the program takes another line of its verb
	asked   int  // lines of its verb so far
}

// mostLines a program gets before it is started anew: a trial sends one, and a framework may keep a former server's
// memory (of Jersey 3 some 2 MB), until 128 MB are full and good requests fail. A former client keeps next to nothing.
var mostLines = map[string]int{"serve": 24, "call": 64}

// exitWithin is how long a program may take to end after its stdin has ended (stacks/PROTOCOL.md).
const exitWithin = 5 * time.Second

// ask sends a serve or call line, to a new program if the one at hand takes no other.
func (p *program) ask(line func(ctx context.Context, to *stack.Conn) (stack.Ready, error)) (stack.Ready, error) {
	if p.running != nil && (!p.again || p.asked == mostLines[p.verb]) {
		if err := p.close(); err != nil {
			return stack.Ready{}, err
		}
	}
	if err := p.c.hung.again(p.c.d.Name + " " + p.verb + " ready"); err != nil { // it need not be started
		return stack.Ready{}, err
	}
	if p.running == nil {
		ctx, cancel := context.WithCancel(p.c.ctx)
		running, err := p.c.kit.Start(ctx, p.c.d, p.verb)
		if err != nil {
			cancel()
			return stack.Ready{}, err
		}
		p.running, p.cancel, p.asked = running, cancel, 0
	}
	p.asked++
	var ready stack.Ready
	err := p.c.patiently(p.c.d.Name+" "+p.verb+" ready", func(ctx context.Context) (err error) {
		ready, err = line(ctx, p.running.Conn())
		return err
	})
	p.again = ready.Again
	if err != nil {
		err = saying(p.running, err)
		p.close()
		return stack.Ready{}, fmt.Errorf("%s: %w", p.verb, err)
	}
	return ready, nil
}

// saying adds to the error of a program that has ended what it wrote last.
func saying(p Running, err error) error {
	if said := p.Said(); said != "" && errors.Is(err, stack.ErrSilent) {
		return fmt.Errorf("%w; the end of its standard error: %s", err, said)
	}
	return err
}

// rest closes the program if it takes nothing more.
func (p *program) rest() error {
	if p.again {
		return nil
	}
	return p.close()
}

// close sees a running program end cleanly.
func (p *program) close() error {
	if p.running == nil {
		return nil
	}
	defer p.cancel()
	running := p.running
	p.running, p.again = nil, false
	return ended(running, p.c.d, p.verb)
}

// A server is a program that serves, and what it serves.
type server struct {
	program
	serves   string // the line that it was made ready with
	security string
	url      string
}

// use runs do with a server of the service that has nothing to report yet.
func (h *server) use(s stack.Serve, do func(srv *stack.Conn, url string) error) error {
	line := fmt.Sprint(s)
	if h.running != nil && h.security != s.Security { // a trial's program never changes that
		if err := h.close(); err != nil {
			return err
		}
	}
	if h.running == nil || h.serves != line {
		ready, err := h.ask(func(ctx context.Context, to *stack.Conn) (stack.Ready, error) { return serve(ctx, to, s) })
		if err != nil {
			return err
		}
		h.serves, h.security, h.url = line, s.Security, ready.URL
	} else {
		err := h.c.patiently(h.c.d.Name+" report", func(ctx context.Context) error {
			_, err := h.running.Conn().Report(ctx, true, nil)
			return err
		})
		if err != nil {
			return errors.Join(fmt.Errorf("after the previous check: %w", err), h.close())
		}
	}
	if err := do(h.running.Conn(), h.url); err != nil {
		h.close() // whatever it says: the check has failed already
		return err
	}
	return nil
}

// with runs do with a program and then sees it end cleanly.
func (c suite) with(d stack.Description, verb string, do func(context.Context, *stack.Conn) error) error {
	told := func(ctx context.Context) error {
		var p Running
		var err error
		if d.Name == c.d.Name {
			p, err = c.kit.Start(ctx, d, verb)
		} else {
			p, err = c.kit.StartPeer(d, verb, c.tap)
		}
		if err != nil {
			return err
		}
		err = saying(p, do(ctx, p.Conn()))
		if ended := ended(p, d, verb); err == nil {
			err = ended
		}
		return err
	}
	if verb == "call" {
		return c.patiently(d.Name+" call", told)
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.patience())
	defer cancel()
	return told(ctx)
}

// ended stops a program and says what was wrong with its end.
func ended(p Running, d stack.Description, verb string) error {
	rest, err := p.Stop(exitWithin)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s did not exit cleanly: %w", d.Name, verb, err)
	case len(rest) > 0:
		return fmt.Errorf("%s %s printed %.100q outside the protocol", d.Name, verb, rest)
	}
	return nil
}

// withoutCare is with, for a program that may end as it likes.
func (c suite) withoutCare(d stack.Description, verb string, do func(context.Context, *stack.Conn) error) error {
	if err := c.hung.again(d.Name + " " + verb + " ready"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, min(time.Minute, c.patience()))
	defer cancel()
	p, err := c.kit.Start(ctx, d, verb)
	if err != nil {
		return err
	}
	err = saying(p, do(ctx, p.Conn()))
	p.Stop(exitWithin)
	return err
}
