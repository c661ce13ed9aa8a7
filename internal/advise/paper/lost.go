package paper

import (
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
)

// A time is of the requests that were answered. Those that failed would have taken longer than they did, and as long as
// nobody waited for them any longer: between these lies the mean of all, whoever lost the slow ones. So where requests
// of a side failed, a claim is judged by three figures: of the answered requests, and with those that failed of the one
// side, or of the other, answered at the time limit. What all three decide is decided. So it is with the requests of an
// attempt that took longer than a trial may, of which nothing is known.

// losing is a figure of two sides, with those in which the requests that failed of either were answered at the limit.
func losing(figure func(a, b selection) Evidence, a, b selection) Evidence {
	f := figure(a, b)
	if a.loses() {
		late := a
		late.atLimit = true
		f.lost = append(f.lost, figure(late, b))
	}
	if b.loses() {
		late := b
		late.atLimit = true
		f.lost = append(f.lost, figure(a, late))
	}
	return f
}

// all are a figure and what it may be where requests failed.
func (f Evidence) all() []Evidence { return append([]Evidence{f}, f.lost...) }

// loses reports whether requests of a selection failed, and notes of which treatments.
func (s selection) loses() bool {
	j, lose := s.scope.t.judged, false
	for _, x := range s.series(s.scope.strata) {
		if len(x.Lost) == 0 {
			continue
		}
		lose = true
		if name := x.Name(); !slices.Contains(j.losing, name) && (x.Ended == 0 || x.Failed > 0) {
			j.losing = append(j.losing, name)
		}
	}
	return lose
}

// endings notes that attempts at a treatment took longer than a trial may.
func (j *Judged) endings(x advise.Series) {
	text := fmt.Sprintf("%d of %s", x.Ended, x.Name())
	if x.Ended > 0 && !slices.Contains(j.ended, text) {
		j.ended = append(j.ended, text)
	}
}

// lostWords says which requests a claim lacks: those of treatments that failed, and of attempts that were ended.
func (j *Judged) lostWords() string {
	var parts []string
	if len(j.losing) > 0 {
		parts = append(parts, "requests of "+strings.Join(j.losing, "; ")+" failed")
	}
	if len(j.ended) > 0 {
		parts = append(parts, "attempts were ended by timeouts.trial ("+strings.Join(j.ended, "; ")+")")
	}
	return strings.Join(parts, " and ")
}

// turnable reports whether the requests that failed may bring a figure to the other side of a bound; and whether they
// leave that open at least, where the answered ones alone would decide.
func (f Evidence) turnable(bounds []float64) (turned, open bool) {
	reaches := func(x Evidence, bound float64) bool { return !(x.Lo > bound) && !(x.Hi < bound) }
	for _, x := range f.lost {
		turned = turned || x.why != ""
		for _, b := range bounds {
			turned = turned || (x.Estimate > b) != (f.Estimate > b)
			open = open || reaches(x, b) && !reaches(f, b)
		}
	}
	return turned, turned || open
}

// turnable is that of all that is open of a claim.
func (j *Judged) turnable() (turned, open bool) {
	for _, p := range j.Parts {
		for _, f := range append(p.several, p.Ours) {
			t, o := f.turnable(j.open(p))
			turned, open = turned || t, open || o
		}
	}
	return turned, open
}
