package report

import (
	"fmt"
	"math"

	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/stat"
)

// beside is how the level of a mark lies beside the one before.
func beside(j history.Judged, m history.Mark) string {
	if j.Linear {
		return fmt.Sprintf("%s (%s to %s)", besideWords(j, m.Ratio, "the level before"), Format(m.Lo, j.Unit),
			Format(m.Hi, j.Unit))
	}
	return fmt.Sprintf("%s times the level before (%s)", ratioText(m.Ratio), ratioSpan(m.Lo, m.Hi))
}

// besideWords are a ratio to something, or a difference from it.
func besideWords(j history.Judged, by float64, what string) string {
	switch {
	case !j.Linear:
		return ratioText(by) + " times " + what
	case by < 0:
		return Format(-by, j.Unit) + " below " + what
	}
	return Format(by, j.Unit) + " above " + what
}

// TimesBase is a run's figure as a multiple of another's, with the 95 % interval that their trials give it (Welch on
// logarithms). By how much runs differ beyond that, Judged.Between says.
func TimesBase(j history.Judged, p, base history.Point) string {
	if j.Linear {
		return besideWords(j, p.Log-base.Log, "it")
	}
	of := func(p history.Point) stat.Moments {
		mean := math.Exp(p.Log)
		return stat.Moments{N: p.Trials, Mean: mean, SD: mean * p.SE * math.Sqrt(float64(p.Trials))}
	}
	c, err := stat.RatioOfMoments(of(p), of(base), history.Confidence)
	if err != nil {
		return ratioText(math.Exp(p.Log - base.Log))
	}
	return fmt.Sprintf("%s (%s)", ratioText(c.Estimate), ratioRange(c))
}
