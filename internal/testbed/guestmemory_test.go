package testbed

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a trial would bring into a machine is looked at before: what does not fit would be cut off, in every trial.
func TestCheckSeesWhatDoesNotFitAMachine(t *testing.T) {
	dir := t.TempDir()
	sized := func(file string, size int64) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o644),
			os.Truncate(file, size)); err != nil {
			t.Fatal(err)
		}
	}
	sized(filepath.Join(dir, "large/stack.yaml"), 0)
	if err := os.WriteFile(filepath.Join(dir, "large/stack.yaml"), []byte(`title: a stack
version: "1"
language: Java
build: {command: ["true"], product: [lib], inputs: [stack.yaml]}
serve: {command: [java, -cp, "lib/*", Main, serve]}
call: {command: [java, -cp, "lib/*", Main, call]}
serves: [{services: [monitor], encodings: [xml], security: [none], transports: [http], sides: [server, client], connections: [keep-alive]}]
`), 0o644); err != nil {
		t.Fatal(err)
	}
	b := bed(t, dir)
	sized(filepath.Join(b.Cache, "java/armhf/java.squashfs"), 52_000_000)
	sized(filepath.Join(b.Cache, "java/armel/java.squashfs"), 52_000_000)
	const stays = "what it is given does not fit into its memory: its program 12 MB, Java 52 MB, stacks 60 MB; "
	for _, tt := range []struct {
		stack  string
		size   int64
		device string
		time   string
		want   string
	}{
		{"large", 60_000_000, "cortex-a7", "instructions", stays},
		{"large", 30_000_000, "cortex-a7", "instructions", ""},
		{"large", 60_000_000, "cortex-a7", "clock", ""}, // its agent gets it later
		{"large", 60_000_000, "raspberry-pi-1", "instructions", ""},
		{"large", 90_000_000, "raspberry-pi-1", "instructions", "its program 12 MB, stacks 90 MB; "},
		{"rest-xml", 60_000_000, "cortex-a7", "instructions", ""},
	} {
		sized(filepath.Join(dir, "large/lib/large.jar"), tt.size)
		p, _, err := b.ReadElsewhere(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\ntime: "+tt.time+
			"\nstack: "+tt.stack+"\nencoding: xml\nclient: {device: "+tt.device+"}\nserver: {device: "+tt.device+"}\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, x := range b.Obstacles(t.Context(), p) {
			if strings.Contains(x.What, "does not fit into its memory") {
				got += x.Error()
			}
		}
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) || got != "" &&
			!strings.HasPrefix(got, "s.yaml:4:8: device "+tt.device+": ") {
			t.Errorf("%s of %d B on %s, %s: got %q, want %q", tt.stack, tt.size, tt.device, tt.time, got, tt.want)
		}
	}
}
