package study

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// asSaid refuses a trial whose devices would not be those that the study says. Earlier versions ran such trials, and
// their results are still read: so only a study that is to be run is refused.
func (t *candidate) asSaid() {
	if t.vocabulary.Stacks == nil || t.setup.Population.Devices == 0 {
		return
	}
	t.allThere()
	t.allOn()
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
			t.complain(fmt.Sprintf("mix %s is %.4g%% of %d devices, which is none", c.Name, c.Share*100, p.Devices),
				"take more devices, or a larger share", "mix", "devices")
		}
		before = last
	}
}

// calm is how long devices must be up to be called recovered (drive/population).
const calm = 10 * time.Second

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
		t.complain(fmt.Sprintf("the outage is of %.4g%% of %d devices, which is none", p.Outage.Share*100, p.Devices),
			"take more devices, or a larger share", "devices", "outage")
	case t.wants("recovery_time") && int(cut) <= p.Devices/100:
		t.complain(fmt.Sprintf("the outage cuts off %.4g%% of the devices, and recovery_time lets 1%% be down",
			p.Outage.Share*100), "take a larger share, or name responses without recovery_time", "outage")
	case ends >= lasts:
		t.complain(fmt.Sprintf("the outage ends at %s, not before the trial, %s", DurationText(ends), DurationText(lasts)),
			"write a longer duration, with time to recover", "duration", "outage")
	case t.wants("recovery_time") && sum(ends, calm) > lasts:
		t.complain(fmt.Sprintf("the outage ends at %s and the trial at %s: devices have recovered when they have been up "+
			"for %s", DurationText(ends), DurationText(lasts), DurationText(calm)), fmt.Sprintf("write a duration above %s, "+
			"with time to recover, or name responses without recovery_time", DurationText(sum(ends, calm))),
			"duration", "outage")
	}
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
