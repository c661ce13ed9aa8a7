package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/plural"
)

// A dimension is one column of the table of what a stack serves.
type dimension struct {
	key   string
	value func(*Setup) *string
	list  func(Cell) []string
}

var dimensions = []dimension{
	{"service", func(s *Setup) *string { return &s.Service }, func(c Cell) []string { return c.Services }},
	{"encoding", func(s *Setup) *string { return &s.Encoding }, func(c Cell) []string { return c.Encodings }},
	{"security", func(s *Setup) *string { return &s.Security }, func(c Cell) []string { return c.Securities }},
	{"transport", func(s *Setup) *string { return &s.Transport }, func(c Cell) []string { return c.Transports }},
	{"connection", func(s *Setup) *string { return &s.Connection }, func(c Cell) []string { return c.Connections }},
}

// usual is taken for what a study leaves open, where both stacks have it.
var usual = map[string]string{"security": "none", "connection": "keep-alive"}

// half is one side of the treatment with the rows of its stack that still fit.
type half struct {
	side, stack string
	all, rows   []Cell
}

// A trail is what narrowed the rows so far, to be named when none is left.
type trail struct{ values, keys []string }

// served narrows both stacks' tables, dimension by dimension, and fills in
// what the study leaves open: the usual, or the first both have.
func (t *candidate) served() {
	halves := t.halves()
	if halves == nil {
		t.settle()
		return
	}
	so := trail{keys: stackKeys}
	for _, d := range t.givenFirst() {
		v := d.value(t.setup)
		if *v == "" && !t.choose(d, halves, so) {
			return
		}
		narrowed := false
		for i, h := range halves {
			rows := slices.DeleteFunc(slices.Clone(h.rows), func(c Cell) bool { return !offers(d.list(c), *v) })
			if len(rows) == 0 {
				t.unserved(d, h, so)
				return
			}
			narrowed = narrowed || len(rows) < len(h.rows)
			halves[i].rows = rows
		}
		if narrowed {
			so = trail{append(so.values, *v), append([]string{d.key}, so.keys...)}
		}
	}
	for _, h := range halves {
		if most := mostInFlight(h.rows); h.side == "client" && most > 0 && t.setup.Concurrency > most {
			t.complain(fmt.Sprintf("stack %q has at most %s in flight, not %d", h.stack, plural.Count(most, "request"),
				t.setup.Concurrency), fmt.Sprintf("write concurrency: %d", most), append(slices.Clone(stackKeys),
				"concurrency")...)
		}
	}
}

// mostInFlight is how many requests a client of one of these rows can have in flight; 0: any number.
func mostInFlight(rows []Cell) int {
	most := 0
	for _, c := range rows {
		if c.Concurrency == 0 {
			return 0
		}
		most = max(most, c.Concurrency)
	}
	return most
}

// givenFirst puts what the study leaves open last, so that it is chosen among
// what goes with the rest.
func (t *candidate) givenFirst() []dimension {
	var given, open []dimension
	for _, d := range dimensions {
		if *d.value(t.setup) != "" {
			given = append(given, d)
		} else {
			open = append(open, d)
		}
	}
	return append(given, open...)
}

var stackKeys = []string{"stack", "server.stack", "client.stack"}

// settle is what can be said without the stack's table.
func (t *candidate) settle() {
	for _, d := range dimensions {
		if v := d.value(t.setup); *v == "" {
			*v = usual[d.key]
		}
	}
}

// halves returns nil where a stack's table is not known.
func (t *candidate) halves() []half {
	var halves []half
	for _, h := range []half{{side: "server", stack: t.setup.Server.Stack},
		{side: "client", stack: t.setup.Client.Stack}} {
		facts, _ := t.stack(h.stack)
		if facts.Serves == nil {
			return nil
		}
		h.all = slices.DeleteFunc(slices.Clone(facts.Serves),
			func(c Cell) bool { return h.side == "server" && !c.Server || h.side == "client" && !c.Client })
		if len(h.all) == 0 {
			t.complain(fmt.Sprintf("stack %q has no %s", h.stack, h.side), "name another with "+h.side+": {stack: …}", "stack",
				h.side+".stack")
			return nil
		}
		if h.all = t.optioned(h); len(h.all) == 0 {
			return nil
		}
		h.rows = h.all
		halves = append(halves, h)
	}
	return halves
}

// optioned are the rows that are for the study's options, or none and a complaint.
func (t *candidate) optioned(h half) []Cell {
	var rows []Cell
	values := map[string][]string{} // that other rows are for
	for _, c := range h.all {
		fits := true
		for o, v := range c.Options {
			fits = fits && t.setup.Options[o] == v
			if v != "" {
				values[o] = append(values[o], v)
			}
		}
		if fits {
			rows = append(rows, c)
		}
	}
	for _, o := range slices.Sorted(maps.Keys(values)) {
		if len(rows) == 0 {
			t.complain(fmt.Sprintf("stack %q does not offer %s with options %s", h.stack, o, t.setup.Options[o]),
				fmt.Sprintf("write %s: %s, or leave it out", o, strings.Join(values[o], " or ")), "stack",
				h.side+".stack", "options."+o)
			break
		}
	}
	return rows
}

func offers(list []string, v string) bool {
	return v == "" || len(list) == 0 || slices.Contains(list, v)
}

// choose fills in a dimension the study leaves open; false if it reported.
func (t *candidate) choose(d dimension, halves []half, so trail) bool {
	a, anyA := offered(d, halves[0].rows)
	b, anyB := offered(d, halves[1].rows)
	both := slices.DeleteFunc(slices.Clone(a), func(v string) bool { return !anyB && !slices.Contains(b, v) })
	if anyA {
		both = b
	}
	v := d.value(t.setup)
	switch {
	case anyA && anyB || slices.Contains(both, usual[d.key]):
		*v = usual[d.key]
	case len(both) > 0:
		*v = both[0]
	default:
		t.complain(fmt.Sprintf("stacks %q and %q share no %s%s", halves[0].stack, halves[1].stack, d.key, so),
			"pair others", so.keys...)
		return false
	}
	return true
}

// offered is the union of a dimension over rows, in their order.
func offered(d dimension, rows []Cell) (names []string, anything bool) {
	for _, c := range rows {
		l := d.list(c)
		anything = anything || len(l) == 0
		for _, v := range l {
			if !slices.Contains(names, v) {
				names = append(names, v)
			}
		}
	}
	return names, anything
}

// unserved blames the least that explains it: where the stack lacks the value
// altogether, what narrowed it before has no part in it.
func (t *candidate) unserved(d dimension, h half, so trail) {
	names, anything := offered(d, h.all)
	if !anything && !slices.Contains(names, *d.value(t.setup)) {
		so = trail{keys: stackKeys}
	} else {
		names, _ = offered(d, h.rows)
	}
	t.complain(fmt.Sprintf("stack %q has no %s for %s %s%s", h.stack, h.side, d.key, *d.value(t.setup), so),
		fmt.Sprintf("write %s: %s", d.key, strings.Join(names, " or ")), append(slices.Clone(so.keys), d.key)...)
}

// String is empty, or " with sort, json".
func (s trail) String() string {
	if len(s.values) == 0 {
		return ""
	}
	return " with " + strings.Join(s.values, ", ")
}
