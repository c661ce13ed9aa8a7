package verdictbench

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/report"
)

// A Rate is how often the command line may give an answer, given a truth.
type Rate struct {
	Name     string
	Old, New Truth   // Old is empty where one results directory is asked about
	Turns    []Truth // in place of New: data sets take turns at these
	Args     []string
	Answer   func(out string, code int) bool // reports whether the answer that is counted was given
	Lo, Hi   float64                         // per cent within which the count must lie
	Also     []Rate                          // asked of the same data sets; their truths are this one
}

// All is the rate and those asked of the same data sets.
func (x Rate) All() []Rate { return append([]Rate{x}, x.Also...) }

// A Runner runs the program with arguments, and returns what it printed and its exit code.
type Runner func(args ...string) (string, int, error)

// Count fabricates that many studies in dir and counts the answers to each of All. The
// seed is the rate's name, so that a row does not change when others do.
func (x Rate) Count(dir string, studies int, run Runner) ([]int, error) {
	h := fnv.New64a()
	h.Write([]byte(x.Name))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	all := x.All()
	hits := make([]int, len(all))
	for i := range studies {
		var made []string
		to := x.New
		if len(x.Turns) > 0 {
			to = x.Turns[i%len(x.Turns)]
		}
		for k, t := range []Truth{x.Old, to} {
			if t.RTT == nil && t.Draw == nil {
				continue
			}
			to := filepath.Join(dir, fmt.Sprintf("%d-%d", i, k))
			if err := t.Write(to, r); err != nil {
				return nil, err
			}
			made = append(made, to)
		}
		for k, asked := range all {
			out, code, err := run(slices.Concat(asked.Args, made)...)
			if err != nil {
				return nil, err
			}
			if asked.Answer(out, code) {
				hits[k]++
			}
		}
		for _, to := range made {
			if err := os.RemoveAll(to); err != nil {
				return nil, err
			}
		}
	}
	return hits, nil
}

// Slack is four standard errors of a count over that many studies, in per cent.
func (x Rate) Slack(studies int) float64 {
	mid := min(max((x.Lo+x.Hi)/200, 0.01), 0.99)
	return 400 * math.Sqrt(mid*(1-mid)/float64(studies))
}

func contains(words ...string) func(string, int) bool {
	return func(out string, _ int) bool {
		for _, w := range words {
			if strings.Contains(out, w) {
				return true
			}
		}
		return false
	}
}

func startsWith(word string) func(string, int) bool {
	return func(out string, _ int) bool { return strings.HasPrefix(out, word) }
}

// around draws trials with a relative spread of 3 %.
func around(center float64) func(*rand.Rand, int, int) float64 {
	return func(r *rand.Rand, _, _ int) float64 { return center * math.Exp(0.03*r.NormFloat64()) }
}

// shapes are the distributions of equal treatments.
var shapes = []func(r *rand.Rand) float64{
	func(r *rand.Rand) float64 { return 1e-3 * (1 + 0.05*r.NormFloat64()) },
	func(r *rand.Rand) float64 { return 1e-3 * math.Exp(0.5*r.NormFloat64()) },
	func(r *rand.Rand) float64 { // two humps
		v := 1e-3 * math.Exp(0.01*r.NormFloat64())
		if r.Float64() < 0.4 {
			v *= 1.3
		}
		return v
	},
}

// A Group is rates of one kind of truth.
type Group struct {
	Name, Says string
	Rates      []Rate
}

// Groups are all that is counted, the quick ones first.
func Groups() []Group {
	return []Group{
		{"probes", "probes of which requests fail", failureRates()},
		{"versions", "two versions in one study", versionRates()},
		{"drift", "versions that drift, and a true change of 5 %", driftRates()},
		{"compare", "results before and after a change", compareRates()},
		{"claims", "a paper's claims", claimRates()},
		{"benches", "several benches that share a study", fleetRates()},
		{"equals", "2 to 30 equal treatments", equalRates()},
	}
}

