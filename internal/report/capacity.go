package report

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"edgegauge.example/edgegauge/internal/advise/slo"
	"edgegauge.example/edgegauge/internal/capacity"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
)

// A Capacity tells what a search for the rate that a server bears came to.
type Capacity struct{ capacity.Answer }

// Headline is the answer in a sentence.
func (c *Capacity) Headline() string {
	k, length := c.Step.Capacity, study.DurationText(c.Length)
	kept, broken := c.Rough()
	switch {
	case c.Step.Stage == stat.AboveMost:
		return fmt.Sprintf("The server's capacity is at least %s requests/s, by %d trials of %s: the search went no "+
			"higher.", significant(kept), stat.CapacitySure, length)
	case c.Step.Stage == stat.BelowLeast:
		return fmt.Sprintf("The server does not keep to this even at %s requests/s, by %d trials of %s.",
			significant(c.Least), stat.CapacitySure, length)
	case !c.Found() && broken == 0:
		return fmt.Sprintf("Not found within the budget of trials: single trials of %s kept to this up to %s requests/s, "+
			"and none broke it.", length, significant(kept))
	case !c.Found() && kept == 0:
		return fmt.Sprintf("Not found within the budget of trials: single trials of %s broke this down to %s requests/s, "+
			"and none kept to it.", length, significant(broken))
	case !c.Found() && kept < broken:
		return fmt.Sprintf("Not found within the budget of trials: between %s and %s requests/s by single trials of %s.",
			significant(kept), significant(broken), length)
	case !c.Found():
		return fmt.Sprintf("Not found within the budget of trials: of single trials of %s, some broke it from %s requests/s "+
			"on, and some kept to it up to %s.", length, significant(broken), significant(kept))
	}
	as := supported(k.Lo, k.Hi)
	return fmt.Sprintf("The server's capacity is %s requests/s (%s to %s, %s interval) in trials of %s.",
		significant(as(k.Rate)), significant(as(k.Lo)), significant(as(k.Hi)), percentOf(c.Confidence), length)
}

// devices are those that a rate is enough for.
func (c *Capacity) devices(rate float64) float64 { return math.Floor(rate * c.Period.Seconds()) }

// inDevices is the headline in devices; empty: no period was asked.
func (c *Capacity) inDevices() string {
	k := c.Step.Capacity
	kept, broken := c.Rough()
	what := ""
	switch {
	case c.Period == 0:
		return ""
	case c.Found():
		lo, hi := c.devices(k.Lo), c.devices(k.Hi)
		as := supported(lo, hi)
		what = fmt.Sprintf("%.0f devices (%.0f to %.0f)", as(c.devices(k.Rate)), as(lo), as(hi))
	case c.Step.Stage == stat.AboveMost, broken == 0:
		what = fmt.Sprintf("at least %.0f devices", c.devices(kept))
	case c.Step.Stage == stat.BelowLeast:
		what = fmt.Sprintf("fewer than %.0f devices", c.devices(c.Least))
	case kept == 0:
		what = fmt.Sprintf("fewer than %.0f devices", c.devices(broken))
	default:
		what = fmt.Sprintf("roughly between %.0f and %.0f devices", c.devices(min(kept, broken)),
			c.devices(max(kept, broken)))
	}
	return fmt.Sprintf("That is %s that send once in %s.", what, study.DurationText(c.Period))
}

