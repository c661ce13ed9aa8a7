package lab

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/study"
)

// Pauses that are still to come are part of the time that is left.
func TestTheTimeLeftHasTheCoolDowns(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l, alive := fakeLab(t, soundStack(), 4)
		defer func() { l.Store.Close() }()
		l.Plan.Study.Design.CoolDown = 3 * time.Minute
		var left []time.Duration
		l.Progress = func(p Progress) {
			if p.Step == "" {
				left = append(left, p.Left.Round(time.Minute))
			}
		}
		if _, err := l.Run(t.Context()); err != nil {
			t.Error(err)
		}
		if want := []time.Duration{9 * time.Minute, 6 * time.Minute, 3 * time.Minute, 0}; !slices.Equal(left, want) {
			t.Errorf("left were %v, want %v", left, want)
		}
		alive.Wait()
	})
}

// A first trial stands for those of its own treatment. What others take is known at least, by their settings and links.
func TestTheTimeLeftIsOfEachTreatment(t *testing.T) {
	quick, slow := &study.Setup{}, &study.Setup{AtOnce: 2}
	trials := []study.Trial{{Cell: 0, Setup: quick}, {Cell: 1, Setup: slow}, {Cell: 1, Setup: slow},
		{Cell: 0, Setup: quick}, {Cell: 1, Setup: slow}, {Cell: 1, Setup: slow}}
	r := remaining{least: map[int]time.Duration{1: 10 * time.Second}}
	r.plan(trials)
	see := func(want time.Duration) {
		t.Helper()
		if got := r.time(time.Second); got != want {
			t.Errorf("%v are left, want %v", got, want)
		}
	}
	r.ended(trials[0], 500*time.Millisecond, true)
	see(1500*time.Millisecond + 2*11500*time.Millisecond) // two waves of two trials each
	r.ended(trials[1], 12*time.Second, true)
	r.ended(trials[2], 12*time.Second, false)
	see(1500*time.Millisecond + 3*13*time.Second/2)
}
