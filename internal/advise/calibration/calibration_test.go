package calibration

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/study"
)

var made = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func measured(device, response string, size int64, trials []float64) Measured {
	s := &study.Setup{Service: "sort", Size: size, Stack: "rest-json", Encoding: "json", Security: "none",
		Transport: "http", Connection: "keep-alive", IP: "ipv4", Concurrency: 1}
	s.Client, s.Server = study.Side{Device: device, Stack: "rest-json"}, study.Side{Device: "local", Stack: "rest-json"}
	return Measured{Side: measure.Client, Response: response, Setup: s, WarmUp: study.Span{Requests: 10}, Trials: trials}
}

func drawn(r *rand.Rand, n int, mean, spread float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = mean * math.Exp(spread*r.NormFloat64())
	}
	return out
}

func free() Facts {
	return Facts{
		Emulation: map[string]string{"mode": "free", "qemu": "7.2", "host": "a CPU", "host load": "0.2",
			"sha256 of kernel": "12", "started in": "1 s"},
		Stacks: map[string]string{"rest-json": "1"},
	}
}

// calibrated is a file of a board that is 4 times as quick, at 1 and 100 kB, kept
// and read back.
func calibrated(t *testing.T, r *rand.Rand, n int) File {
	t.Helper()
	var all []Measured
	for _, size := range []int64{1000, 100_000} {
		for _, response := range []string{"rtt", "serialization"} {
			x := 1e-6 * float64(size)
			all = append(all, measured("pi", response, size, drawn(r, n, 4*x, 0.1)),
				measured("ssh://board", response, size, drawn(r, n, x, 0.05)))
		}
	}
	entries, left, err := Fit(all, "pi", "ssh://board")
	if err != nil || len(left) > 0 || len(entries) != 2 || len(entries[0].Points) != 2 {
		t.Fatalf("got %d entries, %v, %v", len(entries), left, err)
	}
	text, err := File{Format: Format, Name: "x", Version: 1, Made: made, Board: "a board", Reached: "ssh://board",
		Device: "pi", Facts: free(), Entries: entries}.Write()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return f
}

