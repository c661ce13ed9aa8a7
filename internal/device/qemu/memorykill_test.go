package qemu

import (
	"os"
	"path/filepath"
	"testing"

	"edgegauge.example/edgegauge/internal/device"
)

// What the kernel killed before a program began is not why it ended, and neither is anything of one that ended well.
func TestAProgramThatTheGuestKilledForMemory(t *testing.T) {
	const line = "Out of memory: Killed process 57 (java) total-vm:230000kB\r\n"
	const why = ": the machine was out of memory, and its kernel killed process 57 (java)"
	for _, c := range []struct {
		before, since string
		exit          device.Exit
		want          string
	}{
		{"", line, device.Exit{Code: -1, Signal: "SIGKILL"}, "SIGKILL" + why},
		{"", line, device.Exit{Code: 137}, "status 137" + why},
		{"", line, device.Exit{}, "status 0"},
		{line, "", device.Exit{Code: -1, Signal: "SIGKILL"}, "SIGKILL"},
		{"", "", device.Exit{Code: -1, Signal: "SIGSEGV"}, "SIGSEGV"},
	} {
		file := filepath.Join(t.TempDir(), consoleFile)
		if err := os.WriteFile(file, []byte(c.before+c.since), 0o600); err != nil {
			t.Fatal(err)
		}
		said := console{file: file, at: int64(len(c.before))}
		if got := said.ofMemory(c.exit).Reason(); got != c.want {
			t.Errorf("%q, %q, %+v: got %q, want %q", c.before, c.since, c.exit, got, c.want)
		}
	}
}
