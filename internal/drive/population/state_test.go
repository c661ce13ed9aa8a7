package population

import (
	"testing"
	"time"
)

func TestTogether(t *testing.T) {
	got := Together([]State{{Devices: 10, Down: 1, Requests: 20, Failed: 2, Rate: 5, Lateness: time.Millisecond},
		{}, {Devices: 11, Down: 3, Requests: 40, Failed: 4, Rate: 2.5, Lateness: 3 * time.Millisecond}})
	if want := (State{Devices: 21, Down: 4, Requests: 60, Failed: 6, Rate: 7.5,
		Lateness: 3 * time.Millisecond}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
