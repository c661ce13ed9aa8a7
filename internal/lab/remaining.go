package lab

import (
	"time"

	"edgegauge.example/edgegauge/internal/study"
)

// A remaining is what a run has still to do, and how long that may take. Trials of a treatment take about as long as
// those before; of a treatment that had none yet, what its settings and its link cost, and beside it what others took
// beyond theirs: a first trial behind no link says nothing of one behind a slow link.
type remaining struct {
	least  map[int]time.Duration // of a trial of each treatment, as far as is known
	left   map[int]int           // trials of each treatment
	setup  map[int]*study.Setup
	of     map[int]pace // of the treatments
	beyond pace         // what all trials took beyond the least
}

// A pace is what trials took together.
type pace struct {
	took time.Duration
	n    int
}

func (p pace) mean() time.Duration { return p.took / time.Duration(max(1, p.n)) }

func (p pace) and(d time.Duration) pace { return pace{p.took + d, p.n + 1} }

// plan takes the trials that are left.
func (r *remaining) plan(todo []study.Trial) {
	r.left, r.setup = map[int]int{}, map[int]*study.Setup{}
	for _, t := range todo {
		r.left[t.Cell]++
		r.setup[t.Cell] = t.Setup
	}
}

// ended takes a trial that took so long; others may have run at the same time.
func (r *remaining) ended(t study.Trial, took time.Duration, valid bool) {
	if r.of == nil {
		r.of = map[int]pace{}
	}
	r.of[t.Cell] = r.of[t.Cell].and(took)
	r.beyond = r.beyond.and(max(0, took-r.least[t.Cell]))
	if valid {
		r.left[t.Cell]--
	}
}

// time is an estimate of what is left when a trial has ended, with a cool-down before each or those that run at the
// same time.
func (r *remaining) time(coolDown time.Duration) (d time.Duration) {
	for cell, n := range r.left {
		each := r.of[cell].mean()
		if r.of[cell].n == 0 {
			each = r.least[cell] + r.beyond.mean()
		}
		d += (each + coolDown) * time.Duration(n) / time.Duration(max(1, r.setup[cell].AtOnce))
	}
	return d
}
