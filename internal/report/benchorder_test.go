package report

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// Benches rank treatments differently only where their order turns; where the size of a difference depends on the
// bench that is said; and of benches that are alike neither, whatever the number of responses. What trials draw from
// the seed, as the size of a message, no bench has a part in. The rates are those of doc/method.md.
func TestBenchesThatDifferAreNotSaidToDisagree(t *testing.T) {
	studies := 40
	if testing.Short() {
		studies = 6
	}
	benches := []string{"b1", "b2", "b3", "b4"}
	for _, tt := range []struct {
		what  string
		ratio [4]float64 // of soap over rest-json on each bench
		ranks [2]float64 // per cent of studies in which benches are said to rank differently, at least and at most
		size  [2]float64 // likewise that the size depends on the bench
	}{
		{"alike", [4]float64{2, 2, 2, 2}, [2]float64{0, 5}, [2]float64{0, 5}},
		{"alike, and equal", [4]float64{1, 1, 1, 1}, [2]float64{0, 5}, [2]float64{0, 5}},
		{"the size differs", [4]float64{2.3, 2.3, 2.4, 2.9}, [2]float64{0, 0}, [2]float64{95, 100}},
		{"equal, but for one", [4]float64{1, 1, 1, 1.3}, [2]float64{0, 5}, [2]float64{95, 100}},
		{"the order turns", [4]float64{1.3, 1.3, 0.77, 1.3}, [2]float64{95, 100}, [2]float64{0, 5}},
	} {
		r := rand.New(rand.NewPCG(3, uint64(1000*tt.ratio[3])))
		ranks, size := 0, 0
		for range studies {
			bench := map[string]float64{}
			for _, b := range benches {
				bench[b] = math.Exp(0.2 * r.NormFloat64())
			}
			w := exactly(nil)
			w.bench = func(block int) store.Bench { return store.Bench{Name: benches[(block-1)%4], Boot: "1"} }
			w.exact = func(at map[string]string, block int) (out []store.Result) {
				k := (block - 1) % 4
				v := 1e-3 * bench[benches[k]]
				if at["stack"] == "soap" {
					v *= tt.ratio[k]
				}
				for _, side := range []measure.Side{measure.Client, measure.Server} {
					for _, name := range []string{"rtt", "total_time", "processing", "message_size"} {
						of, unit := v*math.Exp(0.05*r.NormFloat64()), "s"
						if side == measure.Client == (name == "processing") || side == measure.Server && name != "processing" &&
							name != "total_time" {
							continue
						}
						if name == "message_size" {
							of, unit = 140*math.Exp(0.01*r.NormFloat64()+0.01*float64(k)*float64(len(at["stack"]))), "B"
						}
						out = append(out, store.Result{Side: side, Response: name, Unit: unit, N: 100, Mean: of, SD: of / 10,
							Median: of, P95: 1.2 * of, Min: 0.9 * of, Max: 1.3 * of, Method: store.Measured})
					}
				}
				return out
			}
			got := reportOf(t, w.write(t, "study: fleet\nservice: monitor\nrequests: 100\n"+
				"factors: {stack: [rest-json, soap]}\nresponses: [rtt, total_time, processing, message_size]\n"+
				"design: {replications: 20, seed: 1}\n"))
			said := strings.Join(got.Disagreements(), "\n")
			if strings.Contains(said, "ranks treatments differently") || strings.Contains(said, "rank treatments differently") {
				ranks++
			}
			if strings.Contains(said, "size of the difference depends on the bench") {
				size++
			}
			if strings.Contains(said, "message size") {
				t.Errorf("%s: %s", tt.what, said)
			}
			turns := false
			for _, p := range got.benchesJSON().Panels {
				judged := p.Response != "message_size"
				o := p.Order // nil: nothing shows that benches differ at all
				if !math.IsNaN(float64(p.PHolm)) != judged || judged && (p.Among != 3 || !(p.PHolm >= p.Model.P)) ||
					o != nil && (!judged || len(o.Benches) != 4 || o.Turns && !(o.P < 0.05)) {
					t.Errorf("%s: %s in JSON: p %v of %d, order %+v", tt.what, p.Response, p.PHolm, p.Among, o)
				}
				turns = turns || o != nil && o.Turns && p.Response == "rtt" // the one that is spoken of
			}
			if turns != (strings.Contains(said, "rank treatments differently") ||
				strings.Contains(said, "ranks treatments differently")) {
				t.Errorf("%s: in JSON an order turns: %v; %s", tt.what, turns, said)
			}
		}
		share := func(n int) float64 { return 100 * float64(n) / float64(studies) }
		t.Logf("benches are %s: rank treatments differently %.1f %%, the size depends on the bench %.1f %%", tt.what,
			share(ranks), share(size))
		slack := func(n int, x [2]float64) bool { // three standard errors of 5 %
			three := 300 * math.Sqrt(0.05*0.95/float64(studies))
			return share(n) < x[0]-three || share(n) > x[1] && (x[1] == 0 || share(n) > x[1]+three)
		}
		if slack(ranks, tt.ranks) || slack(size, tt.size) {
			t.Errorf("%s: of %d studies %d rank differently, want %v %%; in %d the size differs, want %v %%", tt.what, studies,
				ranks, tt.ranks, size, tt.size)
		}
	}
}

