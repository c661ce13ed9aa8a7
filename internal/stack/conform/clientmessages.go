package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// A Tap looks at every request that a peer's server decoded; with true the server
// answers another message than was asked.
type Tap func(body []byte, request *service.Message) (lie bool)

// What a client asked of a peer.
type asked struct {
	mu               sync.Mutex
	requests         int
	strange, written error // another message than the seed's, another form than the canonical
}

// tapped looks at requests for service s with messages of size n and of a width.
func (c suite) tapped(s string, n int, w service.Width, a *asked) Tap {
	name, enc := service.Name(s), codec.Encoding(c.wish.Encoding)
	var want service.Message
	service.Make(name, messageSeed, n, w, &want)
	message, body := codec.Append(codec.JSON, nil, name, false, &want), codec.Append(enc, nil, name, false, &want)
	return func(got []byte, request *service.Message) bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.requests++
		if text := codec.Append(codec.JSON, nil, name, false, request); !bytes.Equal(text, message) && a.strange == nil {
			a.strange = fmt.Errorf("seed %d and n %d%s make %.100s, it sent %.100s", uint64(messageSeed), n, wide(w), message,
				text)
		}
		if a.written == nil && !bytes.Equal(got, body) {
			a.written = fmt.Errorf("it sent %.100q, the contract writes %.100q", got, body)
		}
		return false
	}
}

// wide says a width in words.
func wide(w service.Width) string {
	switch {
	case w.Letters > 0:
		return fmt.Sprintf(" with letters %d", w.Letters)
	case w.Max > 0:
		return fmt.Sprintf(" with max %d", w.Max)
	}
	return ""
}

// widths are those that the services have by which messages are not as the contract has them by itself.
var widths = map[service.Name]service.Width{service.Concat: {Letters: 5}, service.Sum: {Max: 1000}}

// asksWide has the client ask a peer with messages of a width. It may say that it does not know widths.
func (c suite) asksWide(client *program, peer stack.Description, s string, w service.Width) error {
	var a asked
	c.tap = c.tapped(s, messageN, w, &a)
	refused := false
	err := c.served(peer, s, func(srv *stack.Conn, url string) error {
		wants := c.call(s, url, messageN)
		wants.Message.Letters, wants.Message.Max = w.Letters, w.Max
		err := c.seated(client, wants, srv, c.exchanges(recorded))
		var own *stack.ProgramError
		if refused = errors.As(err, &own); refused {
			return nil
		}
		return err
	})
	switch {
	case err != nil || refused:
		return err
	case a.requests == 0:
		return errNotUnderstood
	}
	return a.strange
}

var errNotUnderstood = errors.New("none of its requests was understood")

// canonical tells whether this encoding has one form only: frameworks write XML as they like.
func (c suite) canonical() bool {
	enc := codec.Encoding(c.wish.Encoding)
	row, known := codec.Find(enc)
	_, err := codec.Parse(c.wish.Encoding)
	return known && err == nil && row.Base == "" && !enc.SOAP() && row.Syntax != codec.XMLText
}

// client runs the checks that take a peer's server.
func (c suite) client(held *programs, peer stack.Description, s string, n int, first bool) {
	client := &held.client
	var a asked
	c.tap = c.tapped(s, n, service.Width{}, &a)
	once := sync.OnceValue(func() error { return c.asks(client, peer, s, n) })
	c.check(s, "client asks "+peer.Name, once)
	seen := func(err *error) func() error {
		return func() error {
			if once(); a.requests == 0 {
				return errNotUnderstood
			}
			return *err
		}
	}
	c.check(s, "client sends the message of its seed", seen(&a.strange))
	if c.canonical() {
		c.check(s, "client writes the canonical form", seen(&a.written))
	}
	if w, known := widths[service.Name(s)]; known {
		c.check(s, "client sends messages as wide as told", func() error { return c.asksWide(client, peer, s, w) })
	}
	if !first {
		return
	}
	if !c.has("server") { // with one, these checks take it
		c.tap = nil
		add := func(what string, do func(srv *stack.Conn, url string) error) {
			c.check(s, what, func() error { return c.served(peer, s, do) })
		}
		c.connections(held, s, add)
		if c.representative() {
			c.conduct(client, s, add)
			c.letters(client, s, add)
		}
	}
	if c.has("server") && c.handshaken() {
		c.tap = nil
		c.check(s, wholeHandshakes+", asks "+peer.Name, func() error {
			return c.served(peer, s, func(srv *stack.Conn, url string) error {
				return c.shakesHands(srv, c.d, &held.perRequest, s, url)
			})
		})
	}
	if s == string(service.Temperature) {
		return // a peer lies by answering another request, and all for a temperature are the same
	}
	c.tap = func([]byte, *service.Message) bool { return true }
	c.check(s, "client checks its answers", func() error { return c.disbelieves(client, peer, s) })
}

// served runs do with a peer that serves s.
func (c suite) served(peer stack.Description, s string, do func(srv *stack.Conn, url string) error) error {
	return c.with(peer, "serve", func(ctx context.Context, srv *stack.Conn) error {
		ready, err := serve(ctx, srv, c.serve(s))
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		return do(srv, ready.URL)
	})
}

// disbelieves has the client ask a peer that answers something else.
func (c suite) disbelieves(client *program, peer stack.Description, s string) error {
	const lies = 3
	return c.with(peer, "serve", func(ctx context.Context, srv *stack.Conn) error {
		ready, err := serve(ctx, srv, c.serve(s))
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		var told, answered exchangesOf
		err = c.seated(client, c.call(s, ready.URL, messageN), srv, func(ctx context.Context, both *stack.Session) error {
			if err := disbelievesUnrecorded(ctx, both); err != nil {
				return err
			}
			_, err := both.Measure(ctx, stack.Run{Requests: lies}, &told, &answered)
			return err
		})
		if err != nil {
			return err
		}
		for _, x := range told {
			if x.Failure == "" {
				return fmt.Errorf("request %d got a wrong answer and is recorded as a success", x.Seq)
			}
		}
		if len(told) != lies {
			return fmt.Errorf("%d records of %d requests that got wrong answers", len(told), lies)
		}
		if len(answered) != lies {
			return fmt.Errorf("%d requests that got wrong answers were sent %d times", lies, len(answered))
		}
		return nil
	})
}

// disbelievesUnrecorded has a warm-up of wrong answers: its "end" says how many there were, and why.
func disbelievesUnrecorded(ctx context.Context, both *stack.Session) error {
	w, err := both.WarmUp(ctx, stack.Run{Requests: warmUps})
	switch {
	case err != nil:
		return err
	case w.Failed != warmUps:
		return fmt.Errorf("%d warm-up requests got wrong answers, and the \"end\" of the warm-up says that %d failed "+
			"(\"failed\")", warmUps, w.Failed)
	case w.FirstFailure == "":
		return errors.New("the \"end\" of a warm-up that failed does not say why (\"first_failure\")")
	}
	return nil
}
