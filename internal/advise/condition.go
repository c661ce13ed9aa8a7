package advise

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/meant"
	"edgegauge.example/edgegauge/internal/measure"
)

// A Term names a figure: "rtt", "rtt.p95", "server.cpu".
type Term struct {
	Side     measure.Side // empty: every side that has it
	Response string
	Figure   string // mean, median or p95: of each trial
	Named    bool   // the figure was named
}

func (t Term) String() string {
	s := t.Response
	if t.Side != "" {
		s = string(t.Side) + "." + s
	}
	if t.Figure != "mean" {
		s += "." + t.Figure
	}
	return s
}

// ParseTerm reads [client.|server.]RESPONSE[.mean|.median|.p95].
func ParseTerm(text string) (Term, error) {
	t := Term{Figure: "mean"}
	parts := strings.Split(strings.TrimSpace(text), ".")
	if len(parts) > 1 && (parts[0] == string(measure.Client) || parts[0] == string(measure.Server)) {
		t.Side, parts = measure.Side(parts[0]), parts[1:]
	}
	if len(parts) == 2 {
		if !slices.Contains(stats, parts[1]) {
			return t, fmt.Errorf("%q: unknown figure %q; available: %s", text, parts[1], strings.Join(stats, ", "))
		}
		t.Figure, t.Named, parts = parts[1], true, parts[:1]
	}
	if len(parts) != 1 || parts[0] == "" {
		return t, fmt.Errorf("%q is not a response; write, for example, rtt, rtt.p95 or server.cpu", text)
	}
	r, ok := measure.FindResponse(parts[0])
	if !ok {
		return t, fmt.Errorf("%q: unknown response %q; %s", text, parts[0], responseAdvice(parts[0]))
	}
	if t.Side != "" && !slices.Contains(r.Sides, t.Side) {
		return t, fmt.Errorf("%q: the %s does not measure %s", text, t.Side, r.Name)
	}
	t.Response = r.Name
	return t, nil
}

// responseAdvice says which response a word may stand for.
func responseAdvice(word string) string {
	if means, ok := measure.Synonyms()[strings.ToLower(word)]; ok {
		return meant.Question(means...)
	}
	var names []string
	for _, r := range measure.Responses() {
		names = append(names, r.Name)
	}
	return meant.Advice(word, names, "available: "+strings.Join(names, ", "))
}

// Matches reports whether a series is what the term names.
func (t Term) Matches(s Series) bool {
	return s.Response == t.Response && (t.Side == "" || t.Side == s.Side)
}

// A Condition is a bound on a figure, or on its change.
type Condition struct {
	Term
	Less   bool    // below Bound, else above
	At     bool    // or at Bound, which matters where a figure is exact
	Bound  float64 // in the response's unit; of a change, the ratio
	Change bool    // the bound is on new over old
	Tails  bool    // no figure is named: the bound is on the mean, and tails and spikes count
	// Detect says that the change is looked for rather than the bound: the condition is
	// met by any change beyond doubt that may be as large as the bound.
	Detect bool
	Text   string
}

var conditionForm = lazy.Regexp(`^\s*([a-z0-9_.]+)\s*(<=|>=|<|>)\s*` +
	`([+-]?[0-9.]+(?:e[+-]?[0-9]+)?)\s*([^\s0-9]*)\s*$`)

// ParseChange reads a condition on a change, as "rtt > 5%": more than 5 %
// above the baseline. "throughput < -5%" is more than 5 % below it.
func ParseChange(text string) (Condition, error) {
	c, value, unit, err := parse(text, "rtt > 5%")
	if err != nil {
		return c, err
	}
	if unit != "%" {
		return c, fmt.Errorf("%q: the bound of a change is a percentage; write, for example, 'rtt > 5%%'", text)
	}
	if value <= -100 {
		return c, fmt.Errorf("%q: a value cannot fall by %g %%", text, -value)
	}
	c.Bound, c.Change = 1+value/100, true
	return c, nil
}

// ParseDetect reads the smallest difference of interest: a change such as "rtt > 5%", or "5%" for that of the RTT.
func ParseDetect(text string) (Condition, error) {
	if value, ok := strings.CutSuffix(strings.TrimSpace(text), "%"); ok {
		if _, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			text = "rtt > " + strings.TrimSpace(value) + "%"
		}
	}
	if _, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
		return Condition{}, fmt.Errorf("%q has no unit; write %s%%", text, strings.TrimSpace(text))
	}
	c, err := ParseChange(text)
	if err != nil {
		return c, err
	}
	r, _ := measure.FindResponse(c.Response)
	turned := r.Better() == measure.More && !c.Less || r.Better() == measure.Less && c.Less
	if c.Less != (c.Bound < 1) || c.Bound == 1 || turned {
		return c, fmt.Errorf("%q names no change for the worse to detect; write 'rtt > 5%%' or 'throughput < -5%%'", text)
	}
	c.Detect = true
	return c, nil
}

// ParseRequirement reads a bound on a figure, as "rtt.p95 < 100ms" or
// "peak_rss < 32MB".
func ParseRequirement(text string) (Condition, error) {
	c, value, unit, err := parse(text, "rtt.p95 < 100ms")
	if err != nil {
		return c, err
	}
	r, _ := measure.FindResponse(c.Response)
	factor, ok := measure.Spelled(r.Unit, unit)
	if !ok && unit == "" {
		return c, fmt.Errorf("%q: the bound has no unit; write, for example, '%s%s'", text, strings.TrimSpace(text),
			commonUnit(r.Unit))
	}
	if !ok {
		return c, fmt.Errorf("%q: %s is in %s; write the bound as one of %s", text, c.Response, r.Unit,
			strings.Join(unitNames(r.Unit), ", "))
	}
	c.Bound = value * factor
	if r.AtMostOne() && c.Bound > 1 {
		return c, fmt.Errorf("%q: %s is a share, of 100 %% at most; write, for example, '%s < 5%%'", text, c.Response, c.Term)
	}
	return c, nil
}

func parse(text, example string) (c Condition, value float64, unit string, err error) {
	m := conditionForm().FindStringSubmatch(text)
	if m == nil {
		return c, 0, "", fmt.Errorf("%q is not a condition; write RESPONSE, < or >, and a bound, e.g. '%s'",
			text, example)
	}
	if c.Term, err = ParseTerm(m[1]); err != nil {
		return c, 0, "", err
	}
	if value, err = strconv.ParseFloat(m[3], 64); err != nil {
		return c, 0, "", fmt.Errorf("%q: %q is not a number", text, m[3])
	}
	c.Less, c.At, c.Text = m[2][0] == '<', len(m[2]) == 2, strings.TrimSpace(text)
	c.Tails = !slices.ContainsFunc(stats, func(figure string) bool { return strings.HasSuffix(m[1], "."+figure) })
	return c, value, m[4], nil
}

// commonUnit is the unit that bounds are mostly written in.
func commonUnit(unit string) string {
	switch unit {
	case "s", "J", "W":
		return "m" + unit
	case "B", "B/s":
		return "k" + unit
	}
	return unit
}

func unitNames(unit string) []string {
	var out []string
	for _, s := range measure.Spellings(unit) {
		if s.Name == "" {
			s.Name = "a bare number"
		}
		out = append(out, s.Name)
	}
	return out
}