// Says are the sentences below the headline.
func (c *Capacity) Says() []string {
	var out []string
	k := c.Step.Capacity
	if devices := c.inDevices(); devices != "" {
		out = append(out, devices)
	}
	if len(c.SLO) > 1 && k.Trials > 0 {
		out = append(out, fmt.Sprintf("The condition that limits it is %s.", c.Binding().Text))
	}
	if c.Found() && c.Step.Stage == stat.Exhausted {
		ended := "±"
		if lopsided(k.Rate, k.Lo, k.Hi) {
			ended = "a half-width of "
		}
		out = append(out, fmt.Sprintf("The budget of trials ended at %s%.1f %%; ±%.1f %% was asked for.", ended,
			100*(k.Hi-k.Lo)/2/k.Rate, 100*c.Precision))
	}
	if n := len(c.Trials); c.Step.Stage == stat.Exhausted && n < c.Budget {
		out = append(out, fmt.Sprintf("The search ended after %s of %d: the next block needs %d.",
			plural.Count(n, "trial"), c.Budget, stat.CapacityBlock))
	}
	if c.Found() && !k.Fits() {
		out = append(out, fmt.Sprintf("The trials do not follow a line near the knee (p = %.2g), so the interval may be too "+
			"narrow. %s.", k.Bent, byCount(k)))
	}
	out = append(out, fmt.Sprintf("This holds for trials of %s with %s arrivals and at most %s under way; in longer "+
		"trials a queue grows further.", study.DurationText(c.Length), c.Arrival, plural.Count(c.InFlight, "request")))
	if c.Driver > 0 {
		out = append(out, fmt.Sprintf("The driver itself does %s requests/s against %s; the search, which ends at half of "+
			"that, went up to %s.", significant(c.Driver), c.Floor, significant(c.Highest())))
	} else {
		out = append(out, "The highest rate of the driver was not measured, since the driver is not part of edgegauge.")
	}
	return append(out, c.invalid()...)
}

// invalid says how many attempts were not valid, of how many trials, and why.
func (c *Capacity) invalid() []string {
	if c.Invalid == 0 {
		return nil
	}
	const most = 3 // reasons
	out := []string{fmt.Sprintf("%s of %s%s invalid and repeated (logs are below %s):",
		plural.Count(c.Invalid, "attempt"), plural.Count(c.Refused, "trial"), plural.Verb(c.Invalid, " was", " were"), c.Dir)}
	for i, why := range c.Why {
		if i == most {
			return append(out, fmt.Sprintf("… and those of %s; attempts in ledger.sqlite has them all.",
				plural.Count(len(c.Why)-most, "further trial")))
		}
		out = append(out, why)
	}
	return out
}

// byCount says up to which rate most trials kept to the objective, and from which on most broke it: 0 is none.
func byCount(k stat.Capacity) string {
	below, above := significant(k.Below), significant(k.Above)
	switch {
	case k.Below > 0 && k.Above > 0:
		return fmt.Sprintf("By count, most trials kept to it up to %s requests/s, and most broke it from %s on", below, above)
	case k.Below > 0:
		return "By count, most trials kept to it up to " + below + " requests/s, and at no higher rate did most break it"
	case k.Above > 0:
		return "By count, most trials broke it from " + above + " requests/s on, and at no lower rate did most keep to it"
	}
	return "By count, at no rate below the capacity did most trials keep to it, and at no rate above it did most break it"
}

// figure is a condition's figure in words.
func capacityFigure(c slo.Condition, v float64) string {
	switch {
	case c.Metric == slo.Failed:
		return significant(100*v) + " %"
	case math.IsInf(v, 1):
		return "none answered"
	}
	return Format(v, "s")
}

