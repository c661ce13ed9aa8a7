package main

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The line of a running lab is as long as the terminal is wide, less one, and ends with a whole character. A terminal
// that cannot go back in its line gets none that renews itself.
func TestProgressFitsTheTerminal(t *testing.T) {
	p, line := terminal(t)
	if err := unix.IoctlSetWinsize(int(line.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 10}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TERM", "xterm")
	newProgress(line).renew("1/20  ±µ×漢 and more")
	b := make([]byte, 100)
	p.Master.SetReadDeadline(time.Now().Add(time.Minute))
	n, err := p.Master.Read(b)
	if got := strings.TrimPrefix(string(b[:n]), "\r\x1b[K"); err != nil || got != "1/20  ±µ×" {
		t.Errorf("%v: got %q", err, got)
	}
	if !newProgress(line).terminal {
		t.Error("a terminal is not taken for one")
	}
	t.Setenv("TERM", "dumb")
	if newProgress(line).terminal {
		t.Error("a dumb terminal is moved about in")
	}
}
