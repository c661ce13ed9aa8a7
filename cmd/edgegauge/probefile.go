package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
)

// probeFormat is the version of what probe --json prints (doc/formats.md).
const probeFormat = 1

// A probeReport is what probe --json prints.
type probeReport struct {
	Format          int            `json:"format"`
	Kind            string         `json:"kind"` // probe
	URL             string         `json:"url"`
	Load            probeLoad      `json:"load"`
	Settings        *probeSettings `json:"settings,omitempty"` // nil: an earlier edgegauge wrote it
	Requests        int            `json:"requests"`
	Failures        int            `json:"failures"`
	FirstFailure    string         `json:"first_failure"`
	Repetitions     int            `json:"repetitions"`
	Retransmissions int            `json:"retransmissions"`
	Reconnects      int            `json:"reconnects"`
	Seed            uint64         `json:"seed"`
	Warnings        []string       `json:"warnings"`
	Hints           []string       `json:"hints"`
	Confidence      float64        `json:"confidence"` // of every interval, 0 to 1
	Figures         []probed       `json:"figures"`
	Runs            int            `json:"runs"`
	PerRun          []probeRun     `json:"per_run"`
	Conditions      []judged       `json:"conditions,omitempty"`
	Verdict         string         `json:"verdict,omitempty"` // of the conditions
}

// A probeLoad is what was sent, and how.
type probeLoad struct {
	Loop        string  `json:"loop"` // closed or open
	Protocol    string  `json:"protocol"`
	Method      string  `json:"method"`
	Connection  string  `json:"connection"`
	Concurrency int     `json:"concurrency"`
	Rate        float64 `json:"rate"` // 1/s; 0: closed loop
	Arrival     string  `json:"arrival,omitempty"`
	Body        int     `json:"body_B"`
}

// A probeRun is one run's figures, in s, B and 1/s; null where no request was answered.
type probeRun struct {
	Requests     int      `json:"requests"` // 0: an earlier edgegauge wrote it
	Failures     int      `json:"failures"`
	Late         *int     `json:"failures_late"` // without an answer in time; null: an earlier edgegauge wrote it
	Repetitions  *int     `json:"repetitions"`   // requests sent again; null: likewise
	RTT          *within  `json:"rtt"`
	ResponseTime *within  `json:"response_time"`
	RequestBody  float64  `json:"request_body"`
	ResponseBody *float64 `json:"response_body"`
	Answers      float64  `json:"answers"`
	Length       *float64 `json:"length"`                          // s; null: an earlier edgegauge wrote it (tooFast)
	Waiting      float64  `json:"waiting"`                         // s without a CPU in each s of the run
	Waited       *int     `json:"waited_for_connection,omitempty"` // requests at a rate; null: there is none
	RateReached  *float64 `json:"rate_reached,omitempty"`          // share of it, likewise
}

// within are the figures within one run; null where there are too few requests.
type within struct {
	N      int      `json:"n"`
	Mean   float64  `json:"mean"`
	SD     *float64 `json:"sd"`
	Median float64  `json:"median"`
	P95    *float64 `json:"p95"`
	P99    *float64 `json:"p99"`
	Min    float64  `json:"min"`
	Max    float64  `json:"max"`
	// MedianOfAll and P95OfAll are those among all requests, where some failed, which are the slowest; nil: none failed,
	// it is one that did, or an earlier edgegauge wrote the file.
	MedianOfAll *float64 `json:"median_of_all,omitempty"`
	P95OfAll    *float64 `json:"p95_of_all,omitempty"`
}

// withinOf are the figures of times in ns, beside so many requests that failed; nil: there are none.
func withinOf(times []int64, failed int) *within {
	w, err := stat.WithinTrial(slices.Clone(times))
	if err != nil {
		return nil
	}
	known := func(v float64) *float64 {
		if v *= 1e-9; math.IsNaN(v) {
			return nil
		}
		return &v
	}
	out := &within{w.N, w.Mean * 1e-9, known(w.SD), w.Median * 1e-9, known(w.P95), known(w.P99), w.Min * 1e-9,
		w.Max * 1e-9, nil, nil}
	for q, to := range map[float64]**float64{0.5: &out.MedianOfAll, 0.95: &out.P95OfAll} {
		if v, err := stat.QuantileOfAll(slices.Clone(times), failed, q); failed > 0 && err == nil && !math.IsInf(v, 1) {
			*to = known(v)
		}
	}
	return out
}

