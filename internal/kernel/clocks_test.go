package kernel

import (
	"testing"
	"time"
)

// Clocks that nobody sets keep their distance, and a machine that does not sleep has not slept longer.
func TestClocksKeepTheirDistance(t *testing.T) {
	wall, slept := WallClockOffset(), Suspended()
	if now := time.Duration(time.Now().UnixNano()) - Monotonic(); (now - wall).Abs() > time.Minute {
		t.Errorf("got %v, want about %v", wall, now)
	}
	if slept < -time.Millisecond {
		t.Errorf("it slept for %v", slept)
	}
	time.Sleep(20 * time.Millisecond)
	if d := Suspended() - slept; d.Abs() > 10*time.Millisecond {
		t.Errorf("it slept for %v, while the test ran", d)
	}
}
