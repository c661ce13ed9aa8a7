package testbed

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/device/ssh"
	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/named"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/study"
)

// Vocabulary is what a study may name on this machine.
func (b *Testbed) Vocabulary(ctx context.Context) study.Vocabulary {
	known, links := b.LinkProfiles()
	_, devices := b.Profiles()
	v := study.Vocabulary{
		Services: map[string]study.ServiceFacts{}, Links: slices.Sorted(maps.Keys(known)),
		Devices: b.DeviceNames(), Emulated: emulated(),
		Broken: func(what, name string) string {
			if err := named.FaultOf(name, map[string]error{"link": links, "device": devices}[what]); err != nil {
				return strings.ReplaceAll(err.Error(), "\n", "; ")
			}
			return ""
		},
		Board:           func(name string) error { _, err := ssh.ParseTarget(name); return err },
		MostConnections: drive.MostConnections, MostRate: drive.MostRate,
		Synonyms: measure.Synonyms(), Published: paper.Tables(), StackNames: b.StackNames(),
		Stacks: func(name string) (study.StackFacts, bool) {
			d, ok := b.FindStack(name)
			if !ok {
				why := b.brokenStack(name)
				return study.StackFacts{Name: name, Missing: why}, why != ""
			}
			return b.stackFacts(ctx, d), true
		},
	}
	for _, n := range service.Names() {
		v.Services[string(n)] = study.ServiceFacts{Sized: n != service.Temperature && n != service.Monitor,
			Sizeable: n == service.Monitor}
	}
	for _, r := range measure.Responses() {
		v.Responses = append(v.Responses, r.Name)
		for _, side := range r.Sides {
			v.Sided = append(v.Sided, string(side)+"."+r.Name)
		}
	}
	return v
}

// Read reads a study and plans it. The error, of type study.Errors, holds every
// fault of the file; the plan is there, to find others, where all are aside.
func (b *Testbed) Read(ctx context.Context, file string, text []byte, sets ...string) (study.Plan, error) {
	return read(b.Vocabulary(ctx), file, text, sets...)
}

func read(v study.Vocabulary, file string, text []byte, sets ...string) (study.Plan, error) {
	s, err := study.Parse(file, text, v, sets...)
	var found study.Errors
	if errors.As(err, &found) && !found.Aside() {
		return study.Plan{}, err
	}
	p, unplanned := study.Expand(s)
	return p, cmp.Or(err, unplanned)
}
