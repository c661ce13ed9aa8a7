package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// Where so many requests of each treatment failed that none has the figure to rank by, choose says so and names the
// nearest one that exists, with the exit code of what is not met; the nearest one has an answer.
func TestChooseWhereAllFail(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	kept, plan, err := fabricated.Create(dir, []byte("study: s\nservice: echo\nn: 5\nfactors: {stack: [a, b]}\n"+
		"requests: 100\nfailures: 20%\ndesign: {replications: 6, seed: 1}\nresponses: [rtt]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range plan.Trials {
		a, err := kept.Begin(trial.ID)
		if err != nil {
			t.Fatal(err)
		}
		fail := 7 + trial.Cell // of 100
		var xs []measure.Exchange
		var took []float64
		for i := range 100 {
			at, d := time.Duration(i)*time.Second, time.Duration(1000+100*trial.Cell+trial.Block*7%5+i)*time.Microsecond
			x := measure.Exchange{Seq: uint64(i + 1), Due: at, Sent: at, Done: at + d, Total: d}
			if i >= 100-fail {
				x.Done, x.Total, x.Failure = 0, 0, "no answer in time"
			} else {
				took = append(took, d.Seconds())
			}
			xs = append(xs, x)
		}
		w, err := a.Exchanges(measure.Client)
		if err != nil || w.Append(xs) != nil || w.Close() != nil {
			t.Fatal("exchanges cannot be written", err)
		}
		in, err := stat.WithinTrial(took)
		if err != nil {
			t.Fatal(err)
		}
		err = a.Commit([]store.Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: int64(in.N),
			Method: store.Measured, Mean: in.Mean, SD: in.SD, Median: in.Median, P95: in.P95, Min: in.Min, Max: in.Max}},
			[]store.Quality{{Key: "requests", Unit: "1", Value: 100}, {Key: "failures", Unit: "1", Value: float64(fail)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	kept.Close()
	_, err = choose(dir, chooseFlags{minimize: []string{"rtt.p95"}})
	var code exit
	const want = "no treatment can be ranked by rtt.p95: so many requests of each failed (a 7 %, b 8 %) that the p95 among " +
		"all of them is one that failed, in some trial at least; the nearest figure that all have is rtt.median, or ask for " +
		"failed_share"
	if !errors.As(err, &code) || code.code != exitWorse || !strings.Contains(err.Error(), want) {
		t.Errorf("got code %d, %v", code.code, err)
	}
	for _, figure := range []string{"rtt.median", "rtt"} {
		out, err := choose(dir, chooseFlags{minimize: []string{figure}})
		if err != nil || !out.Met() || out.Levels[0].Candidates[0].Name != "a" {
			t.Errorf("%s: %+v, %v", figure, out, err)
		}
	}
}
