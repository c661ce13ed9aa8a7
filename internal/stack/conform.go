package stack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"edgegauge/internal/measure"
	"edgegauge/internal/service"
)

// A Kit is what the conformance kit needs of the outside.
type Kit struct {
	// Start starts a stack's program, serve or call.
	Start func(ctx context.Context, d Description, verb string) (Running, error)
	// Peer finds another stack that can do the wish, to cross with; may be nil.
	Peer        func(Wish) (Description, bool)
	Credentials map[string]string
	Directory   string // where services may write
	Parallel    int    // combinations checked at once; 0 is one
}

// Running is a started program.
type Running interface {
	Conn() *Conn
	// Stop closes stdin, waits for the end, and returns what the program still
	// printed; clean is false if it had to be killed or left processes behind.
	Stop(grace time.Duration) (rest []byte, clean bool)
}

// sizes that a stack must answer rightly for (stacks/PROTOCOL.md); the last is 64 KiB.
var conformSizes = []int{0, 1, 2, 1023, 65536}

const (
	conformSeed = 20141105
	conformN    = 23 // of checks that are not about sizes
)

// Conform checks that d keeps the contract and the protocol, and reports each
// check with nil or what is wrong, one after the other in no certain order. It
// starts real programs.
func Conform(ctx context.Context, d Description, kit Kit, report func(check string, err error)) {
	var mu sync.Mutex
	told := func(check string, err error) {
		mu.Lock()
		defer mu.Unlock()
		report(check, err)
	}
	var all []conformer
	for _, o := range d.Serves {
		for _, enc := range o.Encodings {
			for _, sec := range o.Security {
				for _, tr := range o.Transports {
					all = append(all, conformer{ctx, d, kit, Wish{Encoding: enc, Security: sec, Transport: tr}, o, told})
				}
			}
		}
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(1, kit.Parallel))
	for _, c := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			c.all()
		})
	}
	wg.Wait()
}

type conformer struct {
	ctx    context.Context
	d      Description
	kit    Kit
	wish   Wish
	offer  Offer
	report func(string, error)
}

// all checks one combination of encoding, security and transport.
func (c conformer) all() {
	first := c.offer.Services[0]
	if slices.Contains(c.offer.Services, string(service.Echo)) {
		first = string(service.Echo)
	}
	server, client := &host{seat: seat{c: c, verb: "serve"}}, &seat{c: c, verb: "call"}
	defer server.close()
	defer client.close()
	for i, s := range c.offer.Services {
		if c.has("server") {
			c.server(server, client, s, i == 0, s == first)
		}
		if peer, crossed := c.peer(s); crossed && c.has("client") {
			c.check(s, "client asks "+peer.Name, func() error { return c.asks(client, peer, s, c.sizes(i)[len(c.sizes(i))-1]) })
		}
	}
	if c.has("server") {
		c.check(first, "errors are told", func() error { return errors.Join(c.tells("serve"), server.close()) })
	}
	if c.has("client") {
		c.check(first, "client errors are told", func() error { return errors.Join(c.tells("call"), client.close()) })
	}
}

