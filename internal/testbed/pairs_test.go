package testbed

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stack"
)

// A half is what one stack offers on one side: the stack of the other side is still open.
type half struct {
	stack   string
	foreign bool
	way     way             // without stacks; of the service, only whether it is monitor
	others  map[string]bool // services that it has for that, but monitor
	monitor bool
}

// halvesOf are all ways of a stack on one side.
func halvesOf(d stack.Description, side string) []half {
	var out []half
	for _, o := range d.Serves {
		if !slices.Contains(o.Sides, side) {
			continue
		}
		others := map[string]bool{}
		for _, s := range o.Services {
			others[s] = true
		}
		for _, e := range o.Encodings {
			for _, s := range o.Security {
				for _, t := range o.Transports {
					for _, c := range o.Connections {
						out = append(out, half{d.Name, d.Dir != "", way{encoding: e, security: s, transport: t, connection: c,
							options: optionsOf(o)}, others, others["monitor"]})
					}
				}
			}
		}
	}
	return out
}

// pairOf is the way of one stack's client and another's server if both offer it: by their tables alone, without what a
// study says.
func pairOf(client, server half) (way, bool) {
	w := client.way
	w.options = cmp.Or(server.way.options, client.way.options)
	server.way.options = w.options
	if w != server.way || client.way.options != "" && client.way.options != w.options {
		return way{}, false
	}
	w.client, w.server = client.stack, server.stack
	switch {
	case client.monitor && server.monitor:
	case client.others["echo"] && server.others["echo"]:
		w.service = "echo"
	default:
		return way{}, false
	}
	return w, true
}

// The same where the client of one stack asks the server of another, both in other languages: check accepts what
// both tables have and refuses what one lacks; of what it accepts, one request is run for each client and each server
// that is built here, at least once, and of what it refuses a few. With EDGEGAUGE_PAIRS=stacks, every pair of stacks
// runs once, with EDGEGAUGE_PAIRS=all in every encoding, security and transport that both have; CONTRIBUTING.md says
// how.
func TestCheckAcceptsWhatForeignPairsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs stacks in other languages")
	}
	b := foreignBed(t)
	check, _ := checker(t, b)
	var clients, servers []half
	for _, name := range b.StackNames() {
		if d, _ := b.FindStack(name); b.StackState(t.Context(), d) == "" && !d.Floor && name != "reference/phantom" {
			clients, servers = append(clients, halvesOf(d, "client")...), append(servers, halvesOf(d, "server")...)
		}
	}
	var both, lacking []way
	met := map[string]bool{} // stacks that have a foreign partner
	for _, c := range clients {
		for _, s := range servers {
			if c.stack == s.stack || !c.foreign || !s.foreign {
				continue
			}
			if w, ok := pairOf(c, s); ok {
				both = append(both, w)
				met["client "+c.stack], met["server "+s.stack] = true, true
			}
		}
	}
	for _, c := range clients { // who has none meets a reference stack
		for _, s := range servers {
			if w, ok := pairOf(c, s); ok && (c.foreign && !s.foreign && !met["client "+c.stack] ||
				s.foreign && !c.foreign && !met["server "+s.stack]) {
				both = append(both, w)
			}
		}
	}
	offered := map[way]bool{}
	for _, w := range both {
		offered[w] = true
	}
	both = slices.SortedFunc(maps.Keys(offered), func(a, b way) int { return strings.Compare(a.String(), b.String()) })
	for _, w := range both {
		if err := check(w); err != nil {
			t.Errorf("%s: refused though both offer it: %v", w, err)
		}
	}
	random := seeded(t)
	for range 20000 { // what the client has and the server lacks, or the other way about
		c, s := clients[random.IntN(len(clients))], servers[random.IntN(len(servers))]
		w := c.way
		if random.IntN(2) == 0 {
			w = s.way
		}
		w.client, w.server, w.options = c.stack, s.stack, s.way.options
		if !c.foreign || !s.foreign || c.stack == s.stack || !c.monitor || !s.monitor || offered[w] || c.way.options != "" {
			continue
		}
		if lacking = append(lacking, w); check(w) == nil {
			t.Errorf("%s: accepted though one of them lacks it", w)
		}
		if len(lacking) == 300 {
			break
		}
	}
	switch {
	case len(met) > 4 && len(lacking) < 100:
		t.Fatalf("%d ways that one lacks", len(lacking))
	case len(lacking) < 2:
		t.Skipf("%d ways that one lacks: too few stacks in other languages are built", len(lacking))
	}
	random.Shuffle(len(both), func(i, j int) { both[i], both[j] = both[j], both[i] })
	accepted, refused := covering(both), lacking[:2]
	switch os.Getenv("EDGEGAUGE_PAIRS") {
	case "stacks":
		accepted = once(both, func(w way) way { return way{client: w.client, server: w.server} })
		refused = once(lacking, func(w way) way { return way{client: w.client} })
	case "all":
		accepted = once(both, func(w way) way { w.connection = ""; return w })
		refused = once(lacking, func(w way) way { return way{client: w.client, server: w.server} })
	}
	t.Logf("%d ways of pairs; run: %d that check accepts, and %d of %d that it refuses", len(both), len(accepted),
		len(refused),
		len(lacking))
	for some := range slices.Chunk(accepted, 20) {
		for w, why := range ran(t, b, some) {
			if why != "" {
				t.Errorf("%s: check accepts it, and it does not run: %s", w, why)
			} else {
				t.Logf("accepted, and runs: %s", w)
			}
		}
	}
	for some := range slices.Chunk(refused, 20) {
		for w, why := range ran(t, b, some) {
			if why == "" {
				t.Errorf("%s: check refuses it, and it runs", w)
			} else {
				t.Logf("refused, and does not run: %s: %s", w, why)
			}
		}
	}
}

// covering are few of all ways in which every client and every server of them has a part.
func covering(all []way) []way {
	var out []way
	seen := map[string]bool{}
	for news := 2; news > 0; news-- { // first those that bring both
		for _, w := range all {
			c, s := "client "+w.client, "server "+w.server
			n := 0
			for _, name := range []string{c, s} {
				if !seen[name] && !strings.HasPrefix(name[len("client "):], "reference/") {
					n++
				}
			}
			if n >= news {
				seen[c], seen[s] = true, true
				out = append(out, w)
			}
		}
	}
	return out
}

// once is one way of each kind, the first.
func once(all []way, kind func(way) way) []way {
	seen := map[way]bool{}
	return slices.DeleteFunc(slices.Clone(all), func(w way) bool {
		was := seen[kind(w)]
		seen[kind(w)] = true
		return was
	})
}
