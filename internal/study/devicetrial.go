package study

import (
	"fmt"
	"math"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/plural"
)

// asSaid refuses a trial whose devices would not be those that the study says. Earlier versions ran such trials, and
// their results are still read: so only a study that is to be run is refused.
func (t *candidate) asSaid() {
	if t.vocabulary.Stacks == nil || t.setup.Population.Devices == 0 {
		return
	}
	t.allThere()
	t.allOn()
	t.reporting()
	t.noticed()
}

// allThere refuses a class of a mix that no device is of: devices are parted at the whole numbers next to their shares.
func (t *candidate) allThere() {
	p := &t.setup.Population
	upto, before := 0.0, 0.0
	for _, c := range p.Mix {
		upto += c.Share
		last := math.Round(upto * float64(p.Devices))
		if last == before {
			t.complain(fmt.Sprintf("mix %s is %.4g%% of %d devices, which is less than one device", c.Name, c.Share*100,
				p.Devices), "take more devices, or a larger share", "mix", "devices")
		}
		before = last
	}
}

// calm is how long devices must be up to be called recovered (drive/population).
func (t *candidate) calm() time.Duration {
	return max(10*time.Second, sum(t.study.Timeouts.Request, time.Second))
}

// noticed refuses an outage that its figures would not tell of.
func (t *candidate) noticed() {
	p := &t.setup.Population
	if p.Outage.For == 0 {
		return
	}
	cut := math.Round(p.Outage.Share * float64(p.Devices))
	ends, lasts := sum(p.Outage.At, p.Outage.For), t.setup.Duration
	switch {
	case cut == 0:
		t.complain(fmt.Sprintf("the outage is of %.4g%% of %d devices, which is less than one device", p.Outage.Share*100,
			p.Devices), "take more devices, or a larger share", "devices", "outage")
	case t.wants("recovery_time") && int(cut) <= p.Devices/100:
		t.complain(fmt.Sprintf("the outage cuts off %.4g%% of the devices, and recovery_time lets 1%% be down",
			p.Outage.Share*100), "take a larger share, or name responses without recovery_time", "outage")
	case ends >= lasts:
		t.complain(fmt.Sprintf("the outage ends at %s, not before the trial, %s", DurationText(ends), DurationText(lasts)),
			"write a longer duration, with time to recover", "duration", "outage")
	case t.wants("recovery_time") && sum(ends, t.calm()) > lasts:
		t.complain(fmt.Sprintf("the outage ends at %s and the trial at %s: devices have recovered when they have been up "+
			"for %s", DurationText(ends), DurationText(lasts), DurationText(t.calm())), fmt.Sprintf("write a duration of "+
			"%s or more, with time to recover, or name responses without recovery_time",
			DurationText(sum(ends, t.calm()))), "duration", "outage")
	case p.Phase == "random" && !p.Observes() && !p.alive():
		t.met(cut / float64(p.Devices))
	}
}

// rarely is the share of the trials that may be without a report. The instants of a trial are drawn from its block's
// seed, so one that is invalid for them is so again, whenever it is tried.
const rarely = 1e-3

// reporting refuses devices of which none may report in a trial: they have a period longer than it, or late reports.
// Who observes is told something, and who is switched on later reports even less.
func (t *candidate) reporting() {
	p, lasts := &t.setup.Population, t.setup.Duration
	if p.Observes() {
		return
	}
	none := p.silent(1, func(c Class) float64 { return p.reports(c, lasts) })
	if none <= rarely {
		return
	}
	period := "a period of " + DurationText(p.Period)
	if len(p.Mix) > 0 {
		shortest, longest := p.periods()
		period = fmt.Sprintf("periods of %s to %s", DurationText(shortest), DurationText(longest))
	}
	t.complain(fmt.Sprintf("of %s with %s none reports within %s, in %.3g%% of the trials",
		plural.Count(p.Devices, "device"), period, DurationText(lasts), 100*none),
		"write a longer duration, or take more devices", "devices", "period", "jitter", "mix", "duration")
}