// server runs a service's checks, on one server.
func (c conformer) server(h *host, client *seat, s string, swept, first bool) {
	type check struct {
		what string
		do   func() error
	}
	var checks []check
	add := func(what string, do func(srv *Conn, url string) error) {
		checks = append(checks, check{what, func() error { return h.use(c.serve(s), do) }})
	}
	answers := func(d Description, ns []int) func(*Conn, string) error {
		return func(srv *Conn, url string) error { return c.sweep(srv, d, client, s, url, ns) }
	}
	peer, crossed := c.peer(s)
	if crossed {
		add("server answers "+peer.Name, answers(peer, conformSizes))
	}
	// Crossing with a peer shows more than a stack talking to itself: the own client's
	// sweep of sizes is for one service.
	switch {
	case !c.has("client"):
	case c.fixedSizes():
		checks = append(checks, check{"answers", func() error { return c.fixed(client, s) }})
	case swept:
		add("answers", answers(c.d, conformSizes))
	case !crossed:
		add("answers", answers(c.d, []int{2, 1023}))
	}
	if first && c.has("client") {
		for _, conn := range c.offer.Connections {
			add("connection "+conn, func(srv *Conn, url string) error { return c.connection(srv, client, s, url, conn) })
		}
	}
	if s == string(service.Sort) && slices.Contains([]string{"xml", "json", "soap11", "soap12"}, c.wish.Encoding) && c.askable(s) {
		add("refuses numbers out of range", func(_ *Conn, url string) error { return c.refusesRange(s, url) })
	}
	if first {
		if c.askable(s) {
			add("refuses bad requests and goes on", func(_ *Conn, url string) error { return c.refuses(s, url) })
		}
		if c.cuttable() {
			add("refuses bodies cut short or without end", func(_ *Conn, url string) error { return c.refusesCuts(s, url) })
		}
		if strings.HasPrefix(c.wish.Security, "wss-") {
			add("refuses what WS-Security must", func(_ *Conn, url string) error { return c.refusesFrauds(s, url) })
		}
		add("two at once", func(_ *Conn, url string) error { return c.twoAtOnce(s, url) })
	}
	for i, k := range checks {
		c.check(s, k.what, func() error {
			err := k.do()
			if i == len(checks)-1 {
				err = errors.Join(err, h.rest())
			}
			return err
		})
	}
}

func (c conformer) has(side string) bool { return slices.Contains(c.offer.Sides, side) }

// sizes are the n that service i is asked with by the stack's own client.
func (c conformer) sizes(i int) []int {
	if i == 0 {
		return conformSizes
	}
	return []int{2, 1023}
}

func (c conformer) check(service, what string, do func() error) {
	if c.ctx.Err() != nil {
		return
	}
	words := []string{c.wish.Encoding, c.wish.Security, c.wish.Transport}
	for _, o := range slices.Sorted(maps.Keys(c.offer.Options)) {
		if v := c.offer.Options[o]; v != "" {
			words = append(words, o+"="+v)
		}
	}
	name := strings.Join(append(words, service, what), " ")
	c.report(name, do())
}

func (c conformer) peer(service string) (Description, bool) {
	if c.kit.Peer == nil {
		return Description{}, false
	}
	w := c.wish
	w.Service = service
	p, ok := c.kit.Peer(w)
	return p, ok && p.Name != c.d.Name
}

func (c conformer) serve(service string) Serve {
	return Serve{Options: c.options(), Service: service, Encoding: c.wish.Encoding, Security: c.wish.Security, Transport: c.wish.Transport, Host: "127.0.0.1",
		Limits: Limits{Body: conformLimit}, Credentials: c.credentials(), Sensor: "fixed:21.5", Directory: c.kit.Directory,
		Message: Message{Seed: conformSeed, N: conformN}}
}

// options are the offer's, and those that keep a device from waiting for seconds
// before it lets itself be found: that shows nothing here.
func (c conformer) options() map[string]string {
	options := maps.Clone(c.offer.Options)
	if slices.Contains(c.d.Options, "match_delay") {
		if options == nil {
			options = map[string]string{}
		}
		options["match_delay"] = "20ms"
	}
	return options
}

func (c conformer) call(service, url string, n int) Call {
	return Call{URL: url, Service: service, Encoding: c.wish.Encoding, Security: c.wish.Security, Transport: c.wish.Transport,
		Message: Message{Seed: conformSeed, N: n}, Connection: "keep-alive", Timeout: int64(20 * time.Second),
		Limits: Limits{Body: conformLimit}, Credentials: c.credentials()}
}

// conformLimit is the body limit told to servers; 64 Ki numbers in SOAP stay below.
const conformLimit = 4_000_000

func (c conformer) credentials() map[string]string {
	if c.wish.Security == "none" {
		return nil
	}
	return c.kit.Credentials
}

// floor sizes are agreed at start, so its server is started anew for each n.
func (c conformer) fixedSizes() bool { return strings.Contains(c.d.Name, "floor-") }

