package device

import (
	"strings"
	"testing"
)

func TestWhomAKernelKilledForMemory(t *testing.T) {
	for _, c := range []struct{ log, want string }{
		{"", ""}, {"Booting\nedgegauge: ready\n", ""}, {"Out of memory: Killed\n", ""},
		{"[   12.345678] Out of memory: Killed process 57 (java) total-vm:230000kB, anon-rss:98304kB\r\n",
			"process 57 (java)"},
		{"Out of memory: Kill process 41 (a (b) c) score 900 or sacrifice child\nKilled process 41 (a (b) c), UID 0\n",
			"process 41 (a (b) c)"},
		{"Out of memory: Killed process 1 (a) total-vm:1kB\nOut of memory: Killed process 2 (b) total-vm:1kB\n",
			"process 2 (b)"},
		{"Memory cgroup out of memory: Killed process 9 (x) total-vm:1kB\n", ""},
		{"Out of memory: Killed process 3 (\x1b[2J) total-vm:1kB\n", `process 3 (\u001b[2J)`},
	} {
		if got := KilledForMemory([]byte(c.log)); got != c.want {
			t.Errorf("%q: got %q, want %q", c.log, got, c.want)
		}
	}
}

// Whom a kernel says to have killed is a word of one line, whatever a program calls itself.
func FuzzKilledForMemory(f *testing.F) {
	f.Add([]byte("Out of memory: Killed process 57 (java) total-vm:230000kB\r\n"))
	f.Add([]byte("Out of memory: Kill process 41 (\x1b[2J) score 900"))
	f.Fuzz(func(t *testing.T, log []byte) {
		who := KilledForMemory(log)
		if strings.ContainsAny(who, "\x1b\r\n") || who != "" && !strings.HasPrefix(who, "process ") {
			t.Fatalf("%q: %q", log, who)
		}
	})
}
