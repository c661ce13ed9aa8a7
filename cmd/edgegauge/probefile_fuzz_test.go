package main

import (
	"os"
	"path/filepath"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/stat"
)

// Whatever a file holds, it is refused, or a probe that is no worse than itself.
func FuzzProbeFile(f *testing.F) {
	seed, err := os.ReadFile("testdata/probe/format1.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"format":1,"kind":"probe","url":"http://h/","requests":3,"failures":3,"per_run":[{"requests":3,"failures":3}]}`))
	f.Add([]byte(`{"kind":"probe","per_run":[{"requests":1,"rtt":{"n":1,"mean":-5},"response_time":{},"response_body":0}]}`))
	f.Add([]byte(" \n"))
	slower, err := advise.ParseChange("rtt > 5%")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "probe.json")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		p, is, err := readProbe(path)
		if err != nil || !is {
			return
		}
		c, err := compareProbes(path, path, p, p, []advise.Condition{slower},
			compareFlags{confidence: 0.95, margin: 0.05})
		if err == nil && (c.Comparison.Verdict() == stat.Confirmed || c.Failing().Verdict == stat.Confirmed) {
			t.Errorf("a probe is worse than itself: %+v", c)
		}
	})
}
