package kernel

import (
	"time"

	"golang.org/x/sys/unix"
)

// WallClockOffset is CLOCK_REALTIME less CLOCK_MONOTONIC. Both run alike, also while they are slewed:
// the difference changes where the wall clock is set, and by the time that the machine sleeps.
func WallClockOffset() time.Duration { return clockOffset(unix.CLOCK_REALTIME) }

// Suspended is for how long the machine has slept since it was started: CLOCK_BOOTTIME less
// CLOCK_MONOTONIC.
func Suspended() time.Duration { return clockOffset(unix.CLOCK_BOOTTIME) }

// clockOffset is a clock less CLOCK_MONOTONIC, which is read before and after it: the closest of
// several readings, since a process may be interrupted between two.
func clockOffset(clock int32) time.Duration {
	const close, most = time.Microsecond, 100
	var best, apart time.Duration
	for i := range most {
		var before, at, after unix.Timespec
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &before)
		unix.ClockGettime(clock, &at)
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &after)
		if d := time.Duration(after.Nano() - before.Nano()); i == 0 || d < apart {
			best, apart = time.Duration(at.Nano()-(before.Nano()+after.Nano())/2), d
		}
		if apart <= close {
			break
		}
	}
	return best
}
