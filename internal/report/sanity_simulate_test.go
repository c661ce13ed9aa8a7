package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/study"
)

// following are n logarithms of standard deviation 1, each correlated so with the one before.
func following(r *rand.Rand, n int, correlation float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		if out[i] = r.NormFloat64(); i > 0 {
			out[i] = correlation*out[i-1] + math.Sqrt(1-correlation*correlation)*out[i]
		}
	}
	return out
}

// cellOf is a cell of trials whose figures have these logarithms.
func cellOf(treatment int, side measure.Side, response string, logs []float64) Cell {
	c := Cell{Treatment: treatment, Side: side, Response: response, Unit: "s"}
	for i, x := range logs {
		c.Points = append(c.Points, Point{Trial: i + 1, Block: i + 1, Mean: 1e-3 * math.Exp(x), Median: 1e-3 * math.Exp(x)})
	}
	return c
}

// saidIn fails unless so many of the studies say it as may, with room for chance above.
func saidIn(t *testing.T, what string, said, studies int, least, most float64) {
	t.Helper()
	share := float64(said) / float64(studies)
	t.Logf("%s: said in %.2f %%", what, 100*share)
	if share > most+4*math.Sqrt(most/float64(studies)) || share < least {
		t.Errorf("%s: said in %d of %d studies", what, said, studies)
	}
}

// What a check says of trials is of how they vary, too: that a stack is quicker than a bare exchange, or that the CPU
// did not run at one speed, is said of equals, or of a steady CPU, in few studies; of what is so, in most.
func TestChecksErr(t *testing.T) {
	const studies = 2000
	for _, tt := range []struct {
		what        string
		blocks      int
		drift       float64 // correlation from one block to the next, of each of stack and floor
		floor       float64 // of the stack's ratio to it
		least, most float64 // share of the studies that say so
	}{
		{"as quick as its floor", 6, 0, 1, 0, 0.005},
		{"as quick as its floor", 20, 0, 1, 0, 0.005},
		{"as quick as its floor, each drifts", 24, 0.7, 1, 0, 0.02},
		{"10 % quicker than its floor", 12, 0, 0.9, 0.9, 1},
	} {
		r := rand.New(rand.NewPCG(29, 26))
		said := 0
		for range studies {
			x := &Report{Treatments: []Treatment{{Levels: []string{"stack"}, Floor: 1}, {Levels: []string{"floor"}, Floor: -1}}}
			x.Study.Design.Confidence = 0.95
			for i, shift := range []float64{math.Log(tt.floor), 0} {
				logs := following(r, tt.blocks, tt.drift)
				for j := range logs {
					logs[j] = 0.03*logs[j] + shift
				}
				x.Cells = append(x.Cells, cellOf(i, measure.Client, "rtt", logs))
			}
			x.aboveFloor()
			if x.checkFloors(); len(x.Alarms) > 0 {
				said++
			}
		}
		saidIn(t, fmt.Sprintf("%s, %d blocks", tt.what, tt.blocks), said, studies, tt.least, tt.most)
	}
	for _, tt := range []struct {
		what          string
		trials        int
		speed, beside float64 // spread of the CPU's speed, and of each side beside it
		least, most   float64
	}{
		{"each side varies by itself", 10, 0, 0.15, 0, 0.001},
		{"each side varies by itself, a quarter of all in one trial of ten", 24, 0, 0.3, 0, 0.001},
		{"both vary by 1 %", 30, 0.01, 0.003, 0, 0.001},
		{"the CPU's speed varies by 10 %", 30, 0.1, 0.03, 0.98, 1},
	} {
		r := rand.New(rand.NewPCG(29, 27))
		said := 0
		for range studies {
			x := &Report{}
			for i, stack := range []string{"a", "b"} {
				x.Treatments = append(x.Treatments, Treatment{Levels: []string{stack}, setup: &study.Setup{}})
				speed := following(r, tt.trials, 0)
				for _, side := range []measure.Side{measure.Client, measure.Server} {
					logs := following(r, tt.trials, 0)
					for j := range logs {
						logs[j] = tt.beside*logs[j] + tt.speed*speed[j]
					}
					x.Cells = append(x.Cells, cellOf(i, side, "deserialization", logs))
				}
			}
			if x.checkSpeed(); len(x.Alarms) > 0 {
				said++
			}
		}
		saidIn(t, fmt.Sprintf("%s, %d trials", tt.what, tt.trials), said, studies, tt.least, tt.most)
	}
}

// That a mean and a typical trial disagree, "because of a few slow trials", and that blocks disagree with a figure, is
// said of equals in few studies whose trials are alike in shape, and in most where one stack has a few slow trials.
func TestDisagreementsErr(t *testing.T) {
	const studies = 1000
	for _, tt := range []struct {
		what        string
		blocks      int
		spread      float64
		slow        float64 // how many times as long one trial in ten of b takes; 1: none
		figure      string
		least, most float64
	}{
		{"equals", 10, 0.05, 1, "mean", 0, 0.05},
		{"equals", 10, 0.3, 1, "mean", 0, 0.05},
		{"equals", 6, 0.5, 1, "mean", 0, 0.05},
		{"equals", 10, 0.3, 1, "median", 0, 0.05},
		{"one trial in ten takes 20 times as long, the others half", 20, 0.05, 20, "mean", 0.9, 1},
	} {
		r := rand.New(rand.NewPCG(29, 28))
		odd, turned := 0, 0
		for range studies {
			var all []advise.Series
			for _, name := range []string{"a", "b"} {
				s := advise.Series{Factors: []string{"stack"}, Levels: []string{name}, Stack: name, Side: measure.Client,
					Response: "rtt", Unit: "s"}
				for i, x := range following(r, tt.blocks, 0) {
					v := math.Exp(tt.spread * x)
					if name == "b" && tt.slow > 1 {
						if v *= 0.5; i%10 == 3 {
							v *= 2 * tt.slow
						}
					}
					s.Trials = append(s.Trials, advise.TrialSummary{ID: i + 1, Block: i + 1, Mean: v, Median: v, P95: v})
				}
				all = append(all, s)
			}
			c, err := advise.Choose(all, []advise.Objective{{Term: advise.Term{Response: "rtt", Figure: tt.figure}}}, nil, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(c.Candidates, func(x advise.Candidate) bool { return x.Odd }) {
				odd++
			}
			if slices.ContainsFunc(c.Candidates, func(x advise.Candidate) bool { return x.Turned }) {
				turned++
			}
		}
		share := float64(odd) / studies
		t.Logf("%s, %d blocks that vary by %g, %ss: mean and typical trial disagree in %.1f %%, blocks in %.1f %%", tt.what,
			tt.blocks, tt.spread, tt.figure, 100*share, 100*float64(turned)/studies)
		if share > tt.most+4*math.Sqrt(tt.most/studies) || share < tt.least || float64(turned) > 0.06*studies {
			t.Errorf("%s, %d blocks: disagree in %d, blocks in %d of %d studies", tt.what, tt.blocks, odd, turned, studies)
		}
	}
}
