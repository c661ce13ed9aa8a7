package report

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/cost"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
)

// A Fleet is what many devices take of servers and network in a month.
type Fleet struct {
	Devices int
	Period  time.Duration
	Prices  *cost.Prices // nil: cores and bytes alone are told
	Rows    []FleetRow
}

// A FleetRow is the month with one treatment.
type FleetRow struct {
	Name string
	cost.Month
	Confidence float64  // of its intervals, which is that of the study
	Wire       []string // what its bytes are, and what is not in them
	Err        error    // there is none, and why
}

// Fleet says what the devices take with each treatment, floors aside.
func (r *Report) Fleet(devices int, period time.Duration, p *cost.Prices) Fleet {
	out := Fleet{Devices: devices, Period: period, Prices: p}
	for i, t := range r.Treatments {
		if r.isFloor(t.Stack) {
			continue
		}
		row := FleetRow{Name: t.Name(), Confidence: r.Study.Design.Confidence}
		cpu, ok := r.Cell(i, measure.Server, "cpu")
		wire, ok2 := r.Cell(i, measure.Client, "wire_bytes")
		switch {
		case r.noneValid(i):
			row.Err = errors.New(NoValidTrial)
		case !ok:
			row.Err = errors.New("the server's cpu was not measured; add cpu to the study's responses and run it again")
		case !ok2:
			row.Err = errors.New("the bytes on the wire were not measured; add wire_bytes to the study's responses and " +
				"run it again")
		default:
			bytes, header, ok := r.packetBytes(i, wire.Mean)
			row.Month = cost.Of(float64(devices), period, cpu.Mean, bytes, p)
			row.Wire = append(row.Wire, wireText(header, ok))
			if text := r.notInBytes(i); text != "" {
				row.Wire = append(row.Wire, text)
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// wireText says what bytes on the wire are of.
func wireText(header int, ok bool) string {
	switch {
	case !ok:
		return fmt.Sprintf("whole frames, of which %d B of each packet may be an Ethernet header, which no network bills: "+
			"add packets to the study's responses, and it is left out", header)
	case header > 0:
		return fmt.Sprintf("IP packets: the Ethernet header of each, %d B, is left out", header)
	}
	return "IP packets"
}

// text writes the table and what it rests on.
func (f Fleet) text(b *strings.Builder) {
	wrap(b, fmt.Sprintf("Per month, %d devices that report every %s need, extrapolated from one request:", f.Devices,
		study.DurationText(f.Period)), "  ")
	b.WriteByte('\n')
	rows := [][]string{{"treatment", "busy cores", "on the wire"}}
	if f.Prices != nil {
		rows[0] = append(rows[0], "devices per server", "servers", f.Prices.Currency)
	}
	var why []string
	for _, r := range f.Rows {
		if r.Err != nil {
			why = append(why, r.Name+": "+r.Err.Error())
			continue
		}
		row := []string{r.Name, amountText(r.Cores, ""), amountText(r.Bytes, "B")}
		if f.Prices != nil {
			row = append(row, wholeText(r.PerServer), wholeText(r.Servers), amountText(r.Cost, ""))
		}
		rows = append(rows, row)
	}
	if len(rows) > 1 {
		writeColumns(b, rows)
	}
	for _, l := range append(why, f.notes()...) {
		wrap(b, l, "  ")
	}
}

func (f Fleet) notes() []string {
	out := []string{"busy cores: CPU time of the server for a request, as measured on its machine and at the load of " +
		"the study, times the reports per second. Memory, connections, storage and outages are not included; devices " +
		"are assumed to report at random times"}
	out = append(out, f.wires()...)
	out = append(out, f.intervals()...)
	if f.Prices == nil {
		return append(out, "servers and cost need prices: --prices FILE (doc/battery-life.md)")
	}
	out = append(out, fmt.Sprintf("servers: %g cores each, of which %g %% may be busy; the limits of the cost are "+
		"the sums of the limits of its parts", f.Prices.ServerCores, 100*f.Prices.Utilization))
	if free := f.Prices.Free(); len(free) > 0 {
		out = append(out, "the cost leaves out what has no price or a price of 0: "+strings.Join(free, ", "))
	}
	return out
}

// wires say what the bytes on the wire are, and what is not in them.
func (f Fleet) wires() (out []string) {
	var texts []string
	of, months := map[string][]string{}, 0
	for _, r := range f.Rows {
		if r.Err != nil {
			continue
		}
		months++
		for _, text := range r.Wire {
			texts = addWord(texts, text)
			of[text] = append(of[text], r.Name)
		}
	}
	for _, text := range texts {
		whose := ""
		if len(of[text]) < months {
			whose = list(of[text], mostConcerned) + ": "
		}
		out = append(out, "on the wire: "+whose+text)
	}
	return out
}

// intervals say which confidence they have; none: there is no interval.
func (f Fleet) intervals() []string {
	whose := map[float64][]string{}
	for _, r := range f.Rows {
		if r.Err == nil && (stat.Summary{Lo: r.Cores.Lo, Hi: r.Cores.Hi}).HasInterval() {
			whose[r.Confidence] = append(whose[r.Confidence], r.Name)
		}
	}
	var out []string
	for _, level := range slices.Sorted(maps.Keys(whose)) {
		text := "intervals: " + percentOf(level) + ", as the study asks (design.confidence)"
		if len(whose) > 1 {
			text = list(whose[level], mostConcerned) + ": " + text
		}
		out = append(out, text)
	}
	return out
}

// confidence is the one that all intervals have at least; 0: no treatment has a month.
func (f *Fleet) confidence() float64 {
	least := 0.0
	for _, r := range f.Rows {
		if r.Err == nil && (least == 0 || r.Confidence < least) {
			least = r.Confidence
		}
	}
	return least
}

// amountText is a figure with the ends of its interval.
func amountText(a cost.Amount, unit string) string {
	s := stat.Summary{Center: a.Center, Lo: a.Lo, Hi: a.Hi}
	if !s.HasInterval() {
		return Format(a.Center, unit)
	}
	return Format(a.Center, unit) + " (" + span(s, unit) + ")"
}

// wholeText is a number of whole things. What a server bears has no bound where none of its CPU time was seen.
func wholeText(a cost.Amount) string {
	switch {
	case math.IsInf(a.Center, 1):
		return "unknown"
	case math.IsInf(a.Hi, 1):
		return fmt.Sprintf("%.0f (%.0f or more)", a.Center, a.Lo)
	}
	if !(stat.Summary{Lo: a.Lo, Hi: a.Hi}).HasInterval() {
		return fmt.Sprintf("%.0f", a.Center)
	}
	if advise.TellsNothing(a.Center, a.Lo, a.Hi) {
		return fmt.Sprintf("%.0f (%s)", a.Center, advise.Untold)
	}
	as := supported(a.Lo, a.Hi)
	return fmt.Sprintf("%.0f (%.0f to %.0f)", as(a.Center), as(a.Lo), as(a.Hi))
}

type fleetJSON struct {
	Devices  int         `json:"devices"`
	Period   float64     `json:"period_s"`
	Currency string      `json:"currency,omitempty"`
	Rows     []monthJSON `json:"treatments"`
	Notes    []string    `json:"notes"`
}

type monthJSON struct {
	Treatment string     `json:"treatment"`
	Cores     amountJSON `json:"busy_cores"`
	Bytes     amountJSON `json:"wire_B"`
	PerServer amountJSON `json:"devices_per_server"`
	Servers   amountJSON `json:"servers"`
	Cost      amountJSON `json:"cost"`
	// Confidence is that of its intervals, 0 to 1; null where there is no forecast.
	Confidence stat.Number `json:"confidence"`
	Why        string      `json:"why_not,omitempty"` // there is no forecast
}

type amountJSON struct {
	Value    stat.Number   `json:"value"`
	Interval stat.Interval `json:"interval"`
}

func (f *Fleet) json() *fleetJSON {
	if f == nil {
		return nil
	}
	out := &fleetJSON{Devices: f.Devices, Period: f.Period.Seconds(), Rows: []monthJSON{}, Notes: f.notes()}
	if f.Prices != nil {
		out.Currency = f.Prices.Currency
	}
	of := func(a cost.Amount) amountJSON {
		return amountJSON{stat.Number(a.Center), stat.Interval{a.Lo, a.Hi}}
	}
	for _, r := range f.Rows {
		none := amountJSON{stat.Number(math.NaN()), stat.Interval{math.NaN(), math.NaN()}}
		row := monthJSON{r.Name, none, none, none, none, none, stat.Number(math.NaN()), ""}
		if r.Err != nil {
			row.Why = r.Err.Error()
		} else {
			row.Cores, row.Bytes, row.Servers, row.Cost = of(r.Cores), of(r.Bytes), of(r.Servers), of(r.Cost)
			row.PerServer, row.Confidence = of(r.PerServer), stat.Number(r.Confidence)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}