// compareRates are of two results directories.
func compareRates() []Rate {
	gate := []string{"compare", "--fail-if", "rtt > 5%"}
	trials := func(n int, draw func(*rand.Rand, int, int) float64) Truth {
		return Truth{Treatments: 1, Blocks: n, RTT: draw}
	}
	spiky := func(r *rand.Rand, _, block int) float64 {
		if block%15 == 1 {
			return 20e-3
		}
		return around(0.5e-3)(r, 0, 0)
	}
	half := func(r *rand.Rand, _, block int) float64 {
		if block > 2 {
			return math.NaN()
		}
		return around(1e-3)(r, 0, 0)
	}
	busy := trials(10, around(1.4e-3))
	busy.Waiting = 0.4
	same := trials(10, around(1e-3))
	rate := func(name string, to Truth, word string, lo, hi float64, also ...Rate) Rate {
		return Rate{Name: name, Old: same, New: to, Args: gate, Answer: startsWith(word), Lo: lo, Hi: hi, Also: also}
	}
	better := rate("compare: a typical trial half as long, the mean up by 80 %: good", trials(30, spiky), "good", 0, 0)
	better.Old = trials(30, around(1e-3))
	return []Rate{
		better,
		rate("compare: 8 of 10 trials invalid: worse", trials(10, half), "worse", 100, 100),
		rate("compare: the same program beside busy loops, 40 % longer: worse", busy, "worse", 0, 0),
		rate("compare: nothing changed: worse", same, "worse", 0, 5,
			Rate{Name: "compare: nothing changed: good", Args: gate, Answer: startsWith("good"), Lo: 50, Hi: 100}),
		rate("compare: exactly 5 % slower: worse", trials(10, around(1.05e-3)), "worse", 0, 5,
			Rate{Name: "compare: exactly 5 % slower: good", Args: gate, Answer: startsWith("good"), Hi: 5}),
		rate("compare: 15 % slower: worse", trials(10, around(1.15e-3)), "worse", 95, 100),
		{Name: "compare: 7 % of trials take three times as long, none before, 20 each: good", Old: trials(20, around(1e-3)),
			New: trials(20, func(r *rand.Rand, _, _ int) float64 {
				if r.Float64() < 0.07 {
					return around(3e-3)(r, 0, 0)
				}
				return around(1e-3)(r, 0, 0)
			}), Args: gate, Answer: startsWith("good"), Lo: 20, Hi: 27}, // 0.93 to the 20th: none of 20 is slow
		slower("report: one of two stacks takes 40 % longer: next is …", 0, 100),
		slower("report: the same beside busy loops: next is …", 0.4, 0),
	}
}

// slower is of two stacks, one of which takes 40 % longer, both waiting so long for a CPU.
func slower(name string, waiting, share float64) Rate {
	of := Truth{Treatments: 2, Blocks: 10, Waiting: waiting, RTT: func(r *rand.Rand, stack, _ int) float64 {
		return around([]float64{1e-3, 1.4e-3}[stack])(r, 0, 0)
	}}
	return Rate{Name: name, New: of, Args: []string{"report"}, Answer: contains("next is"), Lo: share, Hi: share}
}

// equalRates are of treatments of which none is better: who picks the best from the
// data may tell it apart in 5 % of studies. Data sets take turns at numbers of blocks and
// distributions: tests of internal/stat give the rate of each.
func equalRates() []Rate {
	var out []Rate
	for _, k := range []int{2, 3, 5, 11, 30} {
		var turns []Truth
		for _, n := range []int{5, 10, 30} {
			for _, s := range shapes {
				turns = append(turns, Truth{Treatments: k, Blocks: n,
					RTT: func(r *rand.Rand, _, _ int) float64 { return s(r) }})
			}
		}
		name := fmt.Sprintf("%d equal treatments", k)
		out = append(out, Rate{Name: "report: next is …; " + name, Turns: turns, Args: []string{"report"},
			Answer: contains("next is"), Hi: 5,
			Also: []Rate{{Name: "choose: a ratio to the best; " + name,
				Args:   []string{"choose", "--json", "--minimize", "rtt"},
				Answer: contains(`"within_noise": false,` + "\n" + `      "pareto_front": false`), Hi: 5}}})
	}
	return out
}

