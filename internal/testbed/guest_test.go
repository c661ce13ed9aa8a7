package testbed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
)

// Where edgegauge for a device is not there, and Go is not either, which would build it from the source at hand, a
// study is not called ready.
func TestProgramsForDevicesTakeGo(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	t.Setenv("PATH", path)
	b := bed(t)
	b.Source = root
	says := func(device string) string {
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: rest-json\nserver: {device: "+
			device+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range b.Obstacles(t.Context(), p) {
			if strings.Contains(x.What, "it needs this program") {
				return x.Error()
			}
		}
		return ""
	}
	devices := []string{"cortex-a53", "instructions-arm64"}
	for _, device := range devices {
		if got, want := says(device), "s.yaml:4:18: device "+device+": it needs this program, built for it, and to build it "+
			"from "+root+" takes Go: "; !strings.HasPrefix(got, want) ||
			!strings.Contains(got, "install Go, or put edgegauge-linux-arm64 into ") {
			t.Errorf("without Go: got %q, want %q", got, want)
		}
	}
	b.Exe = filepath.Join(t.TempDir(), "edgegauge")
	if err := os.WriteFile(b.Exe+"-linux-arm64", nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, device := range devices {
		if got := says(device); got != "" {
			t.Errorf("with a program beside: got %q", got)
		}
	}
	if err := os.Remove(b.Exe + "-linux-arm64"); err != nil {
		t.Fatal(err)
	}
	kerneltest.WriteProgram(t, filepath.Join(path, "go"), "#!/bin/sh\n")
	for _, device := range devices {
		if got := says(device); got != "" {
			t.Errorf("with Go: got %q", got)
		}
	}
}
