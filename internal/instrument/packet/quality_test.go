package packet

import (
	"strings"
	"testing"
	"time"
)

// A capture during which the wall clock was set gives no figure; what two readings differ by is no step.
func TestACaptureWhoseClockWasSet(t *testing.T) {
	for step, stepped := range map[time.Duration]bool{0: false, 800: false, -800: false, 100 * time.Microsecond: true,
		-time.Hour: true} {
		err := CaptureStats{Packets: 9, Step: step}.Err()
		if (err != nil) != stepped || stepped && !strings.Contains(err.Error(), "the wall clock") {
			t.Errorf("set by %v: got %v", step, err)
		}
	}
}
