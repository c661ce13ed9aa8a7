package study

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/meant"
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
	t.errs.add(blame(t.top, t.study.Factors, t.sets, what, advice, keys))
}

// check completes the setup and reports what cannot be run.
func (t *candidate) check() {
	if !t.population() {
		return
	}
	if t.existing() {
		if t.load() {
			t.patient()
		}
		t.driven()
		return
	}
	t.message()
	loaded := t.load()
	t.link()
	t.counted()
	t.place()
	t.atOnce()
	t.driven()
	if t.sides() {
		t.served()
		t.options()
		t.populated()
	}
	if loaded {
		t.patient() // now the time in which devices are switched on is known
	}
}

func (t *candidate) message() {
	s := t.setup
	if !t.has("service") {
		t.fail(t.top, "the study names no service", "write service: NAME, such as service: monitor")
		return
	}
	if t.has("n") && t.has("size") {
		t.complain("n and size are both given", "keep one", "n", "size")
	}
	if s.Size > t.study.Body {
		t.complain(fmt.Sprintf("size %s is above limits.body, %s", SizeText(s.Size),
			SizeText(t.study.Body)), "raise limits: {body: …}", "size")
	}
	if s.Service == "temperature" && s.Sensor == "" {
		s.Sensor = "simulated"
	}
	facts, known := t.vocabulary.Services[s.Service]
	given := t.has("n") || t.has("size")
	switch {
	case known && facts.Sized && !given:
		t.complain(fmt.Sprintf("service %q needs the size of its message", s.Service),
			"write n: 100 (elements) or size: 100kB (of the canonical XML)", "service")
	case known && facts.fixed() && given && (t.varies("n") || t.varies("size")):
		t.complain(fmt.Sprintf("service %q has messages of fixed size", s.Service), "do not vary n or size",
			"service", "n", "size")
	}
}

func (t *candidate) varies(key string) bool {
	p, ok := t.sets[key]
	return ok && p.factor >= 0
}

// sizeless reports a fixed n or size that no wanted treatment uses; if none is wanted, another fault says so.
func (b *builder) sizeless() {
	if len(b.study.treatments) == 0 {
		return
	}
	for _, t := range b.study.treatments {
		facts, known := b.vocabulary.Services[t.setup.Service]
		if !known || !facts.fixed() {
			return
		}
	}
	for _, k := range []string{"n", "size"} {
		if s, ok := b.fixed[k]; ok {
			b.fail(s.Value.Pos, fmt.Sprintf("no service here has messages of variable size, so %s changes nothing",
				k), "remove it")
		}
	}
}

// What stands where a study says neither requests nor duration. The least time is
// well above what a scheduler or a busy host takes away at once (some 30 ms), so
// that no trial is the picture of one such moment.
const (
	defaultRequests    = 1000
	defaultMinDuration = 500 * time.Millisecond
)

// DefaultWarmUp is how many requests a warm-up has that a study needs and does not say.
const DefaultWarmUp = 100

// load settles how many requests there are, and how long they take. It is false where the study says both.
func (t *candidate) load() bool {
	s := t.setup
	if t.has("requests") && t.has("duration") {
		t.complain("requests and duration are both given", "keep one", "requests", "duration")
		return false
	}
	t.least()
	if t.has("arrival") && s.Rate == 0 {
		t.complain("arrival needs a rate: a closed loop sends when the previous answer has arrived",
			"write rate: 100 (requests per second), or remove arrival", "arrival", "rate")
	}
	if s.Requests > 0 && s.Concurrency > s.Requests {
		t.complain(fmt.Sprintf("concurrency %d with %d requests leaves connections idle", s.Concurrency, s.Requests),
			"lower concurrency or raise requests", "concurrency", "requests")
	}
	return true
}

