package ssh

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
)

// A board that ssh finds by multicast DNS, as raspberrypi.local, is found here, too.
func TestBoardThatDNSDoesNotKnow(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	kerneltest.Knows(t, "board.invalid", "ahosts) echo '127.0.0.1 STREAM board.invalid';;")
	for name, want := range map[string]string{"board.invalid": "is it on",
		"other.invalid": "no host is called other.invalid"} {
		_, err := host{name: name, port: "1"}.connect(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}
