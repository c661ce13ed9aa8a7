package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/battery"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
)

// Joules says what the joules of results stand for in a forecast.
type Joules string

// The meanings of joules.
const (
	OfProcessor Joules = "processor" // of the device without its radio
	OfExchange  Joules = "exchange"  // of the device with its radio, while a request is under way
	NoJoules    Joules = "none"      // they are not used
)

// Forecasts are the forecasts of results, treatment by treatment.
type Forecasts struct {
	Conditions battery.Conditions
	Rows       []ForecastRow // the longest life first; then those that leave connecting out; without a forecast last
	Fleet      *Fleet        // nil: nothing is asked of many devices
	Each       bool          // Text says of each treatment what its energy goes into, not of the first alone
	Warnings   []string
}

// A ForecastRow is the forecast of one treatment.
type ForecastRow struct {
	Name   string
	Levels []string // of the treatment
	battery.Forecast
	Notes []string // what the forecast rests on
	// Unconnected says that reports connect and the time of that is not known: the life is at most the forecast.
	Unconnected bool
	// Silent are parts that are counted as 0, since neither the radio's file nor the user states them: likewise.
	Silent []string
	Err    error // there is none, and why

	trials []battery.Traffic
	basis  basis
}

// Forecast forecasts the battery's life with each treatment, floors aside. If some
// were measured over a link of the radio's name, these alone.
func (r *Report) Forecast(c battery.Conditions, joules Joules) Forecasts {
	out := Forecasts{Conditions: c}
	over := func(t Treatment) bool { return t.setup != nil && t.setup.Link.Text == c.Radio.Name }
	some := slices.ContainsFunc(r.Treatments, func(t Treatment) bool { return over(t) && !r.isFloor(t.Stack) })
	stated := slices.ContainsFunc(c.Set, func(f battery.Figure) bool { return f.Key == "radio.wait" })
	for i, t := range r.Treatments {
		if r.isFloor(t.Stack) || some && !over(t) {
			continue
		}
		row := ForecastRow{Name: t.Name(), Levels: t.Levels}
		var trials []battery.Traffic
		if r.noneValid(i) {
			row.Err = errors.New(NoValidTrial)
		} else {
			trials, row.Notes, row.Unconnected, row.Err = r.traffic(i, c.Radio.Name, joules, stated)
		}
		if row.Err == nil {
			row.Forecast, row.Err = battery.Predict(trials, c)
			row.trials, row.basis = trials, r.basisOf(i, trials[0], over(t), row.Unconnected)
		}
		if row.Err == nil {
			row.silent(c)
		}
		if row.Err == nil && !some {
			row.Notes = append(row.Notes, otherLink+c.Radio.Name+": retransmissions and acknowledgement bytes are those of "+
				"that link")
		}
		out.Rows = append(out.Rows, row)
	}
	out.Sort()
	return out
}

// mayBeSilent are the parts of every report over a radio that a file of one's own may leave out.
var mayBeSilent = []struct {
	key, part, until string
	inWhole          bool     // joules of whole exchanges have it
	of               []string // what it is a figure of: where one of these is 0, or stands nowhere, it is not asked for
}{
	{"radio.setup_time", "waking and attaching", "", true, nil},
	{"radio.setup_power", "the power of waking and attaching", "", true, []string{"radio.setup_time"}},
	{"radio.wait", "waiting for the response", ", and it was not measured over a link of the radio's name", true, nil},
	{"radio.inactivity", "being connected until the release", "", false, nil},
	{"radio.drx_on", "receiving in cycles", "", false, []string{"radio.drx_cycle", "radio.inactivity"}},
	{"radio.paging_on", "listening for pages", "", false, []string{"radio.paging_cycle", "radio.active"}},
}

// silent finds the parts that nobody states nor has measured.
func (r *ForecastRow) silent(c battery.Conditions) {
	measured := !slices.ContainsFunc(r.trials, func(t battery.Traffic) bool { return math.IsNaN(t.Took) })
	value := map[string]float64{}
	for _, f := range slices.Concat(c.Radio.Figures, c.Set) {
		value[f.Key] = f.Value
	}
	for _, x := range mayBeSilent {
		_, stated := value[x.key]
		if stated || x.until != "" && measured || x.inWhole && r.trials[0].Whole ||
			slices.ContainsFunc(x.of, func(key string) bool { return value[key] == 0 }) {
			continue
		}
		r.Silent = append(r.Silent, x.part)
		r.Notes = append(r.Notes, fmt.Sprintf("%s%s: nobody states %s%s. Write it in radios/%s.yaml, or --set %s=…",
			silentPart, x.part, x.key, x.until, c.Radio.Name, x.key))
	}
}

