package report

import (
	"path/filepath"
	"strings"
	"testing"

	made "edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/store"
)

// What was noted of a block that was given away again is that of the attempt which counts: its
// number is no count of attempts, for a bench that died may have used the numbers between.
func TestQualityOfBlocksGivenAgain(t *testing.T) {
	for _, c := range []struct{ retries, orders, number int }{{2, 2, 4}, {1, 3, 5}} {
		text := made.Study(2, 3, 20)
		dir := filepath.Join(t.TempDir(), "results")
		s, plan, err := made.CreateOn(dir, text, []byte(`{"edgegauge":{"sha256":"e1"}}`))
		check := func(err error) {
			if t.Helper(); err != nil {
				t.Fatal(err)
			}
		}
		check(err)
		a, b := store.Bench{Name: "a", Boot: "1"}, store.Bench{Name: "b", Boot: "1"}
		order := func(on store.Bench) store.Order {
			o, err := s.Order(1, on, c.retries)
			check(err)
			return o
		}
		deliver := func(o store.Order, want store.State, key string, value float64) {
			t.Helper()
			got, err := made.Deliver(s, plan, o, c.retries, 20, []store.Quality{{Key: "requests", Unit: "1", Value: 20},
				{Key: key, Unit: "1", Value: value}}, func(a *store.Attempt) error {
				return a.Keep("ready.json", []byte(`{"stacks":{"server":"rest-json"},"server":{"runtime":"of `+key+`"}}`))
			})
			if check(err); got != want {
				t.Fatalf("attempt %d is %s, want %s", o.Attempt, got, want)
			}
		}
		var late store.Order
		for range c.orders - 1 {
			late = order(a)
			check(s.Withdraw(late, "silence"))
		}
		check(s.Close())
		h := header(t, string(text), plan.Study, plan)
		h.Facts = []byte(`{"edgegauge":{"sha256":"e2"}}`)
		s, err = store.Open(dir, h)
		check(err)
		o := order(b)
		if o.Attempt != c.number {
			t.Fatalf("got attempt %d, want %d", o.Attempt, c.number)
		}
		deliver(o, store.Valid, "repetitions", 4)
		deliver(late, store.Superseded, "retransmissions", 7)
		for _, trial := range plan.Trials {
			if trial.Block > 1 {
				check(made.TrialOn(s, trial, 20, a))
			}
		}
		check(s.Close())
		r := reportOf(t, dir)
		said := strings.Join(r.Warnings, "\n")
		for _, cell := range r.Cells {
			said += "\n" + strings.Join(cell.Warnings, "\n")
		}
		if !strings.Contains(said, "4 of 20 requests were sent a second time") {
			t.Errorf("retries %d: what was noted of the valid attempt is missing:\n%s", c.retries, said)
		}
		for _, wrong := range []string{"retransmitted", "different builds"} {
			if strings.Contains(said, wrong) {
				t.Errorf("retries %d: it is said of the valid trials: %s\n%s", c.retries, wrong, said)
			}
		}
		if got := strings.Join(r.Runtimes["rest-json"], "; "); got != "server: of repetitions" {
			t.Errorf("retries %d: programs ran on %q", c.retries, got)
		}
	}
}
