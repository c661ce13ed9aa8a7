package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A variant is a fabricated study as it is written: what was measured goes by the numbers of levels; names and
// orders differ from variant to variant.
type variant struct {
	stacks, modes   []string // names of the levels, by number; of one mode there is no factor
	stackAt, modeAt []int    // numbers of the levels, in the order of the file
	modesFirst      bool
	gone            map[[2]int]bool // combinations that are excluded
	blocks          int
	seed            uint64
	figures         []string // responses of the client
	// value is one trial's, in the response's unit; NaN: the trial is never valid.
	value   func(figure string, stack, mode, block int) float64
	median  float64                          // of the requests of a trial, over their mean
	refused func(stack, mode, block int) int // attempts before the valid one
	waiting float64                          // s without a CPU in each s
	benches []string                         // that take turns at the blocks; nil: one
	devices string                           // in the facts
	bound   float64                          // of the RTT, in s, that choose requires
}

const placedFacts = `{"edgegauge":{"version":"bench"},"placement":{"together":{"client":[0],"server":[0]}},` +
	`"devices":{%s}}`

// drawn is a study that never was, with all its names and orders plain.
func drawn(r *rand.Rand) variant {
	x := variant{stacks: []string{"qa1", "qb2", "qc3", "qd4"}[:2+r.IntN(3)],
		modes:  []string{"mx1", "my2", "mz3"}[:1+r.IntN(3)],
		blocks: []int{3, 4, 6, 10, 17}[r.IntN(5)], seed: 1, figures: []string{"rtt", "message_size", "cpu"},
		median: []float64{1, 1, 0.85}[r.IntN(3)], gone: map[[2]int]bool{},
		waiting: []float64{0, 0, 0, 0.05, 0.3}[r.IntN(5)], devices: `"local":{"model":"m","kernel":"6.1","cpus":2}`}
	x.stackAt, x.modeAt = upTo(len(x.stacks)), upTo(len(x.modes))
	x.refused = func(int, int, int) int { return 0 }
	if len(x.modes) > 1 && r.IntN(3) == 0 {
		x.gone[[2]int{r.IntN(len(x.stacks)), r.IntN(len(x.modes))}] = true
	}
	if r.IntN(5) == 0 {
		x.benches = []string{"nb1", "nb2", "nb3"}
		x.blocks, x.waiting = 3*max(2, x.blocks/3), 0
	}
	spread, lost, apart := []float64{0.01, 0.03, 0.1, 0.4}[r.IntN(4)], []float64{0, 0, 0.05}[r.IntN(3)],
		[]float64{0, 0.02, 0.3}[r.IntN(3)]
	humps := []int{-1, -1, r.IntN(len(x.stacks))}[r.IntN(3)] // the stack whose trials fall into two clusters
	// Of twins the last stack takes twice as long as the first, to the last digit.
	twin := r.IntN(4) == 0
	values := map[string]float64{}
	center := map[string]float64{"rtt": 1.3e-3, "cpu": 2.7e-5}
	for _, figure := range []string{"rtt", "cpu"} {
		for s := range x.stacks {
			stack := apart * r.NormFloat64()
			for m := range x.modes {
				mode := 0.5*apart*r.NormFloat64() + 0.2*float64(m)
				for b := 1; b <= x.blocks; b++ {
					v := center[figure] * math.Exp(stack+mode+0.1*math.Sin(float64(7*b))+spread*r.NormFloat64())
					if s == humps && r.Float64() < 0.4 {
						v *= 2
					}
					values[place(figure, s, m, b)] = v
				}
			}
		}
	}
	missing := map[string]bool{}
	for s := range x.stacks {
		for m := range x.modes {
			for b := 3; b <= x.blocks; b++ { // two valid ones are left of each
				missing[place("", s, m, b)] = r.Float64() < lost && x.benches == nil
			}
		}
	}
	last, grow := len(x.stacks)-1, r.IntN(2)
	x.value = func(figure string, s, m, b int) float64 {
		switch {
		case missing[place("", s, m, b)]:
			return math.NaN()
		case figure == "message_size":
			return float64(200 + 37*((s*5+3)%7) + 11*m + grow*(b%3))
		case twin && s == last:
			return 2 * values[place(figure, 0, m, b)]
		}
		return values[place(figure, s, m, b)]
	}
	x.bound = center["rtt"] * (1 + 0.3*r.Float64())
	return x
}

