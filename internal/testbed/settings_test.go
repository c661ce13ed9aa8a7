package testbed

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/study"
)

// Every setting of a study is read by somebody: two studies that differ in nothing
// else make the lab do something else, or are refused in other words. A setting
// without a row fails.
func TestEverySettingIsRead(t *testing.T) {
	const sized = "service=echo n=3"
	rows := map[string]struct{ with, one, other string }{ // further settings, and two values
		"service":       {"n=3", "echo", "sort"},
		"n":             {"service=echo", "3", "4"},
		"size":          {"service=echo", "1kB", "2kB"},
		"stack":         {"", "recorder", "other"},
		"encoding":      {"", "json", "xml"},
		"security":      {"", "none", "tls"},
		"transport":     {"", "http", "http2"},
		"connection":    {"", "keep-alive", "per-request"},
		"ip":            {"", "ipv4", "ipv6"},
		"client.device": {"", "local", "constrained-10"},
		"server.device": {"", "local", "constrained-10"},
		"client.stack":  {"", "recorder", "other"},
		"server.stack":  {"", "recorder", "other"},
		"client.meter":  {"responses=[energy]", "model:raspberry-pi-1", "avr:/dev/no-such-meter"},
		"server.meter":  {"responses=[energy]", "model:raspberry-pi-1", "avr:/dev/no-such-meter"},
		"link":          {"", "none", "nb-iot"},
		"concurrency":   {"", "1", "2"},
		"rate":          {"", "100", "200"},
		"arrival":       {"rate=100", "constant", "poisson"},
		"requests":      {"", "10", "20"},
		"duration":      {"", "10ms", "20ms"},
		"min_duration":  {"requests=1 rate=1000", "10ms", "20ms"},
		"placement":     {"", "together", "free"},
		"driven_from":   {"duration=10ms", "1", "2"}, // one bench alone is refused; script run_benches_joint has two
		"capture":       {"packets=keep", "on", "off"},
		"heap":          {"", "16MB", "32MB"},
		"sensor":        {"service=temperature", "fixed:20", "fixed:21"},
		"io_dir":        {sized, t.TempDir(), t.TempDir()},
		"options.own":   {"", "a", "b"},
	}
	dir := t.TempDir()
	told := filepath.Join(dir, "told")
	for _, name := range []string{"recorder", "other"} {
		recorder(t, filepath.Join(dir, "stacks", name), told)
	}
	b := bed(t, filepath.Join(dir, "stacks"))
	for _, name := range append(study.SettingNames(), "options.own") {
		if name == "server.url" || name == "request" {
			continue // no stack is told them: cmd/edgegauge has TestServicesThatAreAlreadyThere
		}
		if slices.Contains(study.PopulationSettings(), name) {
			continue // only clients in this program are told them: lab has TestEverySettingOfDevicesIsTold
		}
		if name == "leave_out" {
			continue // only results lack something: cmd/edgegauge has TestScripts/run_leave_out
		}
		if name == "at_once" {
			continue // only when trials run: lab has TestTrialsAtOnceKeepStep
		}
		t.Run(name, func(t *testing.T) {
			row, ok := rows[name]
			if !ok {
				t.Fatalf("no row for the setting %s: say what makes a difference", name)
			}
			if testing.Short() {
				return // each is two studies
			}
			with := strings.Fields(row.with)
			one := doings(t, b, told, append(with, name+"="+row.one))
			other := doings(t, b, told, append(with, name+"="+row.other))
			if one == other {
				t.Errorf("%s or %s: the lab does the same:\n%s", row.one, row.other, one)
			}
			if name != "n" {
				return
			}
			if again := doings(t, b, told, append(with, name+"="+row.one)); again != one {
				t.Errorf("%s twice: the lab does not do the same, so this test shows nothing:\n%s\n%s", row.one, one, again)
			}
		})
	}
}

// doings is what a lab tells a stack's programs, and has opened, for a study with
// these settings; or why it cannot run.
func doings(t *testing.T, b *Testbed, told string, sets []string) string {
	t.Helper()
	if err := os.WriteFile(told, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	text := []byte("study: s\nservice: monitor\nstack: recorder\ndesign: {replications: 1}\nretries: 0\ntimeouts: " +
		"{ready: 2s, " +
		"request: 1s, trial: 20s}\n")
	p, err := b.Read(t.Context(), "s.yaml", text, sets...)
	if err != nil {
		t.Fatalf("%v: %v", sets, err)
	}
	e, err := b.Open(t.Context(), Request{Plan: p, Text: text, Out: filepath.Join(t.TempDir(), "out")})
	if err != nil {
		return err.Error()
	}
	defer e.Close()
	if _, err := e.Lab.Run(t.Context()); err != nil {
		return err.Error()
	}
	text, _ = os.ReadFile(told)
	lines := strings.Split(string(text), "\n")
	slices.Sort(lines) // two programs write at once
	l := e.Lab
	opened := fmt.Sprint(keys(l.Devices), keys(l.Links), keys(l.Meters), keys(l.Profiles), keys(l.Sensors),
		lab.CPUsOf(p.Trials[0].Setup, p.Study.Pin, []int{1, 0}), lab.Captured(p.Trials[0].Setup))
	return harmless(strings.Join(lines, "\n"), e.Lab.Scratch) + opened
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// harmless replaces what is another for each run.
func harmless(text, scratch string) string {
	text = strings.ReplaceAll(text, scratch, "SCRATCH")
	return regexp.MustCompile(`trial-[0-9]+`).ReplaceAllString(text, "trial-N")
}

// recorder writes a stack that can do everything, by its description.
func recorder(t *testing.T, dir, file string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`title: writes down what it is told
version: "1"
language: Go
options: [own]
build: {product: [stack.yaml]} # not the file that it writes
serve: {command: [%[1]q, record, %[2]q, "{heap}", serve], heap: 64MB}
call: {command: [%[1]q, record, %[2]q, "{heap}", call], heap: 64MB}
serves:
  - {services: [monitor, echo, sort, temperature], encodings: [json, xml], security: [none, tls], transports: [http, http2], sides: [server, client],
     connections: [keep-alive, per-request]}
`, exe, file)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "stack.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
