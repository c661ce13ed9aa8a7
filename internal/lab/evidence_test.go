package lab

import (
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/study"
)

// What a trial is judged by is what its treatment, its study and its lab say.
func TestEvidenceOfATrial(t *testing.T) {
	may := 0.1
	l := &Lab{Overload: true, MostLate: time.Second, LateShare: 0.999}
	l.Plan.Study.Failures, l.Plan.Study.Pin = &may, study.Pin{Client: []int{0, 1}, Server: []int{1, 2}}
	setup := &study.Setup{Client: study.Side{Device: "local"},
		Link: study.Link{Text: "lossy", Up: study.Shape{Loss: 0.05}}}
	r := newTrialRunner(l, study.Trial{Setup: setup}, nil)
	r.records.sides[atClient].n, r.connections.most, r.surroundings.stall = 7, 3, time.Minute
	e := r.evidence()
	if e.failures != &may || !e.overload || e.mostLate != time.Second || e.lateShare != 0.999 {
		t.Errorf("what is asked: got %+v", e)
	}
	if !e.lossy || e.link.Up.Loss != 0.05 || e.clientCPUs != 2 || e.cpus != 3 || e.devices != nil || e.benches != nil {
		t.Errorf("the treatment: got %+v", e)
	}
	if e.sides[atClient].n != 7 || e.connections != 3 || e.stall != time.Minute {
		t.Errorf("what was observed: got %+v", e)
	}
	e.findings.note("seen", "1", 1)
	if len(r.findings.quality) != 1 {
		t.Error("what the gates find is not the trial's")
	}
	setup.Population.Devices, setup.Link = 10, study.Link{Profile: "unknown", Replaced: "loss", Up: study.Shape{Loss: 1}}
	if e = r.evidence(); e.devices != &r.devices || e.link.Up.Loss != 0 {
		t.Errorf("devices behind an unknown link: got %+v", e)
	}
}

// The CPUs that a client can keep busy are known of this machine only.
func TestCPUsOfTheClient(t *testing.T) {
	for _, tt := range []struct {
		device string
		pin    []int
		want   int
	}{
		{"local", []int{3}, 1},
		{"local", []int{0, 1, 2, 3}, 4},
		{"local", nil, len(kernel.AllowedCPUs())},
		{"ssh://pi", []int{0, 1}, 0},
		{"constrained-10", nil, 0},
	} {
		l := &Lab{}
		l.Plan.Study.Pin.Client = tt.pin
		k := newTask(l, study.Trial{Setup: &study.Setup{Client: study.Side{Device: tt.device}}})
		if got := k.clientCPUs(); got != tt.want {
			t.Errorf("%s, pinned to %v: got %d, want %d", tt.device, tt.pin, got, tt.want)
		}
	}
}
