package study

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/meant"
)

// A reader reads values out of nodes and keeps every fault it meets. Its
// methods return ok false where they reported one.
type reader struct {
	vocabulary Vocabulary
	errs       *faults
	facts      map[string]*StackFacts   // asked once each; nil: no such stack
	overridden map[string]bool          // settings and factors a --set changed
	elsewhere  func(name string) string // which knows all keys, so that the tables of these cannot name it
}

func (r *reader) fail(pos Pos, what, advice string) {
	r.errs.add(Error{Pos: pos, What: what, Advice: advice})
}

// mute returns a reader that judges the same and reports nothing.
func (r *reader) mute() *reader {
	quiet := *r
	quiet.errs = new(faults)
	return &quiet
}

func (r *reader) kind(what string, n *node, want kind, example string) bool {
	if n.kind != want {
		r.fail(n.pos, fmt.Sprintf("%s is %s", what, n.kind), "write "+example)
	}
	return n.kind == want
}

// scalar wants one value that is there.
func (r *reader) scalar(what string, n *node, example string) bool {
	if !r.kind(what, n, scalar, example) {
		return false
	}
	if n.tag == "!!null" || n.text == "" {
		r.fail(n.pos, what+" is empty", "write "+example+", or remove the key")
		return false
	}
	return true
}

func (r *reader) text(what string, n *node) (string, bool) {
	return n.text, r.scalar(what, n, "a text")
}

// plainName: what may be a level, a column and part of a file name.
var plainName = newForm(`^[\pL\pN_./@:+-][\pL\pN_./@:+ =%,-]*$`, 200)

// plainSigns are the signs that a name may have, as a message lists them.
const plainSigns = ". _ - / : @ + = % ,"

// A form is what a text looks like, and its most characters. Note: counted by
// the expression itself, {0,199}, they took 8 MB and 6 ms of every process of
// this program, supervisors and agents included.
type form struct {
	pattern func() *regexp.Regexp
	most    int // characters
}

// newForm compiles the pattern when it is first asked for: classes of letters
// take 70 kB each, which an agent on a small device never needs.
func newForm(pattern string, most int) form {
	return form{lazy.Regexp(pattern), most}
}

func (f form) MatchString(s string) bool {
	return utf8.RuneCountInString(s) <= f.most && f.pattern().MatchString(s)
}

// advice is what to write instead of s: characters says which, where not their number is at fault.
func (f form) advice(s, characters string) string {
	if utf8.RuneCountInString(s) > f.most {
		return fmt.Sprintf("use at most %d characters", f.most)
	}
	return characters
}

func (r *reader) name(what string, n *node) (string, bool) {
	if !r.scalar(what, n, "a name") {
		return "", false
	}
	advice := "use letters, digits, spaces and any of " + plainSigns + " on one line"
	if plainName.MatchString("a" + n.text) {
		advice = "begin it with a letter, a digit or any of . _ - / : @ +"
	}
	switch {
	case n.tag == "!!str" && plainName.MatchString(n.text):
		return n.text, true
	case n.tag == "!!str":
		r.fail(n.pos, fmt.Sprintf("%s %q is not a name", what, n.text),
			plainName.advice(n.text, advice))
	default:
		r.fail(n.pos, fmt.Sprintf("%s %s is %s, not a name", what, n.text, tagWord(n.tag)),
			fmt.Sprintf("write %q, between quotes, if it is one", n.text))
	}
	return "", false
}

// device reads a name, or the URL of a board, in which an IPv6 address stands between brackets.
func (r *reader) device(what string, n *node) (string, bool) {
	if n.tag == "!!str" && strings.Contains(n.text, "://") && plainName.MatchString(unbracketed.Replace(n.text)) {
		return n.text, true
	}
	return r.name(what, n)
}

var unbracketed = strings.NewReplacer("[", "", "]", "")

func tagWord(tag string) string {
	switch tag {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!timestamp":
		return "a date"
	}
	return "of type " + tag
}

// known wants a name of the list; a nil list knows every name.
func (r *reader) known(what string, w Word, names []string) bool {
	if names == nil || slices.Contains(names, w.Text) {
		return true
	}
	listed := manual
	if l, ok := lists[what]; ok {
		listed = l
	}
	if r.vocabulary.Broken != nil {
		if why := r.vocabulary.Broken(what, w.Text); why != "" {
			r.fail(w.Pos, fmt.Sprintf("%s %q cannot be used: %s", what, w.Text, why), "correct its file")
			return false
		}
	}
	r.fail(w.Pos, fmt.Sprintf("no %s %q", what, w.Text), meant.Advice(w.Text, names, listed))
	return false
}

// manual is where a name is looked up, unless lists says better.
const manual = "doc/write-a-study.md lists them"

// lists are the commands that list what a study may name.
var lists = map[string]string{
	"device": "a board is written ssh://USER@HOST; to list the others: edgegauge devices list",
	"link":   "to list them: edgegauge links",
	"stack": "to list them: edgegauge stacks list; foreign stacks are in the source and in a release's archive " +
		"(doc/install.md)",
}

// response wants the name of a response; the words of other tools are understood, not accepted.
func (r *reader) response(w Word) bool {
	meaning := r.vocabulary.Synonyms[strings.ToLower(w.Text)]
	if meaning == nil {
		return r.known("response", w, r.vocabulary.Responses)
	}
	r.fail(w.Pos, fmt.Sprintf("no response %q", w.Text), meant.Question(meaning...))
	return false
}

