package study

import (
	"fmt"
	"strconv"
	"strings"
)

// linkKeys shape one direction; the same keys under up or down shape only that.
var linkKeys = []string{"delay", "delay_stddev", "loss", "loss_burst", "rate", "queue", "order"}

// readLink reads a profile's name, "none", or a mapping that is the shape:
//
//	link: {delay: 40ms, loss: 1%, up: {rate: 64kbit}, down: {rate: 1Mbit}}
//	link: {profile: nb-iot, loss: 5%}
func readLink(r *reader, what string, n *node) (Setting, bool) {
	if n.kind != mapping {
		v, ok := r.name(what, n)
		if ok && v != "none" {
			ok = r.known("link", Word{v, n.pos}, r.vocabulary.Links)
		}
		l := Link{Text: v, Profile: v}
		if v == "none" {
			l.Profile = ""
		}
		return fixed(v, n.pos, l, func(s *Setup) *Link { return &s.Link }), ok
	}
	return readShapes(r, what, n)
}

func readShapes(r *reader, what string, n *node) (Setting, bool) {
	var l Link
	var label string
	both, up, down := &node{pos: n.pos}, &node{}, &node{}
	good := true
	for _, p := range n.pairs {
		switch p.key.Text {
		case "name":
			v, ok := r.name("the name of a link", p.value)
			label, good = v, good && ok
		case "shaper":
			v, ok := r.choice(what+" shaper", p.value, []string{"netem"})
			l.Shaper, good = v, good && ok
		case "profile":
			v, ok := r.name("the profile of a link", p.value)
			ok = ok && r.known("link", Word{v, p.value.pos}, r.vocabulary.Links)
			l.Profile, good = v, good && ok
		case "up", "down":
			side := map[string]*node{"up": up, "down": down}[p.key.Text]
			*side = *p.value
			good = r.kind(what+" "+p.key.Text, p.value, mapping, "a mapping such as {rate: 64kbit}") && good
		default:
			both.pairs = append(both.pairs, p)
		}
	}
	text := r.shape(what, both, &l.Up, &l.Down, &good)
	text = append(text, prefixed("up.", r.shape(what+" up", up, &l.Up, nil, &good))...)
	text = append(text, prefixed("down.", r.shape(what+" down", down, &l.Down, nil, &good))...)
	if good && len(text) == 0 {
		r.fail(n.pos, what+" has no delay, loss, rate or queue",
			"write the name of a profile, or a shape such as {delay: 40ms}")
		return Setting{}, false
	}
	if l.Profile != "" {
		l.Replaced = replaced(text)
		text = append([]string{"profile=" + l.Profile}, text...)
	} else if good && (l.Up.DelayStdDev > 0 && l.Up.Delay == 0 || l.Down.DelayStdDev > 0 && l.Down.Delay == 0) {
		r.fail(n.pos, what+" has a delay_stddev without a delay",
			"write the mean too, such as {delay: 40ms, delay_stddev: 5ms}")
		return Setting{}, false
	}
	if l.Shaper != "" {
		text = append(text, "shaper="+l.Shaper)
	}
	canonical := strings.Join(text, " ")
	l.Text = canonical
	if label != "" {
		l.Text = label
	}
	s := fixed(l.Text, n.pos, l, func(s *Setup) *Link { return &s.Link })
	s.id = canonical
	return s, good
}

// shape reads the keys of one mapping into one direction or both, and returns
// their canonical text in the order of linkKeys.
func (r *reader) shape(what string, n *node, a, b *Shape, good *bool) []string {
	text := map[string]string{}
	for _, p := range n.pairs {
		var v Shape
		t, ok := r.linkValue(what+" "+p.key.Text, p, &v)
		*good = *good && ok
		text[p.key.Text] = t
		for _, s := range []*Shape{a, b} {
			if s != nil {
				s.merge(p.key.Text, v)
			}
		}
	}
	var list []string
	for _, k := range linkKeys {
		if text[k] != "" {
			list = append(list, k+"="+text[k])
		}
	}
	return list
}

func (r *reader) linkValue(what string, p pair, v *Shape) (text string, ok bool) {
	n := p.value
	switch p.key.Text {
	case "delay":
		v.Delay, ok = r.duration(what, n, 0)
		return DurationText(v.Delay), ok
	case "delay_stddev":
		v.DelayStdDev, ok = r.duration(what, n, 0)
		return DurationText(v.DelayStdDev), ok
	case "loss":
		v.Loss, text, ok = r.ratio(what, n, "a probability")
		return text, ok
	case "loss_burst":
		v.Burst, ok = r.count(what, n, 1, 1_000_000)
		return strconv.Itoa(v.Burst), ok
	case "rate":
		v.Rate, text, ok = r.bitRate(what, n)
		return text, ok
	case "queue":
		v.Queue, ok = r.count(what, n, 1, 1_000_000)
		return strconv.Itoa(v.Queue), ok
	case "order":
		text, ok = r.choice(what, n, []string{"kept", "free"})
		v.Reorder = text == "free"
		return text, ok
	}
	all := append(linkKeys[:len(linkKeys):len(linkKeys)], "up", "down", "name", "profile", "shaper")
	r.fail(p.key.Pos, fmt.Sprintf("a link has no key %q", p.key.Text),
		r.adviceInside("link", p.key.Text, all, "write one of "+strings.Join(all, ", ")))
	return "", false
}

// merge copies the one field that key names.
func (s *Shape) merge(key string, v Shape) {
	switch key {
	case "delay":
		s.Delay = v.Delay
	case "delay_stddev":
		s.DelayStdDev = v.DelayStdDev
	case "loss":
		s.Loss = v.Loss
	case "loss_burst":
		s.Burst = v.Burst
	case "rate":
		s.Rate = v.Rate
	case "queue":
		s.Queue = v.Queue
	case "order":
		s.Reorder = v.Reorder
	}
}

// replaced are the keys alone of canonical text.
func replaced(text []string) string {
	keys := make([]string, len(text))
	for i, t := range text {
		keys[i], _, _ = strings.Cut(t, "=")
	}
	return strings.Join(keys, " ")
}

func prefixed(prefix string, words []string) []string {
	for i, w := range words {
		words[i] = prefix + w
	}
	return words
}