// ofAll is a quantile among all requests of a run as advise.TrialSummary has it.
func (r probeRun) ofAll(q float64, known *float64) float64 {
	switch {
	case r.Failures == 0:
		return 0
	case known != nil:
		return *known
	case float64(r.Failures) >= (1-q)*float64(r.Requests):
		return math.Inf(1)
	}
	return math.NaN()
}

// mostProbe is the size in bytes up to which such a file is read.
const mostProbe = 256 << 20

// readProbe reads what probe --json printed; false if the file is something else.
func readProbe(path string) (probeReport, bool, error) {
	var p probeReport
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return p, false, nil
	}
	text, err := kernel.ReadFile(path, mostProbe)
	if err != nil {
		return p, true, exit{exitUnmeasured, err}
	}
	switch err := json.Unmarshal(text, &p); {
	case len(bytes.TrimSpace(text)) == 0:
		return p, true, exit{exitUnmeasured, fmt.Errorf("%s is empty: the probe that should have written it measured "+
			"nothing, and reported why; probe again", path)}
	case err != nil && bytes.Contains(text, []byte(`"probe"`)):
		return p, true, exit{exitUnmeasured, fmt.Errorf("%s is damaged: %w; probe again", path, err)}
	case err != nil || p.Kind != "probe" && p.URL == "":
		return p, true, exit{exitUsage, fmt.Errorf("%s is not what edgegauge probe --json prints; name results "+
			"directories, or files made by: edgegauge probe URL --json > FILE", path)}
	case p.Format > probeFormat:
		return p, true, exit{exitUsage,
			fmt.Errorf("%s has format %d, and this edgegauge reads %d; update edgegauge", path, p.Format, probeFormat)}
	case !p.possible():
		return p, true, exit{exitUnmeasured, fmt.Errorf("%s is damaged: its figures are impossible, such as more failures "+
			"than requests or a mean below the minimum, or it lacks figures of a run; probe again", path)}
	case len(p.PerRun) == 0 && p.answered() == 0 && p.Requests > 0: // of failures alone
	case len(p.PerRun) == 0:
		return p, true, exit{exitUsage,
			fmt.Errorf("%s has no figures of runs: an earlier edgegauge wrote it; probe again", path)}
	}
	return p, true, nil
}

// readProbeOrNone is the probe in a file; nil: there are results of a study.
func readProbeOrNone(path string) (*probeReport, error) {
	p, is, err := readProbe(path)
	switch {
	case err == nil && is:
		return &p, nil
	case err == nil && !exists(path):
		return nil, exit{exitUsage, notResults(path)}
	}
	return nil, err
}

// possible reports whether no figure contradicts another, and each run has all of its figures or none.
func (p probeReport) possible() bool {
	counts := func(failures, requests int) bool { return 0 <= failures && failures <= requests }
	var requests, failures int
	each := true // run says how many it sent
	for _, r := range p.PerRun {
		requests, failures, each = requests+r.Requests, failures+r.Failures, each && r.Requests > 0
		if !r.RTT.possible(r.Requests-r.Failures) || !r.ResponseTime.possible(r.Requests-r.Failures) ||
			r.RequestBody < 0 || r.ResponseBody != nil && *r.ResponseBody < 0 || r.Answers < 0 || r.Waiting < 0 ||
			r.Length != nil && *r.Length < 0 {
			return false
		}
		if r.Late != nil && !counts(*r.Late, r.Failures) || r.RTT != nil && r.Requests > 0 && r.Failures == r.Requests {
			return false
		}
		if r.Repetitions != nil && *r.Repetitions < 0 {
			return false
		}
		if !counts(r.Failures, r.Requests) || (r.RTT == nil) != (r.ResponseTime == nil) ||
			(r.RTT == nil) != (r.ResponseBody == nil) {
			return false
		}
	}
	if len(p.PerRun) > 0 && (each && (requests != p.Requests || failures != p.Failures) ||
		p.Runs != 0 && p.Runs != len(p.PerRun)) {
		return false
	}
	return counts(p.Failures, p.Requests) && p.Repetitions >= 0 && 0 <= p.Confidence && p.Confidence < 1
}

// possible reports whether these may be the figures of so many answers; 0: nobody knows of how many.
func (w *within) possible(answers int) bool {
	if w == nil {
		return true
	}
	const rounded = 1 + 1e-9 // a mean of equal times may be beyond them by rounding
	inOrder := func(all ...*float64) bool {
		last := 0.0
		for _, v := range all {
			if v != nil && !(*v*rounded >= last) {
				return false
			}
			if v != nil {
				last = *v
			}
		}
		return true
	}
	return w.N >= 1 && (answers == 0 || w.N <= answers) && inOrder(&w.Min, &w.Mean, &w.Max) &&
		inOrder(&w.Min, &w.Median, w.P95, w.P99, &w.Max) && inOrder(w.SD)
}

