package testbed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A setting that no program reads makes no second treatment of a first: a heap that none takes, a sensor or a folder
// that the service has no use for.
func TestSettingsThatNobodyReads(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"managed", "native"} {
		recorder(t, filepath.Join(dir, name), filepath.Join(dir, "told"))
	}
	file := filepath.Join(dir, "native", "stack.yaml")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "{heap}", "none")), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	b := bed(t, dir)
	const heaps = "heap: [64MiB, 256MiB]"
	for _, tt := range []struct{ study, want string }{
		{"stack: managed\nfactors: {" + heaps + "}", ""},
		{"stack: native\nfactors: {" + heaps + "}", "5:25: stack native takes no heap, so treatments that differ in it " +
			"alone are equal; do not vary heap, or exclude: [{heap: 256MiB}]"},
		{"factors: {stack: [managed, native], " + heaps + "}", "stack native takes no heap, so treatments that differ in " +
			"it alone are equal; do not vary heap, or exclude: [{stack: native, heap: 256MiB}]"},
		{"factors: {stack: [managed, native], " + heaps + "}\nexclude: [{stack: native, heap: 256MiB}]", ""},
		{"client: {stack: managed}\nserver: {stack: native}\nfactors: {" + heaps + "}", ""},
		{"heap: 64MiB\nfactors: {stack: [managed, native]}", ""},
		{"stack: native\nheap: 64MiB\nfactors: {concurrency: [1, 2]}", ""}, // as where no stack with a heap is there
		{"stack: native\nfactors: {of: [{name: small, heap: 64MiB, concurrency: 1}, {name: big, heap: 256MiB, " +
			"concurrency: 2}]}", ""},
		{"stack: native\nfactors: {of: [{name: small, heap: 64MiB, n: 3}, {name: big, n: 3}]}\nservice: echo",
			"do not vary heap, or exclude: [{of: small}]"},
		{"stack: native\nfactors: {sensor: ['fixed:20', 'fixed:21']}", "5:32: service monitor reads no sensor, so " +
			"treatments that differ in it alone are equal; do not vary sensor, or exclude: [{sensor: fixed:21}]"},
		{"stack: native\nservice: temperature\nfactors: {sensor: ['fixed:20', 'fixed:21']}", ""},
		{"stack: native\nfactors: {io_dir: [/tmp, /var/tmp]}", "service monitor writes no files"},
		{"stack: rest-json\nservice: io\nn: 100\nfactors: {io_dir: [/tmp, /var/tmp]}", ""},
		{"stack: native\nservice: sort\nn: 3\nfactors: {options.letters: [3, 5]}", "service sort sends no strings of " +
			"letters, so treatments that differ in it alone are equal; do not vary options.letters, or exclude: " +
			"[{options.letters: 5}]"},
		{"stack: rest-json\nservice: concat\nn: 3\nfactors: {options.letters: [3, 5]}", ""},
		{"stack: rest-json\nservice: concat\nn: 3\nfactors: {options.max: [3, 5]}", "service concat sends no hundredths"},
		{"stack: rest-json\nservice: sum\nn: 3\nfactors: {options.max: [3, 5]}", ""},
		{"stack: native\nfactors: {capture: [on, off]}", "no response comes from packets, so treatments that differ in it " +
			"alone are equal; do not vary capture"},
		{"stack: native\nfactors: {client.meter: ['model:raspberry-pi-1', 'model:nrf9160-lte-m']}", "no response is energy " +
			"or power"},
		{"stack: native\nresponses: [energy]\nfactors: {client.meter: ['model:raspberry-pi-1', 'model:nrf9160-lte-m']}", ""},
		{"stack: native\nsensor: fixed:20\nio_dir: /tmp\nfactors: {concurrency: [1, 2]}", ""},
	} {
		service := "service: monitor\n"
		if strings.Contains(tt.study, "service:") {
			service = ""
		}
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\n"+service+"design: {replications: 1}\n"+tt.study+"\n"))
		if err != nil {
			t.Fatalf("%s: %v", tt.study, err)
		}
		found := b.Obstacles(t.Context(), p)
		if got := fmt.Sprint(found); (len(found) == 0) != (tt.want == "") || !strings.Contains(got, tt.want) ||
			len(found) > 1 {
			t.Errorf("%s: got %s, want %s", tt.study, got, tt.want)
		}
	}
}

