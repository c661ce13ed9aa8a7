package testbed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/instrument/packet"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/study"
)

// Unavailable finds what a study with "unavailable: skip" wants and this machine cannot
// do: links, packets, and energy where no treatment with a meter is left. It returns
// the overrides with which Read leaves that out, and each thing with the reason.
func (b *Testbed) Unavailable(ctx context.Context, p study.Plan) (sets, why []string) {
	if !p.Study.SkipUnavailable {
		return nil, nil
	}
	x := b.assemble(p, b.Exe, b.Temp)
	x.looking = true
	defer x.abandon()
	x.openLinks()
	missing, why := x.missingLinks(ctx)
	gone := map[int]bool{}
	for _, t := range missing {
		gone[t.Cell] = true
	}
	responses, more := x.missingResponses(gone)
	return p.Without(missing, responses), append(why, more...)
}

// ReadAvailable is Read without what Unavailable finds, each thing of which is in left,
// with the reason. Overrides in kept, before those in sets, were kept with results or came with an order.
func (b *Testbed) ReadAvailable(ctx context.Context, file string, text []byte, kept []string, sets ...string) (
	p study.Plan, left []string, err error,
) {
	return b.readAvailable(ctx, b.Vocabulary(ctx), file, text, kept, sets)
}

func (b *Testbed) readAvailable(ctx context.Context, v study.Vocabulary, file string, text []byte,
	kept, sets []string) (
	p study.Plan, left []string, err error,
) {
	v.Kept, sets = len(kept), slices.Concat(kept, sets)
	if p, err = read(v, file, text, sets...); err != nil {
		return p, nil, b.withNotGiven(p, err)
	}
	more, left := b.Unavailable(ctx, p)
	if more == nil {
		return p, nil, nil
	}
	p, err = read(v, file, text, append(sets, more...)...)
	return p, left, err
}

// withNotGiven adds to the faults of a study, where they are names of responses that there are none of, those responses
// that there are and that it does not measure: who corrects a list wants to know of all of it.
func (b *Testbed) withNotGiven(p study.Plan, err error) error {
	var found study.Errors
	if !errors.As(err, &found) || len(p.Study.Responses) == 0 {
		return err
	}
	x := b.assemble(p, b.Exe, b.Temp)
	defer x.abandon()
	for _, e := range found {
		x.faults = append(x.faults, *e)
	}
	x.seePackets()
	x.seeGiven()
	if !p.Study.SkipUnavailable {
		x.seeMetered()
	}
	return study.Collect(x.faults)
}

// missingLinks are the treatments whose link cannot be made.
func (x *assembly) missingLinks(ctx context.Context) (missing []study.Trial, why []string) {
	failed := map[link.Shaper]error{}
	said := map[string]bool{}
	for t := range x.treatments() {
		l, ok := x.lab.Links[t.Setup.Link.Text]
		if !ok || !needsNetwork(x.plan.Study, t.Setup) || l.Check() != nil {
			continue
		}
		err, tried := failed[l.Shaper]
		if !tried {
			err = x.bed.tryLink(ctx, l)
			failed[l.Shaper] = err
		}
		if err == nil {
			continue
		}
		missing = append(missing, t)
		if text := t.Setup.Link.Text; !said[text] {
			said[text] = true
			why = append(why, fmt.Sprintf("link %s is left out, since it cannot be made here: %v", text, err))
		}
	}
	return missing, why
}

// missingResponses are those that no treatment could have, those gone aside.
func (x *assembly) missingResponses(gone map[int]bool) (out, why []string) {
	captured, metered := false, false
	var tapped error
	for t := range x.treatments() {
		if gone[t.Cell] {
			continue
		}
		metered = metered || t.Setup.Client.Meter+t.Setup.Server.Meter != ""
		switch {
		case !lab.Captured(t.Setup):
		case needsNetwork(x.plan.Study, t.Setup):
			captured = true
		default:
			if tapped == nil {
				tapped = tryLoopback()
			}
			captured = captured || tapped == nil
		}
	}
	var packets, energy []string
	for _, w := range x.plan.Study.Responses {
		r, _ := measure.FindResponse(w.Text)
		switch {
		case r.Packets && !captured:
			packets = append(packets, w.Text)
		case lab.IsEnergy(w.Text) && !metered:
			energy = append(energy, w.Text)
		}
	}
	if len(packets) > 0 {
		text := strings.Join(packets, ", ") + ": not measured, since packets are captured for none of the remaining " +
			"treatments"
		if tapped != nil {
			text += ": " + tapped.Error()
		}
		why = append(why, text)
	}
	if len(energy) > 0 {
		why = append(why, strings.Join(energy, ", ")+": not measured, since none of the remaining treatments has a meter")
	}
	return append(packets, energy...), why
}

// tryLoopback tries whether packets can be captured on lo.
func tryLoopback() error {
	tap, err := packet.Open(packet.TapOptions{Interface: "lo", Blocks: 1})
	if err != nil {
		return err
	}
	return tap.Close()
}