// Of a fleet of few benches it is the benches that are too few, and more trials are no help; of a study run alone it is
// trials.
func TestFewBenchesAreNotFewTrials(t *testing.T) {
	times := map[string]float64{"b1": 1, "b2": 1.1, "b3": 5}
	for _, tt := range []struct {
		kind       string
		benches    []string
		want, lack string
	}{
		{"random", []string{"b1", "b2", "b3"}, "3 benches that spread so much do not tell the mean", "run more"},
		{"random", []string{"b1", "b2"}, "", "trials are too few"},
		{"fixed", []string{"b1", "b2", "b3"}, "", "more benches"},
	} {
		r := reportOf(t, fleetOf(t, ", benches: "+tt.kind, tt.benches, func(at map[string]string, block int) float64 {
			return float64(len(at["stack"])) * 1e-4 * times[tt.benches[(block-1)%len(tt.benches)]] * wobble(block)
		}))
		said := strings.Join(r.Cells[0].Warnings, "\n")
		if !strings.Contains(said, tt.want) || strings.Contains(said, tt.lack) {
			t.Errorf("%s, %d benches: %q", tt.kind, len(tt.benches), said)
		}
	}
	c := &Cell{on: &onBenches{kind: stat.RandomBenches}}
	for _, tt := range []struct {
		spread float64
		want   string
	}{{0.1, "3 benches are too few"}, {0.9, "3 benches that spread so much"}} {
		got := c.warning(stat.WideMean{N: 3, Spread: tt.spread})
		if !strings.HasPrefix(got, tt.want) || !strings.Contains(got, "measure on more benches") ||
			strings.Contains(got, "trial") {
			t.Errorf("spread %g: %q", tt.spread, got)
		}
	}
	if got := new(Cell).warning(stat.WideMean{N: 3, Spread: 0.1}); !strings.HasPrefix(got, "3 trials are too few") {
		t.Errorf("a study run alone: %q", got)
	}
}

// While a study runs, and is looked at after each block, benches must differ more clearly than in the end.
func TestBenchesDifferSoFarOnlyIfTheyDoSoClearly(t *testing.T) {
	benches := []string{"b1", "b2", "b3"}
	unclear, clear := 0, 0
	for times := 1.0; times < 2.5; times += 0.05 {
		r := reportOf(t, fleetOf(t, "", benches, func(at map[string]string, block int) float64 {
			v := 1e-3 * (1 + 0.03*math.Sin(float64(7*block*len(at["stack"]))))
			if benches[(block-1)%3] == "b3" && at["stack"] == "soap" {
				v *= times
			}
			return v
		}))
		end, soFar := len(r.Disagreements()) > 0, len(r.DisagreementsSoFar()) > 0
		switch {
		case soFar && !end:
			t.Errorf("times %.2f: so far, and not in the end", times)
		case end && !soFar:
			unclear++
		case soFar:
			clear++
		}
	}
	if unclear == 0 || clear == 0 {
		t.Errorf("of %d ratios that differ in the end not so far, of %d so far, too", unclear, clear)
	}
}
