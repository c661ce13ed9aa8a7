package main

import (
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"html"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
)

// Whatever the truth is, some answers must follow from others: told in another order, by other names, in another unit,
// the other way round or beside a treatment that is far worse, a study must say the same. No oracle is needed for that.
// EDGEGAUGE_METAMORPHIC=SEED:STUDIES draws others.
func TestMetamorphicRelations(t *testing.T) {
	t.Parallel()
	seed, studies := uint64(1), 16
	if text := os.Getenv("EDGEGAUGE_METAMORPHIC"); text != "" {
		if _, err := fmt.Sscanf(text, "%d:%d", &seed, &studies); err != nil {
			t.Fatalf("EDGEGAUGE_METAMORPHIC=%s: write SEED:STUDIES", text)
		}
	} else if testing.Short() {
		studies = 3
	}
	for i := range studies {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			x := drawn(r)
			dir := x.write(t)
			for _, of := range relations {
				if of.every > 1 && i%of.every != 0 || x.benches != nil && !of.benches {
					continue
				}
				of.holds(t, r, x, dir)
			}
			if t.Failed() {
				t.Logf("the study: %d stacks, %d modes without %v, %d blocks, benches %v, waiting %g, medians %g:\n%s",
					len(x.stacks), len(x.modes), x.gone, x.blocks, x.benches, x.waiting, x.median, x.text())
			}
		})
	}
}

// A relation holds between what is said of results in dir, of a study as it was drawn, and of others made of them.
type relation struct {
	holds   func(t *testing.T, r *rand.Rand, x variant, dir string)
	every   int  // each so many studies are enough; 0: all
	benches bool // it is about studies of several benches, too
}

var relations = []relation{
	{orders, 0, true}, {otherwiseCalled, 0, true}, {units, 2, true}, {attemptsBefore, 3, true},
	{anotherResponse, 3, false}, {aWorseTreatment, 0, false}, {moreOfTheSame, 3, false}, {inverses, 0, false},
	{formats, 2, false},
	{nobodyNextIsLess, 0, true}, {theOtherWayRound, 0, true}, {withItself, 2, true}, {versionsRound, 3, false},
	{tables, 2, false}, {forecasts, 4, false},
}

func (x variant) asked(dir string) [][]string {
	return [][]string{{"report", dir},
		{"choose", dir, "--minimize", "rtt", "--minimize", "message_size", "--require", fmt.Sprintf("rtt < %gs", x.bound)}}
}

// sameAnswers fails unless the same is said of y, another variant of x.
func sameAnswers(t *testing.T, what string, x, y variant, dir string, of func(path string) float64, but ...string) {
	t.Helper()
	to := y.write(t)
	for i, args := range x.asked(dir) {
		want, code := x.ask(t, args...)
		got, code2 := y.ask(t, y.asked(to)[i]...)
		for _, all := range []map[string]any{want, got} {
			for at := range all {
				if slices.ContainsFunc(but, func(b string) bool { return strings.Contains(at, b) }) {
					delete(all, at)
				}
			}
		}
		if code != code2 {
			t.Errorf("%s, %s: exit code %d became %d", what, args[0], code, code2)
		}
		sameSaid(t, what+", "+args[0], want, got, of)
	}
}

// turned is x in other orders.
func (x variant) turned(r *rand.Rand) variant {
	x.stackAt, x.modeAt, x.modesFirst, x.seed = r.Perm(len(x.stacks)), r.Perm(len(x.modes)), !x.modesFirst, 2+r.Uint64N(99)
	return x
}

// The order of levels, of factors and of trials changes no figure and no word, but for which of several doubts is
// the first. Shares of the variation go in the order of factors where trials are missing (doc/method.md).
func orders(t *testing.T, r *rand.Rand, x variant, dir string) {
	sameAnswers(t, "another order", x, x.turned(r), dir, alike, ".variation", "(the first of ")
}

// otherNames sort otherwise, are not ASCII, have spaces, begin or end alike, or are long.
var otherNames = [][3][]string{
	{{"zz9", "yy8", "xx7", "ww6"}, {"vv5", "uu4", "tt3"}, {"nb9", "nb8", "nb7"}},
	{{"Ünter Stapel", "日本 语", "ñandú=1", "Ωmega, x"}, {"große Last", "ψ ψ", "жж"}, {"Zb", "Ya", "Xc"}},
	{{"kk", "kk-1", "kk-1-a", "kk-1-a b"}, {"jj", "jj 2", "jj 2 3"}, {"nn", "nn1", "nn11"}},
	{{"zh", "y-zh", "x-y-zh", "w-x-y-zh"}, {"vj", "u-vj", "t-u-vj"}, {"nb", "a-nb", "b-a-nb"}},
	{{"a-stack-of-which-the-name-does-not-end-1", "a-stack-of-which-the-name-does-not-end-2",
		"a-stack-of-which-the-name-does-not-end-3", "a-stack-of-which-the-name-does-not-end-4"},
		{"and-a-mode-1", "and-a-mode-2", "and-a-mode-3"}, {"bench-2", "bench-10", "bench-1"}},
}