func place(figure string, s, m, b int) string { return fmt.Sprint(figure, s, " ", m, " ", b) }

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// text is the study file.
func (x variant) text() string {
	list := func(names []string, at []int) string {
		var out []string
		for _, i := range at {
			out = append(out, strconv.Quote(names[i]))
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	factors := []string{"stack: " + list(x.stacks, x.stackAt)}
	if len(x.modes) > 1 {
		factors = append(factors, "options.mode: "+list(x.modes, x.modeAt))
	}
	if x.modesFirst {
		slices.Reverse(factors)
	}
	var gone []string
	for at := range x.gone {
		gone = append(gone, fmt.Sprintf("{stack: %q, options.mode: %q}", x.stacks[at[0]], x.modes[at[1]]))
	}
	slices.Sort(gone)
	text := fmt.Sprintf("study: variant\nservice: monitor\nrequests: 100\nfactors: {%s}\n", strings.Join(factors, ", "))
	if len(gone) > 0 {
		text += "exclude: [" + strings.Join(gone, ", ") + "]\n"
	}
	return text + fmt.Sprintf("design: {replications: %d, seed: %d}\nresponses: [%s]\n", x.blocks, x.seed,
		strings.Join(x.figures, ", "))
}

// write makes results of it in a new folder.
func (x variant) write(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "variant")
	kept, p, err := fabricated.CreateOn(dir, []byte(x.text()), fmt.Appendf(nil, placedFacts, x.devices))
	ok(t, err)
	defer kept.Close()
	ok(t, kept.Together(func() error {
		for _, trial := range p.Trials {
			if err := x.trial(kept, p, trial); err != nil {
				return err
			}
		}
		return kept.End("")
	}))
	return dir
}

func (x variant) trial(kept *store.Store, p study.Plan, trial study.Trial) error {
	stack, mode, on := 0, 0, store.Bench{}
	for i, w := range trial.Treatment {
		if p.Study.Factors[i].Name == "stack" {
			stack = slices.Index(x.stacks, w.Text)
		} else {
			mode = slices.Index(x.modes, w.Text)
		}
	}
	if len(x.benches) > 0 {
		on = store.Bench{Name: x.benches[(trial.Block-1)%len(x.benches)], Boot: "1"}
	}
	waited := func(s float64) []store.Quality {
		return []store.Quality{{Key: "span", Unit: "s", Value: 1}, {Key: "run_queue_wait_client", Unit: "s", Value: s}}
	}
	for range x.refused(stack, mode, trial.Block) {
		a, err := kept.BeginOn(trial.ID, on)
		if err == nil {
			err = a.Invalidate("the server ended", "", waited(0.9))
		}
		if err != nil {
			return err
		}
	}
	a, err := kept.BeginOn(trial.ID, on)
	if err != nil {
		return err
	}
	var results []store.Result
	for _, figure := range x.figures {
		v := x.value(figure, stack, mode, trial.Block)
		if math.IsNaN(v) {
			return a.Invalidate("all requests failed", "", nil)
		}
		known, _ := measure.FindResponse(figure)
		one := store.Result{Side: measure.Client, Response: figure, Unit: known.Unit, N: 100, Mean: v, SD: v / 10,
			Median: v * x.median, P95: 1.2 * v, Min: 0.8 * v, Max: 1.3 * v, Method: store.Measured}
		if known.Unit == "B" {
			one.SD, one.Median, one.P95, one.Min, one.Max = 0, v, v, v, v
		}
		results = append(results, one)
	}
	return a.Commit(results, waited(x.waiting))
}

// treatments are the numbers of the levels of each.
func (x variant) treatments() [][2]int {
	var out [][2]int
	for s := range x.stacks {
		for m := range x.modes {
			if !x.gone[[2]int{s, m}] {
				out = append(out, [2]int{s, m})
			}
		}
	}
	return out
}

// name is a treatment's.
func (x variant) name(of [2]int) string {
	switch {
	case len(x.modes) == 1:
		return x.stacks[of[0]]
	case x.modesFirst:
		return x.modes[of[1]] + " " + x.stacks[of[0]]
	}
	return x.stacks[of[0]] + " " + x.modes[of[1]]
}

// plain puts numbers in the place of names: what is left is the same in every variant of the study.
func (x variant) plain(text string) string {
	var names [][2]string
	for _, of := range x.treatments() {
		if len(x.modes) > 1 {
			names = append(names, [2]string{x.name(of), fmt.Sprintf("‹s%d m%d›", of[0], of[1])})
		}
	}
	for kind, all := range map[string][]string{"s": x.stacks, "m": x.modes, "b": x.benches} {
		for i, n := range all {
			names = append(names, [2]string{n, fmt.Sprintf("‹%s%d›", kind, i)})
		}
	}
	slices.SortFunc(names, func(a, b [2]string) int {
		if len(a[0]) != len(b[0]) {
			return len(b[0]) - len(a[0]) // names may begin alike
		}
		return strings.Compare(a[0], b[0])
	})
	var pairs []string
	for _, n := range names {
		pairs = append(pairs, n[0], n[1])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// ask runs a command that prints JSON about results of the variant, and flattens what it says.
func (x variant) ask(t *testing.T, args ...string) (leaves map[string]any, code int) {
	t.Helper()
	out, code, err := inProcess(t.Context(), append(args, "--json")...)
	ok(t, err)
	return flat(t, x.plain(out)), code
}

// flat are the leaves of JSON by their paths. What stands in a list has the path of what it is of, not of its place:
// sentences of a verdict alone keep theirs, and numbers.
func flat(t *testing.T, text string) map[string]any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	out := map[string]any{}
	flatten(out, "", v)
	return out
}

// unsaid are keys of what may differ: where results lie, and the facts.
var unsaid = []string{"facts", "old", "new", "like", "results", "runtimes", "to_decide", "study"}

// ofOrder are warnings about the order in which trials ran, which another order does not repeat.
var ofOrder = regexp.MustCompile(`order effect|drift|follow each other`)

func flatten(out map[string]any, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if _, isText := e.(string); !slices.Contains(unsaid, k) || k != "facts" && k != "runtimes" && !isText {
				flatten(out, at+"."+k, e)
			}
		}
	case []any:
		for i, e := range v {
			of := identity(e)
			if text, isText := e.(string); isText && of == "" && !strings.HasSuffix(at, "verdict") {
				if !ofOrder.MatchString(text) {
					text = strings.ReplaceAll(text, "options.mode:stack", "stack:options.mode") // a term
					if strings.Contains(text, " at ‹") {                                        // equal strata: in any order
						words := strings.Fields(strings.NewReplacer(",", "", ".", "").Replace(text))
						slices.Sort(words)
						text = strings.Join(words, " ")
					}
					out[at+"["+text+"]"] = true
				}
				continue
			}
			if of == "" {
				of = strconv.Itoa(i)
			}
			flatten(out, at+"["+of+"]", e)
		}
	default:
		out[at] = v
	}
}

