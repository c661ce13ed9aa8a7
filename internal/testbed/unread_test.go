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
