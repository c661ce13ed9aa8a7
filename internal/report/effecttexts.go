package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// sentences say what the factors do to a response. With said, only of the next and the last level
// of each factor, and nothing of what is said elsewhere.
func (e Effects) sentences(confidence float64, said func(LevelContrast) bool) []string {
	var out []string
	for i, c := range e.Levels {
		first := i == 0 || e.Levels[i-1].Factor != c.Factor
		last := i == len(e.Levels)-1 || e.Levels[i+1].Factor != c.Factor
		if said == nil || (first || last) && !said(c) {
			out = append(out, c.Sentence(e.Panel, confidence))
		}
	}
	return out
}

// allocation is the variation in a line: "stack 93.1 %, link 4.0 %, residual 2.9 %".
func (e Effects) allocation() string {
	if e.Anova == nil {
		return ""
	}
	var parts []string
	rest := 1.0
	for _, t := range e.Anova.Terms {
		v := float64(t.Variation)
		if math.IsNaN(v) {
			return "no variation at all"
		}
		rest -= v
		star := ""
		if float64(t.P) < 0.05 && t.Term != "block" && t.Term != "bench" {
			star = "*"
		}
		parts = append(parts, t.Term+" "+shareText(v)+star)
	}
	return strings.Join(append(parts, "residual "+shareText(max(0, rest))), ", ")
}

// headline are the responses of which a terminal gets sentences.
var headline = []string{"rtt", "delay", "message_size", "cpu", "energy", "energy_gross", "recovery_time"}

// effectsText prints sentences of the headline responses and, if asked, the allocation
// of variation of all.
func (r *Report) effectsText(b *strings.Builder) {
	var rows []string
	said := len(r.Factors) == 1 && r.Published == nil // by the verdict already
	inVerdicts := r.inVerdicts()
	for _, e := range r.Effects {
		if !said && r.isHeadline(e) {
			for _, s := range e.sentences(r.Study.Design.Confidence, inVerdicts) {
				wrap(b, s, "  ")
			}
		}
		if a := e.allocation(); a != "" && a != "no variation at all" {
			rows = append(rows, fmt.Sprintf("  %s, %s: %s", e.Response, e.Side, a))
		}
	}
	if !said && len(r.Effects) > 0 {
		b.WriteByte('\n')
	}
	if len(rows) == 0 || !r.ShowAnova {
		return
	}
	b.WriteString("What explains the variation of trials (* p < 0.05):\n")
	for _, row := range rows {
		hang(b, "  ", row, "      ")
	}
	b.WriteByte('\n')
}

// inVerdicts tells what verdicts say, or leave out on purpose: levels of a factor that is given, and ratios that are
// another in each group, which has a verdict of its own.
func (r *Report) inVerdicts() func(LevelContrast) bool {
	given := r.groupFactors()
	return func(c LevelContrast) bool {
		return slices.Contains(given, c.Factor) || len(r.Factors)-len(given) == 1 && advise.Differ(c.Strata) &&
			math.IsNaN(c.Published)
	}
}

// numbers are those of all treatments.
func (r *Report) numbers() []int {
	out := make([]int, len(r.Treatments))
	for i := range out {
		out[i] = i
	}
	return out
}

// isHeadline says whether a terminal gets sentences of these effects. The time by which treatments are ranked stands
// for the RTT.
func (r *Report) isHeadline(e Effects) bool {
	time := r.timeOf(r.numbers())
	if time != "rtt" && (e.Response == "rtt" || e.Response == time) {
		return e.Side == measure.Client && e.Response == time
	}
	return e.Side == measure.Client && slices.Contains(headline, e.Response)
}

// effectsView is what the page shows of a panel.
type effectsView struct {
	Title, Summary, Type string
	Log, Medians         bool
	Sentences, Warnings  []string
	Rows, Levels         [][]string
}

func (r *Report) effectsViews() []effectsView {
	var out []effectsView
	for _, e := range r.Effects {
		v := effectsView{Title: capital(words(e.Response)) + " at the " + string(e.Side), Summary: e.allocation(), Log: e.Log,
			Medians:   e.Medians,
			Sentences: e.sentences(r.Study.Design.Confidence, nil), Warnings: e.Warnings}
		if e.Anova != nil {
			v.Type = e.Anova.Type
			v.Rows = anovaRows(*e.Anova)
			for _, x := range e.Anova.Effects {
				if x.Term != "" {
					v.Levels = append(v.Levels, e.effectRow(x))
				}
			}
		}
		out = append(out, v)
	}
	return out
}

func (e Effects) effectRow(x stat.Effect) []string {
	value, lo, hi := x.Value, x.Lo, x.Hi
	text := plain
	if e.Log {
		value, lo, hi, text = math.Exp(value), math.Exp(lo), math.Exp(hi), ratioText
	}
	between := "–"
	if !math.IsNaN(lo) && !math.IsNaN(hi) {
		between = text(lo) + " to " + text(hi)
	}
	if e.Log && advise.SaysNothing(lo, hi) {
		between = advise.Untold
	}
	return []string{x.Term, strings.Join(x.Levels, " "), text(value), between}
}

