package plural

import (
	"testing"
	"time"
)

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 trials": Count(0, "trial"), "1 trial": Count(1, "trial"), "2 trials": Count(2, "trial"),
		"2 benches": Count(2, "bench"), "1 bench": Count(1, "bench"), "3 queries": Count(3, "query"),
		"2 days": Count(2, "day"), "2 boxes": Count(2, "box"), "0 more warnings": Count(0, "more warning"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if Verb(1, "was", "were") != "was" || Verb(0, "was", "were") != "were" {
		t.Error("the verb does not follow the number")
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", time.Second: "1s", time.Minute: "1m", time.Hour: "1h",
		90 * time.Second: "1m30s", 10 * time.Minute: "10m", 90 * time.Minute: "1h30m", time.Hour + time.Second: "1h0m1s",
		-time.Minute: "-1m", 1500 * time.Millisecond: "1.5s", 20 * time.Millisecond: "20ms"} {
		if got := Duration(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
