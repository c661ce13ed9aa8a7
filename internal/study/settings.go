package study

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/meant"
)

// A setting stands fixed at the top of a study, or under factors with levels.
type setting struct {
	name string
	read func(r *reader, what string, n *node) (Setting, bool)
}

// settings are all of them; options.NAME and the mappings client, server and
// options come on top (see reader.assign).
var settings = []setting{
	{"service", known("service", serviceNames, func(s *Setup) *string { return &s.Service })},
	{"n", count(0, math.MaxInt32, func(s *Setup) *int { return &s.N })},
	{"size", size(1, 1<<40, func(s *Setup) *int64 { return &s.Size })},
	{"stack", stack(func(s *Setup) *string { return &s.Stack })},
	{"encoding", name(func(s *Setup) *string { return &s.Encoding })},
	{"security", name(func(s *Setup) *string { return &s.Security })},
	{"transport", name(func(s *Setup) *string { return &s.Transport })},
	{"connection", choice([]string{"keep-alive", "per-request", "pipelined", "multiplexed"},
		func(s *Setup) *string { return &s.Connection })},
	{"ip", choice([]string{"ipv4", "ipv6"}, func(s *Setup) *string { return &s.IP })},
	{"client.device", deviceName(func(s *Setup) *string { return &s.Client.Device })},
	{"client.stack", stack(func(s *Setup) *string { return &s.Client.Stack })},
	{"client.meter", line(func(s *Setup) *string { return &s.Client.Meter })},
	{"server.device", deviceName(func(s *Setup) *string { return &s.Server.Device })},
	{"server.stack", stack(func(s *Setup) *string { return &s.Server.Stack })},
	{"server.meter", line(func(s *Setup) *string { return &s.Server.Meter })},
	{"server.url", readURL},
	{"request", readRequest},
	{"link", readLink},
	{"concurrency", readConcurrency},
	{"rate", readRate},
	{"arrival", choice([]string{"constant", "poisson"}, func(s *Setup) *string { return &s.Arrival })},
	{"requests", count(1, math.MaxInt32, func(s *Setup) *int { return &s.Requests })},
	{"duration", duration(time.Millisecond, func(s *Setup) *time.Duration { return &s.Duration })},
	{"min_duration", duration(time.Millisecond, func(s *Setup) *time.Duration { return &s.MinDuration })},
	{"devices", count(1, mostDevices, func(s *Setup) *int { return &s.Population.Devices })},
	{"period", duration(time.Millisecond, func(s *Setup) *time.Duration { return &s.Population.Period })},
	{"jitter", share(func(s *Setup) *float64 { return &s.Population.Jitter })},
	{"phase", choice([]string{"random", "aligned"}, func(s *Setup) *string { return &s.Population.Phase })},
	{"ramp", readRamp},
	{"keepalive", duration(time.Millisecond, func(s *Setup) *time.Duration { return &s.Population.KeepAlive })},
	{"observe", readObserve},
	{"nat", readNAT},
	{"sleep", readSleep},
	{"reconnect", readReconnect},
	{"outage", readOutage},
	{"lateness", duration(time.Microsecond, func(s *Setup) *time.Duration { return &s.Population.Lateness })},
	{"mix", readMix},
	{"placement", choice([]string{Together, Apart, Free}, func(s *Setup) *string { return &s.Placement })},
	{"driven_from", count(1, mostDrivenFrom, func(s *Setup) *int { return &s.DrivenFrom })},
	{"at_once", count(1, mostAtOnce, func(s *Setup) *int { return &s.AtOnce })},
	{"capture", choice([]string{"on", "off"}, func(s *Setup) *string { return &s.Capture })},
	{"leave_out", readLeaveOut},
	{"heap", size(1<<20, 1<<50, func(s *Setup) *int64 { return &s.Heap })},
	{"sensor", sensor(func(s *Setup) *string { return &s.Sensor })},
	{"io_dir", name(func(s *Setup) *string { return &s.IODir })},
}

// groups are the mappings whose keys are settings.
var groups = []string{"client", "server", "options"}

func settingNames() []string {
	var names []string
	for _, s := range settings {
		names = append(names, s.name)
	}
	return names
}

