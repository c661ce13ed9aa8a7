package fleet

import (
	"maps"
	"slices"
	"time"
)

// A Standing is whether a bench takes part now.
type Standing string

// How a bench may stand.
const (
	Up      Standing = "up"
	Drained Standing = "drained" // it gets no more orders, and ends the one it has
	Lost    Standing = "lost"    // silent for longer than a lease
	Barred  Standing = "barred"  // it gets no orders; Why says why
)

// A BenchState is what a coordinator knows of a bench.
type BenchState struct {
	Bench    string    `json:"bench"`              // its name
	Standing Standing  `json:"standing"`           // up, drained, lost or barred
	Why      string    `json:"why,omitempty"`      // in words, where it is barred
	Block    int       `json:"block,omitempty"`    // it was given; 0: none
	Arriving bool      `json:"arriving,omitempty"` // the block is measured, its results are on their way
	Helps    string    `json:"helps,omitempty"`    // the bench whose block it is, where it only drives that one's servers
	Kept     int       `json:"kept"`               // blocks, since this coordinator began
	Heard    time.Time `json:"heard,omitzero"`     // last; zero: never
}

// states lists the benches by name.
func (w *conducting) states() []BenchState {
	var all []BenchState
	for _, name := range slices.Sorted(maps.Keys(w.seats)) {
		s := w.seats[name]
		x := BenchState{Bench: name, Standing: Up, Kept: w.outcome.Blocks[name], Heard: s.heard.Round(0)}
		if s.order != nil {
			x.Block, x.Arriving = s.order.Block, s.fetching != nil || s.beat.Done && s.beat.Task == w.task(*s.order)
		}
		if main := w.seats[s.helps]; main != nil && main.order != nil {
			x.Block, x.Helps = main.order.Block, s.helps
		}
		switch {
		case time.Since(s.heard) > w.lease():
			x.Standing = Lost
		case s.drained != "":
			x.Standing = Drained
		case s.said != "":
			x.Standing, x.Why = Barred, s.said
		}
		all = append(all, x)
	}
	return all
}

// fewBenches are shown at every change. Of more, one speaks several times a second, and the
// list is long.
const fewBenches = 50

// show tells the states.
func (w *conducting) show() {
	if w.Show == nil || len(w.seats) > fewBenches && time.Since(w.shown) < time.Second {
		return
	}
	w.shown = time.Now()
	w.Show(w.states())
}
