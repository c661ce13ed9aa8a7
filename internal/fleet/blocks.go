package fleet

import (
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/store"
)

// resume reads the ledger. Each order under way gets a fresh lease.
func (w *conducting) resume() error {
	orders, err := w.Ledger.Orders()
	if err != nil {
		return err
	}
	for _, o := range orders {
		why := ""
		switch {
		case w.beyond(o.Block):
			why = "the study no longer has its block"
		case len(w.Benches) > 0 && !slices.Contains(w.Benches, o.Bench.Name) || w.seat(o.Bench.Name).order != nil:
			why = "its bench no longer takes part"
		}
		if why != "" {
			if err := w.Ledger.Withdraw(o, why); err != nil {
				return err
			}
			continue
		}
		s := w.seat(o.Bench.Name)
		s.order, s.held, s.beat.Boot = &o, time.Now(), o.Bench.Boot
	}
	return w.plan()
}

// plan lists the blocks that are to be given away.
func (w *conducting) plan() error {
	trials, err := w.Ledger.Trials()
	if err != nil {
		return err
	}
	attempts, err := w.Ledger.Attempts(0)
	if err != nil {
		return err
	}
	blocks := map[int]int{}
	w.todo, w.homes, w.measured = nil, map[int]string{}, map[string]int{}
	for _, t := range trials {
		blocks[t.ID] = t.Block
		left := (t.State == store.Planned || t.State == store.Invalid) && t.Refused <= w.Retries
		if left && !w.beyond(t.Block) && !slices.Contains(w.todo, t.Block) {
			w.todo = append(w.todo, t.Block)
		}
	}
	for _, a := range attempts {
		if a.State == store.Valid {
			if _, seen := w.homes[blocks[a.Trial]]; !seen {
				w.measured[a.Bench.Name]++
			}
			w.homes[blocks[a.Trial]] = a.Bench.Name
		}
	}
	return nil
}

// beyond says whether a block of the ledger is none of the study.
func (w *conducting) beyond(block int) bool { return w.last > 0 && block > w.last }

// extend asks for a block for each bench that can measure one, so that none waits for the
// others.
func (w *conducting) extend() (bool, error) {
	fit := 0
	for name, s := range w.seats {
		if w.fit(name, s) {
			fit++
		}
	}
	added, err := w.More(max(fit/max(w.Drivers, 1), 1))
	if err != nil || added == 0 {
		return err == nil, err
	}
	if w.last > 0 {
		w.last += added
	}
	return false, w.plan()
}
