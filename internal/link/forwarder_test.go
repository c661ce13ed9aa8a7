package link

import (
	"testing"
	"time"
)

// A thread that sleeps long wakes late: it starts earlier, for a fifth of the
// wait at most, and never sleeps past the instant.
func TestForwarderWakesAhead(t *testing.T) {
	for _, x := range []struct{ due, sleeps time.Duration }{
		{-time.Second, -time.Second - leastLead},
		{50 * time.Microsecond, -10 * time.Microsecond},
		{300 * time.Microsecond, 240 * time.Microsecond},
		{500 * time.Microsecond, 400 * time.Microsecond},
		{time.Millisecond, 800 * time.Microsecond},
		{time.Second, time.Second - mostLead},
	} {
		if got := untilAwake(x.due); got != x.sleeps {
			t.Errorf("due in %v: sleeps %v, want %v", x.due, got, x.sleeps)
		}
	}
}
