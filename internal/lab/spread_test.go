package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/stack"
)

// blockBegins are when the blocks of a lab's store began, after the first did.
func blockBegins(t *testing.T, l *Lab) []time.Duration {
	t.Helper()
	attempts, err := l.Store.Attempts(0)
	if err != nil {
		t.Fatal(err)
	}
	var all []time.Duration
	for _, a := range attempts {
		all = append(all, a.Began.Sub(attempts[0].Began).Round(time.Minute))
	}
	return all
}

// shared says whether somebody holds a shared lock of the file.
func shared(t *testing.T, path string) bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}

// Blocks that are spread over a time begin evenly over it, and what is left takes as long as they wait.
func TestBlocksAreSpread(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l, alive := fakeLab(t, soundStack(), 4)
		defer func() { l.Store.Close() }()
		l.Plan.Study.Design.Spread, l.Together = 6*time.Hour, filepath.Join(memory(t), "together")
		if err := os.WriteFile(l.Together, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var left []time.Duration
		waits, told := 0, false
		l.Progress = func(p Progress) {
			if strings.HasPrefix(p.Step, "wait until ") {
				waits++
				time.AfterFunc(time.Hour, func() { told = told || shared(t, l.Together) })
			}
			if p.Step == "" {
				left = append(left, p.Left.Round(time.Hour))
			}
			if p.Step == measureStep && !shared(t, l.Together) {
				t.Error("a trial is measured, and no other lab is told")
			}
		}
		out, err := l.Run(t.Context())
		if err != nil || out.Valid != 4 || waits != 3 {
			t.Errorf("got %+v %v, %d waits", out, err, waits)
		}
		if told {
			t.Error("while it waits other labs are told that it measures")
		}
		want := []time.Duration{0, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour}
		if got := blockBegins(t, l); !slices.Equal(got, want) {
			t.Errorf("blocks began after %v, want %v", got, want)
		}
		if want := []time.Duration{6 * time.Hour, 4 * time.Hour, 2 * time.Hour, 0}; !slices.Equal(left, want) {
			t.Errorf("left were %v, want %v", left, want)
		}
		alive.Wait()
	})
}

// A run that is stopped while it waits goes on where it was: a block waits for what is left of its gap, and the
// blocks after one that came late are as far apart as all others.
func TestBlocksAreSpreadWhenResumed(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l, alive := fakeLab(t, soundStack(), 4)
		defer func() { l.Store.Close() }()
		l.Plan.Study.Design.Spread = 6 * time.Hour
		stopAfter := func(d time.Duration) {
			t.Helper()
			ctx, stop := context.WithTimeout(t.Context(), d)
			defer stop()
			if _, err := l.Run(ctx); !errors.Is(err, ErrStopped) {
				t.Fatalf("got %v, want it stopped", err)
			}
			reopen(t, l)
		}
		stopAfter(time.Hour) // in the wait for the second
		time.Sleep(30 * time.Minute)
		stopAfter(time.Hour) // half an hour after the second began
		time.Sleep(7 * time.Hour)
		if _, err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{0, 2 * time.Hour, 9*time.Hour + 30*time.Minute, 11*time.Hour + 30*time.Minute}
		if got := blockBegins(t, l); !slices.Equal(got, want) {
			t.Errorf("blocks began after %v, want %v", got, want)
		}
		alive.Wait()
	})
}

// A trial that is run again belongs to its block, which has begun: it does not wait.
func TestATrialRunAgainDoesNotWait(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l, alive := fakeLab(t, soundStack(), 2)
		defer func() { l.Store.Close() }()
		l.Plan.Study.Design.Spread, l.Plan.Study.Retries = time.Hour, 1
		broken := soundStack()
		broken.acts[running] = act{then: "exit"}
		sound := l.launch
		var programs atomic.Int32 // both start at once
		l.launch = func(ctx context.Context, on device.Device, c device.Command) (process, *stack.Conn, error) {
			if programs.Add(1) <= 2 {
				return broken.launch(alive)(ctx, on, c)
			}
			return sound(ctx, on, c)
		}
		if out, err := l.Run(t.Context()); err != nil || out.Valid != 2 || out.Invalid != 1 {
			t.Fatalf("got %+v %v", out, err)
		}
		if got := blockBegins(t, l); !slices.Equal(got, []time.Duration{0, 0, time.Hour}) {
			t.Errorf("trials began after %v", got)
		}
		alive.Wait()
	})
}
