package testbed

import (
	"fmt"
	"slices"

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
	}
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
