package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge/internal/measure"
	"edgegauge/internal/stat"
	"edgegauge/internal/store"
)

// Limits from which what was noted of trials becomes a warning.
const (
	driftFrom = 0.01 // share by which a trial's last third differs from its first
	driftMuch = 0.20 // the same, where all trials agree and are too few for a test
	waitFrom  = 0.10 // s without a CPU for each s of the run
)

// timed are the responses that waiting and drift touch.
var timed = []string{"rtt", "response_time", "total_time", "serialization", "deserialization", "processing", "delay", "delay_to_data", "throughput"}

// doubtTrials warns, beside the figures they touch, of what the lab noted of
// the valid trials: drift within them, waiting for a CPU, failures.
func (r *Report) doubtTrials(s *store.Store) error {
	noted := make([][]map[string]float64, len(r.Treatments)) // treatment, trial, key
	for _, t := range r.Trials {
		i := r.treatmentOf(t.Treatment)
		if i < 0 || t.State != store.Valid {
			continue
		}
		all, err := s.Quality(t.ID, t.Attempts)
		if err != nil {
			return err
		}
		m := map[string]float64{}
		for _, q := range all {
			m[q.Key] = q.Value
		}
		noted[i] = append(noted[i], m)
	}
	r.doubtDrift(noted)
	for i, trials := range noted {
		for _, side := range []measure.Side{measure.Client, measure.Server} {
			if share := waitShare(trials, side); share > waitFrom {
				r.warnCells(i, side, timed, fmt.Sprintf("the %s's threads were ready to run and had no CPU, for %.2g s together in each second of the run (median of trials): times include that wait; use a quieter machine, or fewer programs at once", side, share))
			}
		}
		if failed, all := sum(trials, "failures"), sum(trials, "requests"); failed > 0 {
			r.warnCells(i, measure.Client, nil, fmt.Sprintf("%.0f of %.0f requests failed and are in no time or size", failed, all))
		}
	}
	return nil
}

// doubtDrift compares the last third of every trial with the first, paired by
// trial, Holm over the treatments.
func (r *Report) doubtDrift(noted [][]map[string]float64) {
	found := make([]stat.Comparison, len(noted))
	ps := make([]float64, len(noted))
	plain := make([]bool, len(noted))
	for i, trials := range noted {
		var first, last []float64
		for _, m := range trials {
			if a, b := m["rtt_first_third"], m["rtt_last_third"]; a > 0 && b > 0 {
				first, last = append(first, a), append(last, b)
			}
		}
		ps[i] = math.NaN()
		if c, err := stat.RatioPaired(last, first, r.Study.Design.Confidence); err == nil {
			found[i], ps[i], plain[i] = c, c.P, plainDrift(first, last, c.Estimate)
		}
	}
	for i, p := range stat.Holm(ps) {
		if c := found[i]; p < warnAt && math.Abs(c.Estimate-1) >= driftFrom || plain[i] {
			r.warnCells(i, measure.Client, timed, fmt.Sprintf("not steady: the last third of each trial takes %s times as long as its first (%s): %s", ratioText(c.Estimate), ratioRange(c), steadier(c.Estimate)))
		}
	}
}

// plainDrift reports whether three or more trials all drift the same way, and
// much: a test of three is never sure, and yet a virtual machine that compiles
// while it is measured is seen in them.
func plainDrift(first, last []float64, ratio float64) bool {
	down := 0
	for i := range first {
		if last[i] < first[i] {
			down++
		}
	}
	return len(first) >= 3 && (down == 0 || down == len(first)) && math.Abs(ratio-1) >= driftMuch
}

func steadier(ratio float64) string {
	if ratio < 1 {
		return "it still warms up; raise design.warmup"
	}
	return "something fills or heats up; look at the time course"
}

func waitShare(trials []map[string]float64, side measure.Side) float64 {
	var shares []float64
	for _, m := range trials {
		if m["span"] > 0 {
			shares = append(shares, m["run_queue_wait_"+string(side)]/m["span"])
		}
	}
	if len(shares) == 0 {
		return 0
	}
	slices.Sort(shares)
	return shares[len(shares)/2]
}

func sum(trials []map[string]float64, key string) float64 {
	var total float64
	for _, m := range trials {
		if v := m[key]; !math.IsNaN(v) {
			total += v
		}
	}
	return total
}

// warnCells adds a warning to the cells of a treatment; responses nil: all.
func (r *Report) warnCells(treatment int, side measure.Side, responses []string, text string) {
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Treatment == treatment && c.Side == side && (responses == nil || slices.Contains(responses, c.Response)) {
			c.Warnings = append(c.Warnings, text)
		}
	}
}

// doubtPrecision says whether the precision a study asks for was reached.
func (r *Report) doubtPrecision() {
	d := r.Study.Design
	if d.Precision == 0 {
		return
	}
	var wide []string
	for _, c := range r.Cells {
		if s := c.Mean; s.HasInterval() && s.Center != 0 && !s.Precise(d.Precision) {
			wide = append(wide, fmt.Sprintf("%s of %s at the %s (±%.2g %%)", words(c.Response), r.Treatments[c.Treatment].Name(), c.Side, 100*s.HalfWidth()/math.Abs(s.Center)))
		}
	}
	if len(wide) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the precision asked, %s %%, is not reached by %d figures: %s", strings.TrimSuffix(significant(100*d.Precision), ".00"), len(wide), list(wide, 3)))
	}
}
