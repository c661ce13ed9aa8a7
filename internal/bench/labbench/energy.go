package labbench

import (
	"context"
	"slices"

	"edgegauge.example/edgegauge/internal/instrument"
	"edgegauge.example/edgegauge/internal/stat"
)

// energyRows is what reading the meters takes of the machine that is measured.
func energyRows(context.Context, *Bench) ([]Row, error) {
	const rounds = 5
	var rows []Row
	for _, m := range []struct {
		figure, how string
		limit       float64 // percent of a core
		cost        func() float64
	}{
		{"% of a core, the AVR meter at 500 frames a second",
			"CPU time of one thread that reads 60 s worth of frames from a pipe, one by one, writing them included; middle " +
				"of 5 rounds", 1,
			func() float64 { return instrument.ReaderCost(500, 60) }},
		{"% of a core, a PPK2 at 100,000 samples a second",
			"the same with 5 s worth of samples in pieces of 4 kB, without the writing", 15,
			func() float64 { return instrument.PPK2Cost(5) }},
	} {
		costs := make([]float64, rounds)
		for i := range costs {
			costs[i] = 100 * m.cost()
		}
		slices.Sort(costs)
		limit := bound{atMost: true, value: m.limit}
		low, middle, high := costs[0], stat.Middle(costs), costs[rounds-1]
		rows = append(rows, Row{Figure: m.figure, Wanted: limit.String(), Measured: interval(middle, low, high),
			Verdict: limit.verdict(middle, low, high), How: m.how})
	}
	return rows, nil
}
