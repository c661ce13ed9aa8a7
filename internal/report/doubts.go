package report

import (
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/store"
)

// mostReasons is of how many trials without a valid attempt the reason is given.
const mostReasons = 5

// doubts gathers what a reader must know of the whole.
func (r *Report) doubts() {
	for name, d := range r.Facts.Devices {
		for _, x := range d.Doubts {
			r.Warnings = append(r.Warnings, "device "+name+": "+x)
		}
	}
	slices.Sort(r.Warnings)
	r.Warnings = append(slices.Clone(r.Facts.LeftOut), r.Warnings...)
	for _, t := range r.Treatments {
		if t.Valid < t.Wanted {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %d of %d trials are valid", t.Name(), t.Valid, t.Wanted))
		}
	}
	r.doubtDropped()
	if len(r.LeftOut) > 0 {
		r.Warnings = append(r.Warnings, r.leftOutWords())
	}
	shown := 0
	for _, t := range r.Trials {
		if t.Reason == "" || t.State == store.Valid {
			continue
		}
		if shown++; shown <= mostReasons {
			r.Warnings = append(r.Warnings, t.Reason)
		}
	}
	if n := shown - mostReasons; n > 0 {
		r.Warnings = append(r.Warnings, plural.Count(n, "more trial")+" without a valid attempt; the list of trials under "+
			"Plan, in the HTML report, says why")
	}
}

// leftOutWords say what a copy of results does not hold.
func (r *Report) leftOutWords() string {
	var lacks []string
	for _, x := range [][2]string{{"exchanges", "individual requests"}, {"samples", "readings"}, {"packets", "packets"}} {
		if slices.Contains(r.LeftOut, x[0]) {
			lacks = append(lacks, x[1])
		}
	}
	kind, has := "without raw files", "every trial's figures"
	if !slices.Contains(r.LeftOut, "exchanges") {
		kind, has = "without all raw files", has+" and every request"
	}
	if len(lacks) == 0 {
		lacks = append(lacks, "logs")
	}
	last := len(lacks) - 1
	text := strings.Join(lacks[:last], ", ")
	if last > 0 {
		text += " or "
	}
	return fmt.Sprintf("a copy %s (%s): it has %s, but no %s%s", kind, strings.Join(r.LeftOut, ", "), has, text,
		lacks[last])
}

// mostDamage is how much of what has changed is said on one line.
const mostDamage = 3

// DamageText says on one line what is wrong with results, of much the first.
func DamageText(damage []string) string {
	if more := len(damage) - mostDamage; more > 0 {
		damage = append(slices.Clone(damage[:mostDamage]), fmt.Sprintf("and %d more, which edgegauge report lists", more))
	}
	return strings.Join(damage, "; ")
}

// changed says what Damage comes to.
func (r *Report) changed() string {
	if r.Unread {
		return "cannot be compared with what the lab wrote"
	}
	return "have changed since the lab wrote them"
}

// damage is the warning that stands above everything else.
func (r *Report) damage() []string {
	if len(r.Damage) == 0 {
		return nil
	}
	out := []string{"These results " + r.changed() + "; do not trust what follows."}
	return append(out, r.Damage...)
}