// patient refuses a trial that would not be over in time.
func (t *candidate) patient() {
	s, patience := t.setup, t.study.Timeouts.Trial
	if patience <= 0 {
		return // it is wrong, and has been reported
	}
	if s.MinDuration >= patience {
		t.complain(fmt.Sprintf("min_duration %s: too long for timeouts.trial, %s", DurationText(s.MinDuration),
			DurationText(patience)), "raise timeouts: {trial: …}", "min_duration")
	}
	lasts, why := s.Duration.Seconds(), "duration "+DurationText(s.Duration)
	if s.Rate > 0 && s.Requests > 0 {
		lasts = float64(s.Requests) / s.Rate
		why = fmt.Sprintf("%d requests at %g/s", s.Requests, s.Rate)
	}
	if lasts >= patience.Seconds() {
		t.complain(fmt.Sprintf("%s: too long for timeouts.trial, %s", why, DurationText(patience)),
			"raise timeouts: {trial: …}", "requests", "duration", "rate")
	} else if warm := t.warmsFor(); warm+lasts >= patience.Seconds() {
		t.complain(fmt.Sprintf("a warm-up of %s and %s: too long for timeouts.trial, %s",
			DurationText(time.Duration(warm*1e9)), DurationText(time.Duration(lasts*1e9)), DurationText(patience)),
			"shorten design: {warmup: …}, or raise timeouts: {trial: …}", "devices", "period", "rate", "duration")
	}
}

// warmsFor is how many seconds a warm-up takes at least, as far as the study says it.
func (t *candidate) warmsFor() float64 {
	s, w := t.setup, t.study.Design.WarmUp
	lasts := w.Time.Seconds()
	if n := float64(w.Requests); s.Population.Devices > 0 {
		shortest, _ := s.Population.periods()
		lasts += n / float64(s.Population.Devices) * shortest.Seconds()
	} else if s.Rate > 0 {
		lasts += n / s.Rate
	}
	return min(lasts, math.MaxInt64/2e9)
}

// least settles how many requests a trial has at least, and how long it is.
func (t *candidate) least() {
	s := t.setup
	if t.has("min_duration") && t.has("duration") {
		t.complain("min_duration and duration are both given", "keep one", "min_duration", "duration")
		return
	}
	if s.Duration > 0 {
		return
	}
	open := s.Requests == 0
	if open {
		s.Requests = defaultRequests
	}
	switch {
	case t.study.Time == Instructions && t.has("min_duration"):
		t.complain("min_duration is not available with time: instructions", "write requests", "min_duration")
		return
	case t.has("min_duration"):
	case open && t.study.Time == Clock && s.URL == "" && !t.study.Design.cold() && !t.vocabulary.Earlier:
		s.MinDuration = defaultMinDuration
	}
	switch {
	case s.MinDuration == 0:
	case s.Rate > 0: // how long that takes is known before
		s.Requests = max(s.Requests, requestsFor(s.MinDuration, s.Rate, s.Arrival))
		s.MinDuration = 0
	case t.study.Design.cold():
		t.complain("min_duration needs a warm-up, whose pace says how many requests that takes",
			"write design: {warmup: 100}, or requests without min_duration", "min_duration")
	case t.study.Design.WarmUp == Span{}:
		t.study.Design.WarmUp.Requests = DefaultWarmUp
	}
}

// requestsFor is how many requests at a rate last so long, from the first one's due instant to
// the last one's. Random arrivals may bunch: all but one trial in 1000 last as long.
func requestsFor(d time.Duration, rate float64, arrival string) int {
	mean := rate * d.Seconds()
	if arrival != "poisson" {
		return int(math.Ceil(mean-1e-6)) + 1
	}
	const z = 3.09 // of 1 in 1000; the rest is the skewness of the Poisson distribution (Cornish and Fisher 1938)
	return int(math.Ceil(mean + z*math.Sqrt(mean) + (z*z-1)/6 + 1))
}

