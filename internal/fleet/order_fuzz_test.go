package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Whatever order a hub passes on, a worker writes only below its folder, and there only what it knows again as its own.
func FuzzOrder(f *testing.F) {
	for _, run := range []string{"0123456789abcdef01234567", "../../../../etc", ""} {
		for _, n := range []int{1, 0, -1} {
			text, err := json.Marshal(Order{Task: Task{run, n, 2}, Boot: "b", Helps: "x", Helpers: []string{"../x"}})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
			text, err = json.Marshal(Order{Task: Task{run, 2, n}, Boot: "b", Plan: []byte("id\n"), Stamp: Stamp{"w", 7}})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var o Order
		if json.Unmarshal(text, &o) != nil {
			return
		}
		above := t.TempDir()
		measure := func(_ context.Context, _ Order, dir string) error { return os.MkdirAll(dir, 0o755) }
		w := func() *working {
			return &working{boot: o.Boot, measured: make(chan error), Worker: &Worker{Name: "a", Dir: filepath.Join(above, "in"),
				Conduct: measure, Help: func(context.Context, Order) error { return errors.New("alone") },
				Bench: &playedBench{answers: func(Bundle) (Answer, error) { return Answer{}, nil }}}}
		}
		x := w()
		if x.obey(t.Context(), o); x.busy {
			x.end(<-x.measured)
		}
		if all, err := os.ReadDir(above); err != nil || len(all) > 1 || len(all) == 1 && all[0].Name() != "in" {
			t.Fatalf("%s: written elsewhere: %v, %v", text, all, err)
		}
		if err := w().reopen(); err != nil {
			t.Fatalf("%s: the next worker there: %v", text, err)
		}
	})
}