// asks has the stack's client ask a peer's server.
func (c conformer) asks(client *seat, peer Description, service string, n int) error {
	return c.with(peer, "serve", func(srv *Conn, ctx context.Context) error {
		ready, err := srv.Serve(ctx, c.serve(service))
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		return c.sweep(srv, c.d, client, service, ready.URL, []int{n})
	})
}

// fixed is sweep for a stack whose server must know the size beforehand.
func (c conformer) fixed(client *seat, service string) error {
	for _, n := range []int{2, 1023} {
		s := c.serve(service)
		s.Message.N = n
		err := c.with(c.d, "serve", func(srv *Conn, ctx context.Context) error {
			ready, err := srv.Serve(ctx, s)
			if err != nil {
				return fmt.Errorf("serve: %w", err)
			}
			return c.sweep(srv, c.d, client, service, ready.URL, []int{n})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sweep runs 23 requests for each n and checks what both sides recorded. d is the
// client's stack; client holds the one of the stack under the kit.
func (c conformer) sweep(srv *Conn, d Description, client *seat, service, url string, ns []int) error {
	for _, n := range ns {
		run := func(cl *Conn, ctx context.Context) error { return c.twentyThree(ctx, srv, cl) }
		line := func(ctx context.Context, to *Conn) (Ready, error) { return to.Call(ctx, c.call(service, url, n)) }
		var err error
		if d.Name == c.d.Name {
			err = c.seated(client, line, run)
		} else {
			err = c.with(d, "call", func(cl *Conn, ctx context.Context) error {
				if _, err := line(ctx, cl); err != nil {
					return fmt.Errorf("call: %w", err)
				}
				return run(cl, ctx)
			})
		}
		if err != nil {
			return fmt.Errorf("n %d: %w", n, err)
		}
	}
	return nil
}

// seated runs do with the program in a seat, once it is ready for line.
func (c conformer) seated(p *seat, line func(context.Context, *Conn) (Ready, error), do func(*Conn, context.Context) error) error {
	if _, err := p.ask(line); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	if err := do(p.running.Conn(), ctx); err != nil {
		p.close()
		return err
	}
	return p.rest()
}

// twentyThree sends a warm-up of 2 and 23 recorded requests.
func (c conformer) twentyThree(ctx context.Context, srv, cl *Conn) error {
	if e, err := cl.Run(ctx, Run{Requests: 2}, nil); err != nil || e.Count != 2 {
		return fmt.Errorf("warm-up of 2: counted %d: %w", e.Count, orNot(err))
	}
	if e, err := srv.Report(ctx, true, nil); err != nil || e.Count != 2 {
		return fmt.Errorf("server counts %d requests of the warm-up, want 2: %w", e.Count, orNot(err))
	}
	const want = 23
	var out, in [2]int64
	var last time.Duration
	var seq uint64
	var bad error
	e, err := cl.Run(ctx, Run{Requests: want, Record: true}, func(x measure.Exchange) {
		out[0], in[0] = out[0]+x.Out, in[0]+x.In
		seq++
		switch {
		case bad != nil:
		case x.Failure != "":
			bad = fmt.Errorf("request %d: %s", x.Seq, x.Failure)
		case x.Seq != seq:
			bad = fmt.Errorf("record %d has seq %d", seq, x.Seq)
		case x.Sent < last || x.Sent < x.Due || x.Done <= x.Sent:
			bad = fmt.Errorf("request %d: due %v, sent %v, done %v, the one before was done %v", x.Seq, x.Due, x.Sent, x.Done, last)
		case x.Serialization < 0 || x.Deserialization < 0 || x.Serialization+x.RTT()+x.Deserialization > x.Total+time.Microsecond:
			bad = fmt.Errorf("request %d: serialization %v + rtt %v + deserialization %v in a total of %v", x.Seq, x.Serialization, x.RTT(), x.Deserialization, x.Total)
		}
		last = x.Done
	})
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	if e.Count != want {
		return fmt.Errorf("client counts %d requests, want %d", e.Count, want)
	}
	e, err = srv.Report(ctx, false, func(x measure.Exchange) {
		out[1], in[1] = out[1]+x.Out, in[1]+x.In
		if x.Serialization < 0 || x.Processing < 0 || x.Deserialization < 0 || x.Serialization+x.Processing+x.Deserialization > x.Total+time.Microsecond {
			bad = fmt.Errorf("server's record %d: phases %v + %v + %v in a total of %v", x.Seq, x.Deserialization, x.Processing, x.Serialization, x.Total)
		}
	})
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	if e.Count != want {
		return fmt.Errorf("server counts %d requests, want %d", e.Count, want)
	}
	if out[0] != in[1] || in[0] != out[1] {
		return fmt.Errorf("client sent %d B and received %d B, server received %d B and sent %d B", out[0], in[0], in[1], out[1])
	}
	return nil
}

func orNot(err error) error {
	if err == nil {
		return errors.New("no error told")
	}
	return err
}

// with runs do with a program and then sees it end cleanly.
func (c conformer) with(d Description, verb string, do func(*Conn, context.Context) error) error {
	ctx, cancel := context.WithTimeout(c.ctx, 2*time.Minute)
	defer cancel()
	p, err := c.kit.Start(ctx, d, verb)
	if err != nil {
		return err
	}
	err = do(p.Conn(), ctx)
	if ended := ended(p, d, verb); err == nil {
		err = ended
	}
	return err
}

// ended stops a program and says what was wrong with its end.
func ended(p Running, d Description, verb string) error {
	rest, clean := p.Stop(5 * time.Second)
	switch {
	case !clean:
		return fmt.Errorf("%s %s did not end cleanly within 5 s of the end of its stdin", d.Name, verb)
	case len(rest) > 0:
		return fmt.Errorf("%s %s printed %q besides the protocol", d.Name, verb, clip(rest))
	}
	return nil
}

// twoAtOnce starts another server beside the one at url.
func (c conformer) twoAtOnce(service, url string) error {
	return c.with(c.d, "serve", func(two *Conn, ctx context.Context) error {
		b, err := two.Serve(ctx, c.serve(service))
		if err == nil && url == b.URL {
			return fmt.Errorf("both listen on %s", url)
		}
		return err
	})
}

// tells: what a program cannot do it says as an error of its own.
func (c conformer) tells(verb string) error {
	return c.withoutCare(c.d, verb, func(p *Conn, ctx context.Context) error {
		var err error
		if verb == "serve" {
			s := c.serve("no-such-service")
			_, err = p.Serve(ctx, s)
		} else {
			_, err = p.Call(ctx, c.call("no-such-service", "http://127.0.0.1:1/", 1))
		}
		var own *ProgramError
		if !errors.As(err, &own) {
			return fmt.Errorf("an unknown service got %v, want an \"error\" line", err)
		}
		return nil
	})
}

// withoutCare is with, for a program that may end as it likes.
func (c conformer) withoutCare(d Description, verb string, do func(*Conn, context.Context) error) error {
	ctx, cancel := context.WithTimeout(c.ctx, time.Minute)
	defer cancel()
	p, err := c.kit.Start(ctx, d, verb)
	if err != nil {
		return err
	}
	err = do(p.Conn(), ctx)
	p.Stop(5 * time.Second)
	return err
}

// connection is used as told. What ends connections may be a matter of the whole
// program, so only keep-alive, the default, takes the client at hand.
func (c conformer) connection(srv *Conn, client *seat, service, url, how string) error {
	line := func(ctx context.Context, to *Conn) (Ready, error) {
		call := c.call(service, url, conformN)
		call.Connection = how
		return to.Call(ctx, call)
	}
	if how != "keep-alive" {
		client = &seat{c: c, verb: "call"}
	}
	err := c.seated(client, line, func(cl *Conn, ctx context.Context) error { return c.twentyThree(ctx, srv, cl) })
	if how != "keep-alive" {
		err = errors.Join(err, client.close())
	}
	return err
}