// tooFast reports whether an earlier edgegauge wrote a probe in which requests failed: its answers per second are until
// the last answer, as if the run had ended there.
func (p probeReport) tooFast() bool {
	return slices.ContainsFunc(p.PerRun, func(r probeRun) bool { return r.Length == nil && r.Failures > 0 })
}

// answered is how many requests were answered.
func (p probeReport) answered() int { return p.Requests - p.Failures }

// failures are those of each run; of all runs together, where an earlier edgegauge
// wrote the file.
func (p probeReport) failures() []stat.Share {
	var out []stat.Share
	for _, r := range p.PerRun {
		if r.Requests == 0 {
			return []stat.Share{{Hits: p.Failures, N: p.Requests}}
		}
		out = append(out, stat.Share{Hits: r.Failures, N: r.Requests})
	}
	if out == nil {
		return []stat.Share{{Hits: p.Failures, N: p.Requests}}
	}
	return out
}

// repeated are the requests that the driver sent again, as failures.
func (p probeReport) repeated() []stat.Share {
	out := make([]stat.Share, 0, len(p.PerRun))
	for _, r := range p.PerRun {
		if r.Repetitions == nil || r.Requests == 0 {
			return []stat.Share{{Hits: min(p.Repetitions, p.Requests), N: p.Requests}}
		}
		out = append(out, stat.Share{Hits: min(*r.Repetitions, r.Requests), N: r.Requests})
	}
	return out
}

// attempts are the requests of each run that failed or were sent again, and how long the driver waited for a CPU, in
// the words of advise.
func (p probeReport) attempts() advise.Attempts {
	a := advise.Attempts{Failed: p.failures(), Repeated: p.repeated()}
	var waits []float64
	late := []int{}
	for _, r := range p.PerRun {
		if waits = append(waits, r.Waiting); r.Late != nil {
			late = append(late, *r.Late)
		}
	}
	if a.Waiting = middle(waits); len(late) == len(a.Failed) {
		a.Late = late
	}
	return a
}

// series are a probe's responses, a run being a trial. Runs without an answer have none.
func (p probeReport) series() []advise.Series {
	value := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	times := func(r probeRun, w *within) advise.TrialSummary {
		return advise.TrialSummary{Mean: w.Mean, Median: w.Median, P95: value(w.P95), SD: value(w.SD),
			AllMedian: r.ofAll(0.5, w.MedianOfAll), AllP95: r.ofAll(0.95, w.P95OfAll)}
	}
	single := func(v float64) advise.TrialSummary {
		return advise.TrialSummary{Mean: v, Median: v, P95: math.NaN(), SD: math.NaN()}
	}
	var out []advise.Series
	for _, r := range []struct {
		name string
		of   func(probeRun) advise.TrialSummary
	}{
		{"rtt", func(r probeRun) advise.TrialSummary { return times(r, r.RTT) }},
		{"response_time", func(r probeRun) advise.TrialSummary { return times(r, r.ResponseTime) }},
		{"message_size", func(r probeRun) advise.TrialSummary { return single(r.RequestBody) }},
		{"response_size", func(r probeRun) advise.TrialSummary { return single(*r.ResponseBody) }},
		{"throughput", func(r probeRun) advise.TrialSummary { return single(r.Answers) }},
	} {
		known, _ := measure.FindResponse(r.name)
		s := advise.Series{Factors: []string{"probe"}, Levels: []string{"probe"}, Side: measure.Client, Response: r.name,
			Unit: known.Unit, Failed: stat.Pooled(p.failures()).Of()}
		var waits []float64
		for i, run := range p.PerRun {
			if run.RTT == nil {
				continue
			}
			t := r.of(run)
			t.ID, t.Block = i+1, i+1
			s.Trials, waits = append(s.Trials, t), append(waits, run.Waiting)
		}
		if known.Waits() {
			s.Waiting = middle(waits)
		}
		out = append(out, s)
	}
	return out
}

