package lab

import (
	"context"
	"slices"
	"sync"
	"testing"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/stack"
)

// What a program sends as one is one packet to netem: quic-go is told to send datagrams one by one, and programs of any
// other link are told nothing.
func TestProgramsBehindNetem(t *testing.T) {
	for _, tt := range []struct {
		line *link.Line
		told bool
	}{
		{nil, false},
		{&link.Line{}, false},
		{&link.Line{Link: link.Link{Shaper: link.Netem}}, true},
	} {
		l, _ := fakeLab(t, soundStack(), 1)
		var mu sync.Mutex
		var got [][]string
		l.launch = func(_ context.Context, _ device.Device, c device.Command) (process, *stack.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, c.Env)
			return nil, nil, context.Canceled
		}
		attempt, err := l.Store.Begin(1)
		if err != nil {
			t.Fatal(err)
		}
		r := newTrialRunner(l, l.Plan.Trials[0], attempt)
		r.programs.link.line = tt.line
		r.programs.before(t.Context())
		r.programs.close()
		r.abandon()
		l.Store.Close()
		if len(got) != 2 {
			t.Fatalf("%d programs were started", len(got))
		}
		for _, env := range got {
			if told := slices.Contains(env, "QUIC_GO_DISABLE_GSO=true"); told != tt.told {
				t.Errorf("link %+v: got %q", tt.line, env)
			}
		}
	}
}
