package battery

import (
	"fmt"
	"strings"

	"edgegauge.example/edgegauge/internal/stat"
)

// A Need is a bound on a battery's life.
type Need struct {
	Text  string
	More  bool    // the life is to be longer than Bound, else shorter
	Bound float64 // s
}

// ParseNeed reads a need, as "battery > 5y".
func ParseNeed(text string) (Need, error) {
	n := Need{Text: strings.TrimSpace(text)}
	what, bound, more := strings.Cut(n.Text, ">")
	if n.More = more; !more {
		what, bound, _ = strings.Cut(n.Text, "<")
	}
	if strings.TrimSpace(what) != "battery" {
		return n, fmt.Errorf("%q: a need must be about the battery's life; write, for example, 'battery > 5y'", text)
	}
	var err error
	if n.Bound, err = ParseQuantity(strings.TrimPrefix(bound, "="), "s"); err != nil {
		return n, fmt.Errorf("%q: %w", text, err)
	}
	return n, nil
}

// Verdict says whether a forecast meets the need: only if its whole interval does.
func (n Need) Verdict(f Forecast) stat.Verdict {
	switch {
	case f.Lo > n.Bound && n.More, f.Hi < n.Bound && !n.More:
		return stat.Confirmed
	case f.Hi < n.Bound, f.Lo > n.Bound:
		return stat.Contradicted
	}
	return stat.Undecided
}