// compareProbes sets two probes against each other as compare does two results.
func compareProbes(oldPath, newPath string, old, new probeReport, conditions []advise.Condition,
	f compareFlags) (report.Compared, error) {
	f.confidence = cmp.Or(f.confidence, probeConfidence)
	out := report.Compared{Old: oldPath, New: newPath, Confidence: f.confidence, All: f.all, Replicates: "runs",
		Differences: differencesOf(old, new)}
	switch {
	case old.URL != new.URL && !f.otherURL:
		return out, exit{exitUsage, fmt.Errorf("%s is of %s and %s of %s: two services, not two versions of one; "+
			"--other-url compares them", oldPath, old.URL, newPath, new.URL)}
	case old.Load.String() != new.Load.String() && !f.otherLoad:
		return out, otherLoad(oldPath, newPath, fmt.Sprintf("%s before, %s now", old.Load, new.Load))
	case !f.otherLoad && len(old.Settings.differences(new.Settings)) > 0:
		return out, otherLoad(oldPath, newPath, strings.Join(old.Settings.differences(new.Settings), "; "))
	case old.answered() == 0:
		return out, exit{exitUnmeasured, fmt.Errorf("%s: all %d requests failed (the first: %s), so there is nothing to "+
			"compare with; probe the old version again", oldPath, old.Requests, old.FirstFailure)}
	}
	var failed []advise.Failures
	if !f.lost {
		a, b := old.attempts(), new.attempts()
		failed = append(failed, advise.JudgeFailures(a, b, f.confidence))
		failed = append(failed, advise.JudgeSentAgain(a, b, f.confidence)...)
	}
	if new.answered() == 0 {
		out.Failed = failed
		out.Warnings = append(out.Warnings, fmt.Sprintf("new: all %d requests failed (the first: %s): there are no times to "+
			"compare", new.Requests, new.FirstFailure))
		if f.lost {
			return out, exit{exitUnmeasured, fmt.Errorf("%s: %s", newPath, out.Warnings[0])}
		}
		return out, nil
	}
	a, err := only(old.series(), f.responses)
	if err != nil {
		return out, err
	}
	b, err := only(new.series(), f.responses)
	if err != nil {
		return out, err
	}
	if out.Comparison, err = advise.Compare(a, b, conditions, f.confidence, f.margin); err != nil {
		return out, exit{exitUsage, fmt.Errorf("%s, %s: %w", oldPath, newPath, err)}
	}
	out.Failed = failed
	for _, side := range []struct {
		name string
		p    probeReport
	}{{"old", old}, {"new", new}} {
		if n := len(side.p.PerRun); n < fewRuns {
			out.Warnings = append(out.Warnings, fmt.Sprintf("%s: %s: intervals are wide, and one run has none; probe with "+
				"--runs 10 or more", side.name, plural.Count(n, "run")))
		}
		if share := stat.Pooled(side.p.failures()).Of(); side.p.Failures > 0 {
			out.Warnings = append(out.Warnings, fmt.Sprintf("%s: %d of %d requests failed (%s; the first: %s); times are "+
				"of those answered", side.name, side.p.Failures, side.p.Requests, report.RoughPercent(share), side.p.FirstFailure))
		}
		if side.p.tooFast() {
			out.Warnings = append(out.Warnings, side.name+": an earlier edgegauge counted its throughput until the last "+
				"answer, without the time in which requests failed after it, so it may be too high; probe again")
		}
		for _, w := range side.p.Warnings {
			out.Warnings = append(out.Warnings, side.name+": "+w)
		}
	}
	if doubtUnlike(&out, a, b) {
		out.Cure = "find out what builds up or warms up in the service, or in what the runs differ, and probe both again"
	} else if out.Verdict() == stat.Undecided && out.Open() {
		out.Cure = "probe both again with more --runs, alternately, on a quieter machine"
	}
	return out, nil
}

// fewRuns is below what a 95 % interval of a median needs.
const fewRuns = 6

// differencesOf says what two probes did not do alike.
func differencesOf(old, new probeReport) []string {
	var out []string
	for _, x := range []struct{ what, old, new string }{
		{"URL", old.URL, new.URL},
		{"load", old.Load.String(), new.Load.String()},
	} {
		if x.old != x.new {
			out = append(out, fmt.Sprintf("%s: %s before, %s now", x.what, x.old, x.new))
		}
	}
	return append(out, old.Settings.differences(new.Settings)...)
}

func (l probeLoad) String() string {
	text := fmt.Sprintf("%s %s, %s, closed loop over %s", l.Protocol, l.Method, l.Connection,
		plural.Count(l.Concurrency, "connection"))
	if l.Loop == "open" {
		text = fmt.Sprintf("%s %s, %s, open loop of %g/s (%s) over %d connections", l.Protocol, l.Method, l.Connection,
			l.Rate, l.Arrival, l.Concurrency)
	}
	if l.Body > 0 {
		text += fmt.Sprintf(", body of %d B", l.Body)
	}
	return text
}