// identity says of what an element of a list is.
func identity(e any) string {
	m, isMap := e.(map[string]any)
	if !isMap {
		return ""
	}
	var of []string
	for _, k := range []string{"treatment", "side", "response", "figure", "condition", "requirement", "factor", "best",
		"other", "against", "bench", "part"} {
		switch v := m[k].(type) {
		case string:
			of = append(of, v)
		case map[string]any:
			if k != "treatment" {
				continue
			}
			var levels []string
			for f, l := range v {
				levels = append(levels, fmt.Sprint(f, "=", l))
			}
			slices.Sort(levels)
			of = append(of, strings.Join(levels, " "))
		}
	}
	if term, isTerm := m["term"].(string); isTerm { // of several factors, in any order
		parts := strings.Split(term, ":")
		if levels, has := m["levels"].([]any); has {
			for i := range parts {
				parts[i] += fmt.Sprint("=", levels[i])
			}
		}
		slices.Sort(parts)
		of = append(of, strings.Join(parts, ":"))
		delete(m, "term")
		delete(m, "levels")
	}
	if c, has := m["contrast"]; has {
		of = append(of, identity(c))
	}
	return strings.Join(of, ", ")
}

// differences are the leaves in which two answers differ, numbers by more than rounding; of says
// how many times as large a number of the second is to be.
func differences(want, got map[string]any, of func(path string) float64) []string {
	var out []string
	for at, w := range want {
		g, has := got[at]
		x, isNumber := w.(float64)
		y, isNumber2 := g.(float64)
		switch {
		case !has:
			out = append(out, fmt.Sprintf("%s: %v is gone", at, w))
		case isNumber && isNumber2 && math.Abs(y-x*of(at)) <= near(at)*max(math.Abs(y), math.Abs(x*of(at))):
		case isNumber != isNumber2 || isNumber || w != g:
			out = append(out, fmt.Sprintf("%s: %v became %v", at, w, g))
		}
	}
	for at, g := range got {
		if _, has := want[at]; !has {
			out = append(out, fmt.Sprintf("%s: %v is new", at, g))
		}
	}
	slices.Sort(out)
	return out
}

func alike(string) float64 { return 1 }

// sameSaid fails where two answers differ.
func sameSaid(t *testing.T, what string, want, got map[string]any, of func(path string) float64) {
	t.Helper()
	if all := differences(want, got, of); len(all) > 0 {
		t.Errorf("%s: %d leaves differ:\n%s", what, len(all), strings.Join(all[:min(8, len(all))], "\n"))
	}
}

func unmarshal(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// near is how far numbers may be apart, relative: those that come of a search as far as that goes.
func near(path string) float64 {
	if strings.HasSuffix(path, "_variance") || strings.Contains(path, ".model.") {
		return 1e-4 // a minimum is where its function is flat
	}
	return 1e-9
}
