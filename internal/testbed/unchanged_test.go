package testbed

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/instrument"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// A product that was written over in place, by as many bytes and with its former time, is not what the run began with.
func TestARewrittenProductIsSeen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "product")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	d := stack.Description{Dir: dir}
	d.Build.Product = []string{"product"}
	was, err := stamps(d)
	if err != nil || len(was) != 1 {
		t.Fatalf("%v: %v", was, err)
	}
	time.Sleep(20 * time.Millisecond) // more than a tick of the kernel's clock for files
	write("new")
	if err := os.Chtimes(file, time.Time{}, was[file].modified); err != nil {
		t.Fatal(err)
	}
	is, err := stamps(d)
	if err != nil || maps.Equal(is, was) || !is[file].modified.Equal(was[file].modified) {
		t.Errorf("got %v, was %v: %v", is, was, err)
	}
}

// A product that changes after its checksum was taken is not what the facts say, however soon.
func TestAProductThatChangesAtOnceIsSeen(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "product"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := stack.Description{Name: "made", Dir: dir, Serves: []stack.Offer{{}}}
	d.Build.Product = []string{"product"}
	x := bed(t).assemble(study.Plan{}, "", "")
	x.lab.Stacks = map[string]stack.Description{"made": d}
	facts, err := x.gatherFacts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "product"), []byte("new!"), 0o600); err != nil {
		t.Fatal(err)
	}
	same, err := x.watchStacks(facts)
	if err != nil {
		t.Fatal(err)
	}
	trial := study.Trial{Setup: &study.Setup{Client: study.Side{Stack: "made"}, Server: study.Side{Stack: "made"}}}
	if err := same(trial); err == nil || !strings.Contains(err.Error(), "product changed") {
		t.Errorf("got %v, want the change", err)
	}
}

// Results are of one machine, over one link, by one power model: what a run is measured with besides its programs
// is compared with what it was.
func TestWhatAroundTheProgramsChanged(t *testing.T) {
	facts := func(change func(*runFacts)) runFacts {
		f := runFacts{Devices: map[string]device.Facts{"local": {Model: "m", Arch: "amd64", Kernel: "Linux 6.1", CPUs: 4,
			Load: 1, Governor: "performance", Emulation: map[string]string{"mode": "paced", "started in": "2 s"}}},
			Links:   map[string]link.Link{"mine": {Name: "mine", Up: link.Shape{Delay: time.Millisecond}}},
			Models:  map[string]instrument.PowerModel{"pi": {IdleW: 2}},
			Sensors: map[string]sensorFacts{"s": {Says: "20"}}}
		if change != nil {
			change(&f)
		}
		return f
	}
	local := func(change func(*device.Facts)) func(*runFacts) {
		return func(f *runFacts) {
			d := f.Devices["local"]
			d.Emulation = maps.Clone(d.Emulation)
			change(&d)
			f.Devices["local"] = d
		}
	}
	for _, c := range []struct {
		what   string
		change func(*runFacts)
		want   string
	}{
		{"nothing", nil, ""},
		{"load and governor", local(func(d *device.Facts) {
			d.Load, d.Governor, d.Emulation["started in"] = 9, "powersave", "3 s"
		}), ""},
		{"kernel", local(func(d *device.Facts) { d.Kernel = "Linux 6.2" }), "another machine as device local (kernel)"},
		{"model and CPUs", local(func(d *device.Facts) { d.Model, d.CPUs = "n", 2 }),
			"another machine as device local (CPUs, model)"},
		{"mode", local(func(d *device.Facts) { d.Emulation["mode"] = "counted" }), "another machine as device local (mode)"},
		{"link", func(f *runFacts) { f.Links = map[string]link.Link{"mine": {Name: "mine"}} }, "another link mine"},
		{"model", func(f *runFacts) { f.Models = map[string]instrument.PowerModel{"pi": {IdleW: 3}} },
			"another power model pi"},
		{"sensor", func(f *runFacts) { f.Sensors = map[string]sensorFacts{"s": {Says: "21"}} }, "another sensor s"},
		{"what was not known", func(f *runFacts) { f.Links["other"] = link.Link{} }, ""},
	} {
		var old runFacts // as it is read
		text, err := json.Marshal(facts(nil))
		if err == nil {
			err = json.Unmarshal(text, &old)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(facts(c.change).differ(old), "; "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
}
