package report

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/advise/battery"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/store"
)

// measuredReport are the figures of a treatment's reports, each by trial; empty: not measured.
type measuredReport struct{ wire, out, in, packets, again, energy, took map[int]float64 }

// traffic is what one report is, trial by trial, and what that rests on. lacks says that connecting is left out. A
// trial without a figure that others have is left out: without its energy, say, it would be a report that takes none.
func (r *Report) traffic(treatment int, radio string, joules Joules, stated bool) (trials []battery.Traffic,
	notes []string, lacks bool, err error) {
	bench := map[int]string{}
	perTrial := func(response string) map[int]float64 {
		out := map[int]float64{}
		if c, ok := r.Cell(treatment, measure.Client, response); ok {
			for _, p := range c.Points {
				if !math.IsNaN(p.Mean) {
					out[p.Trial], bench[p.Trial] = p.Mean, p.Bench
				}
			}
		}
		return out
	}
	m := measuredReport{wire: perTrial("wire_bytes"), out: perTrial("message_size"), in: perTrial("response_size"),
		packets: perTrial("packets"), again: perTrial("retransmissions")}
	base, note := m.bytes()
	if len(base) == 0 {
		return nil, nil, false, errors.New("no bytes were measured; add wire_bytes or message_size to the study's " +
			"responses and run it again")
	}
	notes = append(notes, note...)
	var whole bool
	m.energy, whole, note = r.joules(treatment, joules)
	notes = append(notes, note...)
	wait := r.waits(treatment, radio, stated, perTrial)
	m.took, notes = wait.took, append(notes, wait.notes...)
	if lacks = wait.open != "" && !whole; lacks { // joules of the exchange have connecting in them
		notes = append(notes, wait.open)
	}
	all := slices.Sorted(maps.Keys(base))
	ids := slices.DeleteFunc(slices.Clone(all), func(id int) bool { return len(m.lacking(id)) > 0 })
	if n := len(all) - len(ids); n > 0 {
		var names []string
		for _, id := range all {
			for _, name := range m.lacking(id) {
				names = addWord(names, name)
			}
		}
		text := fmt.Sprintf("%d of %s have no %s and are left out", n, plural.Count(len(all), "trial"),
			list(names, mostNames))
		if len(ids) == 0 {
			return nil, nil, false, errors.New(text + "; run it again, or leave these out of the study's responses")
		}
		notes = append(notes, text)
	}
	if m.atLeastNothing(ids) {
		notes = append(notes, "joules: on average the meter read less than when the device was idle, so they are taken to "+
			"be 0 on average, with the variation of the trials")
	}
	for _, id := range ids {
		trials = append(trials, m.of(id, whole))
	}
	if len(m.wire) > 0 {
		text := "bytes: on the wire, as measured"
		if len(m.again) > 0 {
			text += fmt.Sprintf(", including %s retransmitted packets per request", significant(meanOf(m.again)))
		}
		if n, known := r.frameHeader(treatment); known && n > 0 {
			text += fmt.Sprintf("; %d B of each packet are an Ethernet header, which no radio sends", n)
		}
		notes = append(notes, text)
	}
	what := "trial"
	if r.OfBenches() {
		trials, what = byBench(trials, ids, bench), "bench"
		notes = append(notes, "each bench counts once: the interval is for benches like these")
	}
	if len(trials) == 1 {
		notes = append(notes, fmt.Sprintf("one %s: the interval does not include the variation between %s", what,
			map[string]string{"trial": "trials", "bench": "benches"}[what]))
	}
	return trials, notes, lacks, nil
}

// bytes are those that a report is known by, and what that rests on.
func (m *measuredReport) bytes() (base map[int]float64, notes []string) {
	const halved = "so half of the bytes are taken to be sent and half received (add message_size and response_size to " +
		"the study's responses)"
	switch {
	case len(m.wire) == 0:
		notes = append(notes, "bytes: bodies only; headers, acknowledgements and retransmissions were not measured and "+
			"are not included (add wire_bytes, packets and retransmissions to the study's responses)")
		if len(m.out) > 0 && len(m.in) == 0 {
			notes = append(notes, nothingReceived)
		}
		return m.out, notes
	case len(m.out) == 0:
		m.in = nil // one body alone would have all of the other count as headers
		notes = append(notes, "bytes: message_size was not measured, "+halved)
	case len(m.in) == 0:
		notes = append(notes, "bytes: response_size was not measured, so what the response holds counts as headers, half "+
			"of which are sent (add response_size to the study's responses)")
	}
	return m.wire, notes
}

