package fabricated_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/store"
)

// A ledger that is removed, or replaced, while it is written takes no trial: SQLite would go on with a file that nobody
// finds, and all would seem well.
func TestLedgerRemovedMeanwhile(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.Remove(path), os.WriteFile(path, text, 0o644))
		},
	} {
		dir := filepath.Join(t.TempDir(), "r")
		s, plan, err := fabricated.Create(dir, fabricated.Study(2, 3, 20))
		if err != nil {
			t.Fatal(err)
		}
		if err := fabricated.Trial(s, plan.Trials[0], 20, nil); err != nil {
			t.Fatal(err)
		}
		if err := spoil(filepath.Join(dir, "ledger.sqlite")); err != nil {
			t.Fatal(err)
		}
		if err := fabricated.Trial(s, plan.Trials[1], 20, nil); !errors.Is(err, store.ErrMissing) {
			t.Errorf("%s: got %v", name, err)
		}
		if err := s.End(""); !errors.Is(err, store.ErrMissing) {
			t.Errorf("%s: the end: got %v", name, err)
		}
		s.Close()
	}
}