// fleetRates are of benches that differ by 20 % and share a study of three treatments;
// the last is the given number of times as slow.
func fleetRates() []Rate {
	of := func(last float64, f Fleet) Truth {
		f.Spread = 0.2
		return Truth{Treatments: 3, Blocks: 5 * f.Benches, Fleet: &f, RTT: func(r *rand.Rand, treatment, _ int) float64 {
			v := around(1e-3)(r, 0, 0)
			if treatment == 2 {
				v *= last
			}
			return v
		}}
	}
	agree, rank := Fleet{Benches: 6}, Fleet{Benches: 6, Rank: 0.05}
	report := []string{"report"}
	differ := wrapped("Benches disagree", "Benches differ")
	return []Rate{
		{Name: "benches: equal treatments, benches agree: next is …", New: of(1, agree), Args: report,
			Answer: contains("next is"), Hi: 5,
			Also: []Rate{{Name: "benches: they agree: some are said to differ or disagree", Args: report,
				Answer: differ, Hi: 5}}},
		{Name: "benches: equal treatments, benches rank them differently by 5 %: next is …", New: of(1, rank), Args: report,
			Answer: contains("next is"), Hi: 5,
			Also: []Rate{{Name: "benches: they rank treatments differently by 5 %: said to differ or disagree", Args: report,
				Answer: differ, Lo: 95, Hi: 100}}},
		{Name: "benches: two, equal treatments, for these benches: next is …", New: of(1, Fleet{Benches: 2}), Args: report,
			Answer: contains("next is"), Hi: 5},
		{Name: "benches: one treatment 20 % slower, benches rank them differently by 5 %: it is next or last",
			New: of(1.2, rank), Args: report, Answer: wrapped("is s3, 1."), Lo: 90, Hi: 100},
		{Name: "benches: one takes 30 % longer for one treatment: it is named, and the others agree",
			New: of(1, Fleet{Benches: 6, Odd: 1.3}), Args: report,
			Answer: wrapped("times on b1 ("), Lo: 90, Hi: 100,
			Also: []Rate{{Name: "benches: one takes 30 % longer for one treatment: the order is said to turn", Args: report,
				Answer: wrapped("Benches disagree"), Hi: 5}}},
	}
}

// failureRates are of two probes of which requests fail, each request for itself
// or many of one run together.
func failureRates() []Rate {
	probe := func(failed func(r *rand.Rand, run int) int) Truth {
		return Truth{Blocks: 8, RTT: around(1e-3), Failed: failed}
	}
	each := func(share float64) Truth {
		return probe(func(r *rand.Rand, _ int) (n int) {
			for range probeRequests {
				if r.Float64() < share {
					n++
				}
			}
			return n
		})
	}
	outages := probe(func(r *rand.Rand, _ int) int {
		if r.Float64() < 0.3 {
			return probeRequests / 2
		}
		return 0
	})
	plain, gate, worse := []string{"compare"}, []string{"compare", "--fail-if", "rtt > 10%"}, startsWith("worse")
	rate := func(name string, old, to Truth, args []string, answer func(string, int) bool, lo, hi float64) Rate {
		return Rate{Name: name, Old: old, New: to, Args: args, Answer: answer, Lo: lo, Hi: hi}
	}
	return []Rate{
		rate("probes: 30 % of requests fail, none before: worse", each(0), each(0.3), plain, exits(1), 100, 100),
		rate("probes: all requests fail, none before: worse", each(0), each(1), gate, exits(1), 100, 100),
		rate("probes: 0.1 % fail, then 2 %: worse", each(0.001), each(0.02), gate, worse, 95, 100),
		rate("probes: 2 % fail, then 0.1 %: worse", each(0.02), each(0.001), gate, worse, 0, 0),
		rate("probes: 1 % fail before and now: worse", each(0.01), each(0.01), gate, worse, 0, 5),
		rate("probes: 1 % fail before and now: good", each(0.01), each(0.01), gate, startsWith("good"), 90, 100),
		rate("probes: outages in 30 % of runs before and now: worse", outages, outages, gate, worse, 0, 5),
	}
}

