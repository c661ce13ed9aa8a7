package populationbench

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// The benchmark in small: devices in one process and in three, with one server and with
// two, are as many as were asked for, and what they count agrees with the servers.
func TestSmallStreams(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		StreamCase
		needs string
	}{
		{StreamCase{Stack: "reference/floor-tcp", Transport: "tcp", Servers: 2, Shards: 3}, ""},
		{StreamCase{Stack: "reference/rest-protobuf", Transport: "http", Servers: 1, Shards: 2}, ""},
		{StreamCase{Stack: "reference/mqtt", Transport: "mqtt5", Servers: 1}, ""},
		{StreamCase{Stack: "reference/mqtt-mosquitto", Transport: "mqtt311", Servers: 1, QoS: "1"}, "/usr/sbin/mosquitto"},
	} {
		c := tt.StreamCase
		if tt.needs != "" {
			if _, err := exec.LookPath(tt.needs); err != nil && os.Getenv("CI") == "" {
				t.Logf("%s is left out: install mosquitto", c.Stack)
				continue
			}
		}
		c.Encoding, c.Devices, c.Period, c.For = "protobuf", 301, time.Second, 2*time.Second // they tell how they are
		f, err := MeasureStreams(t.Context(), exe, c)
		if err != nil {
			t.Errorf("%s: %v", c.Stack, err)
			continue
		}
		// On a busy machine a device may still wait when it is due again, or be cut by the end.
		if f.Requests+f.Skipped != 2*int64(c.Devices) || f.Requests != f.Answered+f.Failed || int64(f.Served) < f.Answered ||
			int64(f.Served) > f.Requests || f.Devices != c.Devices || f.Connects < int64(c.Devices) ||
			int64(f.OpenMost) != f.Connects-f.Broken || max(f.Shards, 1) != max(c.Shards, 1) || f.CPU <= 0 || f.Anonymous <= 0 {
			t.Errorf("%s: got %+v", c.Stack, f)
		}
	}
}
