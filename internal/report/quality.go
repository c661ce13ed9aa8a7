package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// Limits from which what was noted of trials becomes a warning.
const (
	driftFrom      = 0.01 // share by which a trial's last third differs from its first
	driftMuch      = 0.20 // the same, where muchAt is enough
	muchAt         = 0.05 // p, of all treatments together, from which on that much is said
	waitFrom       = 0.10 // s without a CPU for each s of the run
	mostReconnects = 0.01 // of the requests
)

// timed are the responses of requests that drift touches.
var timed = []string{"rtt", "response_time", "total_time", "serialization", "deserialization", "processing", "delay",
	"delay_to_data", "throughput"}

// waits are the responses that waiting for a CPU touches.
var waits = sync.OnceValue(func() []string {
	var out []string
	for _, x := range measure.Responses() {
		if x.Waits() {
			out = append(out, x.Name)
		}
	}
	return out
})

// doubtTrials warns, beside the figures they touch, of what the lab noted of
// the valid trials: drift within them, waiting for a CPU, failures.
func (r *Report) doubtTrials(s *store.Store) error {
	noted := make([][]map[string]float64, len(r.Treatments)) // treatment, trial, key
	cold := make([]string, len(r.Treatments))                // why the first failure of a warm-up failed
	recorded, err := s.Qualities()
	if err != nil {
		return err
	}
	for i, t := range r.valid() {
		m := map[string]float64{}
		for _, q := range recorded[store.AttemptID{Trial: t.ID, Attempt: t.Attempt}] {
			m[q.Key] = q.Value
		}
		noted[i] = append(noted[i], m)
		if from, ok := m["gathers_at_timer"]; ok {
			r.Treatments[i].timers = append(r.Treatments[i].timers, from)
		}
		if m["warm_up_failures"] > 0 && cold[i] == "" {
			w, _ := s.WarmUp(store.AttemptID{Trial: t.ID, Attempt: t.Attempt}) // a copy has no such file
			cold[i] = w.FirstFailure
		}
	}
	r.doubtRefused(recorded)
	attempts, err := s.Attempts(0)
	if err != nil {
		return err
	}
	r.lostInBlocks(recorded, attempts)
	r.doubtEnded()
	r.doubtFaults(recorded, attempts)
	r.sayJoint(noted)
	r.doubtRamps(noted)
	r.doubtModelledBytes(noted)
	r.doubtCPU(noted)
	r.doubtMemory(noted)
	r.doubtDrift(noted)
	r.doubtRates(noted)
	r.doubtArrivals(noted)
	r.doubtClocks(noted)
	r.doubtStreams(noted)
	r.doubtEnergy(noted)
	r.doubtNothing()
	r.doubtUntimed()
	for i, trials := range noted {
		r.doubtWaits(i, trials)
		r.doubtProcesses(i, trials)
		r.doubtOtherLabs(i, trials)
		r.doubtWarmUp(i, trials, cold[i])
		r.doubtRequests(i, trials)
		r.doubtUnanswered(i, trials)
		r.doubtKept(i, trials)
		r.doubtOpened(i, trials)
	}
	return nil
}

// doubtWaits warns where programs waited for a CPU, or where the kernel does not say.
func (r *Report) doubtWaits(treatment int, trials []map[string]float64) {
	counted := r.counts(treatment) // nothing else runs in its machine: its programs wait for each other, and always alike
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		share := waitShare(trials, side)
		if counted {
			share = 0
		}
		r.noteWaiting(treatment, side, share)
		if share > waitFrom {
			r.warnCells(treatment, side, waits(),
				fmt.Sprintf("the %s's threads were ready to run and had no CPU, for a total of %.2g s in each second of the "+
					"run (median of trials): times include that wait; use a quieter machine, or fewer programs at once", side,
					share))
		}
	}
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		if holding(trials, "waiting_untold_"+string(side)) > 0 && !counted {
			r.warnCells(treatment, side, waits(), fmt.Sprintf("the kernel does not record how long the %s's threads were ready "+
				"to run and had no CPU (CONFIG_SCHED_INFO): times include any such wait, and verdicts cannot allow for it", side))
		}
	}
}

// doubtOtherLabs warns where another lab measured on the same machine.
func (r *Report) doubtOtherLabs(treatment int, trials []map[string]float64) {
	n := holding(trials, "other_labs")
	if n == 0 || r.counts(treatment) {
		return
	}
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		r.warnCells(treatment, side, waits(), fmt.Sprintf("another lab measured on this machine during %d of %d trials: "+
			"times include what it took; measure one study after the other", n, len(trials)))
	}
}

