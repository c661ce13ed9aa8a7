package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise/battery"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// trialsOf are results of one treatment over NB-IoT, kept connected; NaN: the trial has no such figure. Trials are of
// the benches in turn.
func trialsOf(figures map[string][]float64, benches ...string) *Report {
	r := &Report{Factors: []string{"stack"}, Treatments: []Treatment{{Levels: []string{"a"}, Stack: "a",
		setup: &study.Setup{Link: study.Link{Text: "nb-iot"}, Connection: "keep-alive"}}}}
	if len(benches) > 0 {
		r.Benches = &Benches{Kind: stat.RandomBenches, Names: benches}
	}
	for name, xs := range figures {
		m, _ := measure.FindResponse(name)
		c := Cell{Side: measure.Client, Response: name, Unit: m.Unit, Method: store.Measured}
		for i, x := range xs {
			p := Point{Trial: i + 1, Block: i + 1, Mean: x}
			if len(benches) > 0 {
				p.Bench = benches[i%len(benches)]
			}
			if !math.IsNaN(x) {
				c.Points = append(c.Points, p)
			}
		}
		r.Cells = append(r.Cells, c)
	}
	return r
}

// A trial that lacks a figure is no report without energy, of two packets, or that waits as long as others are assumed
// to.
func TestTrialsThatLackAFigureAreLeftOut(t *testing.T) {
	none := math.NaN()
	whole := func() map[string][]float64 {
		return map[string][]float64{"wire_bytes": {500, 501, 502, 503}, "message_size": {100, 100, 100, 100},
			"response_size": {50, 50, 50, 50}, "packets": {8, 8, 8, 8}, "energy": {2, 2, 2, 2}, "rtt": {1, 1, 1, 1}}
	}
	for lacks, name := range map[string]string{"message_size": "message_size", "response_size": "response_size",
		"packets": "packets", "energy": "joules", "rtt": "time of waiting"} {
		figures := whole()
		figures[lacks][1] = none
		trials, notes, _, err := trialsOf(figures).traffic(0, "nb-iot", "", false)
		if err != nil || len(trials) != 3 || !slices.Contains(notes, "1 of 4 trials have no "+name+" and are left out") {
			t.Errorf("%s: got %+v, %q, %v", lacks, trials, notes, err)
		}
		for _, x := range trials {
			if x.Packets != 8 || x.Joules != 2 || x.Took != 1 || x.Up < 275 {
				t.Errorf("%s: got %+v", lacks, x)
			}
		}
	}
	figures := whole()
	figures["packets"], figures["energy"] = []float64{8, 8, none, none}, []float64{none, none, 2, 2}
	if _, _, _, err := trialsOf(figures).traffic(0, "nb-iot", "", false); err == nil ||
		!strings.Contains(err.Error(), "4 of 4 trials have no joules; packets and are left out") {
		t.Errorf("no trial has all: %v", err)
	}

	// What no trial has is said, too.
	for lacks, want := range map[string]string{
		"response_size":            "so what the response holds counts as headers, half of which are sent",
		"response_size wire_bytes": "response_size was not measured, so nothing is received",
	} {
		figures := whole()
		for name := range strings.FieldsSeq(lacks) {
			delete(figures, name)
		}
		_, notes, _, err := trialsOf(figures).traffic(0, "nb-iot", "", false)
		if err != nil || !strings.Contains(strings.Join(notes, "\n"), want) {
			t.Errorf("%s: got %q, %v", lacks, notes, err)
		}
	}
}

// A meter's joules net of the idle lie above and below the truth alike, made up here of a device that takes 0.05 J for
// a report and of five trials that scatter by 0.2 J: a mean below 0 is 0, which makes 0.066 J on average (the mean of a
// normal variable above 0). Clipped trial by trial they were 0.11 J.
func TestNegativeNetEnergiesAreNotClipped(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	const studies, trials, truth, scatter = 2000, 5, 0.05, 0.2
	var sum float64
	for range studies {
		figures := map[string][]float64{"message_size": {1, 1, 1, 1, 1}}
		for range trials {
			figures["energy"] = append(figures["energy"], truth+scatter*r.NormFloat64())
		}
		got, notes, _, err := trialsOf(figures).traffic(0, "none", "", false)
		if err != nil {
			t.Fatal(err)
		}
		var mean, was float64
		for i, x := range got {
			mean, was = mean+x.Joules/trials, was+figures["energy"][i]/trials
		}
		said := strings.Contains(fmt.Sprint(notes), "taken to be 0 on average")
		if said != (was < 0) || math.Abs(mean-max(was, 0)) > 1e-12 {
			t.Fatalf("of %v J: %v J on average, said %v", figures["energy"], mean, said)
		}
		sum += mean
	}
	if mean := sum / studies; math.Abs(mean-0.0661) > 0.006 {
		t.Errorf("%g J on average, want 0.066", mean)
	}
}

// Benches differ by 20 %, trials of one bench by 2 %: where each bench counts once, the interval holds the life that a
// device has on a bench like these on average in 95 of 100, and where trials count, in less than 60.
func TestForecastsCountBenchesOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	r := rand.New(rand.NewPCG(9, 9))
	k := lasting(t, "nb-iot", "5Wh")
	for _, name := range []string{"radio.sleep=0W", "radio.idle=0W", "radio.receive=0W", "radio.send=0W",
		"radio.setup_power=0W", "radio.up_rate=1Mbit", "radio.down_rate=1Mbit"} {
		x, err := battery.ParseSet(name)
		if err != nil {
			t.Fatal(err)
		}
		k.Set = append(k.Set, x)
	}
	const studies, joules = 80, 1.0
	names := []string{"a", "b", "c", "d"}
	held := 0
	for range studies {
		offset := make([]float64, len(names))
		for i := range offset {
			offset[i] = 0.2 * r.NormFloat64()
		}
		figures := map[string][]float64{}
		for i := range 24 {
			figures["message_size"] = append(figures["message_size"], 1)
			figures["energy"] = append(figures["energy"], joules*(1+offset[i%len(names)]+0.02*r.NormFloat64()))
		}
		f := trialsOf(figures, names...).Forecast(k, "").Rows[0]
		if f.Err != nil || f.Trials != len(names) {
			t.Fatalf("%d units, %v", f.Trials, f.Err)
		}
		if life := 5 * 3600 / (joules / 3600); f.Lo <= life && life <= f.Hi {
			held++
		}
	}
	if held < studies*90/100 {
		t.Errorf("%d of %d intervals hold the truth", held, studies)
	} else {
		t.Logf("%d of %d", held, studies)
	}
}
