package fleetbench

import (
	"fmt"
	"os"
	"time"

	"edgegauge.example/edgegauge/internal/bench/labbench"
)

// table compares the figures with what is promised.
func table(f Measurement, g Gap) []labbench.Row {
	row := func(figure string, v, most float64, format string) labbench.Row {
		r := labbench.Row{Figure: figure, Measured: fmt.Sprintf(format, v)}
		if most > 0 {
			if r.Wanted, r.Verdict = fmt.Sprintf("≤ %.4g", most), "met"; v > most {
				r.Verdict = "not met"
			}
		}
		return r
	}
	ms := func(d time.Duration) float64 { return 1e3 * d.Seconds() }
	allowed := max(50*time.Millisecond, g.Block/100)
	all := []labbench.Row{
		row("ms from an order to its bench, p50", ms(quantile(f.Reached, 0.5)), 0, "%.3g"),
		row("the same, p99", ms(quantile(f.Reached, 0.99)), 50, "%.3g"),
		row("ms until an order is written and synced, p50", ms(quantile(f.Written, 0.5)), 0, "%.3g"),
		row("the same, p99", ms(quantile(f.Written, 0.99)), 0, "%.3g"),
		row("s for the first order of each bench", f.All.Seconds(), 3, "%.2f"),
		row("MB of the hub, resident", float64(f.Memory)/1e6, 150, "%.1f"),
		row("the same, with a bucket for each bench", float64(f.Stored)/1e6, 150, "%.1f"),
		row("ms that sharing adds between two blocks", ms(g.Overhead), ms(allowed), "%.3g"),
	}
	all[0].How = fmt.Sprintf("%d benches of one process, each with a connection and a key of its own, beat and read "+
		"their orders as workers do; orders are given one after the other", f.Benches)
	all[4].How = "a write that is synced for each"
	all[5].How = "after those orders"
	all[6].How = fmt.Sprintf("only benches whose results have a file of more than 1 MiB need one; at most %.1f MB",
		float64(f.Peak)/1e6)
	all[7].How = fmt.Sprintf("a study of %d blocks alone and with one bench of this machine, in turn; medians of %d and "+
		"%d gaps: %v and %v, with one block of %v alone", g.Blocks, len(g.Alone), len(g.Shared),
		quantile(g.Alone, 0.5).Round(time.Millisecond), quantile(g.Shared, 0.5).Round(time.Millisecond),
		g.Block.Round(time.Millisecond))
	return all
}

// sizeRows are the sizes of the programs as they are here.
func sizeRows(exe, hub string) ([]labbench.Row, error) {
	var all []labbench.Row
	for _, file := range []string{exe, hub} {
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		size := fmt.Sprintf("%.1f", float64(info.Size())/1e6)
		all = append(all, labbench.Row{Figure: "MB of " + info.Name(), Measured: size,
			How: "as built here: releases leave out symbols"})
	}
	return all, nil
}
