package testbed

import (
	"fmt"
	"io/fs"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/links"
)

// LinkProfiles are those of the program and of the folders of links, the later
// hiding the earlier. Broken ones are in the error.
func (b *Testbed) LinkProfiles() (map[string]link.Profile, error) {
	folders := []fs.FS{links.Files}
	for _, dir := range b.Options.Links {
		folders = append(folders, kernel.DirFS(dir, 1<<20))
	}
	return link.Load(folders...)
}

// openLinks finds the links of a plan by the text a study has for them.
func (x *assembly) openLinks() {
	all, _ := x.bed.LinkProfiles()
	byName := map[string]link.Link{}
	for n, p := range all {
		byName[n] = p.Link
	}
	x.profiles = byName
	x.lab.Links = map[string]link.Link{}
	for t := range x.treatments() {
		l, ok := lab.LinkOf(t.Setup, byName)
		text := t.Setup.Link.Text
		if _, seen := x.lab.Links[text]; seen || !ok {
			continue
		}
		if t.Setup.Population.Devices > 0 && (l.Shaper != link.Userspace || l.Up.Burst > 0 || l.Down.Burst > 0) {
			x.fault(t, "devices have a link each, which the driver emulates: without netem and without bursts of losses",
				"name another link", "link")
		}
		if err := l.Check(); err != nil {
			x.fault(t, err.Error(), "", "link")
			l = link.Link{Name: l.Name} // what follows from the fault is not said beside it
		}
		x.lab.Links[text] = l
	}
}

// seeLength finds links by which no answer arrives in time, and trials that cannot be over within timeouts.trial: each
// request of a closed loop waits for the answer to the one before, and each answer for the link.
func (x *assembly) seeLength() {
	limit, patience, warmUp := x.plan.Study.Timeouts.Trial, x.plan.Study.Timeouts.Request, x.plan.Study.Design.WarmUp
	for t := range x.treatments() {
		l, ok := x.lab.Links[t.Setup.Link.Text]
		switch {
		case !ok:
			continue
		case l.Up.Loss == 1 || l.Down.Loss == 1:
			lost := "request"
			if l.Up.Loss < 1 {
				lost = "answer"
			}
			x.fault(t, fmt.Sprintf("link %s loses every packet, so no %s gets through", t.Setup.Link.Text, lost),
				"write loss: 1% for one in a hundred", "link")
			continue
		case roundTrip(l) >= patience:
			x.fault(t, fmt.Sprintf("link %s has a round trip of %s or more, so no answer arrives within timeouts.request, %s",
				t.Setup.Link.Text, study.DurationText(roundTrip(l)), study.DurationText(patience)),
				"raise timeouts: {request: …}", "link")
			continue
		case t.Setup.Population.Devices > 0:
			continue
		}
		if least := leastTime(t.Setup, l, warmUp); least >= limit {
			what, keys := fmt.Sprintf("%d requests and their warm-up", t.Setup.Requests), []string{"requests", "link"}
			if t.Setup.Duration > 0 {
				what = fmt.Sprintf("a duration of %s and a warm-up of %d requests", study.DurationText(t.Setup.Duration),
					warmUp.Requests)
				keys[0] = "duration"
			}
			x.fault(t, fmt.Sprintf("%s take %s at least behind this link, whose round trip is %s or more: too long for "+
				"timeouts.trial, %s", what, study.DurationText(least.Round(time.Second)), study.DurationText(roundTrip(l)),
				study.DurationText(limit)),
				"lower requests or design: {warmup: …}, or raise timeouts: {trial: …}", keys...)
		}
	}
}

// leastTime is how long a closed loop waits for a link in a trial, at least; 0 where others decide that.
func leastTime(s *study.Setup, l link.Link, warmUp study.Span) time.Duration {
	if s.Rate > 0 || s.Options["observe"] != "" {
		return 0
	}
	turns := func(requests int) float64 {
		return float64(requests) / float64(max(s.Concurrency, 1)) * float64(roundTrip(l))
	}
	lasts := max(turns(s.Requests), float64(s.Duration))
	if s.MinDuration > 0 { // a quarter longer than the warm-up's pace says
		lasts = max(1.25*lasts, float64(s.MinDuration))
	}
	return time.Duration(min(turns(warmUp.Requests)+float64(warmUp.Time)+lasts, 1<<62))
}

// roundTrip is that of a link's delays; most requests take longer where they vary.
func roundTrip(l link.Link) time.Duration {
	least := func(s link.Shape) time.Duration { return max(0, s.Delay-s.DelayStdDev) }
	return least(l.Up) + least(l.Down)
}

// tooSlow says that a link carries the body of a request for so long that no answer arrives in time.
func (x *assembly) tooSlow(t study.Trial, body int64) string {
	const surely = 0.9 // of the bits that this program makes of it refuse it: another may write it a little shorter
	l, ok := x.lab.Links[t.Setup.Link.Text]
	patience := x.plan.Study.Timeouts.Request
	if !ok || l.Up.Rate == 0 || body == 0 || t.Setup.Options["coding"] != "" { // by which it is smaller there
		return ""
	}
	takes := func(share float64) time.Duration {
		sent := share * 8 * float64(body) / float64(l.Up.Rate) * float64(time.Second)
		return roundTrip(l) + time.Duration(min(sent, 1<<62))
	}
	if takes(surely) < patience {
		return ""
	}
	return fmt.Sprintf("a message of %d B and its answer take about %s over link %s, so none arrives within "+
		"timeouts.request, %s", body, study.DurationText(takes(1).Round(time.Millisecond)), t.Setup.Link.Text,
		study.DurationText(patience))
}
