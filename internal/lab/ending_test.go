package lab

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/study"
)

// stoppedLab conducts trials until n have ended, and is stopped in the cool-down of the last.
func stoppedLab(t *testing.T, l *Lab, n int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l.Progress = func(p Progress) {
		if p.Step == "" && p.Done == n {
			time.AfterFunc(l.Plan.Study.Design.CoolDown-time.Second, stop)
		}
	}
	if _, err := l.Run(ctx); !errors.Is(err, ErrStopped) {
		t.Fatalf("got %v, want it stopped", err)
	}
}

// A study that is stopped in its last cool-down has not ended; the next run finds that it has, measures
// nothing more, and whoever runs it again is told the same.
func TestAStudyStoppedInItsLastCoolDown(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l, alive := fakeLab(t, soundStack(), 2)
		defer func() { l.Store.Close() }()
		l.Plan.Study.Design.Precision, l.Plan.Study.Design.CoolDown = 0.02, 10*time.Second
		l.Wide = func() ([]int, string, error) { return nil, "", nil }
		stoppedLab(t, l, 2)
		if left, err := l.Store.Left(0); err != nil || !left {
			t.Errorf("stopped: left is %v %v", left, err)
		}
		reopen(t, l)
		l.Progress = func(p Progress) { t.Errorf("measured anew: %+v", p) }
		first, err := l.Run(t.Context())
		if err != nil || first.Valid != 0 {
			t.Errorf("got %+v %v", first, err)
		}
		if left, err := l.Store.Left(0); err != nil || left {
			t.Errorf("ended: left is %v %v", left, err)
		}
		alive.Wait()
	})
}

// What a study decided when it ended stays decided; a budget of time counts what earlier runs took.
func TestABudgetOfTimeGoesOn(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l, alive := fakeLab(t, soundStack(), 3)
		defer func() { l.Store.Close() }()
		d := &l.Plan.Study.Design
		d.Precision, d.CoolDown, d.Budget = 0.02, 6*time.Minute, study.Budget{Time: 11 * time.Minute}
		l.Wide = func() ([]int, string, error) { return []int{0}, "rtt of the client", nil }
		l.Plan.Study.Timeouts.Trial = time.Hour
		stoppedLab(t, l, 2) // the second trial ends after 6 minutes
		time.Sleep(time.Hour)
		reopen(t, l)
		l.Progress = nil
		out, err := l.Run(t.Context())
		if err != nil || !strings.Contains(out.Unmet, "within the budget of 11m") {
			t.Fatalf("got %+v %v, want the budget spent", out, err)
		}
		reopen(t, l)
		d.Budget.Time = 24 * time.Hour // as if it were not spent: the ledger knows better
		again, err := l.Run(t.Context())
		if err != nil || again.Unmet != out.Unmet {
			t.Errorf("again: got %+v %v, want what was decided", again, err)
		}
		if e, err := l.Store.Ending(); err != nil || e == nil || e.Unmet != out.Unmet {
			t.Errorf("the ledger has %+v %v", e, err)
		}
		alive.Wait()
	})
}