// What all treatments are given and none reads changes nothing, so it is no fault: it is noted, where it stands.
func TestSettingsThatNobodyReadsAreNoted(t *testing.T) {
	dir := t.TempDir()
	recorder(t, filepath.Join(dir, "managed"), filepath.Join(dir, "told"))
	b := bed(t, dir)
	const heaps = "{of: [{name: small, heap: 64MiB, requests: 5}, {name: big, heap: 256MiB, requests: 6}]}"
	for _, tt := range []struct{ study, want string }{
		{"heap: 64MiB", "s.yaml:2:7: stack reference/rest-json takes no heap, so heap 64MiB changes nothing"},
		{"heap: 64MiB\nclient.stack: rest-xml\nserver.stack: phantom", "stacks reference/rest-xml and reference/phantom " +
			"take no heap"},
		{"heap: 64MiB\nstack: managed", ""},
		{"heap: 64MiB\nfactors: {stack: [managed, rest-json]}", ""},
		{"factors: " + heaps, "so heap 64MiB changes nothing"},
		{"factors: {heap: [64MiB, 256MiB]}", ""}, // which is refused
		{"sensor: fixed:20", "2:9: service monitor reads no sensor, so sensor fixed:20 changes nothing"},
		{"sensor: fixed:20\nservice: temperature", ""},
		{"sensor: fixed:20\nfactors: {service: [monitor, temperature]}", ""},
		{"service: temperature", ""},
		{"io_dir: /tmp", "service monitor writes no files, so io_dir /tmp changes nothing"},
		{"io_dir: /tmp\nservice: io\nn: 100", ""},
		{"options: {letters: 5}\nservice: sort\nn: 3\nstack: reference/rest-json", "2:20: service sort sends no strings of " +
			"letters, so options.letters 5 changes nothing"},
		{"options.max: 5\nservice: concat\nn: 3", "service concat sends no hundredths, so options.max 5 changes nothing"},
		{"options.max: 5\nservice: sum\nn: 3", ""},
		{"capture: on", "no response comes from packets, so capture on changes nothing"},
		{"capture: off", ""},
		{"capture: on\nresponses: [rtt, wire_bytes]", ""},
		{"capture: on\npackets: keep", ""},
		{"client.meter: 'model:raspberry-pi-1'", "the meter is not read, since responses have no energy or power; write " +
			"responses: [rtt, energy_gross], for example, or remove the meter"},
		{"client.meter: 'model:raspberry-pi-1'\nresponses: [energy]", ""},
		{"requests: 5", ""},
	} {
		text := "study: s\n" + tt.study + "\n"
		for _, def := range []string{"service: monitor", "stack: rest-json"} {
			key, _, _ := strings.Cut(def, ":")
			if !strings.Contains(tt.study, key+":") {
				text += def + "\n"
			}
		}
		p, err := b.Read(t.Context(), "s.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", tt.study, err)
			continue
		}
		notes := b.Unread(p)
		if got := fmt.Sprint(notes); (notes == nil) != (tt.want == "") || !strings.Contains(got, tt.want) ||
			len(notes) > 1 {
			t.Errorf("%s: got %s, want %s", tt.study, got, tt.want)
		}
	}
}

// Trials of a block run at the same time, so one treatment alone never does.
func TestTrialsWithNoOtherAtTheSameTime(t *testing.T) {
	b := bed(t)
	for _, tt := range []struct{ study, want string }{
		{"at_once: 6", "s.yaml:5:10: at_once 6 changes nothing: trials of a block run at the same time, and each block has " +
			"one of them; run more treatments, or remove it"},
		{"at_once: 1", ""},
		{"at_once: 6\nfactors: {requests: [5, 6]}", ""},
		{"factors: {at_once: [2, 6], requests: [5, 6]}", ""},
		{"factors: {at_once: [1, 6]}", "at_once 6 changes nothing"},
		{"factors: {of: [{name: a, at_once: 6}, {name: b, at_once: 6, requests: 5}]}", ""},
	} {
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: rest-json\n"+
			"link: {delay: 50ms}\n"+tt.study+"\n"))
		if err != nil {
			t.Errorf("%s: %v", tt.study, err)
			continue
		}
		note := Lonely(p)
		if got := fmt.Sprint(note); (note == nil) != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.study, got, tt.want)
		}
	}
}