func (x variant) called(names [3][]string) variant {
	x.stacks, x.modes = names[0][:len(x.stacks)], names[1][:len(x.modes)]
	if x.benches != nil {
		x.benches = names[2]
	}
	return x
}

// Other names change names.
func otherwiseCalled(t *testing.T, r *rand.Rand, x variant, dir string) {
	sameAnswers(t, "other names", x, x.called(otherNames[r.IntN(len(otherNames))]), dir, alike)
}

// timePaths are the paths of figures that are times.
var timePaths = regexp.MustCompile(`^\.(cells|candidates)\[.*(rtt|cpu).*` +
	`\.(mean|value|ranked|ranked_ci|ci|sd|median|median_ci|p95|trial_means)(\[|$)`)

// A thousandth and a thousand times the time leave ratios, shares and words.
func units(t *testing.T, r *rand.Rand, x variant, dir string) {
	k := []float64{1e-3, 1e3}[r.IntN(2)]
	y := x.scaled(k)
	inUnits := regexp.MustCompile(`([0-9.]+) (fs|ps|ns|µs|ms|s|ks)\b`)
	to := y.write(t)
	for i, args := range x.asked(dir) {
		said := func(x variant, args []string) map[string]any {
			out, _, err := inProcess(t.Context(), append(args, "--json")...)
			ok(t, err)
			return flat(t, strings.ReplaceAll(inUnits.ReplaceAllString(x.plain(out), "$1 T"), fmt.Sprintf("%gs", x.bound), "B"))
		}
		sameSaid(t, fmt.Sprintf("%g times the time, %s", k, args[0]), said(x, args), said(y, y.asked(to)[i]),
			func(path string) float64 {
				if timePaths.MatchString(path) {
					return k
				}
				return 1
			})
	}
}

func (x variant) scaled(k float64) variant {
	value := x.value
	x.bound *= k
	x.value = func(figure string, s, m, b int) float64 {
		if figure == "message_size" {
			return value(figure, s, m, b)
		}
		return k * value(figure, s, m, b)
	}
	return x
}

// Attempts that were refused before a trial became valid change nothing, whatever was noted of them.
func attemptsBefore(t *testing.T, r *rand.Rand, x variant, dir string) {
	y, most := x, r.IntN(3)+1
	y.refused = func(s, m, b int) int { return (s + 2*m + 3*b) % (most + 1) }
	sameAnswers(t, "refused attempts", x, y, dir, alike)
}

// counted are warnings that say of how many figures they are.
var counted = regexp.MustCompile(`\((1 figure|the first of \d+ such figures): `)

// A response more changes nothing that is said of others.
func anotherResponse(t *testing.T, r *rand.Rand, x variant, dir string) {
	y, value := x, x.value
	y.figures = append(slices.Clone(x.figures), "trial_energy")
	y.value = func(figure string, s, m, b int) float64 {
		if figure == "trial_energy" {
			return value("rtt", s, m, b) * float64(1+(s*b)%5)
		}
		return value(figure, s, m, b)
	}
	to := y.write(t)
	for i, args := range x.asked(dir) {
		want, _ := x.ask(t, args...)
		got, _ := y.ask(t, y.asked(to)[i]...)
		for _, all := range []map[string]any{want, got} {
			for at := range all {
				if strings.Contains(at, "trial_energy") || counted.MatchString(at) {
					delete(all, at)
				}
			}
		}
		sameSaid(t, "a response more, "+args[0], want, got, alike)
	}
}

// A treatment that is far worse in everything changes no other figure, nor who wins; and it only makes
// others harder to tell apart.
func aWorseTreatment(t *testing.T, r *rand.Rand, x variant, dir string) {
	y, value, worse := x, x.value, len(x.stacks)
	noise := 1e-3 * r.Float64()
	y.stacks = append(slices.Clone(x.stacks), "qz9")
	y.stackAt = append(slices.Clone(x.stackAt), worse)
	y.value = func(figure string, s, m, b int) float64 {
		switch {
		case s < worse:
			return value(figure, s, m, b)
		case figure == "message_size":
			return 9000 + float64(m)
		}
		return (1 + 0.1*float64(m)) * (1 + noise*math.Sin(float64(b))) * map[string]float64{"rtt": 1, "cpu": 0.02}[figure]
	}
	to := y.write(t)
	want, _ := x.ask(t, x.asked(dir)[0]...)
	got, _ := y.ask(t, y.asked(to)[0]...)
	for at, w := range want {
		if strings.HasPrefix(at, ".cells") && !strings.Contains(at, "warnings") && got[at] != w {
			t.Errorf("a treatment more: %s: %v became %v", at, w, got[at])
		}
		if strings.HasPrefix(at, ".verdict") && best(w) != best(got[at]) {
			t.Errorf("a treatment that is far worse changes who is best: %v became %v", w, got[at])
		}
	}
	before, after := candidates(t, x, dir, "rtt"), candidates(t, y, to, "rtt")
	var order, order2 []string
	for _, c := range before {
		order = append(order, c.Treatment)
	}
	for _, c := range after {
		if slices.Contains(order, c.Treatment) {
			order2 = append(order2, c.Treatment)
		}
	}
	if !slices.Equal(order, order2) {
		t.Errorf("a treatment that is far worse changes the order: %v became %v", order, order2)
	}
	for _, c := range before {
		d := after[slices.IndexFunc(after, func(d candidate) bool { return d.Treatment == c.Treatment })]
		if len(before) > 3 { // as what a quiet pair counts is said by the quietest quarter of all, which is another now
			c.Interval, c.PHolm, c.Noise = nil, 0, false
		}
		narrower := c.Interval != nil && d.Interval != nil &&
			(d.Interval[0] > c.Interval[0]*(1+1e-9) || d.Interval[1] < c.Interval[1]*(1-1e-9))
		if narrower || c.Noise && !d.Noise || c.Meets != d.Meets || c.Front != d.Front || c.PHolm > d.PHolm+1e-9 {
			t.Errorf("a treatment that is far worse tells more of others: %+v became %+v", c, d)
		}
	}
}

