// Package conform is the conformance kit: it starts a stack's programs and checks
// that they keep the wire contract (stacks/contract) and the adapter protocol
// (stacks/PROTOCOL.md). It measures nothing and starts no process itself; its
// caller says how.
package conform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// A Kit is what the conformance kit needs of the outside.
type Kit struct {
	// Start starts a stack's program, serve or call.
	Start func(ctx context.Context, d stack.Description, verb string) (Running, error)
	// Peer finds another stack that can do the wish, to cross with; may be nil.
	Peer func(stack.Wish) (stack.Description, bool)
	// StartPeer starts a peer's program in this process, with a tap if it is a server.
	StartPeer   func(d stack.Description, verb string, tap Tap) (Running, error)
	Credentials map[string]string
	Directory   string // where services may write
	Parallel    int    // combinations checked at once; 0 is one
	Only        string // run only checks whose name contains it; empty: all
	// Patience is how long a program on a busy machine may take to get ready, or for the few requests of a check;
	// 0: two minutes.
	Patience time.Duration
}

// Running is a started program.
type Running interface {
	Conn() *stack.Conn
	// Stop closes stdin, waits for the end, and returns what the program still
	// printed. The error says that it had to be killed, or what it left behind.
	Stop(grace time.Duration) (rest []byte, err error)
	// Said is the last line of its standard error; empty: it wrote none, or nobody kept it.
	Said() string
	// Sockets are those of its processes; none if it has no process of its own.
	Sockets() ([]kernel.Socket, error)
}

// sizes that a stack must answer rightly for (stacks/PROTOCOL.md); the last is 64 KiB.
var messageSizes = []int{0, 1, 2, 1023, 65536}

const (
	messageSeed = 18446744073689410511 // takes all 64 bits
	messageN    = 23                   // of checks that are not about sizes
)

// Run checks that d keeps the contract and the protocol, and reports each
// check with nil or what is wrong, one after the other in no certain order. It
// starts real programs.
func Run(ctx context.Context, d stack.Description, kit Kit, report func(check string, err error)) {
	var mu sync.Mutex
	told := func(check string, err error) {
		mu.Lock()
		defer mu.Unlock()
		report(check, err)
	}
	var all []suite
	stranger := sync.OnceValues(func() (map[string]string, error) { // an RSA key takes as long as many checks
		return stack.NewCredentials(filepath.Join(kit.Directory, "stranger"), nil)
	})
	seen, hung := map[string]bool{}, new(hangs) // seen: encodings
	for _, o := range d.Serves {
		for _, enc := range o.Encodings {
			for _, sec := range o.Security {
				for _, tr := range o.Transports {
					w := stack.Wish{Encoding: enc, Security: sec, Transport: tr}
					all = append(all, suite{ctx: ctx, d: d, kit: kit, wish: w, offer: o, report: told, leading: len(all) == 0,
						first: !seen[enc], stranger: stranger, hung: hung})
					seen[enc] = true
				}
			}
		}
	}
	for name := range d.Deviates {
		if Explain(name) == "" {
			report("stack.yaml", fmt.Errorf("deviates names an unknown check, %q; stacks check --explain lists them", name))
		}
	}
	todo, ended := newQueue(all), make(chan error)
	lanes := max(1, kit.Parallel)
	for n := range lanes {
		go func() { ended <- todo.lane(n, newPrograms(suite{ctx: ctx, d: d, kit: kit, hung: hung})) }()
	}
	var errs []error
	for range lanes {
		errs = append(errs, <-ended)
	}
	if kit.Only == "" {
		report(endsWithItsInput, errors.Join(errs...))
	}
}

// endsWithItsInput is the check of the programs that served and called for many others.
const endsWithItsInput = "programs end with their input"

type suite struct {
	ctx    context.Context
	d      stack.Description
	kit    Kit
	wish   stack.Wish
	offer  stack.Offer
	report func(string, error)
	// leading: the stack's first combination, with which is checked what depends on none.
	leading bool
	first   bool // combination of its encoding
	tap     Tap  // of a peer's server
	// stranger makes, once, the credentials of another authority.
	stranger func() (map[string]string, error)
	hung     *hangs // of all suites
}