// Through file and all: 95 of 100 intervals hold what the board gives later.
func TestPredictionsHoldWhatTheBoardGives(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	r := rand.New(rand.NewPCG(3, 4))
	const studies = 1500
	held := map[int64]int{}
	for range studies {
		f := calibrated(t, r, 10)
		for _, size := range []int64{1000, 10_000, 100_000} {
			x := 1e-6 * float64(size)
			p, err := f.Predict(measured("pi", "rtt", size, drawn(r, 10, 4*x, 0.1)), free(), made, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			var sum float64
			for _, v := range drawn(r, 10, x, 0.05) {
				sum += math.Log(v) / 10
			}
			if later := math.Exp(sum); p.Lo <= later && later <= p.Hi {
				held[size]++
			}
			if (p.Note == "") != (size != 10_000) {
				t.Fatalf("%d B: note %q", size, p.Note)
			}
		}
	}
	for size, least := range map[int64]float64{1000: 0.93, 10_000: 0.93, 100_000: 0.93} {
		share := float64(held[size]) / studies
		if share < least || size != 10_000 && share > 0.97 {
			t.Errorf("%d B: intervals held %.1f %%, want about 95, or more between two sizes", size, 100*share)
		}
	}
}

func TestWhatNothingSupportsIsRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	f := calibrated(t, r, 6)
	run := func(change func(*Measured, *Facts)) (Measured, Facts) {
		m, facts := measured("pi", "serialization", 1000, drawn(r, 5, 0.004, 0.1)), free()
		change(&m, &facts)
		return m, facts
	}
	for what, x := range map[string]struct {
		change func(*Measured, *Facts)
		later  time.Duration
		why    string // empty: it is predicted
	}{
		"the same": {func(*Measured, *Facts) {}, 0, ""},
		"larger than calibrated": {func(m *Measured, _ *Facts) { m.Setup.Size = 500_000 }, 0,
			"it covers 1000 to 100000 B, not 500000"},
		"smaller than calibrated": {func(m *Measured, _ *Facts) { m.Setup.Size = 999 }, 0,
			"it covers 1000 to 100000 B, not 999"},
		"another stack": {func(m *Measured, _ *Facts) { m.Setup.Client.Stack = "soap-xml" }, 0,
			"it was made with stack rest-json, not soap-xml"},
		"another encoding": {func(m *Measured, _ *Facts) { m.Setup.Encoding = "xml" }, 0,
			"it was made with encoding json, not xml"},
		"another release": {func(_ *Measured, f *Facts) { f.Stacks["rest-json"] = "2" }, 0,
			"it was made for rest-json 1, this is 2"},
		"another mode": {func(_ *Measured, f *Facts) { f.Emulation["mode"] = "paced" }, 0,
			"it was made in mode free, this run used mode paced"},
		"another QEMU": {func(_ *Measured, f *Facts) { f.Emulation["qemu"] = "9.1" }, 0,
			"its qemu was 7.2, now 9.1"},
		"another kernel": {func(_ *Measured, f *Facts) { f.Emulation["sha256 of kernel"] = "13" }, 0,
			"its sha256 of kernel was 12"},
		"another host": {func(_ *Measured, f *Facts) { f.Emulation["host"] = "another CPU" }, 0,
			"its host was a CPU, now another CPU"},
		"a fact that was not there": {func(_ *Measured, f *Facts) { f.Emulation["cores"] = "2" }, 0,
			"its cores was (nothing), now 2"},
		"a busy host": {func(_ *Measured, f *Facts) { f.Emulation["host load"] = "1.9" }, 0,
			"this machine's load, which was 0.2 then and 1.9 now"},
		"another boot": {func(_ *Measured, f *Facts) { f.Emulation["started in"] = "9 s" }, 0, ""},
		"too old": {func(*Measured, *Facts) {}, 200 * 24 * time.Hour,
			"it was made on 2026-03-01 and is valid for 180 days"},
		"of tomorrow": {func(*Measured, *Facts) {}, -48 * time.Hour, "it was made on 2026-03-01"},
		"another response": {func(m *Measured, _ *Facts) { m.Response = "cpu" }, 0,
			"it has no cpu of a client"},
		"another link": {func(m *Measured, _ *Facts) { m.Response, m.Setup.Link.Text = "rtt", "nb-iot" },
			0, "it was made with link (not there), not nb-iot"},
		"a link, of what it cannot change": {func(m *Measured, _ *Facts) { m.Setup.Link.Text = "nb-iot" }, 0, ""},
		"too few trials": {func(m *Measured, _ *Facts) { m.Trials = m.Trials[:2] }, 0,
			"the spread of the run"},
		"another machine": {func(m *Measured, _ *Facts) { m.Setup.Client.Device = "cortex-a7" }, 0,
			"it was made for pi"},
	} {
		m, facts := run(x.change)
		p, err := f.Predict(m, facts, made.Add(x.later), 0.95)
		switch {
		case x.why == "" && (err != nil || p.Lo > p.Value || p.Hi < p.Value || p.Value > 0.002 || p.Value < 0.0005):
			t.Errorf("%s: got %+v, %v; want about 1 ms", what, p, err)
		case x.why != "" && (err == nil || !strings.Contains(err.Error(), x.why)):
			t.Errorf("%s: got %v, want %q", what, err, x.why)
		}
	}
}

// A paced machine's computing does not follow the host, nor its load.
func TestPacedMachinesKnowNoHost(t *testing.T) {
	f := calibrated(t, rand.New(rand.NewPCG(7, 8)), 6)
	f.Facts.Emulation["mode"] = "paced"
	now := free()
	maps.Copy(now.Emulation, map[string]string{"mode": "paced", "host": "another CPU", "host load": "9"})
	if _, err := f.Predict(measured("pi", "rtt", 1000, []float64{1, 1.1, 1.2}), now, made, 0.95); err != nil {
		t.Error(err)
	}
}

func TestFilesThatAreNone(t *testing.T) {
	for text, why := range map[string]string{
		"":                   "format, machine or entries are missing",
		"[":                  "not a calibration file",
		"format: 2\nname: x": "format 2 is unsupported (this edgegauge reads 1); use a newer edgegauge",
		"format: 1\nname: x": "format, machine or entries are missing",
		"format: 1\nemulated: pi\nentries: [{side: client, response: rtt}]": "points are " +
			"missing",
		"format: 1\nemulated: pi\nentries: [{side: client, response: rtt, points: [{size: 2}, {size: 1}]}]": "not sorted " +
			"by size",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: got %v, want %q", text, err, why)
		}
	}
}

func TestFitSaysWhatItLeavesOut(t *testing.T) {
	ones := []float64{1, 1, 1, 1, 1}
	all := []Measured{measured("pi", "rtt", 10, ones), measured("ssh://board", "rtt", 10, ones[:4]),
		measured("pi", "rtt", 20, ones), measured("ssh://board", "rtt", 30, ones)}
	_, left, err := Fit(all, "pi", "ssh://board")
	if err == nil || len(left) != 2 || !strings.Contains(fmt.Sprint(left), "4 trials; at least 5") ||
		!strings.Contains(fmt.Sprint(left), "not measured on ssh://board") {
		t.Errorf("got %v, %v", left, err)
	}
}
