package fleet

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// ErrNobody means that no bench may measure what is left of a plan.
var ErrNobody = errors.New("no bench may measure what is left")

// unnamedFor is for how many leases benches that nobody named are waited for: another may be added.
const unnamedFor = 10

// nobody ends a study that would wait for ever: all benches that could measure it are heard, and none
// may, since a lease. One that is silent may come back.
func (w *conducting) nobody() error {
	names, most := w.Benches, w.lease()
	if len(names) == 0 {
		names, most = slices.Sorted(maps.Keys(w.seats)), unnamedFor*w.lease()
	}
	able, reasons := 0, []string{}
	for _, name := range names {
		s := w.seats[name]
		if s == nil || s.order != nil || s.helps != "" || time.Since(s.heard) > w.lease() {
			able = max(w.Drivers, 1) // it may, or it is at work
		} else if why := w.belongsElsewhere(name); s.said == "" && why == "" {
			able++
		} else if s.said == "" {
			reasons = append(reasons, name+": "+why)
		} else {
			reasons = append(reasons, name+": "+s.said)
		}
	}
	switch {
	case len(names) == 0 || len(w.todo) == 0 || able >= max(w.Drivers, 1):
		w.stuck = time.Time{}
	case w.stuck.IsZero():
		w.stuck = time.Now()
	case time.Since(w.stuck) > most:
		return fmt.Errorf("%w: %s; fix that, and run the same command again", ErrNobody, strings.Join(reasons, "; "))
	}
	return nil
}

// belongsElsewhere is why a bench may measure none of the blocks that are left; empty: it may.
func (w *conducting) belongsElsewhere(name string) string {
	why := ""
	for _, block := range w.todo {
		home, ok := w.homes[block]
		if !ok || home == name {
			return ""
		}
		why = fmt.Sprintf("block %d was measured in part by bench %s, and only that may end it", block, home)
	}
	return why
}

// firstLook is after how many blocks a bench's controls are looked at first, and then after each
// doubling: more looks would find more by chance.
const firstLook = 8

// watchControl drains a bench whose control treatment has moved, unless it is the last one.
func (w *conducting) watchControl(bench string, s *seat) error {
	if n := w.measured[bench]; w.Moved == nil || s.drained != "" || n < firstLook || bits.OnesCount(uint(n)) != 1 {
		return nil
	}
	why, err := w.Moved(bench)
	if why == "" || err != nil {
		return err
	}
	for name, other := range w.seats {
		if name != bench && other.said == "" && other.beat.Bench != "" && time.Since(other.heard) <= w.lease() {
			s.drained = why + "; it is drained: check it"
			return nil
		}
	}
	w.tell(Event{Bench: bench, What: why + "; it measures on, since there is no other: check it"})
	return nil
}
