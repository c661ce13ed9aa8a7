package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/study"
)

// A loadSetting is what no version of a program decides: the load, and the place where it is borne. A version may have
// other stacks, options and memory, what these speak (encoding, security, transport) and the URL where it runs. How
// often the same is asked, and what is recorded, makes no other load either.
type loadSetting struct{ key, value string }

// askedOf are the settings of a treatment of that kind; a value is empty where it is not set.
func askedOf(s *study.Setup) []loadSetting {
	p := s.Population
	link := s.Link
	link.Text = "" // its name
	out := []loadSetting{{"service", s.Service}, {"n", said(s.N)}, {"size", said(s.Size)}, {"request", said(s.Request)},
		{"concurrency", said(s.Concurrency)}, {"rate", said(s.Rate)}, {"connection", s.Connection}, {"ip", s.IP},
		{"link", said(link)}, {"devices", said(p.Devices)}, {"period", said(p.Period)}, {"jitter", said(p.Jitter)},
		{"phase", p.Phase}, {"ramp", said(p.Ramp)}, {"keepalive", said(p.KeepAlive)}, {"observe", said(p.Observe)},
		{"nat", said(p.NAT)}, {"sleep", said(p.Sleep)}, {"reconnect", said(p.Reconnect)}, {"outage", said(p.Outage)},
		{"mix", said(p.Mix)}, {"driven_from", said(s.DrivenFrom)}, {"at_once", said(s.AtOnce)},
		{"client.device", s.Client.Device}, {"server.device", s.Server.Device}, {"client.meter", s.Client.Meter},
		{"server.meter", s.Server.Meter}, {"placement", s.Placement}, {"sensor", s.Sensor}, {"io_dir", s.IODir}}
	if s.Rate > 0 {
		out = append(out, loadSetting{"arrival", s.Arrival})
	}
	return out
}

// said is a value in words; empty: it is not set.
func said[T any](v T) string {
	text, err := json.Marshal(v)
	if err != nil { // it is plain data
		return fmt.Sprint(v)
	}
	if none, _ := json.Marshal(*new(T)); string(none) == string(text) {
		return ""
	}
	if d, ok := any(v).(fmt.Stringer); ok {
		return d.String()
	}
	return string(text)
}

// LoadDifferences say how two results are of different studies, of different loads, or of different places, treatment
// by treatment, whoever set it: a difference of their figures is then none of two versions. Nil: they are not. A study
// that has another name, and asks the same, is the same.
func LoadDifferences(old, new *Report) []string {
	var out []string
	add := func(what, a, b string) {
		out = append(out, fmt.Sprintf("%s: %s before, %s now", what, orNone(a), orNone(b)))
	}
	text := changed(old, new) // as the study has it
	// Beside how often the same is asked, and what the study is called.
	another := slices.ContainsFunc(sortedKeys(text), func(k string) bool {
		return !ofTrials(k) && !slices.Contains([]string{"study", "requests", "duration"}, k)
	})
	if a, b := old.Study.Name, new.Study.Name; a != b && another {
		add("study", a, b)
	}
	var setups [][2]*study.Setup // of the treatments of both
	var names []string
	before := old.Attempts()
	for i, b := range new.Attempts() {
		k := slices.IndexFunc(before, b.Same)
		if k < 0 || old.Treatments[k].setup == nil || new.Treatments[i].setup == nil {
			continue
		}
		setups = append(setups, [2]*study.Setup{old.Treatments[k].setup, new.Treatments[i].setup})
		names = append(names, b.Name)
	}
	var keys []string
	of := map[string][]string{} // treatments, by the key and both values
	for i, both := range setups {
		b := askedOf(both[1])
		for _, was := range askedOf(both[0]) {
			k := slices.IndexFunc(b, func(x loadSetting) bool { return x.key == was.key })
			if k < 0 || b[k].value == was.value { // it means nothing there, or is the same
				continue
			}
			x := [2]string{was.value, b[k].value}
			if was.key == "link" {
				x = [2]string{both[0].Link.Text, both[1].Link.Text}
			}
			if v, ok := text[was.key]; ok {
				x = v
			}
			words := fmt.Sprintf("%s before, %s now", orNone(x[0]), orNone(x[1]))
			key := was.key + "\x00" + words
			if of[key] == nil {
				keys = append(keys, key)
			}
			of[key] = append(of[key], names[i])
		}
	}
	for _, key := range keys {
		what, words, _ := strings.Cut(key, "\x00")
		if of := of[key]; len(of) < len(setups) {
			what += " of " + list(of, mostNames)
		}
		out = append(out, what+": "+words)
	}
	a, b := old.besideSettings(), new.besideSettings()
	for _, k := range []string{"warm-up", "cool-down", "spread", "pin"} {
		if a[k] != b[k] {
			add(k, a[k], b[k])
		}
	}
	if a, b := old.Study.Timeouts.Request, new.Study.Timeouts.Request; a != b {
		add("timeouts.request", study.DurationText(a), study.DurationText(b))
	}
	return out
}
