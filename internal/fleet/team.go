package fleet

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/study"
)

// A team are benches that measure a block together: one has the order, the servers and the results,
// and the others drive its servers as well. The ledger knows the first alone; whom it was helped by
// stands in the results.

// ranked lists the benches, those named first in the order in which they were named: the first has
// the servers.
func (w *conducting) ranked() []string {
	all := slices.Sorted(maps.Keys(w.seats))
	rank := func(name string) int {
		if i := slices.Index(w.Benches, name); i >= 0 {
			return i
		}
		return len(w.Benches)
	}
	slices.SortStableFunc(all, func(a, b string) int { return rank(a) - rank(b) })
	return all
}

// giveAll gives orders to free benches, or to teams of them.
func (w *conducting) giveAll(free []string) error {
	size := max(w.Drivers, 1)
	for len(free) >= size {
		led := false
		for i := range free { // a block that is measured in part belongs to one of them
			name := free[i]
			s := w.seats[name]
			if err := w.give(name, s); err != nil {
				return err
			}
			if led = s.order != nil; !led {
				continue
			}
			free = slices.Delete(free, i, i+1)
			s.team, free = slices.Clone(free[:size-1]), free[size-1:]
			for _, helper := range s.team {
				w.seats[helper].helps = name
			}
			break
		}
		if !led {
			break
		}
	}
	w.sayTooFew(len(free))
	return nil
}

// sayTooFew tells, once, that benches are waited for, and for a while already.
func (w *conducting) sayTooFew(free int) {
	size := max(w.Drivers, 1)
	if free == 0 || free >= size || len(w.todo) == 0 || slices.ContainsFunc(slices.Collect(maps.Values(w.seats)),
		func(s *seat) bool { return s.order != nil }) {
		w.short = time.Time{}
		return
	}
	text := fmt.Sprintf("%d of %d benches that measure together are there; the study waits for the others", free, size)
	switch {
	case w.short.IsZero():
		w.short = time.Now()
	case text != w.waits && time.Since(w.short) >= w.lease()/beats:
		w.waits = text
		w.tell(Event{What: text})
	}
}

// over ends a bench's order, and its team.
func (w *conducting) over(name string, s *seat) {
	s.order, s.team = nil, nil
	for _, h := range w.seats {
		if h.helps == name {
			h.helps = ""
		}
	}
}

// missHelpers withdraws orders whose helpers are not heard any more.
func (w *conducting) missHelpers() error {
	for _, name := range slices.Sorted(maps.Keys(w.seats)) {
		s := w.seats[name]
		if s.helps == "" || time.Since(s.heard) <= w.lease() {
			continue
		}
		if err := w.lose(name, "it was silent for "+study.DurationText(w.lease())); err != nil {
			return err
		}
	}
	return nil
}

// lose withdraws the order that a bench helped with, unless its results are here already: all
// trials of the block are to be driven by the same benches.
func (w *conducting) lose(helper, why string) error {
	s := w.seats[helper]
	main := w.seats[s.helps]
	s.helps = ""
	if main == nil || main.order == nil || main.fetching != nil ||
		main.beat.Done && main.beat.Task == w.task(*main.order) {
		return nil
	}
	return w.withdraw(main, fmt.Sprintf("bench %s helped with it: %s", helper, why))
}

// hearHelper takes the beat of a bench that helps, or did before this coordinator began.
func (w *conducting) hearHelper(b Beat, s *seat) error {
	main := w.seats[b.Helps]
	if main == nil || main.order == nil || b.Task != w.task(*main.order) {
		return nil
	}
	if s.helps == "" && s.order == nil && !slices.Contains(main.team, b.Bench) && len(main.team) < w.Drivers-1 {
		s.helps = b.Helps
		main.team = append(main.team, b.Bench)
	}
	if b.Failed == "" || s.helps != b.Helps {
		return nil
	}
	if !b.Cut {
		w.fail(s, b.Failed)
	}
	return w.lose(b.Bench, b.Failed)
}
