package store

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A lab on another machine that shares the directory, or one before this machine was started again, is no
// process here: it is told by the lock, and where it is by the lock's text.
func TestALabOnAnotherMachineIsToldAsSuch(t *testing.T) {
	s := create(t, 2)
	dir := s.Dir()
	lock, host := s.path(lockFile), must[string](t)(os.Hostname())
	own := must[[]byte](t)(os.ReadFile(lock))
	boot := "\nboot " + kernel.BootID() + "\n"
	if p, err := Writer(dir); err != nil || p.Pid != os.Getpid() || !strings.Contains(string(own), boot) {
		t.Fatalf("the lock says %q: got %v, want this process and this boot", own, err)
	}
	text := func(host, boot string) string {
		said := fmt.Sprintf("%s\npid %d on %s since 2026-01-01T00:00:00Z\n", lockMagic, os.Getpid(), host)
		if boot != "" {
			said += "boot " + boot + "\n"
		}
		return said
	}
	for name, c := range map[string]struct {
		said      string
		elsewhere bool
	}{
		"another host":            {text("elsewhere", "b"), true},
		"another host, older lab": {text("elsewhere", ""), true},
		"another boot":            {text(host, "b"), true},
		"this boot":               {text(host, kernel.BootID()), false},
		"this host, older lab":    {text(host, ""), false},
	} {
		ok(t, os.WriteFile(lock, []byte(c.said), 0o644))
		_, err := Writer(dir)
		switch {
		case !c.elsewhere && err != nil:
			t.Errorf("%s: got %v, want this process", name, err)
		case c.elsewhere && (!errors.Is(err, ErrElsewhere) ||
			!strings.Contains(err.Error(), fmt.Sprintf("pid %d on ", os.Getpid()))):
			t.Errorf("%s: got %v, want to be told where", name, err)
		}
		if _, err := Open(dir, header(2)); !errors.Is(err, ErrLocked) || strings.Contains(err.Error(), "boot") {
			t.Errorf("%s: opened: got %v", name, err)
		}
	}
	ok(t, os.WriteFile(lock, []byte(text("elsewhere", "b")), 0o644))
	ok(t, s.Close())
	if _, err := Writer(dir); !errors.Is(err, ErrNoWriter) || errors.Is(err, ErrElsewhere) {
		t.Errorf("it has ended: got %v", err)
	}
}

// Who asks whether a lab writes to a directory does not keep one from it.
func TestAskingKeepsNoLabOut(t *testing.T) {
	s := create(t, 2)
	ok(t, s.Close())
	f := must[*os.File](t)(os.Open(s.path(lockFile)))
	defer f.Close()
	ok(t, unix.Flock(int(f.Fd()), unix.LOCK_SH))
	time.AfterFunc(5*time.Millisecond, func() { unix.Flock(int(f.Fd()), unix.LOCK_UN) })
	again, err := Open(s.Dir(), header(2))
	if err != nil {
		t.Fatal(err)
	}
	ok(t, again.Close())
}
