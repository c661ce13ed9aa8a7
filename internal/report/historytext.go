package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
)

// A historyRow is one run of a series in words.
type historyRow struct {
	run        int
	value      string
	lo, at, hi float64 // in the series' unit, the 95 % interval of the run
}

// rowsOf are the points of a series with their intervals: from the spread of their trials.
func rowsOf(j history.Judged) []historyRow {
	out := make([]historyRow, len(j.Points))
	for i, p := range j.Points {
		half := stat.HalfWidth(p.SE, p.Trials, history.Confidence)
		r := historyRow{run: p.Run, at: j.At(p.Log), lo: j.At(p.Log - half), hi: j.At(p.Log + half)}
		if j.Linear {
			r.lo = max(0, r.lo)
		}
		r.value = Format(r.at, j.Unit)
		out[i] = r
	}
	return out
}

// MarkWords says a mark in a sentence.
func (h History) MarkWords(j history.Judged, m history.Mark) string {
	at := h.Labels[j.Points[m.At].Run]
	way := "quicker or smaller"
	if m.Worse {
		way = "slower or larger"
	}
	if j.Higher {
		way = map[bool]string{true: "fewer", false: "more"}[m.Worse]
	}
	size := beside(j, m)
	switch m.Kind {
	case history.Machine:
		text := fmt.Sprintf("machine changed with %s: %s. Levels before and after are not compared", at,
			strings.Join(m.Facts, "; "))
		if !math.IsNaN(m.Ratio) {
			text += "; the level is now " + besideWords(j, m.Ratio, "that before")
		}
		return text
	case history.Odd:
		return fmt.Sprintf("odd run %s: %s; one run decides nothing", at, besideWords(j, m.Ratio, "its level"))
	case history.Surroundings:
		return fmt.Sprintf("from %s on %s, %s; but the programs are byte for byte the same, so it is no regression of "+
			"theirs: something around them changed", at, way, size)
	case history.Suspect:
		text := fmt.Sprintf("suspect from %s on: %s, %s", at, way, size)
		if c := m.Confirmation; c != nil {
			text += fmt.Sprintf("; measured again in %s (%s), which cannot tell", plural.Count(c.Blocks, "block"), c.Dir)
			if c.Why != "" {
				text += ": " + c.Why
			}
		} else {
			text += "; not confirmed yet"
		}
		return text
	}
	c := m.Confirmation
	text := fmt.Sprintf("%s from %s on: interleaved in %s (%s) it is %s times the baseline (%s)", c.Verdict, at,
		plural.Count(c.Blocks, "block"), c.Dir, ratioText(c.Ratio.Estimate), ratioRange(c.Ratio))
	if m.Kind == history.Dismissed {
		text = fmt.Sprintf("not confirmed: a suspect from %s on, but interleaved in %s (%s) it is %s times the "+
			"baseline (%s)", at, plural.Count(c.Blocks, "block"), c.Dir, ratioText(c.Ratio.Estimate), ratioRange(c.Ratio))
	}
	return text
}

// A Suspicion is a suspect for the worse and the runs that a confirmation measures again.
type Suspicion struct {
	Old, New Past
	Series   history.Judged
	Mark     history.Mark
}

// Suspicions are those that wait for a confirmation.
func (h History) Suspicions() []Suspicion {
	var out []Suspicion
	for _, j := range h.Series {
		for i, m := range j.Marks {
			if m.Kind != history.Suspect || !m.Worse {
				continue
			}
			to := len(j.Points) // up to the next change
			for _, next := range j.Marks[i+1:] {
				if next.Kind != history.Odd && next.At > m.At {
					to = next.At
					break
				}
			}
			out = append(out, Suspicion{h.Runs[j.Points[m.Since].Run], h.Runs[j.Points[to-1].Run], j, m})
		}
	}
	return out
}

