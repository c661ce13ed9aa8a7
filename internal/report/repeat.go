package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
)

// A Repeated is what run --like has to tell: results beside those that they repeat.
type Repeated struct {
	Like, Again string // directories
	advise.Repetition
	Confidence  float64
	Programs    []string // how the stacks' programs, or edgegauge, are others than those that measured what was kept
	Differences []string // of the machines and the set-up
	Drawn       string   // what the seed fixes in both besides order and messages; empty: nothing, or seeds differ
	Fewer       string   // what fewer replications mean for the verdict; empty: there are as many
	Warnings    []string // of both results
}

// Repeat sets results against those that they repeat.
func Repeat(like, again *Report, confidence, margin float64) (Repeated, error) {
	out := Repeated{Like: like.Dir, Again: again.Dir, Confidence: confidence,
		Programs: programDifferences(like, again), Differences: SetupDifferences(like, again), Drawn: drawn(like, again)}
	var err error
	if out.Repetition, err = advise.Repeat(like.Series(), again.Series(), confidence, margin); err != nil {
		return out, fmt.Errorf("%s, %s: %w", like.Dir, again.Dir, err)
	}
	out.Lost = slices.DeleteFunc(advise.Losses(like.Attempts(), again.Attempts(), confidence), func(l advise.Loss) bool {
		return l.Verdict() == stat.Contradicted
	})
	out.Failed = advise.FailuresDiffer(like.Attempts(), again.Attempts(), confidence)
	if was, is := like.replications(), again.replications(); is < was {
		out.Fewer = fmt.Sprintf("%s, %d in the earlier results: intervals are wider, so more figures are "+
			"undecided; those that agree or differ do so with the same certainty", plural.Count(is, "replication"), was)
	}
	for _, side := range []struct {
		name string
		r    *Report
	}{{"kept", like}, {"again", again}} {
		for _, w := range side.r.Doubts() {
			out.Warnings = append(out.Warnings, side.name+": "+w)
		}
	}
	return out, nil
}

// drawn says what both results have from the same seed that chance would make another each time. Then a repetition is
// no sample of that, and agrees too well.
func drawn(like, again *Report) string {
	if like.Study.Design.Seed != again.Study.Design.Seed {
		return ""
	}
	var what []string
	if anySetup(again, func(s *study.Setup) bool {
		l := again.Facts.Links[s.Link.Text]
		return l.Shaper == "" && max(l.Up.Loss, l.Down.Loss, l.Up.DelayStdDev.Seconds(), l.Down.DelayStdDev.Seconds()) > 0
	}) {
		what = append(what, "losses and delays of links")
	}
	if anySetup(again, func(s *study.Setup) bool { return s.Rate > 0 && s.Arrival == "poisson" }) {
		what = append(what, "random arrivals")
	}
	if anySetup(again, func(s *study.Setup) bool { return s.Population.Devices > 0 }) {
		what = append(what, "when devices report, fail and retry")
	}
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("both have the same draws of %s, since the seed is the same: figures agree more often than with "+
		"others; to take others add --set design.seed=%d", strings.Join(what, " and of "), again.Study.Design.Seed+1)
}

func anySetup(r *Report, of func(s *study.Setup) bool) bool {
	return slices.ContainsFunc(r.Treatments, func(t Treatment) bool { return t.setup != nil && of(t.setup) })
}

// replications are the most valid trials that a treatment has.
func (r *Report) replications() int {
	n := 0
	for _, t := range r.Treatments {
		n = max(n, t.Valid)
	}
	return n
}