func anovaRows(v stat.Anova) [][]string {
	var rows [][]string
	rest := 1.0
	for _, t := range v.Terms {
		rest -= float64(t.Variation)
		rows = append(rows, []string{t.Term, strconv.Itoa(t.DF), plain(float64(t.SS)), plain(float64(t.F)),
			pText(float64(t.P)), plain(float64(t.EtaSquared)), shareText(float64(t.Variation))})
	}
	return append(rows, []string{"residual", strconv.Itoa(v.Residual.DF), plain(float64(v.Residual.SS)), "", "", "",
		shareText(max(0, rest))})
}

type effectsJSON struct {
	Response string       `json:"response"`
	Side     string       `json:"side"`
	Scale    string       `json:"scale"` // log: effects are ratios; linear: differences
	Anova    *stat.Anova  `json:"anova"`
	Effects  []effectJSON `json:"effects"`
	Levels   []levelJSON  `json:"levels"`
	Says     []string     `json:"sentences"`
	Warnings []string     `json:"warnings"`
}

type effectJSON struct {
	Term   string        `json:"term"`
	Levels []string      `json:"levels"`
	Value  stat.Number   `json:"value"`
	CI     stat.Interval `json:"ci"`
}

type levelJSON struct {
	Factor    string        `json:"factor"`
	Best      string        `json:"best"`
	Other     string        `json:"other"`
	Ratio     stat.Number   `json:"ratio"` // how many times better the best is
	CI        stat.Interval `json:"ratio_ci"`
	PAdjusted stat.Number   `json:"p_adjusted"`
	PHolm     stat.Number   `json:"p_holm"` // PAdjusted by its first name: Holm's is no such p
	Alike     bool          `json:"alike"`
	Slowed    bool          `json:"waiting_may_explain,omitempty"`
	Modelled  bool          `json:"modelled,omitempty"` // some of it is computed from a model
	Published stat.Number   `json:"published"`
}

func (r *Report) effectsJSON() []effectsJSON {
	out := []effectsJSON{}
	for _, e := range r.Effects {
		x := effectsJSON{e.Response, string(e.Side), "linear", e.Anova, []effectJSON{}, []levelJSON{},
			orEmpty(e.sentences(r.Study.Design.Confidence, nil)), orEmpty(e.Warnings)}
		exp := func(v float64) float64 { return v }
		if e.Log {
			x.Scale, exp = "log", math.Exp
		}
		if e.Anova != nil {
			for _, y := range e.Anova.Effects {
				if y.Term != "" {
					x.Effects = append(x.Effects, effectJSON{y.Term, y.Levels, stat.Number(exp(y.Value)),
						stat.Interval{exp(y.Lo), exp(y.Hi)}})
				}
			}
		}
		for _, c := range e.Levels {
			x.Levels = append(x.Levels, levelJSON{c.Factor, c.Best, c.Other, stat.Number(c.Estimate), stat.Interval{c.Lo, c.Hi},
				stat.Number(c.PAdjusted), stat.Number(c.PAdjusted), c.Alike, c.Slowed(r.Study.Design.Confidence),
				c.Modelled, stat.Number(c.Published)})
		}
		out = append(out, x)
	}
	return out
}

// Sentence says what the contrast means, as "soap takes 2.2 times as long to answer as rest (2.1 to 2.3;
// published 2.2)".
func (c LevelContrast) Sentence(p Panel, confidence float64) string {
	said := c.compared(p, confidence)
	if c.Fails != "" {
		said = strings.TrimSuffix(said, ".") + "; yet " + c.Fails + "."
	}
	return said
}

// A doing says what the better figure means, as "A needs less CPU time than B", and how many times the greater one is,
// as "B needs 2 times as much CPU time as A".
type doing struct{ does, better, times string }

var doings = map[string]doing{
	"rtt":             {"answers", "sooner", "takes %s times as long to answer"},
	"response_time":   {"answers", "sooner (response time)", "has %s times as long a response time"},
	"total_time":      {"is done", "sooner", "takes %s times as long"},
	"delay":           {"is done", "sooner", "takes %s times as long"},
	"serialization":   {"serializes", "faster", "takes %s times as long to serialize"},
	"deserialization": {"deserializes", "faster", "takes %s times as long to deserialize"},
	"message_size":    {"sends messages", "smaller", "sends messages %s times as large"},
	"response_size":   {"sends answers", "smaller", "sends answers %s times as large"},
	"wire_bytes":      {"puts", "fewer bytes on the wire", "puts %s times as many bytes on the wire"},
	"cpu":             {"needs", "less CPU time", "needs %s times as much CPU time"},
	"energy":          {"needs", "less energy", "needs %s times as much energy"},
	"energy_gross":    {"needs", "less energy (idle included)", "needs %s times as much energy (idle included)"},
	"trial_energy":    {"needs", "less energy in all", "needs %s times as much energy in all"},
	"peak_rss":        {"needs", "less memory", "needs %s times as much memory"},
	"throughput":      {"answers", "more requests per second", "answers %s times as many requests per second"},
}