// Command is what measures a suspect again. base names its old version where the results do. Of a service that
// edgegauge does not start, its user must start both versions before.
func (s Suspicion) Command() string {
	if s.New.asking != nil {
		return s.New.asking.ofBoth(s.New.Dir)
	}
	return fmt.Sprintf("edgegauge confirm %s %s --base %s --response %s", QuotedPath(s.Old.Dir), QuotedPath(s.New.Dir),
		cmp.Or(s.Old.Commit(), "VERSION"), Quoted(string(s.Series.Side)+"."+s.Series.Response))
}

// answer is the first sentence.
func (h History) answer() string {
	n := map[history.Kind]int{}
	worse := 0
	for _, j := range h.Series {
		for _, m := range j.Marks {
			n[m.Kind]++
			if m.Kind == history.Confirmed && m.Worse {
				worse++
			}
		}
		for _, c := range h.Unmarked(j) {
			if c.Verdict == history.Worse {
				worse++
			}
		}
	}
	text := fmt.Sprintf("%s by %s: %s, %s to %s", h.Study, h.By, plural.Count(len(h.Runs), "run"),
		h.Labels[0], h.Labels[len(h.Labels)-1])
	switch {
	case worse > 0:
		text += "; " + plural.Count(worse, "confirmed regression")
	default:
		text += "; no confirmed regression"
	}
	if s := history.Suspects(h.Series); s > 0 {
		text += "; " + plural.Count(s, "suspect") + " to confirm"
	}
	return text + h.nowFailing() + h.withoutPoints() + h.time
}

// ResponseWords are the response of a series, and what its figures are of where requests failed.
func ResponseWords(j history.Judged) string {
	if j.OfAll {
		return words(j.Response) + " (median of all requests)"
	}
	return words(j.Response)
}

// Answer is the history in a sentence.
func (h History) Answer() string { return h.answer() }

// plotColumns is how wide the plot of a row is in a terminal.
const plotColumns = 28

