package packetbench

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestShort sends for a second each; the share of a core is judged only in the
// full run, on a quiet machine.
func TestShort(t *testing.T) {
	var b strings.Builder
	results, err := Run(context.Background(), &b, Options{Rate: 10_000, Duration: time.Second, Limit: 1, Reached: 0.1})
	t.Log("\n" + b.String())
	if errors.Is(err, unix.EPERM) && os.Getenv("CI") != "true" {
		t.Skip("needs root, to create a network namespace")
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 3 {
		t.Fatalf("%d results, want 3", len(results))
	}
	for _, r := range results {
		if r.CPU <= 0 || r.Sent < 1000 || r.Quality.Packets != r.Sent {
			t.Errorf("got %+v", r)
		}
	}
}

func TestJudge(t *testing.T) {
	o, m := Options{Rate: 100, Limit: 0.05, Reached: 0.95}, mode{}
	good := Measurement{Sent: 100, Rate: 100, CPU: 0.01}
	good.Quality.Packets = 100
	if err := good.judge(o, m); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(r *Measurement){
		"a packet missing": func(r *Measurement) { r.Quality.Packets = 99 },
		"a drop":           func(r *Measurement) { r.Quality.Drops = 1 },
		"too slow":         func(r *Measurement) { r.Rate = 90 },
		"too much CPU":     func(r *Measurement) { r.CPU = 0.06 },
	} {
		r := good
		spoil(&r)
		if r.judge(o, m) == nil {
			t.Errorf("%s: judged good", name)
		}
	}
}
