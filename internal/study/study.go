// Package study reads a study file and expands it into a plan. It opens no
// file, reads no clock and knows no stack, link or device but by the
// Vocabulary it is handed.
package study

import (
	"fmt"
	"iter"
	"strings"
	"time"
)

// Format is the newest form of study file this package reads.
const Format = 1

// A Study is a study file as read, checked and with its defaults.
type Study struct {
	Name            string
	Question, Notes string
	File            string
	Factors         []Factor
	Exclude         []Exclusion
	Fixed           []Setting // what stands at the top of the file, in its order
	Design          Design
	Responses       []Word // empty: all that the trial yields
	Timeouts        Timeouts
	Retries         int        // more runs of a trial found invalid
	Failures        *float64   // share of a trial's requests that may fail; nil: only what a link loses, and of devices
	Body            int64      // B, the largest body of a request or an answer that is accepted
	Packets         bool       // keep every trial's packets
	Pin             Pin        // CPUs of either side
	SkipUnavailable bool       // leave out what the machine cannot do, instead of refusing to run
	Time            Time       // what time is, in all of its treatments
	Published       Published  // what to set beside ours
	Overrides       []Override // what --set changed, as given but for passwords
	SpreadAt        Pos        // where design.spread stands
	ReplicationsAt  Pos        // where design.replications stands, if it does
	kept            int        // as Vocabulary.Kept
	Passwords       []Word     // settings in which the file gives a password, redacted

	treatments []treatment       // the wanted ones, in the order of the file
	secrets    map[string]string // redacted → as in the file
}

// Treatments is how many treatments the study wants.
func (s Study) Treatments() int { return len(s.treatments) }

// Setups yields the setup of each treatment, in the order of the file.
func (s Study) Setups() iter.Seq[*Setup] {
	return func(yield func(*Setup) bool) {
		for _, t := range s.treatments {
			if !yield(t.setup) {
				return
			}
		}
	}
}

// A Design says how often, in which order and how surely to measure.
type Design struct {
	Replications int    // trials per treatment, one a block
	Seed         uint64 // fixes the order and every other random choice
	WarmUp       Span   // driven but not recorded
	CoolDown     time.Duration
	Spread       time.Duration // from the first block to the last, at least; 0: no wait
	Precision    float64       // half-width over mean to reach by more blocks; 0: no more blocks
	Budget       Budget        // of those blocks
	Confidence   float64       // of every interval
	Benches      string        // "fixed": intervals are for these; "random": for benches like these; "": by their number
	Incomplete   bool          // a bench that cannot run a treatment measures the others

	warmth bool // the file says what the warm-up is
}

// Gap is how long after the block before it a block begins, at the earliest.
func (d Design) Gap() time.Duration {
	if d.Replications < 2 {
		return 0
	}
	return d.Spread / time.Duration(d.Replications-1)
}

// SaysWarmUp reports whether the study says what the warm-up is, and be it none.
func (d Design) SaysWarmUp() bool { return d.warmth }

// cold reports whether the study says that there is no warm-up.
func (d Design) cold() bool { return d.warmth && d.WarmUp == Span{} }

// A Span is a number of requests, or a time where Requests is 0.
type Span struct {
	Requests int
	Time     time.Duration
}

// A Budget bounds the blocks added to reach the precision: their number, or
// the time they may take where Blocks is 0.
type Budget struct {
	Blocks int
	Time   time.Duration
}

// Timeouts are how long a program may take to be ready, a request to be answered,
// and a trial to be over. None is 0: all have defaults.
type Timeouts struct{ Ready, Request, Trial time.Duration }

// Pin names the CPUs a side's programs run on; empty: any.
type Pin struct {
	Client []int `json:"client,omitempty"` // numbers of CPUs
	Server []int `json:"server,omitempty"` // likewise
}

// A Time says what the time of a study's figures is. One study has one: figures
// of the two are never set side by side.
type Time string

const (
	Clock        Time = "clock"        // what the clocks of both sides show
	Instructions Time = "instructions" // instructions counted in an emulated device, at a fixed rate
)

// An Override is what one --set changed.
type Override struct{ Path, Value string }

func (o Override) String() string { return o.Path + "=" + o.Value }

// DefaultRetries is what a study has that says nothing of retries.
const DefaultRetries = 2

func defaultStudy(file string) Study {
	return Study{
		File:     file,
		Design:   Design{Replications: 10, Seed: 1, Confidence: 0.95},
		Timeouts: Timeouts{Ready: 10 * time.Second, Request: 5 * time.Second, Trial: 10 * time.Minute},
		Retries:  DefaultRetries,
		Body:     16e6,
		Time:     Clock,
	}
}

