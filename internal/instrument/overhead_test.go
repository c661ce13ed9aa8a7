package instrument

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// The overhead a sensor states must be what watching it really takes: compared
// with the process's CPU time over two seconds of real files.
func TestOverheadIsMeasured(t *testing.T) {
	dir := t.TempDir()
	for name, f := range tree(piHwmon) {
		full := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(full), 0o755)
		if err := os.WriteFile(full, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := Open(t.Context(), "hwmon", Options{Root: os.DirFS(dir)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	before := kernel.OwnCPUTime()
	if err := m.Observe(ctx, func(measure.Sample) {}); err != nil {
		t.Fatal(err)
	}
	took := (kernel.OwnCPUTime() - before).Seconds() / 2
	said := m.Describe().Overhead
	t.Logf("says %.2f %% of a core, took %.2f %%, at a look every %v", 100*said, 100*took, m.Describe().Interval)
	if said < took/2.5 || said > took*2.5 {
		t.Errorf("says %.2f %% of a core, took %.2f %%", 100*said, 100*took)
	}
}