// Text writes the history for a terminal: a row for each run, its marks before it.
func (h History) Text(w io.Writer) error {
	var b strings.Builder
	wrap(&b, h.answer(), "  ")
	for _, j := range h.Series {
		fmt.Fprintf(&b, "\n%s %s, %s\n", j.Treatment, ResponseWords(j), j.Side)
		for _, c := range h.Unmarked(j) {
			wrap(&b, "  ! "+h.UnmarkedWords(c), "    ")
		}
		if j.Why != "" {
			wrap(&b, "  not judged: "+j.Why, "  ")
			continue
		}
		differ := RoughPercent(j.Between)
		if j.Linear {
			differ = Format(j.Between, j.Unit)
		}
		wrap(&b, fmt.Sprintf("  runs differ by %s beyond their own errors (standard deviation)", differ), "  ")
		rows := rowsOf(j)
		var all []float64
		for _, r := range rows {
			all = append(all, r.lo, r.at, r.hi)
		}
		a := newAxis(all)
		table := [][]string{}
		for i, r := range rows {
			table = append(table, []string{h.Labels[r.run], r.value, plotted(a, r), markSign(j, i)})
		}
		widths := make([]int, 3)
		for _, row := range table {
			for k := range widths {
				widths[k] = max(widths[k], len([]rune(row[k])))
			}
		}
		labels := make([]string, len(table))
		for i, row := range table {
			labels[i] = row[0]
		}
		labels = shortened(labels, 30)
		widths[0] = widest(labels)
		for i, row := range table {
			for _, m := range j.Marks {
				if m.At == i {
					wrap(&b, "  ! "+h.MarkWords(j, m), "    ")
				}
			}
			line := "  " + pad(labels[i], widths[0], false) + "  " + pad(row[1], widths[1], true) + "  " +
				pad(row[2], widths[2], false) + "  " + row[3]
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	b.WriteByte('\n')
	told := map[string]bool{}
	for _, s := range h.Suspicions() {
		if c := s.Command(); !told[c] {
			told[c] = true
			wrap(&b, "to confirm: "+cmp.Or(s.New.Unstarted(), c), "  ")
		}
	}
	for _, x := range h.began {
		wrap(&b, "! "+x.Kind+": "+x.Says, "  ")
	}
	for i, p := range h.Runs {
		for _, text := range p.Attempts {
			wrap(&b, "! failed attempts: "+p.Dir+": "+text, "  ")
		}
		failed, again := h.failing(i)
		for _, text := range failed {
			wrap(&b, "! "+failedRequests+": "+p.Dir+": "+text, "  ")
		}
		for _, text := range again {
			wrap(&b, "! "+sentAgain+": "+p.Dir+": "+text, "  ")
		}
	}
	for _, text := range h.LeftOut {
		wrap(&b, "! left out: "+text, "  ")
	}
	if len(h.Others) > 0 {
		wrap(&b, "other studies there: "+strings.Join(h.Others, ", ")+"; choose one with --study", "  ")
	}
	return PrintText(w, b.String())
}

// plotted is a run's interval in a row of characters.
func plotted(a axis, r historyRow) string {
	line := []rune(strings.Repeat(" ", plotColumns))
	column := func(v float64) int { return int(math.Round(a.clamp(v) * (plotColumns - 1))) }
	if !math.IsNaN(r.lo) && !math.IsNaN(r.hi) {
		for i := column(r.lo); i <= column(r.hi); i++ {
			line[i] = '-'
		}
	}
	line[column(r.at)] = 'o'
	return "|" + string(line) + "|"
}

// markSign stands beside the row of a mark.
func markSign(j history.Judged, at int) string {
	var out []string
	for _, m := range j.Marks {
		if m.At == at {
			out = append(out, string(m.Kind))
		}
	}
	return strings.Join(out, ", ")
}

// HistoryRows are a series' runs in words: label, figure, interval, marks.
func (h History) HistoryRows(j history.Judged) [][]string {
	var out [][]string
	for i, r := range rowsOf(j) {
		out = append(out, []string{h.Labels[r.run], r.value, Format(r.lo, j.Unit) + " to " + Format(r.hi, j.Unit),
			markSign(j, i)})
	}
	return out
}

// Heights of a history's figure, in px.
const (
	historyTop    = 22
	historyHeight = 180
	// mostPoints is how many runs a figure shows; of more, the newest.
	mostPoints = 400
)

// Picture draws a series: runs with intervals from left to right, levels as lines, marks as
// lines across with a sign. Base is the run that is pinned as the baseline; below 0: none.
func (h History) Picture(id string, j history.Judged, base int) Picture {
	p := Picture{ID: id, Height: historyTop + historyHeight + axisHeight,
		Says: fmt.Sprintf("%s %s, %s, over %s", j.Treatment, ResponseWords(j), j.Side, plural.Count(len(j.Points), "run"))}
	rows := rowsOf(j)
	first := max(0, len(rows)-mostPoints)
	var all []float64
	for _, r := range rows[first:] {
		all = append(all, r.lo, r.at, r.hi)
	}
	a := newAxis(all)
	var b strings.Builder
	x := func(i float64) string { return percent(0.09 + 0.89*(i-float64(first)+0.5)/float64(len(rows)-first)) }
	y := func(v float64) string { return short(historyTop + historyHeight*(1-a.clamp(v))) }
	for _, t := range a.ticks() {
		fmt.Fprintf(&b, `<line class="fig-grid" x1="0" x2="100%%" y1="%s" y2="%[1]s"/><text class="fig-key" x="0" y="%[1]s" `+
			`dy="-4">%[2]s</text>`, y(t), html.EscapeString(a.label(t, j.Unit)))
	}
	for i, r := range rows {
		if r.run == base {
			fmt.Fprintf(&b, `<line class="fig-floor" x1="9%%" x2="100%%" y1="%s" y2="%s"><title>baseline %s: %s</title></line>`,
				y(r.at), y(r.at), html.EscapeString(h.Labels[r.run]), html.EscapeString(rows[i].value))
		}
	}
	for _, l := range j.Levels {
		if l.To <= first {
			continue
		}
		fmt.Fprintf(&b, `<line class="fig-level" x1="%s" x2="%s" y1="%s" y2="%[3]s"/>`, x(float64(max(l.From, first))-0.4),
			x(float64(l.To)-0.6), y(j.At(l.Log)))
	}
	for _, m := range j.Marks {
		if m.At < first {
			continue
		}
		sign, class, at := markOf(m)
		where := x(float64(m.At) - at)
		fmt.Fprintf(&b, `<g class="fig-mark %s"><title>%s</title><line x1="%s" x2="%[3]s" y1="16" y2="%d"/><text x="%[3]s" `+
			`y="12" text-anchor="middle">%[5]s</text></g>`, class, html.EscapeString(h.MarkWords(j, m)), where,
			historyTop+historyHeight, sign)
	}
	for i := first; i < len(rows); i++ {
		r := rows[i]
		fmt.Fprintf(&b, `<g><title>%s: %s (%s to %s)</title>`, html.EscapeString(h.Labels[r.run]), html.EscapeString(r.value),
			html.EscapeString(Format(r.lo, j.Unit)), html.EscapeString(Format(r.hi, j.Unit)))
		if r.hi > r.lo {
			fmt.Fprintf(&b, `<line class="fig-ci" x1="%s" x2="%[1]s" y1="%s" y2="%s"/>`, x(float64(i)), y(r.lo), y(r.hi))
		}
		fmt.Fprintf(&b, `<circle class="fig-mean" cx="%s" cy="%s" r="4"/></g>`, x(float64(i)), y(r.at))
	}
	for _, i := range slices.Compact([]int{first, len(rows) - 1}) {
		if i < first {
			continue
		}
		anchor := " fig-first"
		if i > first {
			anchor = " fig-last"
		}
		fmt.Fprintf(&b, `<text class="fig-tick%s" x="%s" y="%d">%s</text>`, anchor, x(float64(i)),
			historyTop+historyHeight+19, html.EscapeString(shorten(h.Labels[rows[i].run], 18)))
	}
	p.body = b.String()
	return p
}

// MarkSign is the sign of a mark, and the class of the style that goes with it.
func MarkSign(m history.Mark) (sign, class string) {
	sign, class, _ = markOf(m)
	return sign, class
}

// markOf is a mark's sign and class, and how far left of its run its line stands.
func markOf(m history.Mark) (sign, class string, left float64) {
	switch m.Kind {
	case history.Machine:
		return "⚙", "mark-machine", 0.5
	case history.Odd:
		return "◦", "mark-odd", 0
	case history.Confirmed:
		if m.Worse {
			return "✕", "mark-worse", 0.5
		}
		return "✓", "mark-better", 0.5
	case history.Dismissed:
		return "–", "mark-dismissed", 0.5
	case history.Surroundings:
		return "~", "mark-dismissed", 0.5
	}
	return "?", "mark-suspect", 0.5
}

// JSON writes the whole history.
func (h History) JSON(w io.Writer) error {
	type run struct {
		Dir      string   `json:"dir"`
		Label    string   `json:"label"`
		Began    string   `json:"began"`
		Versions []string `json:"versions"`
		Commits  []string `json:"commits"`
		Attempts []string `json:"failed_attempts,omitempty"`
		Failing  []string `json:"more_requests_failed,omitempty"`
		Again    []string `json:"more_requests_sent_again,omitempty"`
	}
	type point struct {
		Run    int           `json:"run"` // place in runs, from 0
		Value  stat.Number   `json:"value"`
		CI     stat.Interval `json:"ci"` // of the trials of this run
		SELog  stat.Number   `json:"se_log"`
		Trials int           `json:"trials"`
	}
	type level struct {
		From  int         `json:"from"` // place in points, from 0
		To    int         `json:"to"`   // excluded
		Value stat.Number `json:"value"`
		SELog stat.Number `json:"se_log"`
	}
	type confirmation struct {
		Verdict string        `json:"verdict"`
		Dir     string        `json:"dir"`
		Blocks  int           `json:"blocks"`
		Ratio   stat.Number   `json:"ratio"`
		CI      stat.Interval `json:"ratio_ci"`
	}
	type mark struct {
		Kind         string        `json:"kind"`
		At           int           `json:"at"` // place in points
		Worse        bool          `json:"worse"`
		Ratio        stat.Number   `json:"ratio"`
		CI           stat.Interval `json:"ratio_ci"`
		P            stat.Number   `json:"p"`
		Says         string        `json:"says"`
		Confirmation *confirmation `json:"confirmation,omitempty"`
		Confirm      string        `json:"confirm,omitempty"` // command
	}
	type series struct {
		Treatment string      `json:"treatment"`
		Side      string      `json:"side"`
		Response  string      `json:"response"`
		OfAll     bool        `json:"medians_of_all,omitempty"` // requests failed
		Linear    bool        `json:"linear,omitempty"`         // no logarithms: ratios are differences, errors of values
		Unit      string      `json:"unit"`
		Between   stat.Number `json:"between_runs_sd_log"`
		Why       string      `json:"not_judged,omitempty"`
		Points    []point     `json:"points"`
		Levels    []level     `json:"levels"`
		Marks     []mark      `json:"marks"`
		// Unmarked are confirmations where the runs show no change of level.
		Unmarked []confirmation `json:"confirmations_without_mark,omitempty"`
	}
	out := struct {
		Format     int      `json:"format"`
		Study      string   `json:"study"`
		By         string   `json:"by"`
		Answer     string   `json:"answer"`
		Confidence float64  `json:"confidence"` // of every interval, 0 to 1; confirmation.json has that of a confirmation
		Runs       []run    `json:"runs"`
		Series     []series `json:"series"`
		LeftOut    []string `json:"left_out"`

		Began []beginning `json:"began,omitempty"`
	}{1, h.Study, h.By, h.answer(), history.Confidence, []run{}, []series{}, orEmpty(h.LeftOut), h.beganJSON()}
	for i, p := range h.Runs {
		failed, again := h.failing(i)
		out.Runs = append(out.Runs, run{p.Dir, h.Labels[i], p.Began.Format("2006-01-02T15:04:05.999999999Z07:00"),
			orEmpty(p.Versions), orEmpty(p.Commits), p.Attempts, failed, again})
	}
	suspicions := h.Suspicions()
	for _, j := range h.Series {
		s := series{j.Treatment, string(j.Side), j.Response, j.OfAll, j.Linear, j.Unit, stat.Number(j.Between), j.Why,
			[]point{}, []level{}, []mark{}, nil}
		confirmed := func(c history.Confirmation) confirmation {
			return confirmation{string(c.Verdict), c.Dir, c.Blocks, stat.Number(c.Ratio.Estimate),
				stat.Interval{c.Ratio.Lo, c.Ratio.Hi}}
		}
		for _, c := range h.Unmarked(j) {
			s.Unmarked = append(s.Unmarked, confirmed(c))
		}
		for i, r := range rowsOf(j) {
			s.Points = append(s.Points, point{r.run, stat.Number(r.at), stat.Interval{r.lo, r.hi},
				stat.Number(j.Points[i].SE), j.Points[i].Trials})
		}
		for _, l := range j.Levels {
			s.Levels = append(s.Levels, level{l.From, l.To, stat.Number(j.At(l.Log)), stat.Number(l.SE)})
		}
		for _, m := range j.Marks {
			x := mark{string(m.Kind), m.At, m.Worse, stat.Number(m.Ratio), stat.Interval{m.Lo, m.Hi}, stat.Number(m.P),
				h.MarkWords(j, m), nil, ""}
			if c := m.Confirmation; c != nil {
				x.Confirmation = new(confirmed(*c))
			}
			for _, u := range suspicions {
				if u.Series.Is(j.Treatment, j.Side, j.Response) && u.Mark.At == m.At && m.Kind == history.Suspect {
					x.Confirm = u.Command()
				}
			}
			s.Marks = append(s.Marks, x)
		}
		out.Series = append(out.Series, s)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
