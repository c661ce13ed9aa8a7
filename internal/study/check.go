package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A candidate is a treatment being checked.
type candidate struct {
	*builder
	top   Pos
	setup *Setup
	sets  map[string]placed
}

// placed is a setting and where it comes from.
type placed struct {
	Setting
	factor int // -1: fixed
	level  string
}

func (t *candidate) set(s Setting, factor int, level string) {
	s.set(t.setup)
	t.sets[s.Key] = placed{s, factor, level}
}

func (t *candidate) has(key string) bool {
	_, ok := t.sets[key]
	return ok
}

// complain blames the last of keys that the study gives, a level before a
// fixed value, and says how to exclude the treatment if others would remain.
func (t *candidate) complain(what, advice string, keys ...string) {
	pos, varied := t.top, false
	var clauses []string
	for _, k := range keys {
		p, ok := t.sets[k]
		if !ok {
			continue
		}
		if p.factor >= 0 || !varied {
			pos = p.Value.Pos
		}
		if p.factor < 0 {
			continue
		}
		varied = true
		clause := t.study.Factors[p.factor].Name + ": " + p.level
		if !slices.Contains(clauses, clause) {
			clauses = append(clauses, clause)
		}
	}
	if varied {
		advice += ", or exclude: [{" + strings.Join(clauses, ", ") + "}]"
	}
	t.fail(pos, what, advice)
}

// check completes the setup and reports what cannot be run.
func (t *candidate) check() {
	t.message()
	t.load()
	t.link()
	t.counted()
	if t.sides() {
		t.served()
		t.options()
	}
}

func (t *candidate) message() {
	s := t.setup
	if !t.has("service") {
		t.fail(t.top, "the study has no service", "write service: NAME, such as service: monitor")
		return
	}
	if t.has("n") && t.has("size") {
		t.complain("n and size are both given", "keep one", "n", "size")
	}
	if s.Size > t.study.Body {
		t.complain(fmt.Sprintf("size %s is above limits body, %s", unitsText(s.Size, byteUnits), unitsText(t.study.Body, byteUnits)), "raise limits: {body: …}", "size")
	}
	if s.Service == "temperature" && s.Sensor == "" {
		s.Sensor = "simulated"
	}
	facts, known := t.vocabulary.Services[s.Service]
	given := t.has("n") || t.has("size")
	switch {
	case known && facts.Sized && !given:
		t.complain(fmt.Sprintf("service %q needs the size of its message", s.Service), "write n: 100 (elements) or size: 100kB (of the canonical XML)", "service")
	case known && !facts.Sized && given && (t.varies("n") || t.varies("size")):
		t.complain(fmt.Sprintf("service %q has a message of one size", s.Service), "do not vary n or size", "service", "n", "size")
	}
}

func (t *candidate) varies(key string) bool {
	p, ok := t.sets[key]
	return ok && p.factor >= 0
}

// sizeless reports a fixed n or size that no wanted treatment uses.
func (b *builder) sizeless() {
	for _, t := range b.study.treatments {
		facts, known := b.vocabulary.Services[t.setup.Service]
		if !known || facts.Sized {
			return
		}
	}
	for _, k := range []string{"n", "size"} {
		if s, ok := b.fixed[k]; ok {
			b.fail(s.Value.Pos, fmt.Sprintf("no service here has a message of another size, so %s changes nothing", k), "remove it")
		}
	}
}

// defaultRequests stand where a study says neither requests nor duration.
const defaultRequests = 1000

func (t *candidate) load() {
	s := t.setup
	if t.has("requests") && t.has("duration") {
		t.complain("requests and duration are both given", "keep one", "requests", "duration")
		return
	}
	if s.Duration == 0 && s.Requests == 0 {
		s.Requests = defaultRequests
	}
	if t.has("arrival") && s.Rate == 0 {
		t.complain("arrival needs a rate: a closed loop sends when the last answer is in", "write rate: 100 (requests per second), or remove arrival", "arrival", "rate")
	}
	if s.Requests > 0 && s.Concurrency > s.Requests {
		t.complain(fmt.Sprintf("concurrency %d with %d requests leaves connections idle", s.Concurrency, s.Requests), "lower concurrency or raise requests", "concurrency", "requests")
	}
	patience := t.study.Timeouts.Trial
	lasts, why := s.Duration.Seconds(), "duration "+durationText(s.Duration)
	if s.Rate > 0 && s.Requests > 0 {
		lasts = float64(s.Requests) / s.Rate
		why = fmt.Sprintf("%d requests at %g/s", s.Requests, s.Rate)
	}
	if lasts >= patience.Seconds() {
		t.complain(fmt.Sprintf("%s outlasts timeouts trial, %s", why, durationText(patience)), "raise timeouts: {trial: …}", "requests", "duration", "rate")
	}
}

func (t *candidate) link() {
	l, patience := t.setup.Link, t.study.Timeouts.Request
	if d := sum(l.Up.Delay, l.Down.Delay); d >= patience {
		t.complain(fmt.Sprintf("link %s takes %s there and back, so no answer comes within timeouts request, %s", l.Text, durationText(d), durationText(patience)), "raise timeouts: {request: …}", "link")
	}
}

// sum saturates: delays may be as long as a duration can say.
func sum(a, b time.Duration) time.Duration {
	if s := a + b; s >= a {
		return s
	}
	return 1<<63 - 1
}

// sides gives each side its stack.
func (t *candidate) sides() bool {
	s := t.setup
	for _, side := range []*Side{&s.Client, &s.Server} {
		if side.Stack == "" {
			side.Stack = s.Stack
		}
	}
	if s.Client.Stack == "" || s.Server.Stack == "" {
		t.fail(t.top, "the study has no stack", "write stack: NAME, such as stack: reference/rest-json")
		return false
	}
	return true
}

func (t *candidate) options() {
	var names []string
	for _, stack := range []string{t.setup.Client.Stack, t.setup.Server.Stack} {
		facts, _ := t.stack(stack)
		if facts.Options == nil {
			return
		}
		names = append(names, facts.Options...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, o := range slices.Sorted(maps.Keys(t.setup.Options)) {
		if !slices.Contains(names, o) {
			t.complain(fmt.Sprintf("stack %q has no option %q", t.setup.Server.Stack, o), unknownAdvice(o, names), "stack", "options."+o)
		}
	}
}