// versionRates are of two versions in one study, whose blocks differ more than they do.
func versionRates() []Rate {
	versions := func(slower float64) Truth {
		const study = "study: versions\nservice: monitor\nrequests: 100\nfactors: {stack: [s@base, s]}\n" +
			"design: {replications: 20, seed: 1}\nresponses: [rtt]\n"
		blocks := map[int]float64{}
		return Truth{Study: study, RTT: func(r *rand.Rand, version, block int) float64 {
			if _, ok := blocks[block]; !ok {
				blocks[block] = math.Exp(0.3 * r.NormFloat64())
			}
			v := 1e-3 * blocks[block] * math.Exp(0.02*r.NormFloat64())
			if version == 1 {
				v *= slower
			}
			return v
		}}
	}
	losing := func(share float64) Truth {
		t := versions(1)
		t.Confirms = &report.Confirms{Responses: []string{"rtt"}, Detect: 0.05}
		all := t.RTT
		t.RTT = func(r *rand.Rand, version, block int) float64 {
			if version == 1 && float64(block) > 20*(1-share) {
				return math.NaN()
			}
			return all(r, version, block)
		}
		return t
	}
	confirm := []string{"confirm"}
	detect := []string{"compare", "--detect", "5%"}
	return []Rate{
		{Name: "versions: the new one loses 1 of 20 trials, nothing else changed: not confirmed", New: losing(0.05),
			Args: confirm, Answer: startsWith("not confirmed"),
			Also: []Rate{{Name: "versions: the new one loses 1 of 20 trials: cannot tell", Args: confirm,
				Answer: startsWith("cannot tell"), Lo: 100, Hi: 100}}},
		{Name: "versions: the new one loses 12 of 20 trials, nothing else changed: confirmed worse", New: losing(0.6),
			Args: confirm, Answer: startsWith("confirmed worse"), Lo: 100, Hi: 100},
		{Name: "versions: nothing changed: worse", New: versions(1), Args: detect, Answer: startsWith("worse"), Hi: 5,
			Also: []Rate{{Name: "versions: nothing changed: good", Args: detect, Answer: startsWith("good"), Lo: 90,
				Hi: 100}}},
		{Name: "versions: 10 % slower: worse", New: versions(1.1), Args: detect, Answer: startsWith("worse"), Lo: 95,
			Hi: 100},
		{Name: "versions: 10 % quicker: good", New: versions(0.9), Args: detect, Answer: startsWith("good"), Lo: 95, Hi: 100},
	}
}

// wrapped is contains for words that a line's end may part.
func wrapped(words ...string) func(string, int) bool {
	return func(out string, code int) bool {
		return contains(words...)(strings.Join(strings.Fields(out), " "), code)
	}
}

// exits is the answer of an exit code.
func exits(want int) func(string, int) bool {
	return func(_ string, code int) bool { return code == want }
}

const claimStudy = `study: claims
service: monitor
requests: 100
factors:
  stack: [axis2, dpws, rest, coap]
  ip: [ipv4, ipv6]
design: {replications: 6, seed: 1}
responses: [rtt]
published: {table: cloud-of-things, columns: {stack: stack}}
`

// claimRates are of the cloud of things: cells are stack by stack, ipv4 first.
func claimRates() []Rate {
	truth := func(rtt func(stack, ip int) float64) Truth {
		return Truth{Study: claimStudy, RTT: func(r *rand.Rand, cell, _ int) float64 {
			return 1e-3 * rtt(cell/2, cell%2) * math.Exp(0.02*r.NormFloat64())
		}}
	}
	times := func(ratio float64, modelled bool) Truth { // of axis2 over all others
		t := truth(func(stack, _ int) float64 { return []float64{ratio, 1, 1, 1}[stack] })
		t.Modelled = modelled
		return t
	}
	args := []string{"report", "--claims"}
	return []Rate{
		{Name: "claims: IPv6 doubles one stack and halves another: alike confirmed", New: truth(func(stack, ip int) float64 {
			return []float64{1, []float64{2, 0.5, 1, 1}[stack]}[ip]
		}), Args: args, Answer: contains("confirmed     transmission_rtt: ipv4 and ipv6 alike")},
		{Name: "claims: 1.5 times where 11.48 is published: confirmed",
			New:  truth(func(stack, _ int) float64 { return []float64{1.5, 1, 1, 1}[stack] }),
			Args: args, Answer: contains("confirmed     transmission_rtt: axis2 above rest")},
		{Name: "claims: 1.5 times where 11.48 is published: the size is below", New: times(1.5, false), Args: args,
			Answer: wrapped("size contradicted (below "), Lo: 100, Hi: 100},
		{Name: "claims: 60 times where 11.48 is published: the size is above", New: times(60, false), Args: args,
			Answer: wrapped("size contradicted (above "), Lo: 100, Hi: 100},
		{Name: "claims: 11.48 times as published: the size is inside", New: times(11.48, false), Args: args,
			Answer: wrapped("size confirmed (inside "), Lo: 100, Hi: 100},
		{Name: "claims: a model of 11.48 times: confirmed as modelled", New: times(11.48, true), Args: args,
			Answer: wrapped("as modelled: confirmed, inside "), Lo: 100, Hi: 100},
		{Name: "claims: a model of 11.48 times: decided", New: times(11.48, true), Args: args,
			Answer: wrapped("direction confirmed", "1 confirmed,", "1 contradicted,")},
		{Name: "claims: two settings with contrary truths: they disagree", Old: times(11.48, false),
			New: times(1/11.48, false), Args: args,
			Answer: wrapped("! the settings disagree: transmission_rtt: axis2 above rest"), Lo: 100, Hi: 100},
		{Name: "claims: two settings with one truth: they disagree", Old: times(11.48, false), New: times(11.48, false),
			Args: args, Answer: wrapped("the settings disagree")},
		{Name: "claims: nothing differs: an order confirmed", New: truth(func(int, int) float64 { return 1 }), Args: args,
			Answer: contains("confirmed     transmission_rtt: rest below"), Hi: 5},
	}
}

