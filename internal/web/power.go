package web

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
)

// A placing puts the client's instants on the clock of a trial's power readings. The client
// counts from when its run began. The lab, whose clock the readings have, knows only that this
// was after it asked for the run, and that the last response came before it heard of the end.
type placing struct {
	from float64 // s from the beginning of the trial to the client's, in the middle of where it may be
	off  float64 // s that the two may be apart to either side, the fit of a meter's clock included
	why  string  // power and requests have no common axis; empty: they have
}

// mostOff is how far apart, in s, the two may be for one axis: a tenth of what a person sees as
// one moment.
const mostOff = 0.05

// placed finds the common axis of a trial's requests and its power, whose traces there are.
func (t *trialAt) placed(c *store.Columns, traces []*report.Trace) (placing, error) {
	metered := slices.ContainsFunc(traces, func(x *report.Trace) bool { return x.Method != store.Modelled })
	switch {
	case !metered:
		return placing{why: "The power is modelled: only its mean over the run is known."}, nil
	case t.treatment < 0:
		return placing{why: "The study does not have this trial's treatment."}, nil
	}
	d, known := t.Facts.Devices[t.Treatments[t.treatment].Setup().Client.Device]
	if !known || d.Agent != nil || len(d.Emulation) > 0 {
		return placing{why: "The client ran on another machine, whose clock is not that of the power readings: they have " +
			"axes of their own."}, nil
	}
	quality, err := t.kept.Quality(t.state.ID, t.state.Attempt)
	if err != nil {
		return placing{}, err
	}
	noted := map[string]float64{}
	for _, q := range quality {
		noted[q.Key] = q.Value
	}
	done, err := c.Read(nil, "done")
	if err != nil && !errors.Is(err, store.ErrNoData) {
		return placing{}, err
	}
	from, ok := noted["run_from"]
	to, ended := noted["run_to"]
	if !ok || !ended || len(done) == 0 {
		return placing{why: "When the run began is not known on the clock of the power readings."}, nil
	}
	slack := to - from - float64(slices.Max(done))*1e-9
	meter := 0.0
	for _, x := range traces {
		for _, key := range []string{"residual", "bias"} {
			meter = max(meter, math.Abs(noted[fmt.Sprintf("%s_meter_clock_%s", x.Side, key)]))
		}
	}
	p := placing{from: from + slack/2, off: slack/2 + meter}
	if slack < 0 || p.off > mostOff {
		p.why = fmt.Sprintf("Requests and power have no common axis: when the client's run began is known only to within %s "+
			"on the clock of the power readings.", report.Format(math.Abs(p.off), "s"))
	}
	return p, nil
}

// powerOverCourse draws the client's RTT over time with the power beneath; nil: it says why not.
func (t *trialAt) powerOverCourse(traces []*report.Trace) (*courseView, string, error) {
	if len(traces) == 0 {
		return nil, "", nil
	}
	c, err := t.columns(measure.Client)
	if errors.Is(err, store.ErrNoData) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	defer c.Close()
	p, err := t.placed(c, traces)
	if err != nil || p.why != "" {
		return nil, p.why, err
	}
	values, err := c.Read(nil, "rtt")
	if err != nil {
		return nil, "", err
	}
	sent, err := c.Read(nil, "sent")
	if err != nil || len(sent) != len(values) || len(values) == 0 {
		return nil, "", err
	}
	at := make([]float64, len(sent))
	for i, x := range sent {
		at[i] = p.from + float64(x)*1e-9
	}
	power, err := t.ReadPower(t.kept, t.state, slices.Min(at), slices.Max(at))
	if err != nil || len(power) == 0 {
		return nil, "", err
	}
	f, _ := measure.FindField("rtt")
	places := report.Thinned(values, mostDots)
	return &courseView{Title: "RTT at the client over time, and the power beneath", Drawn: len(places), Of: len(values),
		Off: report.Format(p.off, "s"), Course: report.CourseOver("rtt-power", "RTT at the client", f, at, values, places,
			power, report.Format(p.off, "s"))}, "", nil
}

// powerUnder draws the phases of a request at the client with the power beneath, if both have
// one axis; else says why not.
func (t *trialAt) powerUnder(v *exchangeSide, traces []*report.Trace) (string, error) {
	if len(traces) == 0 || len(v.bars) == 0 {
		return "", nil
	}
	c, err := t.columns(measure.Client)
	if err != nil {
		return "", err
	}
	defer c.Close()
	p, err := t.placed(c, traces)
	if err != nil || p.why != "" {
		return p.why, err
	}
	zero := p.from + v.zero
	to := zero
	for _, b := range v.bars {
		to = max(to, zero+b.To)
	}
	power, err := t.ReadPower(t.kept, t.state, zero, to)
	if err != nil || len(power) == 0 {
		return "The meter read nothing around this request.", err
	}
	pic := report.WaterfallOver("client", clientPhases, v.bars, power, zero, report.Format(p.off, "s"))
	v.Picture = &pic
	return fmt.Sprintf("The power is that of the readings that cover this request, on the client's axis: this machine's "+
		"clock is that of both. It may lie up to %s to the left or the right, since the client's run began between two "+
		"instants of the lab.", report.Format(p.off, "s")), nil
}