// lacks are the parts that are left out.
func (r ForecastRow) lacks() []string {
	if r.Unconnected {
		return append([]string{"connecting"}, r.Silent...)
	}
	return r.Silent
}

// atMost says that the life is shorter than the forecast, by nobody knows how much.
func (r ForecastRow) atMost() bool { return len(r.lacks()) > 0 }

// Need is the need on these forecasts.
func (f Forecasts) Need(n battery.Need) advise.Need {
	return advise.Need{Judge: func(levels []string) advise.Check {
		const unit = "years"
		term, year := advise.Term{Response: "battery", Figure: "mean"}, battery.Year.Seconds()
		k := advise.Check{Verdict: stat.Undecided, Figure: advise.Estimate{Term: term, Unit: unit, Modelled: true},
			Requirement: advise.Condition{Term: term, Text: n.Text, Less: !n.More, Bound: n.Bound / year}}
		i := slices.IndexFunc(f.Rows, func(r ForecastRow) bool { return slices.Equal(r.Levels, levels) })
		if i < 0 {
			k.Doubt = "it was not measured over " + f.Conditions.Radio.Name
			return k
		}
		r := f.Rows[i]
		k.Figure.AtMost = r.atMost()
		k.Figure.Center = stat.Summary{N: r.Trials, Center: r.Life / year, Lo: r.Lo / year, Hi: r.Hi / year,
			Confidence: f.Conditions.Confidence, Method: "modelled"}
		switch {
		case errors.Is(r.Err, battery.ErrPulse) || errors.Is(r.Err, battery.ErrBusy):
			k.Verdict, k.Doubt = stat.Contradicted, r.Err.Error()
		case r.Err != nil:
			k.Doubt = r.Err.Error()
		default:
			switch k.Verdict = n.Verdict(r.Forecast); {
			case r.single():
				k.Verdict = stat.Undecided
				k.Doubt = "one trial does not show how far trials differ; run at least 2, preferably 10"
			case r.atMost() && k.Verdict != stat.Undecided && (k.Verdict == stat.Confirmed) == n.More:
				k.Verdict = stat.Undecided
				k.Doubt = "the forecast leaves " + list(r.lacks(), mostNames) + " out; edgegauge forecast says what to measure"
			case k.Verdict == stat.Undecided:
				k.Doubt = fmt.Sprintf("modelled as %s to %s; edgegauge forecast says which figures to state more exactly",
					LifeText(r.Lo), LifeText(r.Hi))
			}
		}
		return k
	}}
}

// Has reports whether there is a forecast, or why there is none, of one of the series.
func (f Forecasts) Has(all []advise.Series) bool {
	return slices.ContainsFunc(all, func(s advise.Series) bool {
		return slices.ContainsFunc(f.Rows, func(r ForecastRow) bool { return slices.Equal(r.Levels, s.Levels) })
	})
}

// Sort puts the longest life first, of equal ones, as the shelf life makes them, the least power, then those that leave
// a part out, whose life may be far shorter, and last what has no forecast.
func (f *Forecasts) Sort() {
	place := func(r ForecastRow) int {
		switch {
		case r.Err != nil:
			return 2
		case r.atMost():
			return 1
		}
		return 0
	}
	slices.SortStableFunc(f.Rows, func(a, b ForecastRow) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(b.Life, a.Life), cmp.Compare(a.Watts, b.Watts))
	})
}

// LifeText is a time in the unit that people plan in.
func LifeText(s float64) string {
	for _, u := range []struct {
		unit string
		s    float64
	}{{" years", battery.Year.Seconds()}, {" days", 86400}, {" h", 3600}, {" min", 60}} {
		if s >= u.s {
			return significant(s/u.s) + u.unit
		}
	}
	return significant(s) + " s"
}

// life is the forecast life, in words.
func (r ForecastRow) life() string {
	if r.atMost() {
		return "at most " + LifeText(r.Life)
	}
	return LifeText(r.Life)
}

// within is the interval of the life, in words, after those that say that it is of a bound.
func (r ForecastRow) within(bound string) string {
	text := LifeText(r.Lo) + " to " + LifeText(r.Hi)
	if r.atMost() { // the life itself lies anywhere below
		return bound + text
	}
	return text
}

// title says what is forecast, and that it is no measurement.
func (f Forecasts) title() string {
	return fmt.Sprintf("MODELLED, not measured: how long %s lasts with %s and a report every %s",
		f.Conditions.Battery.Name, f.Conditions.Radio.Name, study.DurationText(f.Conditions.Period))
}

// Text writes the forecasts for a terminal.
func (f Forecasts) Text(w io.Writer) error {
	var b strings.Builder
	if f.Conditions.Battery.Name != "" {
		f.lives(&b)
	}
	if f.Fleet != nil {
		f.Fleet.text(&b)
	}
	for _, l := range f.Warnings {
		wrap(&b, "! "+l, "  ")
	}
	return PrintText(w, b.String())
}