// best is who a sentence of a verdict calls the best; empty: it is about something else.
func best(sentence any) string {
	text, _ := sentence.(string)
	head, _, _ := strings.Cut(text, "›")
	if what, who, found := strings.Cut(head, ": ‹"); found && !strings.HasPrefix(what, "Check") {
		return what + " " + who
	}
	return ""
}

// A candidate is one of choose's.
type candidate struct {
	Treatment  string
	Meets      string
	Objectives []struct{ Mean float64 }
	Ratio      float64   `json:"ratio_to_best"`
	Interval   []float64 `json:"ratio_ci"`
	PHolm      float64   `json:"p_holm"`
	Noise      bool      `json:"within_noise"`
	Odd        bool      `json:"mean_and_typical_disagree"`
	Turned     bool      `json:"better_in_common_blocks"`
	Front      bool      `json:"pareto_front"`
}

// candidates are those of choose, whatever they are called.
func candidates(t *testing.T, x variant, dir, objective string) []candidate {
	t.Helper()
	way := "--minimize"
	if strings.HasPrefix(objective, "throughput") {
		way = "--maximize"
	}
	out, _, err := inProcess(t.Context(), "choose", dir, way, objective, "--json")
	ok(t, err)
	var got struct{ Candidates []candidate }
	unmarshal(t, x.plain(out), &got)
	return got.Candidates
}

// Blocks that repeat those there are leave means and ratios, make intervals narrower, and turn nothing round.
func moreOfTheSame(t *testing.T, r *rand.Rand, x variant, dir string) {
	y, value := x, x.value
	y.blocks = 2 * x.blocks
	y.value = func(figure string, s, m, b int) float64 { return value(figure, s, m, (b-1)%x.blocks+1) }
	to := y.write(t)
	want, _ := x.ask(t, "report", dir)
	got, _ := y.ask(t, "report", to)
	for at, w := range want {
		if !strings.HasPrefix(at, ".cells") {
			continue
		}
		lo, isLo := strings.CutSuffix(at, ".ci[0]")
		switch {
		case strings.HasSuffix(at, ".mean") && math.Abs(w.(float64)/got[at].(float64)-1) > 1e-9:
			t.Errorf("the same blocks again: %s: %v became %v", at, w, got[at])
		case isLo:
			width := func(of map[string]any) float64 { return of[lo+".ci[1]"].(float64) - of[lo+".ci[0]"].(float64) }
			if width(got) > width(want)*(1+1e-9) {
				t.Errorf("the same blocks again: the interval of %s widens from %g to %g", lo, width(want), width(got))
			}
		}
	}
	before, after := candidates(t, x, dir, "rtt.mean"), candidates(t, y, to, "rtt.mean")
	for i, c := range before {
		if d := after[i]; c.Treatment != d.Treatment || math.Abs(c.Ratio/d.Ratio-1) > 1e-9 {
			t.Errorf("the same blocks again: candidate %d is %+v, was %+v", i+1, d, c)
		}
	}
}