// Text writes the answer for a terminal: what differs in the machine first.
func (c Repeated) Text(w io.Writer) error {
	var b strings.Builder
	for _, d := range c.Programs {
		wrap(&b, "! the program differs: "+d, "  ")
	}
	switch same := "study, settings and kind of machine as " + c.Like + "."; {
	case len(c.Differences) > 0:
	case len(c.Programs) > 0:
		wrap(&b, "Otherwise the same "+same, "  ")
	default:
		wrap(&b, "Same "+same, "  ")
	}
	for _, d := range c.Differences {
		wrap(&b, "! the set-up differs: "+d, "  ")
	}
	for _, list := range []struct {
		names []string
		where string
	}{{c.OnlyOld, c.Like}, {c.OnlyNew, c.Again}} {
		if len(list.names) > 0 {
			wrap(&b, fmt.Sprintf("! only in %s, so not compared: %s", list.where, strings.Join(list.names, ", ")), "  ")
		}
	}
	for _, l := range c.Lost {
		better := "; those that are left may be the better ones, so the whole does not agree"
		if l.Unrun > 0 {
			better = ", so the whole does not agree"
		}
		wrap(&b, "! "+l.Kind()+": "+l.String()+better, "  ")
	}
	for _, f := range c.Failed {
		not := "so the whole does not agree"
		if f.Verdict == stat.Confirmed {
			not = "so the whole differs"
		}
		wrap(&b, "! "+f.Kind("failed requests")+": "+f.String()+"; "+not, "  ")
	}
	if len(c.Gone) > 0 {
		wrap(&b, "! not measured again, so the whole does not agree: "+list(c.Gone, mostNames), "  ")
	}
	if len(c.NoRatio) > 0 {
		wrap(&b, "! no ratio between treatments, since a value is not above 0, so that only the figures themselves are "+
			"compared: "+list(c.NoRatio, mostNames), "  ")
	}
	for _, text := range []string{c.Fewer, c.Drawn} {
		if text != "" {
			wrap(&b, "! "+text, "  ")
		}
	}
	wrap(&b, fmt.Sprintf("%s: %s. %s. Within %g %%, %s confidence, Welch on logarithms; Holm over %s.", c.Agreement(),
		tallyOf("figures", c.Figures), tallyOf("ratios between treatments", c.Ratios), 100*c.Margin,
		percentOf(c.Confidence), plural.Count(c.Tests, "difference")), "  ")
	for _, text := range c.undecided() {
		wrap(&b, text, "  ")
	}
	if text := c.held(); text != "" {
		wrap(&b, text, "  ")
	}
	b.WriteByte('\n')
	for _, part := range []struct {
		name string
		all  []advise.Repeated
	}{{"figure", c.Figures}, {"ratio", c.Ratios}} {
		if len(part.all) == 0 {
			continue
		}
		rows := [][]string{{part.name, "kept", "again", "again/kept", "interval", "p", "answer"}}
		for _, x := range part.all {
			rows = append(rows, []string{repeatedName(x), Format(x.Old, x.Unit),
				Format(x.New, x.Unit), ratioText(x.Ratio.Estimate), ratioRange(x.Ratio), pText(x.P), answerOf(x)})
		}
		writeColumns(&b, rows)
	}
	for i, text := range c.Warnings {
		if i == mostWarnings {
			wrap(&b, fmt.Sprintf("! %s; the reports have them", plural.Count(len(c.Warnings)-i, "more warning")), "  ")
			break
		}
		wrap(&b, "! "+text, "  ")
	}
	return PrintText(w, b.String())
}

// repeatedName names a figure. Where requests failed, a time is that of medians among all of them.
func repeatedName(x advise.Repeated) string {
	name := x.Response
	if x.Figure == "median" {
		name += " (median of all requests)"
	}
	return figureName(x.Treatment, name, x.Side)
}

// held says how often the intervals of again over kept hold 1, as they should
// where nothing changed; empty where there are none.
func (c Repeated) held() string {
	a, n := advise.Held(c.Figures)
	b, m := advise.Held(c.Ratios)
	if n == 0 {
		return ""
	}
	text := fmt.Sprintf("The interval of again/kept has 1 in it for %d of %d figures", a, n)
	if m > 0 {
		text += fmt.Sprintf(" and %d of %d ratios", b, m)
	}
	text = fmt.Sprintf("%s; about %s of them should where nothing changed.", text, percentOf(c.Confidence))
	figures, ratios := undisturbed(c.Figures), undisturbed(c.Ratios)
	if len(figures)+len(ratios) == len(c.Figures)+len(c.Ratios) {
		return text
	}
	a, n = advise.Held(figures)
	b, m = advise.Held(ratios)
	if n+m == 0 {
		return text + " A wait for a CPU may explain a difference of each of them."
	}
	text = fmt.Sprintf("%s Of those for which no wait for a CPU can explain a difference, %d of %d figures", text, a, n)
	if m > 0 {
		text += fmt.Sprintf(" and %d of %d ratios", b, m)
	}
	return text + "."
}

// undisturbed leaves out what waiting for a CPU may have changed.
func undisturbed(all []advise.Repeated) []advise.Repeated {
	return slices.DeleteFunc(slices.Clone(all), func(r advise.Repeated) bool { return r.Waits() })
}

// tallyOf counts the answers: "figures: 3 agree, 1 shown to differ, 2 undecided".
func tallyOf(what string, all []advise.Repeated) string {
	return fmt.Sprintf("%s: %d agree, %d shown to differ, %d undecided", what, advise.Count(all, advise.Agrees),
		advise.Count(all, advise.Differs), advise.Count(all, advise.CannotTell))
}

// answerOf is the answer of a row, with what keeps it open.
func answerOf(x advise.Repeated) string {
	if x.Agreement != advise.CannotTell {
		return string(x.Agreement)
	}
	return "undecided: " + map[advise.Why]string{advise.Untested: "no test", advise.Waited: "waiting",
		advise.Together: "Holm", advise.Hidden: "meter", advise.Straddles: "interval"}[x.Why]
}

