package main

import (
	"path/filepath"
	"testing"

	"edgegauge.example/edgegauge/internal/instrument/packet"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
)

// In every deployment of gsoap-on-arm 101 calls give 101 delays, none below
// that of its data, and the sensor's time where there is a sensor and only there.
func TestEveryCallOfEveryDeploymentHasItsDelay(t *testing.T) {
	for _, name := range []string{"gsoap", "gsoap-apache", "dotnet"} {
		d, err := stack.Read("../../stacks/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if missing := d.Missing(t.Context()); len(missing) > 0 {
			t.Skip(missing[0])
		}
	}
	tap, err := packet.Open(packet.TapOptions{Interface: "lo", Blocks: 1})
	if err != nil {
		t.Skip(err)
	}
	tap.Close()
	edgegauge(t, "stacks", "build", "gsoap", "gsoap-apache", "dotnet")
	out := filepath.Join(t.TempDir(), "out")
	const calls, treatments = 101, 28
	edgegauge(t, "run", "studies/gsoap-on-arm.yaml", "--set", "design.replications=1", "--set", "retries=40", "--out", out)
	s, err := store.OpenReadOnly(out)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	trials, err := s.Trials()
	if err != nil || len(trials) != treatments {
		t.Fatalf("%d trials, want %d: %v", len(trials), treatments, err)
	}
	sensors := 0
	for r, err := range s.Results() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Response == "sensor_time" {
			sensors++
			if const7bytes := 7.0 / 960; r.Min < const7bytes-0.0005 {
				t.Errorf("trial %d: a reading took %v s", r.ID, r.Min)
			}
		}
	}
	if sensors != treatments/2 {
		t.Errorf("%d trials have a sensor's time, want %d", sensors, treatments/2)
	}
	for _, trial := range trials {
		got := map[string]map[uint64]float64{}
		for xs, err := range s.Samples(trial.ID,
			store.Source{Side: measure.Client, Instrument: "packet", Method: store.Measured}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range xs {
				if got[x.Quantity.Name] == nil {
					got[x.Quantity.Name] = map[uint64]float64{}
				}
				got[x.Quantity.Name][x.Seq] = x.Value
			}
		}
		if n, m := len(got["delay"]), len(got["delay_to_data"]); n != calls || m != calls || len(got["jitter"]) != calls-1 {
			t.Errorf("trial %d: %d delays, %d to data, %d jitters of %d calls", trial.ID, n, m, len(got["jitter"]), calls)
		}
		for seq, delay := range got["delay"] {
			if data := got["delay_to_data"][seq]; delay < data || data <= 0 {
				t.Errorf("trial %d, call %d: delay %v s, to data %v s", trial.ID, seq, delay, data)
			}
		}
	}
}
