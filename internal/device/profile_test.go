package device

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"edgegauge.example/edgegauge/devices"
)

func TestProfilesOfTheProgram(t *testing.T) {
	all, err := LoadProfiles(devices.Profiles)
	if err != nil {
		t.Fatal(err)
	}
	if got := Names(all); !slices.Contains(got, "constrained-10") || got[0] != "local" ||
		slices.Contains(got, "raspberry-pi-1") {
		t.Errorf("got %v, want local and the constrained ones only", got)
	}
	if p := all["constrained-10"]; p.Limits == nil || *p.Limits != (Limits{CPU: 0.1, Memory: 64 << 20}) || p.Title == "" {
		t.Errorf("got %+v", p)
	}
}

func TestBrokenProfiles(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"constrained: {}", "neither cpu nor memory"},
		{"constrained: {cpu: 0.1}", "write 10%"},
		{"constrained: {cpu: -5%}", "write 10%"},
		{"constrained: {memory: 64MB}", "write it like 64MiB"},
		{"constrained: {cpu: 0.01%}", "0.1 % or more"},
		{"constrained: {memory: 4KiB}", "1MiB or more"},
		{"constrained: [", ""},
	} {
		_, err := LoadProfiles(fstest.MapFS{"x.yaml": {Data: []byte(tt.text)}})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "devices/x.yaml") {
			t.Errorf("%s: got %v, want %q", tt.text, err, tt.want)
		}
	}
}