// met refuses an outage that mostly meets nobody: none of the share of the devices that it cuts off reports in it.
func (t *candidate) met(share float64) {
	const mostly = 0.5
	p := &t.setup.Population
	none := p.silent(share, func(c Class) float64 { return p.Outage.For.Seconds() / c.Period.Seconds() })
	if none > mostly {
		t.complain(fmt.Sprintf("the outage meets nobody in %.3g%% of the trials: none of the devices that it cuts off "+
			"reports within %s", 100*none, DurationText(p.Outage.For)), "write a longer outage, or take more devices",
			"devices", "period", "mix", "outage")
	}
}

// silent is the probability that none of a share of the devices reports, where each does so with that of its class.
func (p *Population) silent(share float64, reports func(Class) float64) float64 {
	classes := p.Mix
	if len(classes) == 0 {
		classes = []Class{{Share: 1, Period: p.Period, Jitter: p.Jitter}}
	}
	upto, before, log := 0.0, 0.0, 0.0
	for _, c := range classes {
		upto += c.Share
		last := math.Round(upto * float64(p.Devices))
		if n := share * (last - before); n > 0 {
			log += n * math.Log1p(-min(1, reports(c)))
		}
		before = last
	}
	return math.Exp(log)
}

// reports is the probability that a device reports in a trial: its first report is due at a random instant of its
// period, or at once where all are aligned, and later by its jitter; so is that of the period before, which may come in
// the trial then (drive/population).
func (p *Population) reports(c Class, lasts time.Duration) float64 {
	x, most := lasts.Seconds()/c.Period.Seconds(), c.Jitter // in periods
	switch {
	case x >= 1+most:
		return 1
	case p.Phase == "aligned" && most == 0:
		return 1
	case p.Phase == "aligned":
		return min(1, x/most)
	case most == 0:
		return x
	}
	within := func(late float64) float64 { return min(1, max(0, late)/most) } // the share of jitters up to it
	// Neither comes: at the phase u the first is late by x−u or more, and the one before by less than 1−u, or too late.
	neither := func(u float64) float64 { return (1 - within(x-u)) * (1 - within(1-u+x) + within(1-u)) }
	bends := []float64{0, 1, x, x - most, 1 - most, 1 + x - most}
	slices.Sort(bends)
	none := 0.0
	for i, to := range bends[1:] { // between bends it is a parabola, of which Simpson's rule is exact
		if from := bends[i]; from >= 0 && to <= 1 {
			none += (to - from) / 6 * (neither(from) + 4*neither((from+to)/2) + neither(to))
		}
	}
	return 1 - none
}

// wants says whether the study takes a response of the client from the treatment.
func (t *candidate) wants(response string) bool {
	r := t.study.Responses
	return (len(r) == 0 || slices.ContainsFunc(r, func(w Word) bool { return w.Text == response })) &&
		!t.setup.LeavesOut("client", response)
}

// allOn refuses a ramp that is too slow for the trial: devices would not be switched on by its end.
func (t *candidate) allOn() {
	p, lasts := &t.setup.Population, t.setup.Duration
	if p.Ramp == 0 {
		return
	}
	running := max(lasts, t.study.Design.WarmUp.Time) // who is switched on in the warm-up is on
	if on := math.Ceil(p.Ramp * running.Seconds()); on < float64(p.Devices) {
		t.complain(fmt.Sprintf("%d of %d devices are switched on by the end of the trial, %s, at a ramp of %g/s", int(on),
			p.Devices, DurationText(lasts), p.Ramp), fmt.Sprintf("write a duration of %s or more, a quicker ramp, or fewer "+
			"devices", DurationText(p.switchingOn())), "devices", "ramp", "duration")
	}
}

// switchingOn is how long it takes until all are switched on.
func (p *Population) switchingOn() time.Duration {
	if p.Ramp == 0 {
		return 0
	}
	return time.Duration(min(float64(p.Devices)/p.Ramp*float64(time.Second), 1<<62))
}
