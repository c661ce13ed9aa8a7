package main

import (
	"fmt"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
)

// counts reports whether it is on requests that are counted.
func (b bound) counts() bool { return b.figure == "failures" || b.figure == "retries" }

// counted judges failures or retries: their number is a fact, and so is that there are none or all; of a share the
// exact interval over all requests decides.
func (b bound) counted(t total, confidence float64) judged {
	n, did := t.failed, "failed"
	if b.figure == "retries" {
		n, did = min(t.sent, t.repetitions), "were sent again"
	}
	why := fmt.Sprintf("%d of %d requests %s", n, t.sent, did)
	share := stat.Share{Hits: n, N: t.sent}
	switch {
	case t.sent == 0:
		return b.unknown("no request was sent")
	case b.of != "share":
		return b.fact(float64(n), why)
	case b.at <= 0 || b.at >= 1:
		return b.fact(share.Of(), why)
	}
	lo, hi := share.Interval(confidence)
	above, below := share.Beyond(b.at)
	v := share.Of()
	j := judged{Condition: b.text, Value: &v, Unit: b.unit(), CI: []float64{lo, hi},
		Method: "exact binomial interval over all requests", p: min(above, below),
		Why: fmt.Sprintf("%s (%s to %s)", why, report.RoughPercent(lo), report.RoughPercent(hi))}
	switch {
	case j.p >= 1-confidence:
		j.Verdict = stat.Undecided
		j.Why += ": the interval contains the bound; more requests would decide"
	case (above < below) != b.less:
		j.Verdict = stat.Confirmed
	default:
		j.Verdict = stat.Contradicted
	}
	return j
}

// allows says why no condition on the figure, failures or retries, allows as many; empty: one does, and is not met.
func allows(figure string, bounds []bound, all []judged) string {
	open := "say how many may fail, too, such as --fail-if 'failures>1%'"
	if figure == "retries" {
		open = "say how many may be sent again, too, such as --fail-if 'retries>1%'"
	}
	for i, b := range bounds {
		if b.figure != figure || b.less {
			continue
		}
		switch all[i].Verdict {
		case stat.Contradicted:
			return ""
		case stat.Confirmed:
			open = "more than " + b.text + " allows"
		default:
			open = "whether " + b.text + " is open"
		}
	}
	return open
}

// doubtSentAgain takes back that failures are below the bound where that is so since requests whose connection broke
// were sent again, which hides that they failed: the server may have read them. One of the bounds may allow so many.
func (b bound) doubtSentAgain(j *judged, t total, bounds []bound, all []judged, confidence float64) {
	if b.figure != "failures" || t.repetitions == 0 || j.Verdict == stat.Undecided ||
		(j.Verdict == stat.Confirmed) != b.less {
		return
	}
	again := t.repetitions
	t.failed = min(t.sent, t.failed+again)
	if b.counted(t, confidence).Verdict == j.Verdict {
		return
	}
	if open := allows("retries", bounds, all); open != "" {
		j.doubt(fmt.Sprintf("%s; but the connection broke during %s, and they would count as failures if they had not "+
			"been sent again: %s", j.Why, plural.Count(again, "request"), open))
	}
}
