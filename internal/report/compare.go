package report

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"

	"edgegauge/internal/advise"
	"edgegauge/internal/stat"
)

// A Compared is what compare has to tell.
type Compared struct {
	Old, New string // directories
	advise.Comparison
	Confidence  float64
	Differences []string // of the set-up
	All         bool     // show what did not change, too
}

// Verdict is the first sentence.
func (c Compared) verdict() string {
	switch c.Comparison.Verdict() {
	case stat.Confirmed:
		return "worse: a condition is met beyond doubt"
	case stat.Contradicted:
		return "good: every condition is excluded beyond doubt"
	case stat.Undecided:
		return "undecided: the intervals hold the bound; more trials would tell"
	}
	n := c.count()
	return fmt.Sprintf("%d figures: %d higher, %d lower, %d equal within %g %%, %d undecided", len(c.Contrasts), n[advise.Higher], n[advise.Lower], n[advise.Equal]+n[advise.Same], 100*c.Margin, n[advise.Unknown])
}

func (c Compared) count() map[advise.Change]int {
	n := map[advise.Change]int{}
	for _, x := range c.Contrasts {
		n[x.Change]++
	}
	return n
}

// Text writes the comparison for a terminal.
func (c Compared) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", c.verdict())
	wrap(&b, fmt.Sprintf("old: %s; new: %s. New over old, %.0f %% intervals (Welch on logarithms), p by Holm over %d figures", c.Old, c.New, 100*c.Confidence, len(c.Contrasts)), "  ")
	b.WriteByte('\n')
	c.conditions(&b)
	c.table(&b)
	for _, d := range c.Differences {
		wrap(&b, "! the set-up differs: "+d, "  ")
	}
	for _, list := range []struct {
		names []string
		where string
	}{{c.OnlyOld, c.Old}, {c.OnlyNew, c.New}} {
		if len(list.names) > 0 {
			wrap(&b, fmt.Sprintf("! only in %s, so not compared: %s", list.where, strings.Join(list.names, ", ")), "  ")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// conditions says of each treatment what became of each condition.
func (c Compared) conditions(b *strings.Builder) {
	if len(c.Outcomes) == 0 {
		return
	}
	rows := [][]string{{"condition", "treatment", "side", "old", "new", "new/old", "interval", "verdict"}}
	for _, o := range c.Outcomes {
		rows = append(rows, []string{o.Condition.Text, shorten(o.Contrast.Treatment, 24), string(o.Contrast.Side), Format(o.Contrast.Old, o.Contrast.Unit), Format(o.Contrast.New, o.Contrast.Unit),
			ratioText(o.Contrast.Ratio.Estimate), ratioRange(o.Contrast.Ratio), outcomeWord(o)})
	}
	writeColumns(b, rows)
	for _, o := range c.Outcomes {
		if o.Verdict == stat.Undecided {
			wrap(b, fmt.Sprintf("undecided: %s, %s %s: %s", o.Condition.Text, o.Contrast.Treatment, o.Contrast.Side, whatNext(o)), "  ")
		}
	}
	if c.Comparison.Verdict() == stat.Undecided {
		b.WriteByte('\n')
	}
}

func outcomeWord(o advise.Outcome) string {
	switch o.Verdict {
	case stat.Confirmed:
		return "met"
	case stat.Contradicted:
		return "excluded"
	}
	return "undecided"
}

func whatNext(o advise.Outcome) string {
	switch {
	case o.Contrast.Doubt != "":
		return o.Contrast.Doubt
	case o.Needed > 0:
		return fmt.Sprintf("about %d trials a side would tell (there are %d and %d)", max(o.Needed, o.Contrast.Trials[0]+1, o.Contrast.Trials[1]+1), o.Contrast.Trials[0], o.Contrast.Trials[1])
	}
	return "it lies so near the bound that no affordable number of trials would tell"
}

func (c Compared) table(b *strings.Builder) {
	rows := [][]string{{"figure", "old", "new", "new/old", "interval", "p (Holm)", "change"}}
	hidden := 0
	for _, x := range c.Contrasts {
		if !c.All && (x.Change == advise.Equal || x.Change == advise.Same || x.Change == advise.Unknown) {
			hidden++
			continue
		}
		rows = append(rows, []string{fmt.Sprintf("%s %s, %s", x.Treatment, x.Response, x.Side), Format(x.Old, x.Unit), Format(x.New, x.Unit), ratioText(x.Ratio.Estimate), ratioRange(x.Ratio), pText(x.PHolm), changeWord(x, c.Margin)})
	}
	if len(rows) > 1 {
		writeColumns(b, rows)
	}
	if hidden > 0 {
		n := c.count()
		wrap(b, fmt.Sprintf("%d figures equal within %g %%, %d undecided; --all shows them", n[advise.Equal]+n[advise.Same], 100*c.Margin, n[advise.Unknown]), "  ")
	}
	for _, x := range c.Contrasts {
		if c.All && x.Doubt != "" {
			wrap(b, fmt.Sprintf("! %s %s, %s: %s", x.Treatment, x.Response, x.Side, x.Doubt), "  ")
		}
	}
}

func changeWord(x advise.Contrast, margin float64) string {
	if x.Change == advise.Equal {
		return fmt.Sprintf("equal ±%g%%", 100*margin)
	}
	return string(x.Change)
}

// ratioText prints a ratio with as many digits as tell it from 1.
func ratioText(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	if v > 0.5 && v < 2 {
		return fmt.Sprintf("%.3f", v)
	}
	return significant(v)
}

func ratioRange(c stat.Comparison) string {
	if math.IsNaN(c.Lo) || math.IsNaN(c.Hi) {
		return "–"
	}
	if c.Lo == c.Hi {
		return "no spread"
	}
	return ratioText(c.Lo) + " to " + ratioText(c.Hi)
}

// JSON writes the whole comparison.
func (c Compared) JSON(w io.Writer) error {
	type contrast struct {
		Treatment string        `json:"treatment"`
		Side      string        `json:"side"`
		Response  string        `json:"response"`
		Figure    string        `json:"figure"`
		Unit      string        `json:"unit"`
		Old       stat.Number   `json:"old"`
		New       stat.Number   `json:"new"`
		Trials    [2]int        `json:"trials"`
		Ratio     stat.Number   `json:"ratio"`
		RatioCI   stat.Interval `json:"ratio_ci"`
		PHolm     stat.Number   `json:"p_holm"`
		Change    string        `json:"change"`
		Doubt     string        `json:"doubt,omitempty"`
	}
	of := func(x advise.Contrast) contrast {
		return contrast{x.Treatment, string(x.Side), x.Response, x.Figure, x.Unit, stat.Number(x.Old), stat.Number(x.New), x.Trials, stat.Number(x.Ratio.Estimate),
			stat.Interval{x.Ratio.Lo, x.Ratio.Hi}, stat.Number(x.PHolm), string(x.Change), x.Doubt}
	}
	type outcome struct {
		Condition string   `json:"condition"`
		Verdict   string   `json:"verdict"` // met, excluded, undecided
		Needed    int      `json:"trials_needed,omitempty"`
		Contrast  contrast `json:"contrast"`
	}
	out := struct {
		Old         string     `json:"old"`
		New         string     `json:"new"`
		Verdict     string     `json:"verdict"` // worse, good, undecided; empty without conditions
		Margin      float64    `json:"margin"`
		Conditions  []outcome  `json:"conditions"`
		Contrasts   []contrast `json:"contrasts"`
		OnlyOld     []string   `json:"only_old"`
		OnlyNew     []string   `json:"only_new"`
		Differences []string   `json:"setup_differences"`
	}{c.Old, c.New, verdictWord(c.Comparison.Verdict()), c.Margin, []outcome{}, []contrast{}, orEmpty(c.OnlyOld), orEmpty(c.OnlyNew), orEmpty(c.Differences)}
	for _, o := range c.Outcomes {
		out.Conditions = append(out.Conditions, outcome{o.Condition.Text, outcomeWord(o), o.Needed, of(o.Contrast)})
	}
	for _, x := range c.Contrasts {
		out.Contrasts = append(out.Contrasts, of(x))
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func verdictWord(v stat.Verdict) string {
	return map[stat.Verdict]string{stat.Confirmed: "worse", stat.Contradicted: "good", stat.Undecided: "undecided"}[v]
}

func orEmpty(s []string) []string { return append([]string{}, s...) }

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *junitText `xml:"failure"`
	Skipped *junitText `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

// JUnit writes a test case for each condition and treatment: a failure where it
// is met, skipped where it is undecided. Without conditions there is one for
// each figure, and none fails.
func (c Compared) JUnit(w io.Writer) error {
	s := junitSuite{Name: "edgegauge compare " + c.Old + " " + c.New}
	for _, o := range c.Outcomes {
		x := o.Contrast
		k := junitCase{Class: o.Condition.Text, Name: fmt.Sprintf("%s, %s", x.Treatment, x.Side), Out: sentence(x) + ": " + outcomeWord(o)}
		switch o.Verdict {
		case stat.Confirmed:
			k.Failure = &junitText{sentence(x)}
			s.Failures++
		case stat.Undecided:
			k.Skipped = &junitText{"undecided: " + whatNext(o)}
			s.Skipped++
		}
		s.Cases = append(s.Cases, k)
	}
	if len(c.Outcomes) == 0 {
		for _, x := range c.Contrasts {
			s.Cases = append(s.Cases, junitCase{Class: x.Response, Name: fmt.Sprintf("%s, %s", x.Treatment, x.Side), Out: sentence(x) + ": " + changeWord(x, c.Margin)})
		}
	}
	s.Tests = len(s.Cases)
	all := struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}{Suites: []junitSuite{s}}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func sentence(x advise.Contrast) string {
	return fmt.Sprintf("%s of %s at the %s: %s before, %s now, ratio %s (%s)", words(x.Response), x.Treatment, x.Side, Format(x.Old, x.Unit), Format(x.New, x.Unit), ratioText(x.Ratio.Estimate), ratioRange(x.Ratio))
}
