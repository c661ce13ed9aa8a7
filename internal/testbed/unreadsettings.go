package testbed

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/study"
)

// A sometimesRead is a setting that programs of some treatments read, and of others not.
type sometimesRead struct {
	key    string
	blamed []string                    // the settings that say whether it is read, and itself
	value  func(s *study.Setup) string // empty: it is not given
	drop   func(s *study.Setup)        // makes it empty
	unread func(s *study.Setup) string // what does not read it, in words; empty: it is read
}

func (x *assembly) sometimesRead() []sometimesRead {
	only := func(who service.Name, says string) func(*study.Setup) string {
		return func(s *study.Setup) string {
			if s.Service == string(who) || s.Service == "" {
				return ""
			}
			return "service " + s.Service + says
		}
	}
	unless := func(read bool, says string) func(*study.Setup) string {
		return func(*study.Setup) string {
			if read {
				return ""
			}
			return says
		}
	}
	metered := unless(lab.NeedsMeter(x.plan.Study), "no response is energy or power")
	return []sometimesRead{
		{"heap", []string{"stack", "client.stack", "server.stack", "heap"}, func(s *study.Setup) string {
			if s.Heap == 0 {
				return ""
			}
			return fmt.Sprint(s.Heap)
		}, func(s *study.Setup) { s.Heap = 0 }, x.heapless},
		{"sensor", []string{"service", "sensor"}, func(s *study.Setup) string { return s.Sensor },
			func(s *study.Setup) { s.Sensor = "" }, only(service.Temperature, " reads no sensor")},
		{"io_dir", []string{"service", "io_dir"}, func(s *study.Setup) string { return s.IODir },
			func(s *study.Setup) { s.IODir = "" }, only(service.IO, " writes no files")},
		x.ofMessages("letters", only(service.Concat, " sends no strings of letters")),
		x.ofMessages("max", only(service.Sum, " sends no hundredths")),
		{"capture", []string{"capture"}, func(s *study.Setup) string { return s.Capture },
			func(s *study.Setup) { s.Capture = "" }, unless(lab.NeedsPackets(x.plan.Study), "no response comes from packets")},
		{"client.meter", []string{"client.meter"}, func(s *study.Setup) string { return s.Client.Meter },
			func(s *study.Setup) { s.Client.Meter = "" }, metered},
		{"server.meter", []string{"server.meter"}, func(s *study.Setup) string { return s.Server.Meter },
			func(s *study.Setup) { s.Server.Meter = "" }, metered},
	}
}

// ofMessages is an option that the lab reads, unless a stack has one of that name, too.
func (x *assembly) ofMessages(option string, unread func(*study.Setup) string) sometimesRead {
	return sometimesRead{"options." + option, []string{"service", "options." + option},
		func(s *study.Setup) string { return s.Options[option] },
		func(s *study.Setup) {
			s.Options = maps.Clone(s.Options)
			delete(s.Options, option)
		},
		func(s *study.Setup) string {
			if slices.Contains(x.lab.Stacks[s.Client.Stack].Options, option) ||
				slices.Contains(x.lab.Stacks[s.Server.Stack].Options, option) {
				return ""
			}
			return unread(s)
		}}
}

// seeUnread finds treatments that differ in nothing but a setting that neither program reads: they are one, measured
// twice. One value for all treatments stands for those that read it, whichever of them the stacks here leave.
func (x *assembly) seeUnread() {
	for _, r := range x.sometimesRead() {
		x.faults = append(x.faults, x.equalBut(r)...)
	}
}

// equalBut are the faults of treatments that differ in one setting, which neither program reads.
func (x *assembly) equalBut(r sometimesRead) (found []study.Error) {
	values := map[string]bool{}
	for t := range x.treatments() {
		values[r.value(t.Setup)] = true
	}
	if len(values) < 2 { // as a rule, and to compare treatments takes longer
		return nil
	}
	same := map[string]study.Trial{}
	for t := range x.treatments() {
		who := r.unread(t.Setup)
		if who == "" {
			continue
		}
		rest := *t.Setup
		r.drop(&rest)
		key := fmt.Sprintf("%+v", rest) // another pointer in it is another treatment
		first, seen := same[key]
		if !seen {
			same[key] = t
			continue
		}
		if r.value(first.Setup) == r.value(t.Setup) {
			continue
		}
		if r.value(t.Setup) == "" {
			t = first
		}
		found = append(found, x.plan.Fault(t, who+", so treatments that differ in it alone are equal", "do not vary "+r.key,
			r.blamed...))
	}
	return found
}