// all checks one combination of encoding, security and transport.
func (c suite) all(held *programs) {
	first := c.principal()
	for i, s := range c.offer.Services {
		if c.has("server") {
			c.server(held, s, i == 0, s == first)
		}
		if peer, crossed := c.peer(s); crossed && c.has("client") {
			c.client(held, peer, s, c.sizes(i)[len(c.sizes(i))-1], s == first)
		}
		if s == first && c.has("client") && c.faultable() {
			c.check(s, "client fails on faults", func() error { return c.failsOnFaults(&held.client, s) })
		}
	}
}

// errors are reported as such: that is checked once of a stack, and ends the programs at hand.
func (c suite) errors(held *programs) {
	s := c.principal()
	if c.has("server") {
		c.check(s, "server reports errors", func() error { return c.tells(&held.second.program, s) })
	}
	if c.has("client") {
		c.check(s, "client reports errors", func() error { return c.tells(&held.perRequest, s) })
	}
	if _, crossed := c.peer(s); !c.has("server") && !crossed {
		return // nothing that its client could call
	}
	for _, option := range c.d.Options {
		c.check(s, wrongOption+", "+option, func() error { return c.refusesOption(s, option) })
	}
}

// principal is the service with which is checked what depends on none. A temperature's request is empty, and nobody
// knows the answer beforehand: it shows less than any other.
func (c suite) principal() string {
	if slices.Contains(c.offer.Services, string(service.Echo)) {
		return string(service.Echo)
	}
	for _, s := range c.offer.Services {
		if s != string(service.Temperature) {
			return s
		}
	}
	return c.offer.Services[0]
}

// representative: what no encoding changes is checked with the offer's first.
func (c suite) representative() bool { return c.wish.Encoding == c.offer.Encodings[0] }

