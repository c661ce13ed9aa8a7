package lab

import (
	"slices"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// Each trial says at which timer its round trips gather, besides what the server says that it did.
func TestTrialsNoteTimersOfTheirRoundTrips(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		rtt, step, work time.Duration
		want            float64
	}{
		{41 * ms, 0, ms / 2, 38e-3}, {61 * ms, 0, 20 * ms, 38e-3}, {41 * ms, 0, 41 * ms, 0}, {203 * ms, 0, ms, 195e-3},
		{0, ms, ms / 2, 0}, {5 * ms, 0, ms, 0},
	} {
		e := sound()
		client, server := &e.sides[atClient], &e.sides[atServer]
		client.n, server.n, server.whole = 0, 0, 0
		for i := range time.Duration(100) {
			rtt := 1 + tt.rtt + i*tt.step
			client.add(measure.Exchange{Seq: uint64(i) + 1, Sent: 1, Done: 1 + rtt, Total: 1 + rtt})
			server.n, server.whole = server.n+1, server.whole+int64(tt.work)
		}
		e.summarize()
		i := slices.IndexFunc(e.findings.quality, func(q store.Quality) bool { return q.Key == "gathers_at_timer" })
		if i < 0 || e.findings.quality[i].Value != tt.want {
			t.Errorf("%v and %v a request, %v of work: got %+v", tt.rtt, tt.step, tt.work, e.findings.quality)
		}
	}
}
