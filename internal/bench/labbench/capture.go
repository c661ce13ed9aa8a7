package labbench

import (
	"context"
	"fmt"
	"io"
	"time"

	"edgegauge.example/edgegauge/internal/bench/packetbench"
)

func captureRows(ctx context.Context, _ *Bench) ([]Row, error) {
	const span = 30 * time.Second
	limit := bound{atMost: true, value: 5}
	results, err := packetbench.Run(ctx, io.Discard, packetbench.Options{Duration: span})
	var rows []Row
	for _, r := range results {
		row := Row{Figure: fmt.Sprintf("%% of a core, %s (%d of %d packets)", r.What, r.Quality.Packets, r.Sent),
			Measured: interval(100*r.CPU, 0, 0)}
		if len(rows) == 0 {
			row.Wanted, row.Verdict = limit.String(), limit.verdict(100*r.CPU, 0, 0)
			row.How = fmt.Sprintf("one run of %v each at 50,000 packets per second in a network namespace; CPU time of the "+
				"capturing thread", span)
		}
		rows = append(rows, row)
	}
	if len(results) == 0 && err != nil {
		return []Row{missing("packet capture at 50,000 packets per second", limit.String(), err.Error())}, nil
	}
	return rows, err
}
