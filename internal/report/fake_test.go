package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// fakeReport is a report of a study that never was: stacks × encodings, six
// responses, trials of 400 requests.
func fakeReport(t *testing.T, stacks, encodings, trials int) *Report {
	t.Helper()
	r := &Report{Dir: "results/fake", Factors: []string{"stack", "encoding"},
		RawFacts: json.RawMessage(`{"edgegauge":{"version":"test"}}`)}
	r.Study = study.Study{Name: "fake", Question: "Which <stack> should a thing speak?"}
	r.Study.Design.Confidence, r.Study.Design.Replications = 0.95, trials
	for s := range stacks {
		for e := range encodings {
			stack := fmt.Sprintf("stack-%d", s)
			if s == stacks-1 && stacks > 1 {
				stack = "floor-tcp"
			}
			r.Treatments = append(r.Treatments, Treatment{Levels: []string{stack, fmt.Sprintf("encoding-%d", e)}, Stack: stack,
				Floor: -1, Wanted: trials, Valid: trials})
		}
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	for b := range trials {
		for i, x := range r.Treatments {
			r.Trials = append(r.Trials, store.TrialState{PlannedTrial: store.PlannedTrial{ID: b*len(r.Treatments) + i + 1,
				Block:     b + 1,
				Treatment: []store.Level{{Factor: "stack", Text: x.Levels[0]}, {Factor: "encoding", Text: x.Levels[1]}}},
				State: store.Valid, Attempts: 1, Attempt: 1})
		}
	}
	for i := range r.Treatments {
		for k, name := range []string{"rtt", "serialization", "deserialization", "total_time", "message_size", "cpu"} {
			r.addFake(t, rnd, i, name, float64(i+2)*math.Pow(1.7, float64(k))*1e-5, trials)
		}
	}
	for i, t := range r.Treatments {
		if r.isFloor(t.Stack) {
			for j := range r.Treatments {
				if r.Treatments[j].Levels[1] == t.Levels[1] && j != i {
					r.Treatments[j].Floor = i
				}
			}
		}
	}
	r.aboveFloor()
	return r
}

func (r *Report) addFake(t *testing.T, rnd *rand.Rand, treatment int, name string, scale float64, trials int) {
	t.Helper()
	m, _ := measure.FindResponse(name)
	c := Cell{Treatment: treatment, Side: measure.Client, Response: name, Unit: m.Unit, Method: store.Measured}
	d := &Distribution{Treatment: treatment, Panel: Panel{measure.Client, name, m.Unit}, perUnit: 1e9,
		courses: make([]*[courseParts]float64, len(r.Trials))}
	if m.Unit == "B" {
		d.perUnit, scale = 1, math.Round(scale*1e6)
	}
	for b := range trials {
		values := make([]int64, 400)
		sum := 0.0
		for k := range values {
			values[k] = int64(scale * d.perUnit * (1 + 0.1*rnd.ExpFloat64()))
			sum += float64(values[k])
		}
		mean := sum / float64(len(values)) / d.perUnit
		c.Points = append(c.Points, Point{Trial: b*len(r.Treatments) + treatment + 1, Block: b + 1, Mean: mean,
			Median: mean, P95: mean * 1.3, SD: mean / 10, Min: mean / 2,
			n: int64(len(values))})
		var h histogram
		h.add(values)
		d.take(b*len(r.Treatments)+treatment, &h, values)
	}
	if err := c.summarize(0.95); err != nil {
		t.Fatal(err)
	}
	d.settle()
	r.Cells = append(r.Cells, c)
	if name != "cpu" {
		r.Distributions = append(r.Distributions, d)
	}
}

// fakeTrace adds a power trace: 2 W, 3 W from 1 s on.
func (r *Report) fakeTrace(treatment int, side measure.Side, method store.Method) {
	x := &Trace{Treatment: treatment, Trial: treatment + 1, Block: 1, Side: side, Instrument: "exec", Method: method,
		Readings: 200,
		Phases:   []TracePhase{{"warm-up", 0.1, 0.4}, {"idle", 0.5, 0.9}, {"measured run", 1, 1.8}}}
	for i := range 200 {
		w := 2.0
		if i > 100 {
			w = 3
		}
		x.Points = append(x.Points, TracePoint{float64(i) / 100, w, w, w + 0.1})
	}
	r.Traces = append(r.Traces, x)
}

// written writes the page into a file and returns its path and size.
func written(t *testing.T, r *Report) (string, int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := r.HTML(f); err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return path, info.Size()
}
