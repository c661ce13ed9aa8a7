package fleet

import (
	"context"
	"maps"
	"slices"
	"time"
)

// A message is what a transport is asked beside the loop: a hub whose cluster elects a leader takes nothing for
// seconds, and benches are to be heard meanwhile. One is under way at a time.
type message struct {
	to     []string // benches
	orders []Order  // what each of them is to do
	taken  int      // of orders, from the first
	mend   string   // a bench whose results do not arrive; empty: none
}

// send sends what is due, unless a message is under way.
func (w *conducting) send(ctx context.Context) {
	if w.sending {
		return
	}
	m := w.untold()
	if m.mend = w.late(); len(m.to) == 0 && m.mend == "" {
		return
	}
	w.sending = true
	go func() {
		for i, name := range m.to {
			if w.Board.Assign(ctx, name, m.orders[i]) != nil {
				break // a hub that does not take one order takes no other
			}
			m.taken++
		}
		if m.mend != "" {
			w.Board.Mend(ctx, m.mend) // it is called again
		}
		w.sent <- m
	}()
}

// untold are the orders of benches that were not told yet what they are to do. While the hub is away there are none:
// they are told at the next tick, whoever failed last.
func (w *conducting) untold() (m message) {
	if w.away {
		return m
	}
	names := slices.Sorted(maps.Keys(w.seats))
	if i, found := slices.BinarySearch(names, w.failed); found {
		names = append(names[i+1:], names[:i+1]...)
	}
	for _, name := range names {
		s := w.seats[name]
		if o, err := w.order(s); err == nil && (s.told == nil || *s.told != o.Task) {
			m.to, m.orders = append(m.to, name), append(m.orders, o)
		}
	}
	return m
}

// late is a bench whose results have not arrived for a lease; empty: there is none.
func (w *conducting) late() string {
	for _, name := range slices.Sorted(maps.Keys(w.seats)) {
		s := w.seats[name]
		if !s.offered.IsZero() && s.fetching == nil && time.Since(s.offered) > w.lease() &&
			time.Since(s.heard) <= w.lease() {
			s.offered = time.Now()
			return name
		}
	}
	return ""
}

// noteSent takes what became of a message.
func (w *conducting) noteSent(m message) {
	w.sending = false
	for i, name := range m.to[:m.taken] {
		s := w.seat(name)
		s.told, s.reached = &m.orders[i].Task, m.orders[i].Task
	}
	if m.taken < len(m.to) {
		w.away, w.failed = true, m.to[m.taken]
	}
}

// order is what a bench is to do.
func (w *conducting) order(s *seat) (Order, error) {
	o := Order{Task: Task{Run: w.Run}, Boot: s.beat.Boot}
	if main := w.seats[s.helps]; main != nil && main.order != nil {
		boot := o.Boot
		o, err := w.order(main)
		o.Boot, o.Helps, o.Helpers = boot, s.helps, nil
		return o, err
	}
	if s.order == nil {
		return o, nil
	}
	o.Block, o.Attempt, o.Boot, o.Helpers = s.order.Block, s.order.Attempt, s.order.Bench.Boot, s.team
	o.Retries, o.Study, o.Overrides = w.Retries, w.Study, w.Overrides
	var err error
	if s.plan == nil {
		s.plan, err = w.Ledger.BlockPlan(o.Block)
	}
	o.Plan = s.plan
	return o, err
}
