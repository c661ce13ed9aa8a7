package testbed

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
)

// AdviseLinks is what to know of a plan's links that nothing refuses, in words, with what to write.
func (b *Testbed) AdviseLinks(p study.Plan) []error {
	x := b.assemble(p, b.Exe, b.Temp)
	x.openLinks()
	return append(x.skewed(), x.losing()...)
}

// skewed are links whose packets are delayed by more in the mean than the study says.
func (x *assembly) skewed() (out []error) {
	const worthSaying = 0.05 // of the delay
	said := map[string]bool{}
	for t := range x.treatments() {
		text := t.Setup.Link.Text
		l := x.lab.Links[text]
		for _, s := range []link.Shape{l.Up, l.Down} {
			mean := s.MeanDelay()
			if l.Shaper == link.Netem || said[text] || float64(mean-s.Delay) < worthSaying*float64(s.Delay) || mean == s.Delay {
				continue
			}
			note := x.plan.Fault(t, fmt.Sprintf("link %s delays packets by %s in the mean, not by %s, since negative delays "+
				"are drawn again", text, study.DurationText(threeDigits(mean)), study.DurationText(s.Delay)),
				"for another mean write a smaller delay_stddev")
			note.Pos, _ = x.plan.Place(t, "link")
			said[text], out = true, append(out, &note)
		}
	}
	return out
}

func threeDigits(d time.Duration) time.Duration {
	unit := time.Duration(math.Pow10(max(0, int(math.Log10(float64(d)))-2)))
	return d.Round(unit)
}

// losing are treatments behind a link that loses, where so many requests fail that trials will be invalid for it. It is
// known of CoAP and bare UDP, where a plan says how many requests a trial has; when TCP sends again depends on what it
// has measured.
func (x *assembly) losing() []error {
	const worthSaying = 0.05 // of the trials
	p := x.plan
	if p.Study.Failures != nil {
		return nil
	}
	var out []error
	var said []string
	for t := range x.treatments() {
		s, n := t.Setup, t.Setup.Requests
		l, ok := x.lab.Links[s.Link.Text]
		timed := n == 0 || s.Duration > 0 || s.MinDuration > 0
		bursts, nothing := max(l.Up.Burst, l.Down.Burst) > 1, max(l.Up.Loss, l.Down.Loss) == 1 // which is refused
		if !ok || timed || bursts || nothing || s.Population.Devices > 0 {
			continue
		}
		fails, why := x.failsBehind(t, l)
		least := sort.Search(n+1, func(failed int) bool { return !lab.Bears(s, l, failed, n) })
		invalid := stat.AtLeast(least, n, fails)
		if invalid < worthSaying {
			continue
		}
		note := p.Fault(t, fmt.Sprintf("behind link %s %s requests fail: %s; so %s trials will be invalid, "+
			"as without failures those are of which %d or more of %d requests fail", s.Link.Text,
			atLeast("%.2g %% or more of the", fails), why, atLeast("about %.0f %% or more of the", invalid), least, n),
			"write failures: "+
				study.FailuresFor(int(math.Ceil(fails*float64(n))), n))
		note.Pos, _ = p.Place(t, "link")
		if text := note.Error(); !slices.Contains(said, text) {
			said, out = append(said, text), append(out, &note)
		}
	}
	return out
}

// atLeast words a share, whose percentage a format would round to 100.
func atLeast(format string, share float64) string {
	if share >= 0.995 {
		return "nearly all"
	}
	return fmt.Sprintf(format, 100*share)
}

// failsBehind is the share of a treatment's requests that fail behind a link, at least, and why; 0: that is not known.
func (x *assembly) failsBehind(t study.Trial, l link.Link) (share float64, why string) {
	s := t.Setup
	lost := 1 - (1-l.Up.Loss)*(1-l.Down.Loss)
	body := float64(x.madeOf(t).bytes)
	blocks := max(1, math.Ceil(body/largestBlock))
	switch {
	case lost == 0:
		return 0, ""
	case s.Transport == "udp":
		packets := max(1, math.Ceil((body+8)/float64(l.LargestPacket()-20)))
		return 1 - math.Pow(1-l.Up.Loss, packets)*(1-l.Down.Loss), fmt.Sprintf("each is %.0f packets, and nobody sends "+
			"again what is lost", packets)
	case s.Transport != "coap":
		return 0, ""
	case s.SentOnce():
		return 1 - math.Pow(1-lost, blocks), fmt.Sprintf("each is %.0f blocks, and nobody sends again what is lost", blocks)
	}
	patience := x.plan.Study.Timeouts.Request
	unanswered, most := unanswered(lost, roundTrip(l), patience)
	return 1 - math.Pow(1-unanswered, blocks), fmt.Sprintf("CoAP sends again after 2 to 3 s, twice that and so on, so %d "+
		"attempts at most fit into timeouts.request, %s, which may be longer", most, study.DurationText(patience))
}

// unanswered is the probability that no attempt of a confirmable CoAP exchange succeeds in time, each of which is lost
// with some probability, and how many there are at most (RFC 7252, section 4.2).
func unanswered(lost float64, roundTrip, patience time.Duration) (p float64, most int) {
	const (
		ackTimeout, retransmit = 2 * time.Second, 4
		steps                  = 100
	)
	for i := range steps { // of a timeout that is drawn from 2 to 3 s
		first := ackTimeout + ackTimeout*time.Duration(2*i+1)/(4*steps)
		attempts := 0
		for attempts <= retransmit && first*(1<<attempts-1)+roundTrip < patience {
			attempts++
		}
		p += math.Pow(lost, float64(attempts)) / steps
		most = max(most, attempts)
	}
	return p, most
}