func (f Forecasts) lives(b *strings.Builder) {
	wrap(b, f.title()+".", "  ")
	b.WriteByte('\n')
	rows := [][]string{{"treatment", "life", percentOf(f.Conditions.Confidence) + " interval", "mean power", "peak", ""}}
	for i, r := range f.Rows {
		if r.Err == nil {
			text := ""
			if x, ok := f.toFirst(i); ok {
				rows[0][5] = "to the first"
				text = toFirstText(x)
			}
			rows = append(rows, []string{r.Name, r.life(), r.within("≤ "), Format(r.Watts, "W"),
				significant(1e3*r.Peak) + " mA", text})
		}
	}
	if len(rows) > 1 {
		writeColumns(b, rows)
	}
	for i, r := range f.Rows {
		if r.Err == nil && (i == 0 || f.Each) {
			r.text(b, len(f.Rows) > 1)
		}
	}
	for _, l := range f.notes() {
		wrap(b, l, "  ")
	}
	if f.Fleet != nil {
		b.WriteByte('\n')
	}
}

// barWidth is the longest bar, in characters.
const barWidth = 40

func (r ForecastRow) text(b *strings.Builder, named bool) {
	head := "Where the energy goes"
	if named {
		head = r.Name + ": where the energy goes"
	}
	wrap(b, head, "  ")
	width := 0
	for _, p := range r.Parts {
		width = max(width, len(p.Name))
	}
	for _, p := range r.Parts {
		fmt.Fprintf(b, "  %s  %5.1f %%  %s\n", pad(p.Name, width, false), 100*p.Share,
			strings.Repeat("█", int(math.Round(barWidth*p.Share))))
	}
	b.WriteByte('\n')
	atMost := ""
	if r.atMost() {
		atMost = ", at most"
	}
	rows := [][]string{{"what to change first", "now", "change", "life" + atMost}}
	for _, l := range r.first() {
		rows = append(rows, []string{l.Key, figureText(l.Value, l.Unit), changeText(l.Factor),
			fmt.Sprintf("%s times as long: %s", ratioText(l.Changed/r.Life), LifeText(l.Changed))})
	}
	writeColumns(b, rows)
	if open := r.open(); len(open) > 0 {
		rows = [][]string{{"least certain", "limits", "life at its limits" + atMost}}
		for _, l := range open {
			rows = append(rows, []string{l.Key, figureText(l.Low, l.Unit) + " to " + figureText(l.High, l.Unit),
				atLimit(l.Lo) + " to " + LifeText(l.Hi)})
		}
		writeColumns(b, rows)
	}
}

// atLimit is the shorter life at a figure's limits.
func atLimit(life float64) string {
	if life == 0 {
		return "none (does not work)"
	}
	return LifeText(life)
}

// mostRows is how many figures a table names.
const mostRows = 5

// first are the changes that gain most, those of the period and of the bytes among them.
func (r ForecastRow) first() []battery.Lever {
	all := append([]battery.Lever{r.Period, r.Bytes}, r.Levers...)
	all = slices.DeleteFunc(all, func(l battery.Lever) bool { return !(l.Changed > r.Life*1.001) })
	slices.SortStableFunc(all, func(a, b battery.Lever) int { return cmp.Compare(b.Changed, a.Changed) })
	return all[:min(mostRows, len(all))]
}

// open are the figures whose limits move the life most.
func (r ForecastRow) open() []battery.Lever {
	all := slices.DeleteFunc(slices.Clone(r.Levers), func(l battery.Lever) bool { return !(l.Hi > l.Lo*1.001) })
	slices.SortStableFunc(all, func(a, b battery.Lever) int { return cmp.Compare(b.Hi/b.Lo, a.Hi/a.Lo) })
	return all[:min(mostRows, len(all))]
}

func changeText(factor float64) string {
	if factor < 1 {
		return "halved"
	}
	return "doubled"
}

// figureText is a figure in the unit that it is stated in.
func figureText(v float64, unit string) string {
	switch unit {
	case "s":
		if v >= 60 {
			return LifeText(v)
		}
	case "bit/s":
		return significant(v/1e3) + " kbit/s"
	case "A", "Ah":
		return significant(1e3*v) + " m" + unit
	case "1":
		return significant(100*v) + " %"
	}
	return Format(v, unit)
}

// FileNotes are what the files of the radio and of the battery say to whoever forecasts with them.
func (f Forecasts) FileNotes() []string {
	return slices.DeleteFunc([]string{f.Conditions.Radio.Says(), f.Conditions.Battery.Says()},
		func(text string) bool { return text == "" })
}

