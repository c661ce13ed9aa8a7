package lab

import (
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/device"
)

// A trial in the middle of which the machine slept is invalid, and says so first, whatever else became of it.
func TestATrialDuringWhichTheMachineSlept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for name, c := range map[string]struct {
		sleeps time.Duration
		spoil  func(*fakeStack)
		want   string
	}{
		"awake":              {0, func(*fakeStack) {}, "valid"},
		"a reading's jitter": {100 * time.Microsecond, func(*fakeStack) {}, "valid"},
		"asleep":             {time.Hour, func(*fakeStack) {}, "check the trial: this machine was suspended for 1h during"},
		"asleep, and it broke": {time.Hour, func(s *fakeStack) { s.acts[running] = act{then: "exit"} },
			"measure: this machine was suspended for 1h during the trial: stacks/fake call"},
	} {
		bubble(t, name, func(t *testing.T) {
			s, slept := soundStack(), 5*time.Hour
			c.spoil(s)
			sound := s.usage
			s.usage = func(side int) (device.Usage, error) {
				if side == atClient {
					slept += c.sleeps
					c.sleeps = 0
				}
				return sound(side)
			}
			got := verdict(t, s, func(l *Lab) { l.slept = func() time.Duration { return slept } })
			if got != c.want && !(c.want != "valid" && strings.Contains(got, c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