// doubtClocks warns where in all trials of a treatment the programs tell times that cannot be.
func (r *Report) doubtClocks(noted [][]map[string]float64) {
	for i, trials := range noted {
		for _, x := range []struct{ key, says string }{
			{"untold", "the client's records do not account for %s of each run, by the lab's clock: its clock may be slow, " +
				"or it may count in units other than ns"},
			{"handled_beyond_rtt", "the server handled each request for %s longer than the client waited for its answer, " +
				"which is impossible: the client reads its clock too late, or one of them counts in units other than ns"},
		} {
			if len(trials) == 0 || holding(trials, x.key) < len(trials) {
				continue
			}
			text := fmt.Sprintf(x.says+"; edgegauge stacks check finds what is wrong", Format(sum(trials, x.key)/
				float64(len(trials)), "s"))
			r.warnCells(i, measure.Client, timed, text)
			r.Alarms = append(r.Alarms, r.Treatments[i].Name()+": "+text)
		}
	}
}

// doubtProcesses warns of what a side's processes came to: the memory limit killed some, or the kernel counts their
// memory late.
func (r *Report) doubtProcesses(treatment int, trials []map[string]float64) {
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		if n := holding(trials, "peak_rss_lacks_"+string(side)); n > 0 {
			r.warnCells(treatment, side, []string{"peak_rss"}, fmt.Sprintf("this kernel counts pages late, up to 64 for each "+
				"thread, and does not count them exactly (CONFIG_PROC_PAGE_MONITOR): the figure may lack %s",
				Format(sum(trials, "peak_rss_lacks_"+string(side))/float64(n), "B")))
		}
		if n := holding(trials, "killed_for_memory_"+string(side)); n > 0 {
			text := fmt.Sprintf("in %d of %d trials the device's memory limit killed processes that the %s had started, "+
				"%.0f in all: it does not fit into this memory, though it went on and answered", n, len(trials), side,
				sum(trials, "killed_for_memory_"+string(side)))
			r.warnCells(treatment, side, nil, text)
			r.Alarms = append(r.Alarms, r.Treatments[treatment].Name()+": "+text)
		}
	}
}

// metered are the responses that come from a meter.
var metered = []string{"energy", "energy_gross", "trial_energy", "power"}

// doubtEnergy says what is doubtful about the readings of the trials' meters.
func (r *Report) doubtEnergy(noted [][]map[string]float64) {
	for i, trials := range noted {
		for _, side := range []measure.Side{measure.Client, measure.Server} {
			for _, key := range slices.Sorted(maps.Keys(energy.Words)) {
				touched := metered
				if key == "idle_moved" { // what includes idle power does not depend on it
					touched = []string{"energy"}
				}
				if n := sum(trials, string(side)+"_doubt_"+key); n > 0 {
					r.warnCells(i, side, touched, fmt.Sprintf("in %.0f of %d trials: %s", n, len(trials), energy.Words[key]))
				}
			}
			r.doubtMovedIdle(i, side, trials)
		}
	}
}

// counts reports whether the times of a treatment are counted instructions.
func (r *Report) counts(treatment int) bool {
	return slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Treatment == treatment && c.Method == store.Counted })
}

// noteWaiting keeps how much a side of a treatment waited.
func (r *Report) noteWaiting(treatment int, side measure.Side, share float64) {
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Treatment == treatment && slices.Contains(waits(), c.Response) {
			c.Waiting = max(c.Waiting, share) // a client's times include the server's wait
		}
	}
	if share > waitFrom {
		r.Starved = append(r.Starved, Starvation{treatment, side, share})
	}
}

// A Starvation is a side whose threads were ready to run and had no CPU, for
// Share s in each second of the run (median of trials).
type Starvation struct {
	Treatment int
	Side      measure.Side
	Share     float64
}

// starvedWords says in one sentence that programs waited for a CPU.
func (r *Report) starvedWords() []string {
	if len(r.Starved) == 0 {
		return nil
	}
	most := 0.0
	touched := map[int]bool{}
	for _, s := range r.Starved {
		most, touched[s.Treatment] = max(most, s.Share), true
	}
	return []string{fmt.Sprintf("CPU starvation: in %d of %d treatments threads were ready to run and had no CPU, for "+
		"a total of up to %s s in each second of the run; times include that wait, and differences may come from the "+
		"machine. Measure again on a quieter machine.",
		len(touched), len(r.Treatments), significant(most))}
}

