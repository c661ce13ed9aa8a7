package labbench

import (
	"context"
	"fmt"
	"time"

	"edgegauge.example/edgegauge/internal/bench/linkbench"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/stat"
)

// linkRows want idle cores: a spinning thread waits for nobody.
func linkRows(ctx context.Context, b *Bench) ([]Row, error) {
	if err := link.Able(); err != nil {
		return []Row{missing("the userspace link", "", err.Error())}, nil
	}
	rows, err := oneWayRows(ctx, b)
	if err != nil {
		return rows, err
	}
	slow, err := slowRow(ctx, b)
	if err != nil {
		return rows, err
	}
	fast, err := fastRow(ctx, b)
	if err != nil {
		return rows, err
	}
	lost, n, err := linkbench.Loss(ctx, b.Exe, 100_000)
	if err != nil {
		return rows, err
	}
	verdict := "met"
	if lost < 0.047 || lost > 0.053 {
		verdict = "not met"
	}
	return append(rows, slow, fast, Row{Figure: fmt.Sprintf("%% lost of %d packets, 5 requested", n), Wanted: "4.7 to 5.3",
		Measured: interval(100*lost, 0, 0), Verdict: verdict,
		How: "one run; the link's own count"}), nil
}

func oneWayRows(ctx context.Context, b *Bench) ([]Row, error) {
	const packets = 500
	var rows []Row
	for _, d := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 600 * time.Millisecond} {
		var late []time.Duration
		ahead, err := link.Ahead(func() (err error) { late, _, err = linkbench.OneWay(ctx, b.Exe, d, packets); return err })
		if err != nil {
			return rows, err
		}
		for _, q := range []struct {
			name  string
			at    int
			limit float64
		}{{"p50", len(late) / 2, 60}, {"p99", len(late) * 99 / 100, 200}} {
			us := float64(late[q.at].Nanoseconds()) / 1e3
			limit := bound{atMost: true, value: q.limit}
			r := Row{Figure: fmt.Sprintf("µs of one-way error at %v, %s", d, q.name), Wanted: limit.String(),
				Measured: interval(us, 0, 0), Verdict: limit.verdict(us, 0, 0)}
			if len(rows) == 0 {
				r.How = fmt.Sprintf("%d datagrams of 100 B, 7 ms apart, application to application, two stacks included, minus "+
					"the requested delay", packets)
				if ahead {
					r.How += "; both applications and the link run ahead of other processes (SCHED_FIFO), which stands in for " +
						"idle cores"
				}
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

func slowRow(ctx context.Context, b *Bench) (Row, error) {
	rtt, want, err := linkbench.SlowLine(ctx, b.Exe, 9)
	over := 100 * (rtt.Seconds()/want.Seconds() - 1)
	limit := bound{atMost: true, value: 1}
	return Row{Figure: fmt.Sprintf("%% over the %.2f ms of arithmetic, 100 B each way at 9600 bit/s", want.Seconds()*1e3),
		Wanted:   limit.String(),
		Measured: interval(over, 0, 0), Verdict: limit.verdict(over, 0, 0), How: "median of 9 round trips of UDP"}, err
}

func fastRow(ctx context.Context, b *Bench) (Row, error) {
	const runs, span = 3, 2 * time.Second
	var rates []float64
	for range runs {
		bits, err := linkbench.Throughput(ctx, b.Exe, span)
		if err != nil {
			return Row{}, err
		}
		rates = append(rates, bits/1e9)
	}
	middle, limit := stat.Middle(rates), bound{value: 1}
	return Row{Figure: "Gbit/s of TCP without a rate", Wanted: limit.String(), Measured: interval(middle, 0, 0),
		Verdict: limit.verdict(middle, 0, 0), How: fmt.Sprintf("median of %d runs of %v", runs, span)}, nil
}