// Of a rate that is the inverse of a time the largest is what the least is of the time, and ratios are inverse.
func inverses(t *testing.T, r *rand.Rand, x variant, dir string) {
	y, value := x, x.value
	y.median = 1 // so that medians of trials are inverse, too
	y.figures = []string{"rtt", "throughput"}
	y.value = func(figure string, s, m, b int) float64 {
		if figure == "throughput" {
			return 1 / value("rtt", s, m, b)
		}
		return value(figure, s, m, b)
	}
	to := y.write(t)
	least, most := candidates(t, y, to, "rtt.median"), candidates(t, y, to, "throughput.median")
	of := func(all []candidate, treatment string) candidate {
		return all[slices.IndexFunc(all, func(c candidate) bool { return c.Treatment == treatment })]
	}
	if a, b := least[0].Treatment, most[0].Treatment; a != b { // neither means nor medians of an even number are inverse
		behind := func(c candidate) bool { return !c.Noise && !c.Odd && !c.Turned }
		if c, d := of(least, b), of(most, a); behind(c) && behind(d) {
			t.Errorf("%+v is behind by RTT, %+v by its inverse", c, d)
		}
		return
	}
	for _, c := range least[1:] {
		d := of(most, c.Treatment)
		if c.Noise != d.Noise || math.Abs(c.PHolm-d.PHolm) > 1e-9 || !inverse(c.Interval, d.Interval) ||
			math.Abs(c.Ratio*d.Ratio-1) > 1e-9 && c.Ratio != d.Ratio {
			t.Errorf("RTT: %+v; its inverse: %+v", c, d)
		}
	}
}

// inverse reports whether an interval is that of the inverse ratio; none is that of none.
func inverse(a, b []float64) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return math.Abs(a[0]*b[1]-1) < 1e-9 && math.Abs(a[1]*b[0]-1) < 1e-9
}

// All formats print the same figures, digit for digit, and tell treatments apart.
func formats(t *testing.T, _ *rand.Rand, x variant, _ string) {
	x = x.called(otherNames[len(otherNames)-1]) // names of which more than a column has begin alike
	dir := x.write(t)
	text := map[string]string{}
	for _, format := range []string{"json", "csv", "markdown", "html", "text", "benchfmt"} {
		out, _, err := inProcess(t.Context(), "report", dir, "--format", format)
		ok(t, err)
		text[format] = out
	}
	var got struct {
		Cells []struct {
			Treatment             map[string]string
			Side, Response, Unit  string
			Mean, SD, Median, P95 float64
			CI                    []float64
			Trials                int
			TrialMeans            []float64 `json:"trial_means"`
		}
	}
	unmarshal(t, text["json"], &got)
	rows, err := csv.NewReader(strings.NewReader(text["csv"])).ReadAll()
	ok(t, err)
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	if len(rows)-1 != len(got.Cells) {
		t.Fatalf("CSV has %d rows, JSON %d cells", len(rows)-1, len(got.Cells))
	}
	page := html.UnescapeString(text["html"])
	for i, c := range got.Cells {
		row := rows[i+1]
		for name, want := range map[string]float64{"mean": c.Mean, "sd": c.SD, "median": c.Median, "p95": c.P95,
			"ci_low": append(c.CI, math.NaN())[0]} {
			if v, err := strconv.ParseFloat(row[column[name]], 64); !math.IsNaN(want) && want != 0 && (err != nil || v != want) {
				t.Errorf("%s of %v, %s: CSV has %s, JSON %v", name, c.Treatment, c.Response, row[column[name]], want)
			}
		}
		mean, median := report.Format(c.Mean, c.Unit), report.Format(c.Median, c.Unit)
		if !strings.Contains(page, mean) && !strings.Contains(page, median) {
			t.Errorf("%v, %s: the page has neither %s nor %s", c.Treatment, c.Response, mean, median)
		}
		if !strings.Contains(text["text"], mean) && !strings.Contains(text["text"], median) {
			t.Errorf("%v, %s: the text has neither %s nor %s", c.Treatment, c.Response, mean, median)
		}
		if line := "| " + mean + " | "; !strings.Contains(text["markdown"], line) {
			t.Errorf("%v, %s: Markdown has no %q", c.Treatment, c.Response, line)
		}
		for _, v := range c.TrialMeans {
			if n := strconv.FormatFloat(v, 'g', -1, 64); !strings.Contains(text["benchfmt"], " "+n+" ") {
				t.Errorf("%v, %s: benchfmt has no %s", c.Treatment, c.Response, n)
			}
		}
	}
	first := map[string]bool{} // what stands at the left of the text's tables
	for line := range strings.Lines(text["text"]) {
		if at := strings.Index(line, "  "); at > 0 && strings.HasPrefix(line, "a-stack") {
			first[line[:at]] = true
		}
	}
	if len(first) != len(x.treatments()) {
		t.Errorf("%d names in the tables of %d treatments: %v", len(first), len(x.treatments()), first)
	}
}

// less is what no sentence says: that who is next, or answers sooner, has less than once as much.
var less = regexp.MustCompile(`(next|last) is ‹[^›]*›, (0\.|−|-)|(answers|is done|needs|sends messages) 0\.`)

// Who is next has more than who is best.
func nobodyNextIsLess(t *testing.T, r *rand.Rand, x variant, dir string) {
	out, _, err := inProcess(t.Context(), "report", dir, "--json")
	ok(t, err)
	if said := less.FindString(x.plain(out)); said != "" {
		t.Errorf("a report says %q:\n%s", said, x.plain(out))
	}
}