// Unread are settings of a plan that no program of its treatments reads, in words. They change no figure, so nothing is
// refused for them: stacks or treatments that would read them may be left out here.
func (b *Testbed) Unread(p study.Plan) []error {
	var out []error
	if idle := idleMeter(p); idle != nil {
		out = append(out, idle)
	}
	x := b.assemble(p, b.Exe, b.Temp)
	for _, r := range x.sometimesRead() {
		if strings.HasSuffix(r.key, ".meter") || !gives(p.Study, r.key) {
			continue
		}
		t, who := x.unreadBy(r)
		if who == "" || len(x.equalBut(r)) > 0 { // which is refused, and so is told
			continue
		}
		note := p.Fault(t, fmt.Sprintf("%s, so %s %s changes nothing", who, r.key, p.Given(t, r.key)), "")
		note.Pos, _ = p.Place(t, r.key)
		out = append(out, &note)
	}
	return out
}

// gives says whether a study gives a setting to some of its treatments.
func gives(s study.Study, key string) bool {
	among := func(all []study.Setting) bool {
		return slices.ContainsFunc(all, func(x study.Setting) bool { return x.Key == key })
	}
	return among(s.Fixed) || slices.ContainsFunc(s.Factors, func(f study.Factor) bool {
		return slices.ContainsFunc(f.Levels, func(l study.Level) bool { return among(l.Sets) })
	})
}

// unreadBy is the first treatment that is given a setting, and what does not read it; empty: one does, or none has it.
func (x *assembly) unreadBy(r sometimesRead) (first study.Trial, who string) {
	for t := range x.treatments() {
		given := x.plan.Given(t, r.key)
		if given == "" || r.key == "capture" && given == "off" { // no packets are captured, which is so
			continue
		}
		by := r.unread(t.Setup)
		if by == "" {
			return t, ""
		}
		if who == "" {
			first, who = t, by
		}
	}
	return first, who
}

// Lonely says that a plan wants trials to run at the same time that have no other to do so with; nil: they have.
func Lonely(p study.Plan) error {
	fellows, first := map[int]int{}, map[int]study.Trial{}
	for _, t := range p.Trials {
		if n := t.Setup.AtOnce; n > 1 && t.Block == p.Trials[0].Block {
			if fellows[n]++; fellows[n] == 1 {
				first[n] = t
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(fellows)) {
		if fellows[n] == 1 {
			alone := p.Fault(first[n], fmt.Sprintf("at_once %d changes nothing: trials of a block run at the same time, and "+
				"each block has one of them", n), "run more treatments, or remove it")
			alone.Pos, _ = p.Place(first[n], "at_once")
			return &alone
		}
	}
	return nil
}

// Single says that a plan has one trial of each treatment; nil: it has more.
func Single(p study.Plan) error {
	if p.Study.Design.Replications > 1 {
		return nil
	}
	return &study.Error{Pos: p.Study.ReplicationsAt, What: "with one trial of each treatment figures have no interval, " +
		"and no treatment is called better than another", Advice: "write replications: 2 or more, preferably 10"}
}

// heapless says that no program of a treatment takes a heap; empty: one does.
func (x *assembly) heapless(s *study.Setup) string {
	if x.lab.Stacks[s.Client.Stack].Call.TakesHeap() || x.lab.Stacks[s.Server.Stack].Serve.TakesHeap() {
		return ""
	}
	stacks := []string{s.Client.Stack, s.Server.Stack}
	if slices.Sort(stacks); stacks[0] == stacks[1] {
		return fmt.Sprintf("stack %s takes no heap", stacks[0])
	}
	return fmt.Sprintf("stacks %s and %s take no heap", s.Client.Stack, s.Server.Stack)
}
