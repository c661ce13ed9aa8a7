package study

import (
	"fmt"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/lazy"
)

var digits = lazy.Regexp(`^[0-9]+$`)

var designKeys = []key{
	{"replications", func(r *reader, s *Study, n *node) {
		s.Design.Replications, _ = r.count("replications", n, 1, MaxTrials)
		s.ReplicationsAt = n.pos
	}},
	// Above 2^53 some readers of JSON would change the seed.
	{"seed", func(r *reader, s *Study, n *node) {
		v, _ := r.number("seed", n, 0, 1<<53-1)
		s.Design.Seed = uint64(v)
	}},
	{"warmup", func(r *reader, s *Study, n *node) {
		s.Design.WarmUp, s.Design.warmth = r.span("warmup", n), true
	}},
	{"cooldown", func(r *reader, s *Study, n *node) { s.Design.CoolDown, _ = r.duration("cooldown", n, 0) }},
	{"spread", func(r *reader, s *Study, n *node) {
		s.Design.Spread, _ = r.duration("spread", n, 0)
		s.SpreadAt = n.pos
	}},
	{"precision", func(r *reader, s *Study, n *node) {
		if n.kind != scalar || n.text != "off" {
			s.Design.Precision = r.openRatio("precision", n, 0, 1)
		}
	}},
	{"budget", func(r *reader, s *Study, n *node) {
		v := r.span("budget", n)
		s.Design.Budget = Budget{Blocks: v.Requests, Time: v.Time}
	}},
	{"confidence", func(r *reader, s *Study, n *node) { s.Design.Confidence = r.openRatio("confidence", n, 0.5, 1) }},
	{"benches", func(r *reader, s *Study, n *node) {
		s.Design.Benches, _ = r.choice("benches", n, []string{"fixed", "random", "incomplete"})
		if s.Design.Incomplete = s.Design.Benches == "incomplete"; s.Design.Incomplete {
			s.Design.Benches = ""
		}
	}},
	{"order", func(r *reader, s *Study, n *node) { r.choice("order", n, []string{"randomized"}) }},
}

var timeoutKeys = []key{
	{"ready", func(r *reader, s *Study, n *node) {
		r.limit(&s.Timeouts.Ready, "ready", n)
	}},
	{"request", func(r *reader, s *Study, n *node) {
		r.limit(&s.Timeouts.Request, "request", n)
	}},
	{"trial", func(r *reader, s *Study, n *node) {
		r.limit(&s.Timeouts.Trial, "trial", n)
	}},
}

var limitKeys = []key{
	{"body", func(r *reader, s *Study, n *node) { s.Body, _, _ = r.size("body", n, 1, 1<<40) }},
}

var pinKeys = []key{
	{"client", func(r *reader, s *Study, n *node) { s.Pin.Client = r.cpus("client", n) }},
	{"server", func(r *reader, s *Study, n *node) { s.Pin.Server = r.cpus("server", n) }},
}

// limit reads a time limit. A wrong one leaves the default, by which all else is judged.
func (r *reader) limit(to *time.Duration, what string, n *node) {
	if v, ok := r.duration(what, n, time.Millisecond); ok {
		*to = v
	}
}

// defaultBudget is how many blocks a precision may add where the study says nothing.
const defaultBudget = 20

func (r *reader) design(s *Study, n *node) {
	before := len(r.errs.list)
	r.keys("design", s, n, designKeys)
	if len(r.errs.list) > before {
		return
	}
	d := &s.Design
	if d.Spread > 0 && d.Replications < 2 {
		r.fail(n.get("spread").pos, "one block cannot be spread", "write replications: 2 or more, or remove spread")
	}
	if d.Precision == 0 {
		if b := n.get("budget"); b != nil {
			if p := n.get("precision"); p == nil {
				r.fail(b.pos, "budget without precision", "add precision: 2%, or remove budget")
			}
		}
		return
	}
	if d.Replications < 2 {
		r.fail(n.get("precision").pos, "precision needs an interval, which one replication does not give",
			"write replications: 2 or more")
	}
	if d.Budget == (Budget{}) && n.get("budget") == nil {
		d.Budget.Blocks = defaultBudget
	}
}