const drawsNothing = "apart from its radio, the device is assumed to draw nothing while it sleeps; if it does, add " +
	"--set device.sleep=…"

// drawsNothing reports whether nobody stated what the device draws without its radio.
func (r ForecastRow) drawsNothing() bool {
	return slices.ContainsFunc(r.Levers, func(l battery.Lever) bool { return l.Key == "device.sleep" && l.High == 0 })
}

// How notes begin that are caveats.
const (
	otherLink       = "measured over a link other than "
	keptOpen        = "the connection was kept open, so no handshake is included"
	leftOut         = "connecting is left out of the wait"
	silentPart      = "left out, so the life is at most this: "
	nothingReceived = "bytes: response_size was not measured, so nothing is received"
)

// Caveats are why lives may be shorter than the forecast and its interval, for who looks at verdicts on them alone.
func (f Forecasts) Caveats() []string {
	out := f.FileNotes()
	if slices.ContainsFunc(f.Rows, func(r ForecastRow) bool { return r.Err == nil && r.drawsNothing() }) {
		out = append(out, drawsNothing)
	}
	if slices.ContainsFunc(f.Rows, func(r ForecastRow) bool { return r.Err == nil && !r.basis.wire }) {
		out = append(out, "the battery's life is with the bytes of bodies alone: headers, acknowledgements and "+
			"retransmissions were not measured (add wire_bytes, packets and retransmissions to the study's responses)")
	}
	whose, forecast := f.whose()
	for _, r := range f.Rows {
		for _, n := range r.Notes {
			if r.Err != nil || !slices.ContainsFunc([]string{otherLink, keptOpen, leftOut, silentPart, nothingReceived},
				func(begins string) bool { return strings.HasPrefix(n, begins) }) {
				continue
			}
			if len(whose[n]) < forecast {
				n = list(whose[n], mostConcerned) + ": " + n
			}
			if n = "the battery's life: " + n; !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// whose are the treatments of each note, and forecast is how many have a forecast.
func (f Forecasts) whose() (of map[string][]string, forecast int) {
	of = map[string][]string{}
	for _, r := range f.Rows {
		if r.Err == nil {
			forecast++
			for _, n := range r.Notes {
				of[n] = append(of[n], r.Name)
			}
		}
	}
	return of, forecast
}

// mostConcerned is how many treatments a note names.
const mostConcerned = 20

// notes say what the forecasts rest on, each once and of which treatments where not of all, and why there is none.
func (f Forecasts) notes() []string {
	var out []string
	say := func(about, text string) {
		if about != "" && len(f.Rows) > 1 {
			text = about + ": " + text
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if len(f.Rows) > 1 && !f.Each && f.Rows[1].Err == nil {
		out = append(out, "--each shows this for each treatment.")
	}
	whose, forecast := f.whose()
	if unlike := f.unlike(); len(unlike) > 0 {
		say("", list(unlike, mostConcerned)+": not set against "+f.Rows[0].Name+", since one has measured what the other "+
			"has not (the lines below say what): their order may turn with that")
	}
	if bounds := f.bounds(); len(bounds) > 0 {
		say("", list(bounds, mostConcerned)+": not set against "+f.Rows[0].Name+", since what connecting takes is left out "+
			"of both: their order may turn with that")
	}
	if singles := f.singles(); len(singles) > 0 {
		say(list(singles, mostConcerned), "one trial does not show how far trials differ: the interval has the limits of "+
			"figures alone, it meets no need, and no ratio to another life is known; run at least 2, preferably 10")
	}
	for _, r := range f.Rows {
		if r.Err != nil {
			say(r.Name, r.Err.Error())
			continue
		}
		for _, n := range r.Notes {
			if len(whose[n]) < forecast { // else it is of all
				n = list(whose[n], mostConcerned) + ": " + n
			}
			say("", n)
		}
		if r.Busy {
			say(r.Name, "the connection is not released before the next report: the radio never sleeps. The model still "+
				"sets up a connection for each report")
		}
		if r.Impossible > 0 {
			say(r.Name, fmt.Sprintf("with %s %% of the values that its figures may have, the device does not work: the "+
				"battery cannot give the radio's pulse, or a report takes longer than the period. These count as a life of 0",
				significant(100*r.Impossible)))
		}
		if r.Shelf {
			say(r.Name, "the battery reaches the end of its shelf life before the device has drained it")
		}
		if r.drawsNothing() {
			say("", drawsNothing)
		}
	}
	out = append(out, f.FileNotes()...)
	return append(out, fmt.Sprintf("The interval includes the variation between trials, and the limits of the "+
		"figures in radios/%s.yaml and batteries/%s.yaml, which name their sources; many are assumed. It does not "+
		"include what the model leaves out (doc/method.md).",
		f.Conditions.Radio.Name, f.Conditions.Battery.Name))
}