// doubtDrift compares the last third of every trial with the first, paired by trial.
func (r *Report) doubtDrift(noted [][]map[string]float64) {
	thirds := make([][][2]float64, len(noted))
	for i, trials := range noted {
		for _, m := range trials {
			if a, b := m["rtt_first_third"], m["rtt_last_third"]; a > 0 && b > 0 {
				thirds[i] = append(thirds[i], [2]float64{a, b})
			}
		}
	}
	for i, d := range driftsOf(thirds, r.Study.Design.Confidence) {
		if !d.said {
			continue
		}
		says := drifts(d.Comparison)
		r.Treatments[i].drift = d.Estimate
		r.warnCells(i, measure.Client, timed, says)
		if math.Abs(d.Estimate-1) >= driftMuch {
			r.Alarms = append(r.Alarms, r.Treatments[i].Name()+": "+says)
		}
	}
}

// A drift is how many times as long requests take in the last third of trials as in the first.
type drift struct {
	stat.Comparison
	said bool
}

// driftsOf are those of treatments, of whose trials there are the first and the last third. All are judged at once
// (Holm): what is small is said if it is beyond doubt, and what is much if so much comes by chance in one study of
// twenty, since a virtual machine that compiles while it is measured is seen in three trials.
func driftsOf(thirds [][][2]float64, confidence float64) []drift {
	out, ps := make([]drift, len(thirds)), make([]float64, len(thirds))
	for i, pairs := range thirds {
		first, last := firstAndLast(pairs)
		var err error
		ps[i] = math.NaN()
		if out[i].Comparison, err = stat.RatioPaired(last, first, confidence); err == nil {
			ps[i] = out[i].P
		}
	}
	for i, p := range stat.Holm(ps) {
		d := &out[i]
		by := math.Abs(d.Estimate - 1)
		d.said = p < warnAt && by >= driftFrom || p < muchAt && by >= driftMuch && len(thirds[i]) >= 3
	}
	return out
}

// firstAndLast are those of pairs, each by itself.
func firstAndLast(pairs [][2]float64) (first, last []float64) {
	for _, p := range pairs {
		first, last = append(first, p[0]), append(last, p[1])
	}
	return first, last
}

// unsteady says in how many treatments of some results requests take another time at the end of a trial than at its
// beginning; empty: in none.
func unsteady(all ...*Report) string {
	var found []float64
	treatments := 0
	for _, r := range all {
		treatments += len(r.Treatments)
		for _, t := range r.Treatments {
			if t.drift > 0 {
				found = append(found, t.drift)
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	by := ratioText(slices.Min(found))
	if len(found) > 1 {
		by += " to " + ratioText(slices.Max(found))
	}
	return fmt.Sprintf("Not steady: in %d of %d treatments round trips take %s times as long in the last third of a "+
		"trial as in its first, so their means depend on how long the trial and its warm-up are.", len(found), treatments, by)
}

// drifts says how much a treatment's trials drift. An interval that contains 1, as one of more confidence than muchAt,
// proves nothing.
func drifts(c stat.Comparison) string {
	says, why := "not steady", steadier(c.Estimate)
	if c.Lo <= 1 && c.Hi >= 1 {
		says, why = "perhaps not steady", "by chance, or "+why
	}
	return fmt.Sprintf("%s: the last third of each trial takes %s times as long as its first (%s): %s", says,
		ratioText(c.Estimate), ratioRange(c), why)
}

func steadier(ratio float64) string {
	if ratio < 1 {
		return "still warming up; raise design.warmup"
	}
	return "something fills up or heats up; look at the time course"
}

// waitShare is the time that a side had no CPU, in s for each s of the run, the median of the trials: its threads
// waited for one, or the host of this virtual machine had taken it.
// Where both programs shared one CPU, waiting for each other is no starvation.
func waitShare(trials []map[string]float64, side measure.Side) float64 {
	var shares []float64
	for _, m := range trials {
		over := m["usage_span"]
		if !(over > 0) { // as in results of earlier versions
			over = m["span"]
		}
		if !(over > 0) {
			continue
		}
		wait := m["run_queue_wait_"+string(side)]
		if others, ok := m["run_queue_wait_others"]; ok {
			wait = others
		}
		shares = append(shares, (wait+m["stolen_"+string(side)])/over)
	}
	if len(shares) == 0 {
		return 0
	}
	return stat.Middle(shares)
}

// holding is how many trials have a value above 0.
func holding(trials []map[string]float64, key string) (n int) {
	for _, m := range trials {
		if m[key] > 0 {
			n++
		}
	}
	return n
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