// span reads a whole number or a duration.
func (r *reader) span(what string, n *node) Span {
	if n.kind == scalar && n.tag == "!!int" {
		v, _ := r.count(what, n, 0, 100_000_000)
		return Span{Requests: v}
	}
	if number, unit, _ := strings.Cut(n.text, " "); n.kind == scalar && unit != "" && digits().MatchString(number) {
		if _, _, advice := readDuration(n.text); advice != "" {
			r.fail(n.pos, fmt.Sprintf("invalid %s %q", what, n.text), "write a number alone, such as "+number+
				", or a duration such as 5s")
			return Span{}
		}
	}
	v, _ := r.duration(what, n, 0)
	return Span{Time: v}
}

// openRatio reads a share above low and below high.
func (r *reader) openRatio(what string, n *node, low, high float64) float64 {
	v, _, ok := r.ratio(what, n, "a share")
	if ok && (v <= low || v >= high) {
		r.fail(n.pos, fmt.Sprintf("%s %s is out of range", what, n.text),
			fmt.Sprintf("write more than %g%% and less than %g%%", low*100, high*100))
	}
	return v
}

func (r *reader) cpus(what string, n *node) []int {
	what = "pin " + what
	if n.kind == scalar {
		v, _ := r.count(what, n, 0, 4095)
		return []int{v}
	}
	if !r.kind(what, n, list, "a CPU's number, or a list such as [0, 1]") {
		return nil
	}
	if len(n.items) == 0 {
		r.fail(n.pos, what+" names no CPU", "remove it, or write a CPU's number")
	}
	var cpus []int
	seen := map[int]bool{}
	for _, c := range n.items {
		v, ok := r.count(what, c, 0, 4095)
		if ok && seen[v] {
			r.fail(c.pos, fmt.Sprintf("%s names CPU %d twice", what, v), "remove one")
		}
		seen[v] = true
		cpus = append(cpus, v)
	}
	return cpus
}

func (r *reader) responses(n *node) []Word {
	if !r.kind("responses", n, list, "a list such as [rtt, wire_bytes]") {
		return nil
	}
	if len(n.items) == 0 {
		r.fail(n.pos, "responses is empty", "name one, such as [rtt], or remove the key for all")
	}
	var words []Word
	seen, before := map[string]bool{}, len(r.errs.list)
	defer func() {
		for _, e := range r.errs.list[before:] {
			e.Aside = true
		}
	}()
	for _, c := range n.items {
		v, ok := r.name("a response", c)
		if !ok || !r.response(Word{v, c.pos}) {
			continue
		}
		if seen[v] {
			r.fail(c.pos, fmt.Sprintf("response %q is given twice", v), "remove one")
		}
		seen[v] = true
		words = append(words, Word{v, c.pos})
	}
	return words
}

var plainFile = newForm(`^[A-Za-z0-9][A-Za-z0-9._-]*$`, 100)

// fileName reads a name that results directories are called by.
func (r *reader) fileName(what string, n *node) (string, bool) {
	if n.kind == scalar && n.tag == "!!str" && n.text != "" && !plainFile.MatchString(n.text) {
		r.fail(n.pos, fmt.Sprintf("%s %q is used in file names", what, n.text),
			plainFile.advice(n.text, "use letters from A to Z, digits, dots, - and _ only, such as which-way"))
		return "", false
	}
	return r.name(what, n)
}

// studyName refuses the one that leads to the newest results, of whatever study. Results with it, in folders that were
// named, are still read.
func (r *reader) studyName(n *node) string {
	v, ok := r.fileName("study", n)
	if ok && v == "latest" && r.vocabulary.Stacks != nil {
		r.fail(n.pos, `no study can be called "latest": results/latest leads to the newest run of any study`,
			"choose another name")
	}
	return v
}
