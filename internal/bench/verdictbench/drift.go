package verdictbench

import (
	"fmt"
	"math"
	"math/rand/v2"

	"edgegauge.example/edgegauge/internal/report"
)

// drifting are n deviations of which each says rho of the next, with a standard deviation of 1.
func drifting(r *rand.Rand, n int, rho float64) []float64 {
	out := []float64{r.NormFloat64()}
	for len(out) < n {
		out = append(out, rho*out[len(out)-1]+math.Sqrt(1-rho*rho)*r.NormFloat64())
	}
	return out
}

// own are treatments of which each drifts by itself, by 3 %, and blocks that differ by 9 %; the
// last treatment is the given number of times as slow.
func own(treatments, blocks int, rho, slower float64) func(r *rand.Rand) func(int, int) float64 {
	return func(r *rand.Rand) func(int, int) float64 {
		var drifts [][]float64
		for range treatments {
			drifts = append(drifts, drifting(r, blocks, rho))
		}
		common := drifting(r, blocks, 0)
		return func(treatment, block int) float64 {
			v := 1e-3 * math.Exp(0.03*drifts[treatment][block-1]+0.09*common[block-1])
			if treatment == treatments-1 {
				v *= slower
			}
			return v
		}
	}
}

// drifted is drift of the machine, of the given size: all that runs on it drifts alike, and
// another run has another.
func drifted(blocks int, rho, size, slower float64) func(r *rand.Rand) func(int, int) float64 {
	return func(r *rand.Rand) func(int, int) float64 {
		drift := drifting(r, blocks, rho)
		return func(_, block int) float64 { return 1e-3 * slower * math.Exp(size*drift[block-1]) }
	}
}

// driftRates are of versions that drift, each in its own way, and of runs beside each other on a
// machine that drifts. Who takes trials for independent there is wrong far more often than stated.
func driftRates() []Rate {
	detect, confirm := []string{"compare", "--detect", "5%"}, []string{"confirm"}
	gate := []string{"compare", "--fail-if", "rtt > 5%"}
	versions := func(blocks int, rho, slower float64) Truth {
		return Truth{Draw: own(2, blocks, rho, slower), Confirms: &report.Confirms{Responses: []string{"rtt"}, Detect: 0.05},
			Study: fmt.Sprintf("study: versions\nservice: monitor\nrequests: 100\nfactors: {stack: [s@base, s]}\n"+
				"design: {replications: %d, seed: 1}\nresponses: [rtt]\n", blocks)}
	}
	equal := func(blocks int, rho, worse, confirmed float64) Rate {
		name := fmt.Sprintf("drift %g, %d blocks, nothing changed: ", rho, blocks)
		return Rate{Name: name + "compare: worse", New: versions(blocks, rho, 1), Args: detect, Answer: startsWith("worse"),
			Hi: worse, Also: []Rate{
				{Name: name + "compare: good", Args: detect, Answer: startsWith("good"), Hi: 100},
				{Name: name + "confirmed", Args: confirm, Answer: startsWith("confirmed"), Hi: confirmed},
				{Name: name + "not confirmed", Args: confirm, Answer: startsWith("not confirmed"), Hi: 100},
			}}
	}
	slower := func(blocks int, rho, good, not float64) Rate {
		name := fmt.Sprintf("drift %g, %d blocks, 5 %% slower: ", rho, blocks)
		return Rate{Name: name + "compare: good", New: versions(blocks, rho, 1.05), Args: detect, Answer: startsWith("good"),
			Hi: good, Also: []Rate{
				{Name: name + "compare: worse", Args: detect, Answer: startsWith("worse"), Hi: 100},
				{Name: name + "not confirmed", Args: confirm, Answer: startsWith("not confirmed"), Hi: not},
				{Name: name + "confirmed worse", Args: confirm, Answer: startsWith("confirmed worse"), Hi: 100},
				{Name: name + "confirmed better", Args: confirm, Answer: startsWith("confirmed better"), Hi: 0},
			}}
	}
	run := func(slower float64) Truth {
		return Truth{Treatments: 1, Blocks: 20, Draw: drifted(20, 0.7, 0.06, slower)}
	}
	return []Rate{
		equal(32, 0, 5, 1), equal(16, 0.7, 5, 5), equal(32, 0.7, 5, 2), equal(64, 0.7, 5, 1),
		slower(32, 0, 5, 5), slower(16, 0.7, 5, 5), slower(32, 0.7, 5, 5),
		{Name: "drift 0.7 of the machine, 20 trials before and after, nothing changed: worse", Old: run(1), New: run(1),
			Args: gate, Answer: startsWith("worse"), Hi: 5,
			Also: []Rate{{Name: "drift 0.7 of the machine, nothing changed: a figure is said to differ",
				Args: []string{"compare"}, Answer: contains("1 higher", "1 lower"), Hi: 5}}},
		{Name: "drift 0.7 of the machine, 20 trials before and after, 5 % slower: good", Old: run(1), New: run(1.05),
			Args: gate, Answer: startsWith("good"), Hi: 5},
		{Name: "drift 0.7 of each of two stacks, 20 blocks, equal: report: next is …",
			New: Truth{Treatments: 2, Blocks: 20, Draw: own(2, 20, 0.7, 1)}, Args: []string{"report"},
			Answer: contains("next is"), Hi: 10, // 40 without a look at the order
			Also: []Rate{{Name: "drift 0.7 of each of two stacks, equal: choose: a ratio to the best",
				Args:   []string{"choose", "--json", "--minimize", "rtt"},
				Answer: contains(`"within_noise": false,` + "\n" + `      "pareto_front": false`), Hi: 10}}},
	}
}
