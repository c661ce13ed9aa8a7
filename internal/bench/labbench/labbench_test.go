package labbench

import (
	"bufio"
	"math"
	"slices"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/bench/drivebench"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

func TestVerdict(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		what           string
		b              bound
		center, lo, hi float64
		want           string
	}{
		{"kept wholly", bound{true, 1.1}, 1.0, 0.9, 1.05, "met"},
		{"kept exactly", bound{true, 1.1}, 1.1, nan, nan, "met"},
		{"the interval reaches over", bound{true, 1.1}, 1.0, 0.9, 1.2, "met, unsure"},
		{"broken wholly", bound{true, 1.1}, 1.3, 1.2, 1.4, "not met"},
		{"broken, but perhaps not", bound{value: 5}, 4.9, 4, 6, "not met, unsure"},
		{"kept from below", bound{value: 5}, 9, 8, 10, "met"},
		{"no interval", bound{value: 5}, 4, 0, 0, "not met"},
	} {
		if got := tt.b.verdict(tt.center, tt.lo, tt.hi); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
	}
}

func TestFind(t *testing.T) {
	all, err := Find(Parts(), nil)
	if err != nil || len(all) != len(Parts()) {
		t.Errorf("no names: got %d parts, %v", len(all), err)
	}
	if some, err := Find(Parts(), []string{"store", "drive"}); err != nil || len(some) != 2 || some[0].Name != "store" {
		t.Errorf("two names: got %v, %v", some, err)
	}
	if _, err := Find(Parts(), []string{"stor"}); err == nil {
		t.Error("a name that is none was taken")
	}
}

// The quicker of the two others is the one to beat, block by block.
func TestPhaseRow(t *testing.T) {
	var all []store.Row
	for block := 1; block <= 4; block++ {
		for stack, mean := range map[string]float64{"reference/rest-protobuf": 1, "jersey": 8, "californium": 6} {
			all = append(all, store.Row{
				PlannedTrial: store.PlannedTrial{Block: block, Treatment: []store.Level{{Factor: "stack", Text: stack}}},
				Result:       store.Result{Side: measure.Client, Response: "serialization", Mean: mean * (1 + 0.01*float64(block))},
			})
		}
	}
	limit := bound{value: 5}
	r, err := phaseRow(all, "rest-protobuf", measure.Client, "serialization", &limit)
	if err != nil || r.Figure != "rest-protobuf, client serialization, over californium" || r.Verdict != "met" ||
		r.Measured[0] != '6' {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := phaseRow(all, "rest-protobuf", measure.Server, "serialization", &limit); err == nil {
		t.Error("figures that are not there were compared")
	}
}

func TestDriveTable(t *testing.T) {
	rows := driveTable([]drivebench.Measurement{
		{What: "a", Ours: []float64{2, 2, 2, 2, 2, 2, 3}, Theirs: []float64{2, 2, 2, 2, 2, 2, 2}, Limit: "<= 1.10"},
		{What: "b", Ours: []float64{4, 4, 4, 4, 4, 4, 4}, Theirs: []float64{2, 2, 2, 2, 2, 2, 2}},
	}, bound{true, 1.1}, "how")
	if rows[0].Verdict != "met, unsure" || rows[0].How != "how" || rows[1].Verdict != "" || rows[1].Measured != "2" {
		t.Errorf("got %+v", rows)
	}
}

func TestFindPiece(t *testing.T) {
	some, err := Find(Parts(), []string{"java/cxf", "agent"})
	if err != nil || len(some) != 2 || some[0].Name != "java/cxf" || some[0].Measure == nil {
		t.Errorf("got %v, %v", some, err)
	}
	if _, err := Find(Parts(), []string{"agent/cxf"}); err == nil {
		t.Error("a piece that is none was taken")
	}
}

// The bare program runs in the adapter's JVM with its flags and jars.
func TestInstead(t *testing.T) {
	for _, tt := range []struct{ argv, want []string }{
		{[]string{"java", "-Xmx128", "-cp", "build/app.jar:build/lib/*", "Main", "serve"},
			[]string{"java", "-Xmx128", "-cp", "/c:build/lib/*", "Bare", "/t"}},
		{[]string{"sh", "-c", `exec "$H/java" -cp "build/app.jar:build/lib/*" Main serve`},
			[]string{"sh", "-c", `exec "$H/java" -cp "/c:build/lib/*" Bare /t`}},
	} {
		if got := instead(tt.argv, "/c", "Bare", "/t"); !slices.Equal(got, tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// A child's processor time is its own: it grows while it works, not while it waits.
func TestChildCPU(t *testing.T) {
	c, err := start(t.Context(), kernel.Placement{}, "", "sh", "-c",
		"i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; echo done; read x")
	if err != nil {
		t.Fatal(err)
	}
	defer c.end()
	began := time.Now()
	if _, err := bufio.NewReader(c.out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	worked, err := c.cpu()
	if wall := time.Since(began) + time.Second; err != nil || worked <= time.Millisecond || worked > wall {
		t.Errorf("got %v in %v, %v", worked, wall, err)
	}
	time.Sleep(20 * time.Millisecond)
	if waited, err := c.cpu(); err != nil || waited < worked || waited-worked > 10*time.Millisecond {
		t.Errorf("got %v after %v, though it waited, %v", waited, worked, err)
	}
}