// Text writes the answer for people.
func (c *Capacity) Text(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s\n\n%s\n", c.Study, c.SLO, c.Headline())
	for _, s := range c.Says() {
		fmt.Fprintln(w, s)
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "block\trequests/s\t")
	for _, k := range c.SLO {
		fmt.Fprintf(tw, "%s\t", strings.TrimSpace(strings.Split(k.Text, "<")[0]))
	}
	fmt.Fprintln(tw, "kept\tcounts\t")
	for _, t := range c.Trials {
		fmt.Fprintf(tw, "%d\t%s\t", t.Block, significant(t.Rate))
		for i, k := range t.Kept {
			fmt.Fprintf(tw, "%s\t", capacityFigure(c.SLO[i], k.Figure))
		}
		fmt.Fprintf(tw, "%s\t%s\t\n", yesNo(t.Met()), yesNo(t.Counts))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\nkept: the trial kept to all conditions. counts: the answer comes from it; the "+
		"others only found the place.")
	return err
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// stages are the words of JSON.
var stages = map[stat.CapacityStage]string{stat.Bracketing: "unfinished", stat.Measuring: "unfinished",
	stat.Precise: "precise", stat.Exhausted: "budget ended", stat.AboveMost: "above the highest rate",
	stat.BelowLeast: "below the lowest rate"}

// capacityFormat is the version of what JSON writes.
const capacityFormat = 1

// JSON writes the answer for programs.
func (c *Capacity) JSON(w io.Writer) error {
	type keptJSON struct {
		Condition string      `json:"condition"`
		Value     stat.Number `json:"value"` // s, or a share; null: too many requests failed
	}
	type trialJSON struct {
		Block  int        `json:"block"`
		Rate   float64    `json:"rate"`
		Kept   bool       `json:"kept"`
		Counts bool       `json:"counts"`
		Of     []keptJSON `json:"of"`
	}
	kept, broken := c.Rough()
	var fits *bool
	if k := c.Step.Capacity; k.Trials > 0 {
		fits = new(k.Fits())
	}
	out := struct {
		Format     int           `json:"format"`
		Study      string        `json:"study"`
		Results    string        `json:"results"`
		SLO        string        `json:"slo"`
		Ended      string        `json:"ended"`
		Rate       stat.Number   `json:"requests_per_s"`
		Interval   stat.Interval `json:"interval"`
		Confidence float64       `json:"confidence"`
		Period     float64       `json:"period_s,omitempty"`
		Devices    stat.Number   `json:"devices"`
		DevicesIn  stat.Interval `json:"devices_interval"`
		Binding    string        `json:"binding,omitempty"`
		Fits       *bool         `json:"fits"` // null: no line was fitted
		Length     float64       `json:"trial_s"`
		InFlight   int           `json:"in_flight"`
		Arrival    string        `json:"arrival"`
		Bracket    []float64     `json:"bracket"` // highest rate of one trial that kept to it, lowest that did not; 0: none
		Driver     float64       `json:"driver_requests_per_s"`
		Trials     []trialJSON   `json:"trials"`
		Invalid    int           `json:"invalid"`        // attempts
		Refused    int           `json:"invalid_trials"` // that these were of
		Says       []string      `json:"says"`
	}{capacityFormat, c.Study, c.Dir, c.SLO.String(), stages[c.Step.Stage], stat.Number(math.NaN()),
		stat.Interval{math.NaN(), math.NaN()}, c.Confidence, c.Period.Seconds(), stat.Number(math.NaN()),
		stat.Interval{math.NaN(), math.NaN()}, "", fits, c.Length.Seconds(), c.InFlight, c.Arrival,
		[]float64{kept, broken}, c.Driver, []trialJSON{}, c.Invalid, c.Refused,
		append([]string{c.Headline()}, c.Says()...)}
	if k := c.Step.Capacity; c.Found() {
		out.Rate, out.Interval = stat.Number(k.Rate), stat.Interval{k.Lo, k.Hi}
		if c.Period > 0 {
			out.Devices, out.DevicesIn = stat.Number(c.devices(k.Rate)), stat.Interval{c.devices(k.Lo), c.devices(k.Hi)}
		}
		out.Binding = c.Binding().Text
	}
	for _, t := range c.Trials {
		j := trialJSON{Block: t.Block, Rate: t.Rate, Kept: t.Met(), Counts: t.Counts}
		for i, k := range t.Kept {
			if math.IsInf(k.Figure, 0) {
				k.Figure = math.NaN()
			}
			j.Of = append(j.Of, keptJSON{c.SLO[i].Text, stat.Number(k.Figure)})
		}
		out.Trials = append(out.Trials, j)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// Places of a curve, in px.
const (
	curveHigh = 200
	curveHead = 26
)

// Pictures are the figure of each condition against the rate: a point for each trial, filled
// where it counts, the bound, and the capacity with its interval.
func (c *Capacity) Pictures() []Picture {
	var rates []float64
	for _, t := range c.Trials {
		rates = append(rates, t.Rate)
	}
	x := newAxis(rates)
	var out []Picture
	for i, k := range c.SLO {
		unit, scale := "s", 1.0
		if k.Metric == slo.Failed {
			unit, scale = "%", 100
		}
		values := []float64{k.Bound * scale}
		for _, t := range c.Trials {
			values = append(values, t.Kept[i].Figure*scale)
		}
		y := newAxis(values)
		at := func(v float64) float64 { return curveHead + curveHigh*(1-y.at(v)) }
		p := Picture{ID: fmt.Sprintf("capacity-%d", i+1), Height: curveHead + curveHigh + axisHeight,
			Says: k.Text + " against the rate. " + c.Headline()}
		var b strings.Builder
		fmt.Fprintf(&b, `<text class="fig-name" x="0" y="14">%s</text>`, html.EscapeString(k.Text))
		fmt.Fprintf(&b, `<text class="fig-value" x="100%%" y="14">requests/s offered</text>`)
		if c.Found() {
			lo, mid, hi := x.clamp(c.Step.Capacity.Lo), x.clamp(c.Step.Capacity.Rate), x.clamp(c.Step.Capacity.Hi)
			fmt.Fprintf(&b, `<rect class="fig-band" x="%s" y="%d" width="%s" height="%d"/>`, percent(lo), curveHead,
				percent(hi-lo), curveHigh)
			fmt.Fprintf(&b, `<line class="fig-median" x1="%s" x2="%s" y1="%d" y2="%d"/>`, percent(mid), percent(mid), curveHead,
				curveHead+curveHigh)
		}
		fmt.Fprintf(&b, `<line class="fig-floor" x1="0" x2="100%%" y1="%.1f" y2="%.1f"/>`, at(k.Bound*scale),
			at(k.Bound*scale))
		for _, t := range c.Trials {
			v := t.Kept[i].Figure * scale
			if math.IsInf(v, 0) || y.log && v <= 0 {
				v = map[bool]float64{true: y.hi, false: y.lo}[math.IsInf(v, 0)]
			}
			class := "fig-open"
			if t.Counts {
				class = "fig-front"
			}
			fmt.Fprintf(&b, `<circle class="%s" cx="%s" cy="%.1f" r="4"><title>%s requests/s: %s</title></circle>`, class,
				percent(x.at(t.Rate)), at(v), significant(t.Rate), capacityFigure(k, t.Kept[i].Figure))
		}
		for _, v := range y.ticks() {
			fmt.Fprintf(&b, `<text class="fig-key" x="2" y="%.1f">%s</text>`, at(v)-2, y.label(v, unit))
		}
		x.grid(&b, "1/s", curveHead+curveHigh)
		p.body = b.String()
		out = append(out, p)
	}
	return out
}

// HTML writes the answer as a page that needs nothing else.
func (c *Capacity) HTML(w io.Writer) error {
	style, _ := Assets()
	esc := html.EscapeString
	fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>%s: capacity</title>`+
		`<meta name="viewport" content="width=device-width"><style>%s</style><main><h1>%s: capacity of the server</h1>`+
		"\n<p>%s</p>\n<p><strong>%s</strong></p>\n", esc(c.Study), style, esc(c.Study), esc(c.SLO.String()),
		esc(c.Headline()))
	for _, s := range c.Says() {
		fmt.Fprintf(w, "<p>%s</p>\n", esc(s))
	}
	for _, p := range c.Pictures() {
		if err := p.SVG(w); err != nil {
			return err
		}
	}
	fmt.Fprint(w, "<p>A point is a trial in fresh processes. Filled ones count in the answer; the others only found the "+
		"place. The horizontal line is the bound, the band the interval.</p>\n<table><tr><th>block</th><th>requests/s</th>")
	for _, k := range c.SLO {
		fmt.Fprintf(w, "<th>%s</th>", esc(k.Text))
	}
	fmt.Fprintln(w, "<th>counts</th></tr>")
	for _, t := range c.Trials {
		fmt.Fprintf(w, "<tr><td>%d</td><td>%s</td>", t.Block, significant(t.Rate))
		for i, k := range t.Kept {
			fmt.Fprintf(w, "<td>%s</td>", esc(capacityFigure(c.SLO[i], k.Figure)))
		}
		fmt.Fprintf(w, "<td>%s</td></tr>\n", yesNo(t.Counts))
	}
	_, err := fmt.Fprintln(w, "</table></main></html>")
	return err
}