// lacking are the figures that other trials have and this one has not.
func (m *measuredReport) lacking(id int) []string {
	var out []string
	for _, x := range []struct {
		name string
		of   map[int]float64
	}{{"message_size", m.out}, {"response_size", m.in}, {"packets", m.packets}, {"joules", m.energy},
		{"time of waiting", m.took}} {
		if v, ok := x.of[id]; len(x.of) > 0 && (!ok || math.IsNaN(v)) {
			out = append(out, x.name)
		}
	}
	return out
}

// atLeastNothing keeps the mean energy of trials from being negative, and says whether it was: net of the idle energy
// single trials may be, and clipped one by one they would be too large on average.
func (m *measuredReport) atLeastNothing(ids []int) bool {
	var mean float64
	for _, id := range ids {
		mean += m.energy[id] / float64(len(ids))
	}
	if !(mean < 0) {
		return false
	}
	for _, id := range ids {
		m.energy[id] -= mean
	}
	return true
}

// of is the report of one trial.
func (m *measuredReport) of(id int, whole bool) battery.Traffic {
	t := battery.Traffic{Up: m.out[id], Down: m.in[id], Packets: m.packets[id], Joules: math.NaN(), Took: math.NaN(),
		Whole: whole}
	if len(m.wire) > 0 {
		// Headers and acknowledgements go both ways alike.
		wire, rest := m.wire[id], m.wire[id]-m.out[id]-m.in[id]
		t.Up, t.Down = m.out[id]+rest/2, m.in[id]+rest/2
		if rest < 0 {
			share := m.out[id] / (m.out[id] + m.in[id])
			t.Up, t.Down = wire*share, wire*(1-share)
		}
	}
	if x, ok := m.took[id]; ok {
		t.Took = x
	}
	if j, ok := m.energy[id]; ok {
		t.Joules = j
	}
	return t
}

// byBench are the means of the reports of each bench: the trials of one bench are more alike than those of two.
func byBench(trials []battery.Traffic, ids []int, bench map[int]string) []battery.Traffic {
	var names []string
	sums, n := map[string]battery.Traffic{}, map[string]float64{}
	for i, t := range trials {
		name := bench[ids[i]]
		s, ok := sums[name]
		if !ok {
			names, s = append(names, name), battery.Traffic{Whole: t.Whole}
		}
		s.Up, s.Down, s.Packets, s.Joules, s.Took = s.Up+t.Up, s.Down+t.Down, s.Packets+t.Packets, s.Joules+t.Joules,
			s.Took+t.Took
		sums[name] = s
		n[name]++
	}
	out := make([]battery.Traffic, len(names))
	for i, name := range names {
		s, k := sums[name], n[name]
		out[i] = battery.Traffic{Up: s.Up / k, Down: s.Down / k, Packets: s.Packets / k, Joules: s.Joules / k,
			Took: s.Took / k, Whole: s.Whole}
	}
	return out
}

// joules are those of the client for a request, trial by trial.
func (r *Report) joules(treatment int, as Joules) (energy map[int]float64, whole bool, notes []string) {
	response := "energy"
	if as == OfExchange {
		response = "energy_gross"
	}
	c, ok := r.Cell(treatment, measure.Client, response)
	switch {
	case !ok && as == OfExchange:
		return nil, false, []string{"joules: the results have no energy_gross of the client; the radio's model is used " +
			"instead"}
	case !ok:
		return nil, false, []string{"joules: the results have none; the processor's energy is device.processing (" +
			"--set device.processing=…)"}
	case as == NoJoules, as == "" && c.Method != store.Measured:
		return nil, false, []string{fmt.Sprintf("joules: the client's %s ones are not used (--joules says what they "+
			"cover)", c.Method)}
	}
	energy = map[int]float64{}
	for _, p := range c.Points {
		energy[p.Trial] = p.Mean
	}
	what := "of the processor, added to the radio's"
	if as == OfExchange {
		what = "instead of sending, receiving and waiting"
	}
	return energy, as == OfExchange, []string{fmt.Sprintf("joules: %s %s at the client, %s", c.Method, response, what)}
}

func meanOf(m map[int]float64) float64 {
	var sum float64
	for _, trial := range slices.Sorted(maps.Keys(m)) {
		sum += m[trial]
	}
	return sum / float64(len(m))
}
