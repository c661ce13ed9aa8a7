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
			x.fault(t, err.Error(), "name another link", "link")
		}
		x.lab.Links[text] = l
	}
}

// seeLength finds trials that cannot be over within timeouts.trial: each request of a closed loop waits for the answer
// to the one before, and each answer for the link.
func (x *assembly) seeLength() {
	limit := x.plan.Study.Timeouts.Trial
	for t := range x.treatments() {
		l, ok := x.lab.Links[t.Setup.Link.Text]
		if !ok || t.Setup.Population.Devices > 0 {
			continue
		}
		requests := t.Setup.Requests + x.plan.Study.Design.WarmUp.Requests
		if least := leastTime(t.Setup, l, requests); least >= limit {
			x.fault(t, fmt.Sprintf("%d requests and their warm-up take %v at least behind this link, whose round trip is "+
				"%v or more: too long for timeouts.trial, %v", t.Setup.Requests, least.Round(time.Second), roundTrip(l), limit),
				"lower requests, or raise timeouts: {trial: …}", "requests", "link")
		}
	}
}

// leastTime is how long so many requests of a closed loop wait for a link, at least; 0 where others decide that.
func leastTime(s *study.Setup, l link.Link, requests int) time.Duration {
	if s.Rate > 0 || s.Duration > 0 || s.Options["observe"] != "" {
		return 0
	}
	turns := float64(requests) / float64(max(s.Concurrency, 1))
	return time.Duration(min(turns*float64(roundTrip(l)), 1<<62))
}

// roundTrip is that of a link's delays; most requests take longer where they vary.
func roundTrip(l link.Link) time.Duration {
	least := func(s link.Shape) time.Duration { return max(0, s.Delay-s.DelayStdDev) }
	return least(l.Up) + least(l.Down)
}