// undecided says what those that are undecided may be, and what keeps them so.
func (c Repeated) undecided() []string {
	var out, doubts []string
	var far *advise.Repeated
	reach := func(x *advise.Repeated) float64 { return max(x.Ratio.Hi, 1/x.Ratio.Lo) }
	of, allowance, doubted := map[advise.Why]int{}, 1.0, map[string][]string{}
	all := slices.Concat(c.Figures, c.Ratios)
	for i := range all {
		x := &all[i]
		if x.Agreement != advise.CannotTell {
			continue
		}
		if of[x.Why]++; x.Why == advise.Waited {
			allowance = max(allowance, x.Allowance)
		}
		if x.Why == advise.Untested {
			if doubted[x.Doubt] == nil {
				doubts = append(doubts, x.Doubt)
			}
			doubted[x.Doubt] = append(doubted[x.Doubt], repeatedName(*x))
		} else if x.Ratio.Hi > x.Ratio.Lo && (far == nil || reach(x) > reach(far)) {
			far = x
		}
	}
	if far != nil {
		out = append(out, fmt.Sprintf("Undecided does not mean alike: %s may be %s times what was kept.", repeatedName(*far),
			ratioRange(far.Ratio)))
	}
	if n := of[advise.Together]; n > 0 {
		out = append(out, fmt.Sprintf("Holm (%d): by itself shown to differ, but of %s that are judged at once one would "+
			"be so by chance too often; more replications decide it.", n, plural.Count(c.Tests, "difference")))
	}
	if n := of[advise.Waited]; n > 0 {
		out = append(out, fmt.Sprintf("Waiting (%d): it would be decided, but programs waited for a CPU, which alone may "+
			"cause a ratio of up to %.3g; leave the machine alone, and repeat.", n, allowance))
	}
	if n := of[advise.Straddles]; n > 0 {
		out = append(out, fmt.Sprintf("Interval (%d): what agrees and what differs are both in it; more replications "+
			"narrow it.", n))
	}
	if n := of[advise.Hidden]; n > 0 {
		out = append(out, fmt.Sprintf("Meter (%d): what agrees and what differs are apart by less than the steps of a clock "+
			"or a meter, or than it may be off by in all trials alike, which no number of replications changes; make trials "+
			"longer, or use a finer one.", n))
	}
	for _, d := range doubts {
		out = append(out, fmt.Sprintf("No test (%d): %s: %s.", len(doubted[d]), list(doubted[d], mostNames), d))
	}
	return out
}

// JSON writes the same; doc/formats.md names the keys.
func (c Repeated) JSON(w io.Writer) error {
	type figure struct {
		Treatment string           `json:"treatment"`
		Side      string           `json:"side"`
		Response  string           `json:"response"`
		Figure    string           `json:"figure"`
		Unit      string           `json:"unit"`
		Kept      stat.Number      `json:"kept"`
		Again     stat.Number      `json:"again"`
		Trials    [2]int           `json:"trials"`
		Ratio     stat.Number      `json:"ratio"`
		RatioCI   stat.Interval    `json:"ratio_ci"`
		P         stat.Number      `json:"p"`
		Agreement advise.Agreement `json:"agreement"`
		Why       advise.Why       `json:"why,omitempty"` // it cannot tell
		Doubt     string           `json:"doubt,omitempty"`
	}
	figures := func(all []advise.Repeated) []figure {
		out := []figure{}
		for _, x := range all {
			out = append(out, figure{x.Treatment, string(x.Side), x.Response, x.Figure, x.Unit, stat.Number(x.Old),
				stat.Number(x.New), x.Trials, stat.Number(x.Ratio.Estimate), stat.Interval{x.Ratio.Lo, x.Ratio.Hi},
				stat.Number(x.P), x.Agreement, x.Why, x.Doubt})
		}
		return out
	}
	held := func(all []advise.Repeated) [2]int {
		n, of := advise.Held(all)
		return [2]int{n, of}
	}
	failed, repeated := []string{}, []string{}
	for _, f := range c.Failed {
		if f.Again {
			repeated = append(repeated, f.String())
		} else {
			failed = append(failed, f.String())
		}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Like        string           `json:"like"`
		Agreement   advise.Agreement `json:"agreement"`
		Confidence  float64          `json:"confidence"` // of every interval, 0 to 1
		Margin      float64          `json:"margin"`
		Tests       int              `json:"differences_tested"`
		Differences []string         `json:"setup_differences"`
		Fewer       string           `json:"fewer_replications,omitempty"`
		Drawn       string           `json:"same_draws,omitempty"` // which chance would make others
		Figures     []figure         `json:"figures"`
		Ratios      []figure         `json:"ratios"`
		FiguresHeld [2]int           `json:"figures_held"` // intervals with 1 in them, of how many
		RatiosHeld  [2]int           `json:"ratios_held"`
		OnlyKept    []string         `json:"only_kept"`
		OnlyAgain   []string         `json:"only_again"`
		Gone        []string         `json:"not_measured_again"`  // figures of treatments that were
		NoRatio     []string         `json:"no_ratio"`            // of two treatments: a value is not above 0
		Failed      []string         `json:"failed_requests"`     // of treatments, of which more or less failed than before
		Repeated    []string         `json:"requests_sent_again"` // likewise
		Warnings    []string         `json:"warnings"`
	}{c.Like, c.Agreement(), c.Confidence, c.Margin, c.Tests, orEmpty(slices.Concat(c.Programs, c.Differences)), c.Fewer,
		c.Drawn, figures(c.Figures), figures(c.Ratios), held(c.Figures), held(c.Ratios), orEmpty(c.OnlyOld),
		orEmpty(c.OnlyNew), orEmpty(c.Gone), orEmpty(c.NoRatio), failed, repeated, orEmpty(c.Warnings)})
}