// readLeaveOut reads names of responses, of both sides or of one: server.cpu.
func readLeaveOut(r *reader, what string, n *node) (Setting, bool) {
	if !r.kind(what, n, list, "a list such as [cpu, serialization]") {
		return Setting{}, false
	}
	good := true
	var names []string
	for _, item := range n.items {
		name, ok := r.name(what, item)
		if strings.Contains(name, ".") {
			ok = ok && r.sided(Word{name, item.pos})
		} else {
			ok = ok && r.response(Word{name, item.pos})
		}
		good, names = good && ok, append(names, name)
	}
	return fixed(strings.Join(names, " "), n.pos, names, func(s *Setup) *[]string { return &s.LeaveOut }), good
}

// sided accepts a response of one side. Of a response that only the other side has, the name there is what was meant.
func (r *reader) sided(w Word) bool {
	side, name, _ := strings.Cut(w.Text, ".")
	for _, x := range r.vocabulary.Sided {
		if other, of, _ := strings.Cut(x, "."); of == name && other != side && !slices.Contains(r.vocabulary.Sided, w.Text) {
			r.fail(w.Pos, fmt.Sprintf("no response %q: %s is of the %s alone", w.Text, name, other), "write "+name)
			return false
		}
	}
	return r.known("response", w, r.vocabulary.Sided)
}

func (r *reader) choice(what string, n *node, names []string) (string, bool) {
	if !r.scalar(what, n, "one of "+join(names)) {
		return "", false
	}
	if !slices.Contains(names, n.text) {
		r.fail(n.pos, fmt.Sprintf("%s %q is unknown", what, n.text), meant.Advice(n.text, names, manual))
		return "", false
	}
	return n.text, true
}

func (r *reader) count(what string, n *node, least, most int) (int, bool) {
	v, ok := r.number(what, n, int64(least), int64(most))
	return int(v), ok
}

func (r *reader) number(what string, n *node, least, most int64) (int64, bool) {
	if !r.scalar(what, n, "a whole number such as 100") {
		return 0, false
	}
	v, err := strconv.ParseInt(n.text, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		r.fail(n.pos, fmt.Sprintf("%s %s is out of range", what, n.text), fmt.Sprintf("write %d to %d", least, most))
		return 0, false
	}
	if n.tag != "!!int" || err != nil || n.text[0] == '+' {
		r.fail(n.pos, fmt.Sprintf("%s %q is not a whole number", what, n.text),
			"write digits only, without quotes, such as 100")
		return 0, false
	}
	if v < least || v > most {
		r.fail(n.pos, fmt.Sprintf("%s %d is out of range", what, v), fmt.Sprintf("write %d to %d", least, most))
		return 0, false
	}
	return v, true
}

func (r *reader) duration(what string, n *node, least time.Duration) (time.Duration, bool) {
	if !r.scalar(what, n, "a duration such as 20ms") {
		return 0, false
	}
	v, _, advice := readDuration(n.text)
	if advice == "" && v < least {
		advice = "write " + DurationText(least) + " or more"
	}
	if advice != "" {
		r.fail(n.pos, fmt.Sprintf("invalid %s %q", what, n.text), advice)
	}
	return v, advice == ""
}

// size reads bytes, with their canonical text.
func (r *reader) size(what string, n *node, least, most int64) (int64, string, bool) {
	if !r.scalar(what, n, "a size such as 100kB") {
		return 0, "", false
	}
	v, text, advice := readSize(n.text)
	if advice == "" && (v < least || v > most) {
		advice = "write " + SizeText(least) + " to " + SizeText(most)
	}
	if advice != "" {
		r.fail(n.pos, fmt.Sprintf("invalid %s %q", what, n.text), advice)
	}
	return v, text, advice == ""
}

func (r *reader) bitRate(what string, n *node) (int64, string, bool) {
	if !r.scalar(what, n, "a rate such as 60kbit") {
		return 0, "", false
	}
	v, text, advice := readBitRate(n.text)
	if advice == "" && v == 0 {
		advice = "leave it out for an unlimited rate"
	}
	if advice != "" {
		r.fail(n.pos, fmt.Sprintf("invalid %s %q", what, n.text), advice)
	}
	return v, text, advice == ""
}

// ratio reads 0 to 1; kind says of what: "a probability", "a share".
func (r *reader) ratio(what string, n *node, kind string) (float64, string, bool) {
	if !r.scalar(what, n, "a share such as 0.05 or 5%") {
		return 0, "", false
	}
	v, text, advice := readRatio(n.text)
	if advice != "" {
		r.fail(n.pos, fmt.Sprintf("%s %s is not %s", what, n.text, kind), advice)
	}
	return v, text, advice == ""
}

// stack finds a stack's facts, Name filled in.
func (r *reader) stack(name string) (StackFacts, bool) {
	if r.vocabulary.Stacks == nil {
		return StackFacts{Name: name}, true
	}
	f, asked := r.facts[name]
	if !asked {
		if facts, ok := r.vocabulary.Stacks(name); ok {
			if facts.Name == "" {
				facts.Name = name
			}
			f = &facts
			r.facts[facts.Name] = f
		}
		r.facts[name] = f
	}
	if f == nil {
		return StackFacts{}, false
	}
	return *f, true
}

// A key of a mapping and what reads its value.
type key struct {
	name string
	read func(r *reader, s *Study, n *node)
}

// keys reads a mapping whose keys are all listed.
func (r *reader) keys(what string, s *Study, n *node, keys []key) {
	if !r.kind(what, n, mapping, "a mapping such as {"+keys[0].name+": …}") {
		return
	}
	for _, p := range n.pairs {
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == p.key.Text })
		if i < 0 {
			r.fail(p.key.Pos, fmt.Sprintf("%s has no key %q", what, p.key.Text), r.adviceInside(what, p.key.Text,
				keyNames(keys), manual))
			continue
		}
		keys[i].read(r, s, p.value)
	}
}

func keyNames(keys []key) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return names
}
