package testbed

import (
	"fmt"
	"maps"
	"slices"

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
		values := map[string]bool{}
		for t := range x.treatments() {
			values[r.value(t.Setup)] = true
		}
		if len(values) < 2 { // as a rule, and to compare treatments takes longer
			continue
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
			x.fault(t, who+", so treatments that differ in it alone are equal", "do not vary "+r.key, r.blamed...)
		}
	}
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
