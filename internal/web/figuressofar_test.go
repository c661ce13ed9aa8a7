package web

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// rtts measures all trials of a plan: each has an RTT at the client with a mean and a median, in s, on the bench of its
// block; nil: on the one there is.
func rtts(t testing.TB, kept *store.Store, plan study.Plan, of func(study.Trial) (mean, median float64),
	on func(block int) store.Bench) {
	t.Helper()
	for _, trial := range plan.Trials {
		var bench store.Bench
		if on != nil {
			bench = on(trial.Block)
		}
		a, err := kept.BeginOn(trial.ID, bench)
		ok(t, err)
		mean, median := of(trial)
		ok(t, a.Commit([]store.Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 100, Mean: mean, SD: mean / 10,
			Median: median, P95: 1.2 * median, Min: 0.9 * median, Max: 1.3 * mean, Method: store.Measured}}, nil))
	}
}

// With a precision wanted, the time left is that of the blocks it takes, within the budget.
func TestNowForeseesThePrecision(t *testing.T) {
	kept, plan, err := fabricated.Create(filepath.Join(t.TempDir(), "run"), []byte("study: s\nservice: monitor\n"+
		"requests: 100\nfactors: {stack: [a, b]}\nresponses: [rtt]\ndesign: {replications: 8, seed: 1}\n"))
	ok(t, err)
	defer kept.Close()
	values := [][]float64{{1, 1.1, 0.9, 1, 1, 1, 1.05, 0.95}, {5, 5, 5, 5, 5, 5, 5, 5.001}}
	rtts(t, kept, plan, func(x study.Trial) (mean, median float64) {
		v := values[x.Cell][x.Block-1]
		return v, v
	}, nil)
	x, err := report.ReadFigures(kept)
	ok(t, err)
	// scipy.stats.t.ppf(0.975, 7) * numpy.std(a, ddof=1) / sqrt(8) = 0.049976
	for _, tt := range []struct {
		d    study.Design
		left string
		says string
	}{
		{study.Design{Precision: 0.01, Replications: 8}, "about 6m28s",
			"RTT of a at the client is known within 5.00 %, which takes some 200 blocks"},
		{study.Design{Precision: 0.01, Replications: 8, Budget: study.Budget{Blocks: 12}}, "about 28s", "20 blocks"},
		{study.Design{Precision: 0.01, Replications: 8, Budget: study.Budget{Time: time.Minute}}, "about 1m",
			"200 blocks"},
		{study.Design{Precision: 0.1, Replications: 8}, "about 4s", "within 5.00 %"},
	} {
		r := running{Total: 16, Valid: 12, Blocks: 8, Left: "about 4s", pace: time.Second}
		x.Study.Design = tt.d
		if r.expect(x); r.Left != tt.left || !strings.Contains(r.Wanted, tt.says) {
			t.Errorf("%+v: left %s, %s", tt.d, r.Left, r.Wanted)
		}
	}
}

// The figures of the trials so far are the report's: medians where trials are skewed, those of the other trials where
// one has none, and in the order of the study.
func TestNowHasTheReportsFigures(t *testing.T) {
	dir := t.TempDir()
	kept, plan, err := fabricated.CreateOn(filepath.Join(dir, "run/001"), []byte("study: skewed\nservice: monitor\n"+
		"requests: 100\nfactors: {stack: [slow, quick]}\nresponses: [rtt]\ndesign: {replications: 9, seed: 1}\n"),
		[]byte(`{"edgegauge": {"version": "test"}, "placement": {}}`))
	ok(t, err)
	defer kept.Close()
	plan.Trials = slices.DeleteFunc(plan.Trials, func(x study.Trial) bool { return x.Block == 9 }) // is still to come
	rtts(t, kept, plan, func(x study.Trial) (mean, median float64) {
		switch at := 1e-3 * (1 + 0.02*float64(x.Block-1)); {
		case x.Cell == 0:
			return 10e-3, at // a few requests are slow
		case x.Block == 8:
			return math.NaN(), math.NaN() // nothing was answered
		default:
			return 1e-3 + at, 1e-3 + at
		}
	}, nil)
	// By hand: the medians of 1.00, 1.02, … 1.14 ms and of 2.00, 2.02, … 2.12 ms, between the least and the largest, whose
	// intervals hold with 99.2 % (1 - 2/2⁸) and 98.4 % (1 - 2/2⁷); of fewer it would be less than 95 %.
	shows(t, served(t, Options{Folders: []string{dir}}), "/now/", "RTT, client (median), so far",
		`<tr><th scope="row">slow</th><td>8</td><td>1.07 ms ±6.5%</td></tr>`+
			`<tr><th scope="row">quick</th><td>8</td><td>2.06 ms ±2.9%</td></tr>`)
}

