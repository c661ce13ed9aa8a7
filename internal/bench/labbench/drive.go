package labbench

import (
	"context"
	"fmt"
	"strings"

	"edgegauge.example/edgegauge/internal/bench/drivebench"
)

func driveRows(ctx context.Context, b *Bench) ([]Row, error) {
	limit := bound{atMost: true, value: 1}
	const figure = "RTT median over a C ping-pong, 100 B"
	if none := lacking("cc", "taskset"); none != "" {
		return []Row{missing(figure, limit.String(), none+" is missing: apt-get install gcc libc6-dev util-linux")}, nil
	}
	figures, err := drivebench.Floors(ctx, b.Exe)
	return driveTable(figures, limit,
		"7 alternating runs of 20,000 requests each, same server, same pinned CPUs; ratio of medians, order-statistics "+
			"interval of the runs' ratios"), err
}

func wrkRows(ctx context.Context, b *Bench) ([]Row, error) {
	limit := bound{value: 1.3}
	const figure = "requests per client CPU second over wrk -t1 -c32"
	if none := lacking("nginx", "wrk", "taskset"); none != "" {
		return []Row{missing(figure, limit.String(), none+" is missing: apt-get install wrk nginx-light")}, nil
	}
	figures, err := drivebench.Wrk(ctx, b.Exe)
	return driveTable(figures, limit,
		"7 alternating runs of 2 s, one nginx worker, 100 B body, 32 connections, client and server pinned; ratio of "+
			"medians"), err
}

func h2loadRows(ctx context.Context, b *Bench) ([]Row, error) {
	limit := bound{value: 1.0}
	const figure = "requests per client CPU second over h2load -t1 -m1 -c32"
	if none := lacking("nginx", "h2load", "taskset"); none != "" {
		return []Row{missing(figure, limit.String(), none+" is missing: apt-get install nghttp2-client nginx-light")}, nil
	}
	figures, err := drivebench.H2load(ctx, b.Exe)
	return driveTable(figures, limit,
		"as with wrk, over HTTP/2 with prior knowledge, one stream at a time on each of 32 connections"), err
}

// driveTable turns drive's own figures into rows; those without a limit stand
// for comparison.
func driveTable(figures []drivebench.Measurement, limit bound, how string) []Row {
	var rows []Row
	for _, f := range figures {
		var b *bound
		if f.Limit != "" {
			b = &limit
		}
		rounds := make([]float64, min(len(f.Ours), len(f.Theirs)))
		for i := range rounds {
			rounds[i] = f.Ours[i] / f.Theirs[i]
		}
		r, err := ratioRow(strings.TrimSuffix(f.What, ","), b, f.Ratio(), rounds)
		if err != nil {
			r = Row{Figure: f.What, Measured: fmt.Sprintf("%.3g", f.Ratio()), Verdict: err.Error()}
		}
		if len(rows) == 0 {
			if r.How = how; f.Note != "" {
				r.How += "; " + f.Note
			}
		}
		rows = append(rows, r)
	}
	return rows
}
