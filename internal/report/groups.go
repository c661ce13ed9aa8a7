package report

import (
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/study"
)

// A group is the treatments that one verdict may rank: those that differ in
// what one can choose (stack, encoding, security, connection), and not in what
// one is given: link, devices, service, message, load.
type group struct {
	name       string // "link nb-iot"; empty where there is one group
	treatments []int
}

// given is what one does not choose, as text that is equal for equal set-ups.
func given(s *study.Setup) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%+v|%+v|%s|%s|%s|%d|%d|%s|%d|%d|%g|%s|%s", s.Population.Given(), s.Link, s.Client.Device,
		s.Server.Device, s.Service, s.N, s.Size, s.IP, s.Concurrency, max(s.DrivenFrom, 1), s.Rate, s.Arrival, requestOf(s))
}

// groups splits the treatments, floors aside, in the order of the study. Where
// that would leave nothing to compare, as in a study of two devices, all are one group.
func (r *Report) groups() []group {
	var out []group
	at := map[string]int{}
	most := 0
	for i, t := range r.Treatments {
		if r.isFloor(t.Stack) {
			continue
		}
		key := given(t.setup)
		k, ok := at[key]
		if !ok {
			k = len(out)
			at[key], out = k, append(out, group{})
		}
		out[k].treatments = append(out[k].treatments, i)
		most = max(most, len(out[k].treatments))
	}
	if len(out) < 2 || most < 2 {
		var all group
		for _, g := range out {
			all.treatments = append(all.treatments, g.treatments...)
		}
		slices.Sort(all.treatments)
		return []group{all}
	}
	for k := range out {
		out[k].name = r.groupName(out[k], out)
	}
	return out
}

// groupOf is the index of the group that a treatment, or a floor, belongs to; -1: a
// floor that stands under no group.
func (r *Report) groupOf(groups []group, treatment int) int {
	if len(groups) == 1 {
		return 0
	}
	key := given(r.Treatments[treatment].setup)
	return slices.IndexFunc(groups, func(g group) bool { return given(r.Treatments[g.treatments[0]].setup) == key })
}

// groupFactors are those by which verdicts are apart, such as a link: to say that one
// of their levels is better than another would answer nobody.
func (r *Report) groupFactors() []string {
	all := r.groups()
	var out []string
	for f, factor := range r.Factors {
		apart := len(all) > 1
		for _, g := range all {
			apart = apart && len(r.levelsIn(g, f)) == 1
		}
		if apart {
			out = append(out, factor)
		}
	}
	return out
}

// loads are the settings that say how much is asked of a server, and for how long.
var loads = []string{"rate", "concurrency", "arrival", "requests", "duration", "min_duration", "devices", "period",
	"driven_from"}

// VariesLoadAlone reports whether treatments differ in their load and in nothing else, as in a search for what a server
// bears: nobody chooses among them.
func (r *Report) VariesLoadAlone() bool {
	varies := false
	for i, f := range r.Study.Factors {
		if !slices.ContainsFunc(r.Treatments, func(t Treatment) bool { return t.Levels[i] != r.Treatments[0].Levels[i] }) {
			continue // it has one level, or exclusions leave one
		}
		for _, l := range f.Levels {
			if len(l.Sets) == 0 || slices.ContainsFunc(l.Sets, func(s study.Setting) bool {
				return !slices.Contains(loads, s.Key)
			}) {
				return false
			}
		}
		varies = true
	}
	return varies
}

// groupName names what a group's treatments share and those of others do not:
// "link nb-iot, size 10kB".
func (r *Report) groupName(g group, all []group) string {
	var parts []string
	for f, factor := range r.Factors {
		own := r.levelsIn(g, f)
		if len(own) != 1 {
			continue
		}
		if slices.ContainsFunc(all, func(o group) bool { return !slices.Equal(r.levelsIn(o, f), own) }) {
			parts = append(parts, factor+" "+own[0])
		}
	}
	return strings.Join(parts, ", ")
}

// levelsIn are the levels of a factor that a group has, in their order.
func (r *Report) levelsIn(g group, factor int) []string {
	var out []string
	for _, i := range g.treatments {
		if l := r.Treatments[i].Levels; factor < len(l) && !slices.Contains(out, l[factor]) {
			out = append(out, l[factor])
		}
	}
	return out
}