// changed is another variant of the study, run later: its first stack takes share times as long.
func (x variant) changed(r *rand.Rand, share float64) variant {
	value, noise := x.value, map[string]float64{}
	spread := []float64{0.005, 0.05}[r.IntN(2)]
	for _, of := range x.treatments() {
		for b := range x.blocks {
			for _, figure := range x.figures {
				noise[place(figure, of[0], of[1], b+1)] = math.Exp(spread * r.NormFloat64())
			}
		}
	}
	x.value = func(figure string, s, m, b int) float64 {
		v := value(figure, s, m, b)
		if figure == "message_size" {
			return v + float64(m) // the second mode has longer messages
		}
		if s == 0 {
			v *= share
		}
		return v * noise[place(figure, s, m, b)]
	}
	x.devices = `"local":{"model":"m","kernel":"6.2","cpus":2},"board":{"model":"n","kernel":"5","cpus":1}`
	if x.benches == nil {
		x.blocks = 2 + r.IntN(x.blocks-1) // fewer trials than before, mostly
	}
	return x.turned(r)
}

// A comparison is what compare --json says.
type comparison struct {
	Verdict    string
	Conditions []struct {
		Condition, Verdict string
		Needed             int `json:"trials_needed"`
		Contrast           contrast
	}
	Contrasts   []contrast
	Differences []string `json:"setup_differences"`
}

type contrast struct {
	Treatment, Side, Response, Figure, Change string
	Old, New, Ratio                           float64
	Interval                                  []float64 `json:"ratio_ci"`
	PHolm                                     float64   `json:"p_holm"`
	MeanRatio                                 float64   `json:"mean_ratio"`
	MeanInterval                              []float64 `json:"mean_ratio_ci"`
	Trials                                    [2]int
}

// compared runs compare; both are the same variant.
func compared(t *testing.T, x variant, old, new string, conditions ...string) (c comparison, code int) {
	t.Helper()
	args := []string{"compare", old}
	if new != "" { // else both versions are in old
		args = append(args, new)
	}
	args = append(args, "--all", "--json", "--allow-lost")
	for _, k := range conditions {
		args = append(args, "--fail-if", k)
	}
	out, code, err := inProcess(t.Context(), args...)
	ok(t, err)
	unmarshal(t, x.plain(out), &c)
	return c, code
}

// Old and new the other way round: higher is lower, ratios are inverse, and what was so much more is so much less.
func theOtherWayRound(t *testing.T, r *rand.Rand, x variant, dir string) {
	y := x.changed(r, []float64{1, 1.04, 1.3, 0.8}[r.IntN(4)])
	to := y.write(t)
	there, code := compared(t, y, dir, to, "rtt.mean > 5%")
	names := x // the answer has the names of the newer
	back, code2 := compared(t, names, to, dir, fmt.Sprintf("rtt.mean < %.15g%%", 100/1.05-100))
	if there.Verdict != back.Verdict || code != code2 || len(there.Contrasts) != len(back.Contrasts) {
		t.Errorf("5 %% more: %s (%d); 5 %% less, the other way round: %s (%d)", there.Verdict, code, back.Verdict, code2)
	}
	turned := map[string]string{"higher": "lower", "lower": "higher"}
	for i, a := range append(there.Contrasts, contrastsOf(there)...) {
		all := back.Contrasts
		if i >= len(there.Contrasts) {
			all = contrastsOf(back)
		}
		k := slices.IndexFunc(all, func(b contrast) bool {
			return a.Treatment == b.Treatment && a.Side == b.Side && a.Response == b.Response && a.Figure == b.Figure
		})
		if k < 0 {
			t.Errorf("the other way round nothing is said of %+v", a)
			continue
		}
		b := all[k]
		change := a.Change
		if was, is := turned[change]; is {
			change = was
		}
		if b.Change != change || a.Old != b.New || a.New != b.Old || a.Trials != [2]int{b.Trials[1], b.Trials[0]} ||
			math.Abs(a.PHolm-b.PHolm) > 1e-9 || !inverse(a.Interval, b.Interval) || !inverse(a.MeanInterval, b.MeanInterval) ||
			a.Ratio != 0 && math.Abs(a.Ratio*b.Ratio-1) > 1e-9 {
			t.Errorf("there: %+v; back: %+v", a, b)
		}
	}
	for i, k := range there.Conditions {
		if o := back.Conditions[i%len(back.Conditions)]; len(there.Conditions) != len(back.Conditions) ||
			o.Contrast.Treatment == k.Contrast.Treatment && (o.Verdict != k.Verdict || o.Needed != k.Needed) {
			t.Errorf("there: %+v; back: %+v", k, o)
		}
	}
	var differences []string
	for _, d := range back.Differences {
		what, was, _ := strings.Cut(d, ": ")
		was, is, _ := strings.Cut(strings.TrimSuffix(was, " now"), " before, ")
		differences = append(differences, fmt.Sprintf("%s: %s before, %s now", what, is, was))
	}
	if !slices.Equal(there.Differences, differences) {
		t.Errorf("the set-ups differ in %q; the other way round in %q", there.Differences, back.Differences)
	}
	agree(t, dir, to)
	tests(t, y, dir, to)
}