func findSetting(key string) (setting, bool) {
	for _, s := range settings {
		if s.name == key {
			return s, true
		}
	}
	if option, ok := strings.CutPrefix(key, "options."); ok && optionName.MatchString(option) {
		return setting{key, optionValue(option)}, true
	}
	return setting{}, false
}

// isSetting reports whether key is a setting, or a mapping of settings.
func isSetting(key string) bool {
	_, ok := findSetting(key)
	return ok || key == "client" || key == "server" || key == "options"
}

// fixed makes a Setting that stores one value.
func fixed[T any](text string, pos Pos, v T, at func(*Setup) *T) Setting {
	return Setting{Value: Word{text, pos}, id: text, set: func(s *Setup) { *at(s) = v }}
}

func count(least, most int, at func(*Setup) *int) func(*reader, string, *node) (Setting, bool) {
	return func(r *reader, what string, n *node) (Setting, bool) {
		v, ok := r.count(what, n, least, most)
		return fixed(fmt.Sprint(v), n.pos, v, at), ok
	}
}

func size(least, most int64, at func(*Setup) *int64) func(*reader, string, *node) (Setting, bool) {
	return func(r *reader, what string, n *node) (Setting, bool) {
		v, text, ok := r.size(what, n, least, most)
		return fixed(text, n.pos, v, at), ok
	}
}

func duration(least time.Duration, at func(*Setup) *time.Duration) func(*reader, string, *node) (Setting, bool) {
	return func(r *reader, what string, n *node) (Setting, bool) {
		v, ok := r.duration(what, n, least)
		return fixed(DurationText(v), n.pos, v, at), ok
	}
}

func choice(names []string, at func(*Setup) *string) func(*reader, string, *node) (Setting, bool) {
	return func(r *reader, what string, n *node) (Setting, bool) {
		v, ok := r.choice(what, n, names)
		return fixed(v, n.pos, v, at), ok
	}
}

// name is any name: only the stack knows which it has (see check.go).
func name(at func(*Setup) *string) func(*reader, string, *node) (Setting, bool) {
	return func(r *reader, what string, n *node) (Setting, bool) {
		v, ok := r.name(what, n)
		return fixed(v, n.pos, v, at), ok
	}
}

// sensorKinds stand before a colon; stacks/PROTOCOL.md says what after it.
var sensorKinds = []string{"serial", "hwmon", "iio", "w1", "fixed", "program"}

// sensor is a kind and what it names, or one that the lab simulates.
func sensor(at func(*Setup) *string) func(*reader, string, *node) (Setting, bool) {
	return func(r *reader, what string, n *node) (Setting, bool) {
		const advice = "write simulated, serial:DEVICE, hwmon:PATH, iio:PATH, w1:ID, fixed:CELSIUS or program:COMMAND"
		if !r.scalar(what, n, "a sensor such as simulated or serial:/dev/ttyUSB0") {
			return Setting{}, false
		}
		kind, name, _ := strings.Cut(n.text, ":")
		simulated := slices.Contains([]string{"simulated", "simulated:avr", "simulated:go"}, n.text)
		if !simulated && (!slices.Contains(sensorKinds, kind) || strings.TrimSpace(name) == "" ||
			strings.ContainsAny(name, "\n\r")) {
			r.fail(n.pos, fmt.Sprintf("%s %q is not a sensor", what, n.text), advice)
			return Setting{}, false
		}
		return fixed(n.text, n.pos, n.text, at), true
	}
}

// line is any text on one line.
func line(at func(*Setup) *string) func(*reader, string, *node) (Setting, bool) {
	return func(r *reader, what string, n *node) (Setting, bool) {
		if !r.scalar(what, n, "a text on one line, such as avr:/dev/ttyUSB0") {
			return Setting{}, false
		}
		if strings.TrimSpace(n.text) == "" || strings.ContainsAny(n.text, "\n\r") {
			r.fail(n.pos, what+" is not a text on one line", "write one such as avr:/dev/ttyUSB0")
			return Setting{}, false
		}
		return fixed(n.text, n.pos, n.text, at), true
	}
}