// A study without factors has one treatment, which is named where it must be and nowhere else.
func TestNowOfOneTreatment(t *testing.T) {
	dir := t.TempDir()
	kept, plan, err := fabricated.Create(filepath.Join(dir, "run/001"), []byte("study: s\nservice: monitor\nstack: only\n"+
		"requests: 100\nresponses: [rtt]\ndesign: {replications: 3, seed: 1}\n"))
	ok(t, err)
	defer kept.Close()
	last := plan.Trials[2]
	plan.Trials = plan.Trials[:2]
	rtts(t, kept, plan, func(study.Trial) (mean, median float64) { return 1e-3, 1e-3 }, nil)
	_, err = kept.Begin(last.ID)
	ok(t, err)
	shows(t, served(t, Options{Folders: []string{dir}}), "/now/", "block 3, since ", `title="trial 3, running"`,
		`<tr><th scope="row">only</th><td>2</td><td>1.00 ms</td></tr>`)
}

// Where requests failed, a figure so far says how many are not in it: the exchanges that tell of all are not read while
// a study runs, and benches are not said to disagree by such times.
func TestNowSaysWhoFails(t *testing.T) {
	for _, fails := range []bool{true, false} {
		dir := t.TempDir()
		kept, plan, err := fabricated.Create(filepath.Join(dir, "run/001"), []byte("study: s\nservice: monitor\n"+
			"requests: 100\nfailures: 5%\nfactors: {stack: [a, b]}\nresponses: [rtt]\ndesign: {replications: 12, seed: 1}\n"))
		ok(t, err)
		for _, trial := range plan.Trials[:20] {
			a, err := kept.BeginOn(trial.ID, store.Bench{Name: []string{"b1", "b2", "b3"}[trial.Block%3], Boot: "1"})
			ok(t, err)
			v, failed := 1e-3*(1+0.01*math.Sin(float64(7*trial.Block*(trial.Cell+1)))), 0.0
			if fails && trial.Cell == 0 {
				failed = 2
			}
			if trial.Cell == 0 && trial.Block%3 == 0 { // which bench b1 alone gives up
				v *= 0.5
			}
			ok(t, a.Commit([]store.Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 98, Mean: v, SD: v / 10,
				Median: v, P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured}}, []store.Quality{
				{Key: "requests", Unit: "1", Value: 100}, {Key: "failures", Unit: "1", Value: failed}}))
		}
		body := get(t, served(t, Options{Folders: []string{dir}}), "/now/").Body.String()
		for what, want := range map[string]bool{" · 2 % failed, not in it</td></tr>": fails, "failed, not in it": fails,
			"So far: Benches differ, RTT: the size of the difference depends on the bench": !fails} {
			if strings.Contains(body, what) != want {
				t.Errorf("%v fail: the page says %q: %v", fails, what, !want)
			}
		}
		if n := strings.Count(body, "failed, not in it</td>"); fails && n != 1 {
			t.Errorf("%d treatments are said to fail", n)
		}
		ok(t, kept.Close())
	}
}
