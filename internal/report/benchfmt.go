package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"edgegauge.example/edgegauge/internal/measure"
)

// Benchfmt writes the trials in Go's benchmark format (golang.org/design/14313-benchmark-format),
// one line a trial and side, for benchstat and whatever else reads it.
func (r *Report) Benchfmt(w io.Writer) error {
	if len(r.Damage) > 0 { // the format has no place for a warning that tools would show
		return fmt.Errorf("%s: %s; tools would accept these figures as sound; restore the results, or use another format",
			r.Dir, DamageText(r.Damage))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "study: %s\nseed: %d\n", benchText(r.Study.Name), r.Study.Design.Seed)
	if v := r.Facts.Edgegauge["version"]; v != "" {
		fmt.Fprintf(&b, "edgegauge: %s\n", benchText(v))
	}
	for _, name := range sortedKeys(r.Facts.Devices) {
		fmt.Fprintf(&b, "device-%s: %s\n", strings.ToLower(benchWord(name)), benchText(r.Facts.Devices[name].Model))
	}
	if modelled := r.benchModelled(); len(modelled) > 0 {
		fmt.Fprintf(&b, "modelled: %s\n", strings.Join(modelled, ", "))
	}
	for _, p := range r.Panels() {
		says := "better=lower"
		switch {
		case hasNoBetter(p.Response):
			says = "assume=nothing" // which is what is assumed anyway: a line has to say something
		case moreIsBetter(p.Response):
			says = "better=higher"
		}
		if unit := benchUnit(p); !strings.Contains(b.String(), "Unit "+unit+" ") {
			fmt.Fprintf(&b, "Unit %s %s\n", unit, says)
		}
	}
	b.WriteByte('\n')
	for i, t := range r.Treatments {
		for _, side := range []measure.Side{measure.Client, measure.Server} {
			r.benchLines(&b, i, t, side)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// benchModelled are the units of figures that are computed from a model, with their side. They stand above all lines,
// since a configuration that changed between treatments would have benchstat part their measured figures, too.
func (r *Report) benchModelled() []string {
	var out []string
	for _, p := range r.Panels() {
		n, all := 0, 0
		for _, c := range r.Cells {
			if c.Response == p.Response && c.Side == p.Side {
				if all++; c.modelled() {
					n++
				}
			}
		}
		if n == 0 {
			continue
		}
		text := benchUnit(p) + " of the " + string(p.Side)
		if n < all {
			text += " in some treatments"
		}
		out = append(out, text)
	}
	return out
}

// benchLines writes the trials of one treatment and side.
func (r *Report) benchLines(b *strings.Builder, i int, t Treatment, side measure.Side) {
	name := "Benchmark" + benchName(r.Study.Name)
	for k, f := range r.Factors {
		name += "/" + benchWord(f) + "=" + benchWord(t.Levels[k])
	}
	name += "/side=" + string(side)
	values := map[int][]string{}
	var order []int
	for _, c := range r.Cells {
		if c.Treatment != i || c.Side != side {
			continue
		}
		for _, p := range c.Points {
			if math.IsNaN(p.Mean) || math.IsInf(p.Mean, 0) {
				continue
			}
			if values[p.Trial] == nil {
				order = append(order, p.Trial)
			}
			values[p.Trial] = append(values[p.Trial],
				strconv.FormatFloat(p.Mean, 'g', -1, 64)+" "+benchUnit(Panel{c.Side, c.Response, c.Unit}))
		}
	}
	slices.Sort(order)
	for _, trial := range order {
		fmt.Fprintf(b, "%s 1 %s\n", name, strings.Join(values[trial], " "))
	}
}

// benchUnit is a response's unit: rtt-sec/op. Seconds are "sec", as benchstat
// has them; what is not of a request has no /op.
func benchUnit(p Panel) string {
	unit := map[string]string{"s": "sec", "1/s": "op/s", "1": "count"}[p.Unit]
	if x, _ := measure.FindResponse(p.Response); x.AtMostOne() {
		return p.Response + "-ratio"
	}
	if unit == "" {
		unit = p.Unit
	}
	switch p.Response {
	case "throughput", "sent_rate", "notification_rate", "driver_lateness", "recovery_time", "power", "trial_energy",
		"peak_rss", "discovery", "metadata", "first_invoke":
		return p.Response + "-" + unit
	}
	return p.Response + "-" + unit + "/op"
}

// benchWord escapes a word of a name as URLs do: a space or a slash would end a name's part. Distinct words stay
// distinct, or benchstat would merge two treatments.
func benchWord(s string) string {
	var b strings.Builder
	for _, c := range s {
		if unicode.IsSpace(c) || c == '/' || c == '%' || !unicode.IsPrint(c) {
			for _, x := range []byte(string(c)) {
				fmt.Fprintf(&b, "%%%02X", x)
			}
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

func benchText(s string) string { return strings.Join(strings.Fields(s), " ") }

// benchName begins with a capital, as the format wants it.
func benchName(s string) string {
	r := []rune(benchWord(s))
	if len(r) > 0 {
		r[0] = unicode.ToUpper(r[0])
	}
	return string(r)
}