// Parse reads a study file and checks all that can be known before it runs.
// Each of sets overrides one value, as "requests=100", "design.seed=2" or
// "factors.stack=[a, b]" (see override). The error is of type Errors and holds
// every fault; the Study is usable only without one, or, to find others, where all are aside.
func Parse(file string, data []byte, v Vocabulary, sets ...string) (Study, error) {
	var errs faults
	s := defaultStudy(file)
	s.kept = v.Kept
	root := parseYAML(file, data, true, &errs)
	if root == nil {
		return s, errs.list
	}
	r := &reader{vocabulary: v, errs: &errs, elsewhere: elsewhere,
		facts: map[string]*StackFacts{}, overridden: map[string]bool{}}
	if r.kind("a study", root, mapping, "keys and values, the first study: NAME") && r.format(root) {
		r.override(&s, root, sets)
		r.redact(&s, root)
		r.study(&s, root)
	}
	if len(errs.list) > 0 {
		errs.list.sort()
		return s, errs.list
	}
	return s, nil
}

// format refuses a newer file before its unknown keys drown the reason.
func (r *reader) format(root *node) bool {
	n := root.get("format")
	if n == nil {
		return true
	}
	v, ok := r.number("format", n, 1, 1_000_000)
	if ok && v > Format {
		r.fail(n.pos, fmt.Sprintf("format %d is newer than this edgegauge reads (%d)", v, Format), "update edgegauge")
		return false
	}
	return true
}

// topKeys are the keys that are no settings.
var topKeys = []key{
	{"format", func(*reader, *Study, *node) {}}, // read first
	{"study", func(r *reader, s *Study, n *node) { s.Name = r.studyName(n) }},
	{"question", func(r *reader, s *Study, n *node) { s.Question, _ = r.text("question", n) }},
	{"notes", func(r *reader, s *Study, n *node) { s.Notes, _ = r.text("notes", n) }},
	{"factors", func(*reader, *Study, *node) {}}, // read before the settings
	{"exclude", func(*reader, *Study, *node) {}}, // read after the factors
	{"design", func(r *reader, s *Study, n *node) { r.design(s, n) }},
	{"responses", func(r *reader, s *Study, n *node) { s.Responses = r.responses(n) }},
	{"timeouts", func(r *reader, s *Study, n *node) { r.keys("timeouts", s, n, timeoutKeys) }},
	{"retries", func(r *reader, s *Study, n *node) { s.Retries, _ = r.count("retries", n, 0, 100) }},
	{"failures", readFailures},
	{"limits", func(r *reader, s *Study, n *node) { r.keys("limits", s, n, limitKeys) }},
	{"packets", func(r *reader, s *Study, n *node) {
		v, _ := r.choice("packets", n, []string{"keep", "drop"})
		s.Packets = v == "keep"
	}},
	{"unavailable", func(r *reader, s *Study, n *node) {
		v, _ := r.choice("unavailable", n, []string{"skip", "stop"})
		s.SkipUnavailable = v == "skip"
	}},
	{"pin", func(r *reader, s *Study, n *node) { r.keys("pin", s, n, pinKeys) }},
	{"time", func(r *reader, s *Study, n *node) {
		if v, ok := r.choice("time", n, []string{string(Clock), string(Instructions)}); ok {
			s.Time = Time(v)
		}
	}},
	{"published", func(*reader, *Study, *node) {}}, // read after the factors
}

func (r *reader) study(s *Study, root *node) {
	p := builder{reader: r, study: s, fixed: map[string]Setting{}, links: map[string]Setting{},
		lookups: map[int]lookup{}}
	for _, x := range root.pairs {
		if isSetting(x.key.Text) {
			p.fix(x)
		}
	}
	p.either()
	for _, x := range root.pairs {
		i := indexKey(topKeys, x.key.Text)
		switch {
		case i >= 0:
			topKeys[i].read(r, s, x.value)
		case !isSetting(x.key.Text):
			r.fail(x.key.Pos, fmt.Sprintf("unknown key %q", x.key.Text), keyAdvice(x.key, x.value, knownKeys()))
		}
	}
	if root.get("study") == nil {
		r.fail(root.pos, "the study has no name", "write study: NAME at its top")
	}
	if n := root.get("factors"); n != nil {
		p.factors(n)
	}
	if n := root.get("exclude"); n != nil {
		p.exclude(n)
	}
	if n := root.get("published"); n != nil {
		r.published(s, n)
	}
	p.expand(root)
	p.twins()
	if t := root.get("timeouts"); s.Time == Instructions && r.java() && (t == nil || t.get("ready") == nil) {
		s.Timeouts.Ready = readyOnJVM
	}
}

func indexKey(keys []key, name string) int {
	for i, k := range keys {
		if k.name == name {
			return i
		}
	}
	return -1
}

// knownKeys are all keys that may stand at the top.
func knownKeys() []string {
	return append(append(keyNames(topKeys), settingNames()...), groups...)
}

func join(names []string) string { return strings.Join(names, ", ") }