// place settles where both programs run, if they share this machine. A closed loop
// with one request under way never needs two CPUs at once, and is measured far more
// steadily on one: on two, times depend on where the scheduler puts the programs.
func (t *candidate) place() {
	s := t.setup
	switch {
	case len(t.study.Pin.Client)+len(t.study.Pin.Server) > 0, s.URL != "", s.Client.Device != thisMachine,
		s.Server.Device != thisMachine, t.study.Time == Instructions:
		s.Placement = ""
	case s.Placement != "" || t.vocabulary.Earlier:
	case s.Rate == 0 && s.Concurrency == 1 && s.Population.Devices == 0 && !s.Joint():
		s.Placement = Together
	default:
		s.Placement = Free
	}
}

// mostAtOnce is how many trials may run at the same time: each is four processes here.
const mostAtOnce = 64

// atOnce refuses trials at the same time that would not only wait for their links: two that compute
// would share this machine's CPUs, two boards' trials the boards, and one supply cannot be parted.
// Counted instructions are as many whatever shares the CPU.
func (t *candidate) atOnce() {
	s := t.setup
	measured := func(meter string) bool { return meter != "" && !strings.HasPrefix(meter, "model:") }
	refuse := func(why, advice string, keys ...string) {
		t.complain(fmt.Sprintf("at_once %d %s", s.AtOnce, why), advice, append([]string{"at_once"}, keys...)...)
	}
	switch {
	case s.AtOnce <= 1:
	case s.Population.Devices > 0:
		refuse("does not go with devices", "remove at_once", "devices")
	case t.study.Time == Instructions: // counted says what else cannot be
	case s.Link.Profile == "" && s.Link.Up == (Shape{}) && s.Link.Down == (Shape{}):
		refuse("takes a link, or time: instructions: else the trials compete for the CPU",
			"write link: lte-m, for example, or remove it", "link")
	case s.Client.Device != thisMachine || s.Server.Device != thisMachine:
		refuse("takes both programs on this machine", "write device: local, or remove at_once", "client.device",
			"server.device")
	case measured(s.Client.Meter) || measured(s.Server.Meter):
		refuse("does not go with a meter: it would read all trials together", "write a meter such as "+
			"model:nrf9160-lte-m, or remove at_once", "client.meter", "server.meter")
	case t.vocabulary.Stacks != nil && s.Service == "temperature" && strings.HasPrefix(s.Sensor, "serial:"):
		refuse("does not go with a sensor at a serial line: trials would wait for each other's readings",
			"write sensor: simulated, or remove at_once", "sensor")
	}
}

func (t *candidate) link() {
	l, patience := t.setup.Link, t.study.Timeouts.Request
	whole := max(l.Up.Loss, l.Down.Loss) < 1 // where nothing arrives, no timeout helps: the testbed refuses such links
	if d := sum(l.Up.Delay, l.Down.Delay); d >= patience && whole {
		t.complain(fmt.Sprintf("link %s has a round trip of %s, so no answer arrives within timeouts.request, %s", l.Text,
			DurationText(d), DurationText(patience)), "raise timeouts: {request: …}", "link")
	}
	t.oneOfItsName()
}

// oneOfItsName refuses two links of one name: the lab finds a link by it, and would have both measured over the first.
// Earlier versions did, and their results are still read.
func (t *candidate) oneOfItsName() {
	s, given := t.sets["link"]
	if t.vocabulary.Stacks == nil || !given {
		return
	}
	name := t.setup.Link.Text
	first, seen := t.links[name]
	switch {
	case name == "none" && s.id != "none":
		t.complain("link none is "+s.id+" here, and no link elsewhere", "give it another name", "link")
	case !seen:
		t.links[name] = s.Setting
	case first.id != s.id:
		t.complain(fmt.Sprintf("link %s is %s here, and %s %s", name, s.id, first.id, where(first.Value.Pos, s.Value.Pos)),
			"give each a name of its own", "link")
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
		t.fail(t.top, "the study has no stack",
			"write stack: NAME, such as stack: reference/rest-json; or server: {url: …} for a service that is already running")
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
			t.complain(fmt.Sprintf("stack %q has no option %q", t.setup.Server.Stack, o), meant.Advice(o, names, manual),
				"stack", "options."+o)
		}
	}
}