// Parts is the part of bench that counts verdicts.
func Parts() []labbench.Part {
	part := labbench.Part{Name: "verdicts",
		Says: "how often compare, choose, report and claims are wrong on simulated data"}
	for _, g := range Groups() {
		part.Each = append(part.Each, labbench.Part{Name: "verdicts/" + g.Name, Says: "wrong answers about " + g.Says,
			Measure: func(ctx context.Context, b *labbench.Bench) ([]labbench.Row, error) { return rows(ctx, b, g.Rates) }})
	}
	part.Measure = func(ctx context.Context, b *labbench.Bench) ([]labbench.Row, error) {
		var all []Rate
		for _, g := range Groups() {
			all = append(all, g.Rates...)
		}
		return rows(ctx, b, all)
	}
	return []labbench.Part{part}
}

// studies is how many are fabricated for a row of the table.
const studies = 200

// rows asks the commands in this process: starting one for each question took most of
// the time. A test asks them as processes.
func rows(ctx context.Context, b *labbench.Bench, rates []Rate) ([]labbench.Row, error) {
	var out []labbench.Row
	run := func(args ...string) (string, int, error) { return b.Command(ctx, args...) }
	for _, x := range rates {
		hits, err := x.Count(b.Dir, studies, run)
		if err != nil {
			return out, fmt.Errorf("%s: %w", x.Name, err)
		}
		for k, asked := range x.All() {
			got := 100 * float64(hits[k]) / studies
			row := labbench.Row{Figure: "% " + asked.Name, Wanted: fmt.Sprintf("%g to %g", asked.Lo, asked.Hi),
				Measured: fmt.Sprintf("%.1f", got), Verdict: "met"}
			if got < asked.Lo-asked.Slack(studies) || got > asked.Hi+asked.Slack(studies) {
				row.Verdict = "not met"
			}
			fmt.Fprintf(b.Notes, "%s: %s\n", asked.Name, row.Measured)
			out = append(out, row)
		}
	}
	if len(out) > 0 {
		out[0].How = fmt.Sprintf("%d simulated results per row, judged by the commands themselves; met: within four "+
			"standard errors of the count; the seed of a row is its name, or that of the row above on the same data", studies)
	}
	return out, nil
}

// Processes runs the program at exe, a process each time.
func Processes(ctx context.Context, exe string) Runner {
	return func(args ...string) (string, int, error) {
		cmd := exec.CommandContext(ctx, exe, args...)
		cmd.Args[0] = "edgegauge"
		out, err := cmd.Output()
		var code *exec.ExitError
		if errors.As(err, &code) && code.ExitCode() < 2 {
			return string(out), code.ExitCode(), nil
		}
		if code != nil {
			err = fmt.Errorf("edgegauge %s: %w: %s", strings.Join(args, " "), err, code.Stderr)
		}
		return string(out), 0, err
	}
}