func contrastsOf(c comparison) (out []contrast) {
	for _, k := range c.Conditions {
		out = append(out, k.Contrast)
	}
	return out
}

// agree holds that results agree with those that they repeat as much as the other way round.
func agree(t *testing.T, dir, to string) {
	t.Helper()
	old, err := readReport(dir, 0)
	ok(t, err)
	new, err := readReport(to, 0)
	ok(t, err)
	there, err := report.Repeat(old, new, 0.95, equalWithin)
	ok(t, err)
	back, err := report.Repeat(new, old, 0.95, equalWithin)
	ok(t, err)
	for _, a := range there.Figures {
		for _, b := range back.Figures {
			if a.Old == b.New && a.New == b.Old && a.Response == b.Response && a.Agreement != b.Agreement {
				t.Errorf("%s %s: %s; the other way round: %s", a.Treatment, a.Response, a.Agreement, b.Agreement)
			}
		}
	}
	if itself, err := report.Repeat(old, old, 0.95, equalWithin); err != nil || itself.Agreement() == "differs" {
		t.Errorf("results differ from themselves: %v, %v", itself.Agreement(), err)
	}
}

// tests holds that JUnit has the verdicts of the conditions, each under a name of its own.
func tests(t *testing.T, x variant, dir, to string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "junit.xml")
	out, _, err := inProcess(t.Context(), "compare", dir, to, "--json", "--allow-lost", "--fail-if", "rtt > 5%",
		"--fail-if", "message_size > 1%", "--junit", file)
	ok(t, err)
	var c comparison
	unmarshal(t, out, &c)
	var suites struct {
		Suites []struct {
			Failures int `xml:"failures,attr"`
			Skipped  int `xml:"skipped,attr"`
			Cases    []struct {
				Class string `xml:"classname,attr"`
				Name  string `xml:"name,attr"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	text, err := os.ReadFile(file)
	ok(t, err)
	ok(t, xml.Unmarshal(text, &suites))
	count := map[string]int{}
	for _, k := range c.Conditions {
		count[k.Verdict]++
	}
	seen := map[string]bool{}
	for _, k := range suites.Suites[0].Cases {
		seen[k.Class+"|"+k.Name] = true
	}
	if s := suites.Suites[0]; s.Failures != count["met"] || s.Skipped != count["undecided"] ||
		len(s.Cases) != len(c.Conditions) || len(seen) != len(s.Cases) {
		t.Errorf("JUnit has %d failures, %d skipped of %d; JSON %v", s.Failures, s.Skipped, len(s.Cases), count)
	}
}

// Compared with itself, nothing is higher, lower or worse.
func withItself(t *testing.T, r *rand.Rand, x variant, dir string) {
	y := x.turned(r)
	for _, to := range []string{dir, y.write(t)} {
		c, code := compared(t, y, dir, to, "rtt > 5%", "rtt > 0%", "message_size > 1%", "cpu.p95 > 1%")
		if code != exitDone || c.Verdict == "worse" {
			t.Errorf("the same results are %s (%d)", c.Verdict, code)
		}
		for _, k := range c.Contrasts {
			if k.Change == "higher" || k.Change == "lower" || math.Abs(k.Ratio-1) > 1e-9 {
				t.Errorf("beside itself: %+v", k)
			}
		}
	}
}

// Two versions in one study: the base for the new, and the other way round.
func versionsRound(t *testing.T, r *rand.Rand, x variant, _ string) {
	y := x
	y.stacks, y.stackAt, y.gone = []string{"qa1@base", "qa1"}, []int{0, 1}, map[[2]int]bool{}
	z := y
	z.stacks = []string{"qa1", "qa1@base"}
	there, code := compared(t, variant{}, y.write(t), "", "rtt.mean > 5%")
	back, code2 := compared(t, variant{}, z.write(t), "", fmt.Sprintf("rtt.mean < %.15g%%", 100/1.05-100))
	if there.Verdict != back.Verdict || code != code2 || len(there.Contrasts) != len(back.Contrasts) {
		t.Errorf("versions: %s (%d); the other way round: %s (%d)", there.Verdict, code, back.Verdict, code2)
	}
	for i, a := range there.Contrasts {
		b := back.Contrasts[i]
		if a.Old != b.New || !inverse(a.Interval, b.Interval) || math.Abs(a.PHolm-b.PHolm) > 1e-9 ||
			(a.Change == "the same") != (b.Change == "the same") || (a.Change == "higher") != (b.Change == "lower") {
			t.Errorf("versions: %+v; the other way round: %+v", a, b)
		}
	}
}

// table is the study as a table for analyze, its rows in an order.
func (x variant) table(t *testing.T, figure string, k float64, order func(rows []string)) string {
	t.Helper()
	var rows []string
	for b := range x.blocks {
		for _, of := range x.treatments() {
			if v := x.value(figure, of[0], of[1], b+1); !math.IsNaN(v) {
				rows = append(rows, fmt.Sprintf("%q,%q,%d,one,%v", x.stacks[of[0]], x.modes[of[1]], b+1, k*v))
			}
		}
	}
	order(rows)
	file := filepath.Join(t.TempDir(), "table.csv")
	ok(t, os.WriteFile(file, []byte("stack,mode,block,same,y\n"+strings.Join(rows, "\n")+"\n"), 0o644))
	return file
}

// analyzed is what analyze says of a table of x, its levels plain. Contrasts go both ways, since which
// treatment is the first is a matter of names.
func (x variant) analyzed(t *testing.T, file, by string, k float64) map[string]float64 {
	t.Helper()
	out, _, err := inProcess(t.Context(), "analyze", file, "--response", "y", "--by", by, "--block", "block", "--json")
	ok(t, err)
	var a stat.Analysis
	unmarshal(t, x.plain(out), &a)
	said := map[string]float64{}
	for _, g := range a.Groups {
		at := g.By["stack"] + g.By["mode"]
		said[at+" n"], said[at+" mean"], said[at+" sd"] = float64(g.N), float64(g.Mean)/k, float64(g.SD)/k
		said[at+" low"], said[at+" median"] = g.CI[0]/k, float64(g.Median)/k
	}
	for _, c := range a.Contrasts {
		one, other := c.Between[0]["stack"]+c.Between[0]["mode"], c.Between[1]["stack"]+c.Between[1]["mode"]
		at, back := one+" over "+other, other+" over "+one
		said[at+" ratio"], said[back+" ratio"] = float64(c.Ratio), 1/float64(c.Ratio)
		said[at+" low"], said[at+" high"] = c.RatioCI[0], c.RatioCI[1]
		said[back+" low"], said[back+" high"] = 1/c.RatioCI[1], 1/c.RatioCI[0]
		said[at+" p"], said[back+" p"], said[at+" Holm"], said[back+" Holm"] =
			float64(c.P), float64(c.P), float64(c.PHolm), float64(c.PHolm)
		said[at+" difference"], said[back+" difference"] = float64(c.Difference)/k, -float64(c.Difference)/k
	}
	if a.Anova != nil {
		for _, v := range a.Anova.Terms {
			parts := strings.Split(v.Term, ":")
			slices.Sort(parts)
			at := strings.Join(parts, ":")
			said[at+" df"], said[at+" ss"], said[at+" eta"] = float64(v.DF), float64(v.SS)/k/k, float64(v.EtaSquared)
			said[at+" F"], said[at+" P"] = float64(v.F), float64(v.P)
		}
	}
	return said
}

// A table says the same with its rows in another order, with factors in another order or one more that
// has one level, with other names and in another unit.
func tables(t *testing.T, r *rand.Rand, x variant, _ string) {
	plain := func([]string) {}
	want := x.analyzed(t, x.table(t, "rtt", 1, plain), "stack,mode", 1)
	y := x.called(otherNames[r.IntN(len(otherNames))])
	for what, got := range map[string]map[string]float64{
		"rows shuffled": x.analyzed(t, x.table(t, "rtt", 1, func(rows []string) {
			r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		}), "stack,mode", 1),
		"factors swapped":       x.analyzed(t, x.table(t, "rtt", 1, plain), "mode,stack", 1),
		"a factor of one level": x.analyzed(t, x.table(t, "rtt", 1, plain), "same,stack,mode", 1),
		"other names":           y.analyzed(t, y.table(t, "rtt", 1, plain), "stack,mode", 1),
		"1000 times":            x.analyzed(t, x.table(t, "rtt", 1000, plain), "stack,mode", 1000),
		"a 4096th":              x.analyzed(t, x.table(t, "rtt", 1./4096, plain), "stack,mode", 1./4096),
	} {
		if len(got) != len(want) {
			t.Errorf("analyze, %s: %d figures, want %d", what, len(got), len(want))
		}
		for at, w := range want {
			if g := got[at]; math.Abs(g-w) > 1e-7*max(math.Abs(g), math.Abs(w)) || math.IsNaN(g) != math.IsNaN(w) {
				t.Errorf("analyze, %s: %s: %v became %v", what, at, w, g)
			}
		}
	}
}

// A forecast is of treatments, whatever they are called and in which order they ran.
func forecasts(t *testing.T, r *rand.Rand, x variant, dir string) {
	args := []string{"forecast", dir, "--battery", "2xAA", "--link", "nb-iot", "--period", "1h"}
	want, _ := x.ask(t, args...)
	y := x.turned(r).called(otherNames[r.IntN(len(otherNames))])
	args[1] = y.write(t)
	got, _ := y.ask(t, args...)
	for _, all := range []map[string]any{want, got} {
		maps.DeleteFunc(all, func(at string, _ any) bool { return counted.MatchString(at) })
	}
	sameSaid(t, "forecast", want, got, alike)
}

// A mark is one of history's.
type mark struct {
	Kind  string
	At    int
	Ratio float64
	P     float64
}

// marks are those of a history of the response, by treatment.
func marks(t *testing.T, x variant, response string, dirs []string) map[string][]mark {
	t.Helper()
	out, _, err := inProcess(t.Context(), append([]string{"history", "--json", "--response", response}, dirs...)...)
	ok(t, err)
	var got struct {
		Runs   []any
		Series []struct {
			Treatment string
			Marks     []mark
		}
	}
	unmarshal(t, x.plain(out), &got)
	if len(got.Runs) != len(dirs) {
		t.Errorf("%d runs, want %d: %s", len(got.Runs), len(dirs), out)
	}
	all := map[string][]mark{}
	for _, s := range got.Series {
		all[s.Treatment] = s.Marks
	}
	return all
}

// A history has the same marks whatever the order of its folders and of the levels in its runs, by other
// names, in another unit, and of a rate that is the inverse of the time.
func TestMetamorphicHistory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const runs, step = 12, 8
	r := rand.New(rand.NewPCG(3, 4))
	x := drawn(r)
	x.stacks, x.stackAt, x.modes, x.modeAt = x.stacks[:2], upTo(2), []string{"mx1", "my2"}, upTo(2)
	x.blocks, x.benches, x.waiting, x.gone = 6, nil, 0, map[[2]int]bool{}
	x.figures = []string{"rtt", "throughput"}
	trial := map[[4]int]float64{}
	for run := range runs {
		level := math.Exp(0.01 * r.NormFloat64())
		if run >= step {
			level *= 1.15
		}
		for _, of := range x.treatments() {
			for b := range x.blocks {
				trial[[4]int{run, of[0], of[1], b + 1}] = 1.3e-3 * level * math.Exp(0.01*r.NormFloat64())
			}
		}
	}
	write := func(x variant, k float64, other bool) (dirs []string) {
		for run := range runs {
			y := x
			if other && run%2 == 0 { // figures are called as the newest has them
				y = x.turned(r)
			}
			y.value = func(figure string, s, m, b int) float64 {
				rtt := k * trial[[4]int{run, s, m, b}]
				if figure == "throughput" {
					return 1 / rtt
				}
				return rtt
			}
			dirs = append(dirs, y.write(t))
		}
		return dirs
	}
	plainly := write(x, 1, false)
	want := marks(t, x, "rtt", plainly)
	if len(want["‹s0 m0›"]) == 0 {
		t.Fatalf("no mark at the step: %v", want)
	}
	shuffled := slices.Clone(plainly)
	r.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
	y := x.called(otherNames[1])
	for what, got := range map[string]map[string][]mark{
		"shuffled": marks(t, x, "rtt", shuffled), "other orders": marks(t, x, "rtt", write(x, 1, true)),
		"other names": marks(t, y, "rtt", write(y, 1, false)), "1000 times": marks(t, x, "rtt", write(x, 1000, false)),
		"inverse": marks(t, x, "throughput", plainly),
	} {
		for treatment, all := range want {
			if len(got[treatment]) != len(all) {
				t.Errorf("%s: %v, want %v", what, got[treatment], all)
				continue
			}
			for i, w := range all {
				g := got[treatment][i]
				if what == "inverse" {
					g.Ratio = 1 / g.Ratio
				}
				if g.Kind != w.Kind || g.At != w.At || math.Abs(g.Ratio-w.Ratio) > 1e-9 || math.Abs(g.P-w.P) > 1e-9 {
					t.Errorf("%s, %s: %+v, want %+v", what, treatment, g, w)
				}
			}
		}
	}
}

// Treatments of which the names read alike are distinguished by their levels.
func TestNamesThatReadAlike(t *testing.T) {
	t.Parallel()
	x := drawn(rand.New(rand.NewPCG(5, 6)))
	x.stacks, x.modes, x.gone, x.benches = []string{"pp", "pp qq"}, []string{"qq rr", "rr"}, map[[2]int]bool{}, nil
	x.stackAt, x.modeAt, x.blocks = upTo(2), upTo(2), 6
	x.value = func(figure string, s, m, b int) float64 { return float64(1+s+2*m) * (1e-3 + 1e-6*float64(b)) }
	x.figures = []string{"rtt"}
	out, _, err := inProcess(t.Context(), "choose", x.write(t), "--minimize", "rtt", "--json")
	ok(t, err)
	var got struct{ Candidates []candidate }
	unmarshal(t, out, &got)
	if len(got.Candidates) != 4 {
		t.Fatalf("%d candidates, want 4: %s", len(got.Candidates), out)
	}
	for i, c := range got.Candidates {
		if want := float64(1+i) * 1.0035e-3; math.Abs(c.Objectives[0].Mean/want-1) > 1e-9 {
			t.Errorf("candidate %d: %v, want %v", i+1, c.Objectives[0].Mean, want)
		}
	}
}
