package labbench

import (
	"context"
	"fmt"

	"edgegauge.example/edgegauge/internal/measure"
)

// memoryRows run trials of two lengths: what a process's peak grows by is what
// a request costs it.
func memoryRows(ctx context.Context, b *Bench) ([]Row, error) {
	const few, many = 100_000, 1_100_000
	var peaks [2]map[string]float64
	for i, n := range []int{few, many} {
		study := fmt.Sprintf("study: memory\nservice: monitor\nstack: rest-protobuf\nrequests: %d\ndesign: {replications: "+
			"2, warmup: 200}\ntimeouts: {trial: 5m}\n", n)
		run, err := b.run(ctx, study)
		if err != nil {
			return nil, err
		}
		all, err := run.rows()
		run.forget()
		if err != nil {
			return nil, err
		}
		peaks[i] = map[string]float64{"lab": float64(run.peakRSS)}
		for _, r := range all {
			if r.Response == "peak_rss" {
				peaks[i][string(r.Side)] = max(peaks[i][string(r.Side)], r.Mean)
			}
		}
	}
	limit := bound{atMost: true, value: 64}
	var rows []Row
	for _, process := range []string{string(measure.Client), string(measure.Server), "lab"} {
		slope := (peaks[1][process] - peaks[0][process]) / (many - few)
		rows = append(rows, Row{Figure: fmt.Sprintf("B per request, %s (%.0f MB at %d)", process,
			peaks[1][process]/1e6, many),
			Wanted: limit.String(), Measured: interval(slope, 0, 0), Verdict: limit.verdict(slope, 0, 0)})
	}
	rows[0].How = "rest-protobuf in the lab, two trials of 100,000 and two of 1,100,000 requests: growth of each " +
		"process's peak RSS (VmHWM)"
	return rows, nil
}