// server runs a service's checks, on one server.
func (c suite) server(held *programs, s string, swept, first bool) {
	h, client := &held.server, &held.client
	type check struct {
		what string
		do   func() error
	}
	var checks []check
	add := func(what string, do func(srv *stack.Conn, url string) error) {
		checks = append(checks, check{what, func() error { return h.use(c.serve(s), do) }})
	}
	answers := func(d stack.Description, ns []int) func(*stack.Conn, string) error {
		return func(srv *stack.Conn, url string) error { return c.sweep(srv, d, client, s, url, ns) }
	}
	peer, crossed := c.peer(s)
	if crossed {
		// after the largest the smallest: a buffer that is used again may hold what it should not
		add("server answers "+peer.Name, answers(peer, append(slices.Clone(c.messageSizes()), messageSizes[0])))
	}
	// Crossing with a peer shows more than a stack talking to itself: the own client's
	// sweep of sizes is for one service.
	switch {
	case !c.has("client"):
	case c.fixedSizes():
		checks = append(checks, check{"answers", func() error { return c.fixed(client, s) }})
	case swept:
		add("answers", answers(c.d, c.messageSizes()))
	case !crossed:
		add("answers", answers(c.d, []int{2, 1023}))
	}
	if first && c.has("client") {
		c.connections(held, s, add)
	}
	if first && c.certified() && c.representative() {
		add(noCertificate, func(_ *stack.Conn, url string) error { return c.asksForNoCertificate(url) })
	}
	if first && crossed && c.handshaken() {
		add(wholeHandshakes+", "+peer.Name+" asks", func(srv *stack.Conn, url string) error {
			return c.shakesHands(srv, peer, nil, s, url)
		})
	}
	if first || s == string(service.Monitor) {
		if codec.Encoding(c.wish.Encoding).Syntax() == codec.JSONText && c.askable(s) {
			add("refuses wrong fields", func(_ *stack.Conn, url string) error { return c.refusesFields(s, url) })
		}
		if c.canonical() && c.askable(s) {
			add("server writes the canonical form", func(_ *stack.Conn, url string) error { return c.writes(s, url) })
		}
	}
	if s == string(service.Sort) && c.hasFirstNumber() && c.askable(s) {
		add("refuses numbers out of range", func(_ *stack.Conn, url string) error { return c.refusesRange(s, url) })
	}
	if first {
		add("listens on its host only", func(_ *stack.Conn, url string) error { return c.listens(url) })
		if c.representative() {
			add("server binds its host only", func(*stack.Conn, string) error { return c.boundToHost(h.running) })
		}
		asked := c.has("client") || crossed
		if asked && !c.fixedSizes() {
			add("times its phases", func(srv *stack.Conn, url string) error { return c.times(srv, client, s, url) })
		}
		if asked && c.representative() && slices.Contains(overTCP, c.wish.Transport) {
			add("waits for no timer", func(srv *stack.Conn, url string) error { return c.waits(srv, client, s, url) })
		}
		if c.askable(s) {
			add("refuses bad requests and continues", func(_ *stack.Conn, url string) error { return c.refuses(s, url) })
		}
		if c.cuttable() {
			add("refuses truncated and endless bodies",
				func(_ *stack.Conn, url string) error { return c.refusesTruncated(s, url) })
		}
		if c.cuttable() && c.representative() {
			add("total begins with the whole request",
				func(srv *stack.Conn, url string) error { return c.beginsWhole(srv, s, url) })
			add("answers several connections", func(_ *stack.Conn, url string) error { return c.answersSeveral(s, url) })
		}
		if c.askable(s) && c.representative() && c.decoded() {
			add("decodes each message anew", func(srv *stack.Conn, url string) error { return c.remembers(srv, s, url) })
		}
		if asked {
			c.letters(client, s, add)
		}
		if strings.HasPrefix(c.wish.Security, "wss-") {
			add("refuses forged WS-Security", func(_ *stack.Conn, url string) error { return c.refusesForgeries(s, url) })
		}
		if c.representative() && c.has("client") && !c.fixedSizes() {
			c.conduct(client, s, add)
		}
		if c.representative() {
			add("two at once", func(_ *stack.Conn, url string) error { return c.twoAtOnce(&held.second, s, url) })
		}
		if asked && (c.first || c.representative()) && slices.Contains(c.d.Options, "delay") {
			checks = append(checks, check{"a known delay shows in processing", func() error {
				var err error
				for _, delay := range knownDelays {
					line := c.serve(s)
					line.Options = maps.Clone(line.Options)
					if line.Options == nil {
						line.Options = map[string]string{}
					}
					line.Options["delay"] = fmt.Sprint(int64(delay))
					err = h.use(line, func(srv *stack.Conn, url string) error { return c.delays(srv, client, s, url, delay) })
					if !errors.Is(err, errMisplaced) {
						return err
					}
				}
				return err
			}})
		}
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

// An adder adds a check that takes a server.
type adder func(what string, do func(srv *stack.Conn, url string) error)

// connections adds the checks of how a client connects.
func (c suite) connections(held *programs, s string, add adder) {
	if c.representative() {
		add("client binds the server's host only", func(srv *stack.Conn, url string) error {
			return c.clientBinds(srv, &held.client, s, url)
		})
	}
	for _, conn := range c.offer.Connections {
		if conn != "keep-alive" && !c.representative() {
			continue
		}
		client := &held.client
		if conn == "per-request" {
			client = &held.perRequest
			if c.handshaken() {
				add(wholeHandshakes, func(srv *stack.Conn, url string) error {
					return c.shakesHands(srv, c.d, client, s, url)
				})
			}
		}
		add("connection "+conn, func(srv *stack.Conn, url string) error { return c.connection(srv, client, s, url, conn) })
		// DPWS learns from a device where its service is: a link before the one is not before the other.
		if conn == "per-request" && c.wish.Transport != "dpws" {
			add("RTT excludes connecting", func(srv *stack.Conn, url string) error {
				return c.connectsBeforeSent(srv, client, s, url)
			})
		}
	}
}

// letters adds the checks that look at what both sides write.
func (c suite) letters(client *program, s string, add adder) {
	if !c.representative() || c.wish.Transport != "http" || c.wish.Security != "none" || c.fixedSizes() {
		return
	}
	add("writes HTTP/1.1 as defined", func(srv *stack.Conn, url string) error { return c.writesHTTP(srv, client, s, url) })
	add("RTT ends with the last byte", func(srv *stack.Conn, url string) error {
		return c.endsWithTheLastByte(srv, client, s, url)
	})
}

// decoded tells whether a request of any seed can be sent alone, in an encoding of ours.
func (c suite) decoded() bool {
	_, err := codec.Parse(c.wish.Encoding)
	return err == nil && c.wish.Transport != "dpws"
}

// conduct adds the checks of when a client sends, and for how long it waits.
func (c suite) conduct(client *program, s string, add adder) {
	add("paces requests as told", func(srv *stack.Conn, url string) error { return c.paces(srv, client, s, url) })
	if slices.Contains(overTCP, c.wish.Transport) && c.wish.Transport != "mqtt5" && c.wish.Transport != "mqtt311" {
		add("client gives up after its timeout", func(*stack.Conn, string) error { return c.givesUp(client, s) })
	}
}

func (c suite) has(side string) bool { return slices.Contains(c.offer.Sides, side) }

// largeMessages is the part of the exchanges that a stack deviates from whose
// messages must fit one datagram.
const largeMessages = "messages of 65536 elements"

// messageSizes are all the n that the stack is asked with.
func (c suite) messageSizes() []int {
	if _, deviates := c.d.Deviates[largeMessages]; deviates {
		return messageSizes[:len(messageSizes)-1]
	}
	return messageSizes
}

// sizes are the n that service i is asked with by the stack's own client.
func (c suite) sizes(i int) []int {
	if i == 0 {
		return c.messageSizes()
	}
	return []int{2, 1023}
}

func (c suite) check(service, what string, do func() error) {
	_, deviates := c.d.Deviates[what]
	_, all := c.d.Deviates[kindOf(what)]
	if c.ctx.Err() != nil || deviates || all {
		return
	}
	words := []string{c.wish.Encoding, c.wish.Security, c.wish.Transport}
	for _, o := range slices.Sorted(maps.Keys(c.offer.Options)) {
		if v := c.offer.Options[o]; v != "" {
			words = append(words, o+"="+v)
		}
	}
	if name := strings.Join(append(words, service, what), " "); strings.Contains(name, c.kit.Only) {
		c.report(name, do())
	}
}

func (c suite) peer(service string) (stack.Description, bool) {
	if c.kit.Peer == nil {
		return stack.Description{}, false
	}
	w := c.wish
	w.Service = service
	p, ok := c.kit.Peer(w)
	return p, ok && p.Name != c.d.Name
}

func (c suite) serve(service string) stack.Serve {
	return stack.Serve{Options: c.options(), Service: service, Encoding: c.wish.Encoding, Security: c.wish.Security,
		Transport: c.wish.Transport, Host: "127.0.0.1",
		Limits: stack.Limits{Body: bodyLimit}, Credentials: c.kit.Credentials, Sensor: "fixed:21.5",
		Directory: c.kit.Directory,
		Message:   stack.Message{Seed: messageSeed, N: messageN}}
}

// options are the offer's, and those that keep a device from waiting for seconds
// before it lets itself be found: that shows nothing here.
func (c suite) options() map[string]string {
	options := maps.Clone(c.offer.Options)
	if slices.Contains(c.d.Options, "match_delay") {
		if options == nil {
			options = map[string]string{}
		}
		options["match_delay"] = "20ms"
	}
	return options
}

// kept is how a client connects where that is not checked: it keeps a connection if it can.
func (c suite) kept() string {
	if conn := c.offer.Connections; len(conn) > 0 && !slices.Contains(conn, "keep-alive") {
		return conn[0]
	}
	return "keep-alive"
}

func (c suite) call(service, url string, n int) stack.Call {
	return stack.Call{URL: url, Service: service, Encoding: c.wish.Encoding, Security: c.wish.Security,
		Transport: c.wish.Transport,
		Message:   stack.Message{Seed: messageSeed, N: n}, Connection: c.kept(), Timeout: int64(20 * time.Second),
		Limits: stack.Limits{Body: bodyLimit}, Credentials: c.kit.Credentials}
}

// bodyLimit is the body limit told to servers; 64 Ki numbers in SOAP stay below.
const bodyLimit = 4_000_000

// floor sizes are agreed at start, so its server is started anew for each n.
func (c suite) fixedSizes() bool { return c.d.Floor }
