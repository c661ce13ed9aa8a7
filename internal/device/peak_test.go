package device

import (
	"os"
	"testing"
)

// Both kinds of control groups count what they killed.
func TestKillsForMemory(t *testing.T) {
	for file, two := range map[string]bool{"memory.events": true, "memory.oom_control": false} {
		dir := t.TempDir()
		g := &group{dirs: []string{dir}, two: two, l: Limits{Memory: 1 << 20}}
		if got := g.killedForMemory(); got != 0 {
			t.Errorf("%s: %d without a file", file, got)
		}
		os.WriteFile(dir+"/"+file, []byte("oom_kill_disable 0\nunder_oom 0\noom 7\noom_kill 5\n"), 0o644)
		if got := g.killedForMemory(); got != 5 {
			t.Errorf("%s: got %d", file, got)
		}
		if g.l.Memory = 0; g.killedForMemory() != 0 {
			t.Errorf("%s: without a limit", file)
		}
	}
}