func known(what string, names func(Vocabulary) []string, at func(*Setup) *string) func(*reader, string,
	*node) (Setting, bool) {
	return func(r *reader, key string, n *node) (Setting, bool) {
		v, ok := r.name(key, n)
		ok = ok && r.known(what, Word{v, n.pos}, names(r.vocabulary))
		return fixed(v, n.pos, v, at), ok
	}
}

// deviceName is one of the vocabulary's, or a board's URL.
func deviceName(at func(*Setup) *string) func(*reader, string, *node) (Setting, bool) {
	return func(r *reader, what string, n *node) (Setting, bool) {
		if strings.Contains(n.text, "@") && !strings.Contains(n.text, "://") {
			r.fail(n.pos, fmt.Sprintf("no device %q", n.text), meant.Question("ssh://"+n.text))
			return Setting{}, false
		}
		v, ok := r.device(what, n)
		if !ok {
			return Setting{}, false
		}
		if r.vocabulary.Board == nil || !strings.Contains(v, "://") {
			return fixed(v, n.pos, v, at), r.known("device", Word{v, n.pos}, deviceNames(r.vocabulary))
		}
		if strings.HasPrefix(v, "http://") || strings.HasPrefix(v, "https://") {
			r.fail(n.pos, fmt.Sprintf("%q is no device", v),
				"write server: {url: \""+v+"\"} for a service that is already running")
			return Setting{}, false
		}
		if err := r.vocabulary.Board(v); err != nil {
			r.fail(n.pos, "no device", err.Error())
			return Setting{}, false
		}
		return fixed(v, n.pos, v, at), true
	}
}

// stack stores the full name of a stack; its level keeps the name as written.
func stack(at func(*Setup) *string) func(*reader, string, *node) (Setting, bool) {
	return func(r *reader, what string, n *node) (Setting, bool) {
		v, ok := r.name(what, n)
		if !ok {
			return Setting{}, false
		}
		facts, ok := r.stack(v)
		if !ok {
			r.fail(n.pos, fmt.Sprintf("no stack %q", v), meant.Advice(v, r.vocabulary.StackNames, lists["stack"]))
			return Setting{}, false
		}
		if facts.Missing != "" {
			r.errs.add(Error{Pos: n.pos, What: fmt.Sprintf("stack %q cannot run here", v), Advice: facts.Missing, Here: true})
			return Setting{}, false
		}
		s := fixed(v, n.pos, facts.Name, at)
		s.id = facts.Name
		return s, true
	}
}

func readConcurrency(r *reader, what string, n *node) (Setting, bool) {
	most := r.vocabulary.MostConnections
	if most == 0 {
		most = math.MaxInt32
	}
	return count(1, most, func(s *Setup) *int { return &s.Concurrency })(r, what, n)
}

func readRate(r *reader, what string, n *node) (Setting, bool) {
	if !r.scalar(what, n, "a number of requests per second, such as 100") {
		return Setting{}, false
	}
	v, text, advice := readRequestRate(n.text, r.vocabulary.MostRate)
	if advice != "" {
		r.fail(n.pos, fmt.Sprintf("%s %q is not a rate", what, n.text), advice)
		return Setting{}, false
	}
	return fixed(text, n.pos, v, func(s *Setup) *float64 { return &s.Rate }), true
}

var optionName = newForm(`^[A-Za-z][A-Za-z0-9._-]*$`, 100)

func optionValue(option string) func(*reader, string, *node) (Setting, bool) {
	return func(r *reader, what string, n *node) (Setting, bool) {
		if !r.scalar(what, n, "a value") {
			return Setting{}, false
		}
		if strings.ContainsAny(n.text, "\n\r\t") {
			r.fail(n.pos, what+" has a line break or tab", "write it on one line")
			return Setting{}, false
		}
		text := n.text
		set := func(s *Setup) {
			if s.Options == nil {
				s.Options = map[string]string{}
			}
			s.Options[option] = text
		}
		return Setting{Value: Word{text, n.pos}, id: text, set: set}, true
	}
}

// SettingNames are all settings but those of options, which each stack has its own of.
func SettingNames() []string { return settingNames() }
