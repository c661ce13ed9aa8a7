package cost

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
	"edgegauge.example/edgegauge/internal/stat"
)

var update = flag.Bool("update", false, "write the table of doc/method.md anew")

// How often the intervals of a month hold what it takes in truth: the CPU time and the bytes of a request are made up,
// and only trials that scatter around them are known. The table is that of doc/method.md.
func TestMonthsHoldMadeUpTruths(t *testing.T) {
	const months, devices, period = 4000, 1e6, time.Hour
	p := Prices{Currency: "EUR", ServerMonth: 20, ServerCores: 4, Utilization: 0.5, Gigabyte: 0.1, DeviceMonth: 0}
	r := rand.New(rand.NewPCG(19, 3))
	normal := func(spread float64) func() float64 {
		return func() float64 { return 1 + spread*r.NormFloat64() }
	}
	skewed := func(sigma float64) func() float64 { // of mean 1
		return func() float64 { return math.Exp(sigma*r.NormFloat64() - sigma*sigma/2) }
	}
	humps := func() float64 { // three of ten trials take 40 % longer
		if r.Float64() < 0.3 {
			return 1.4 / 1.12
		}
		return 1 / 1.12
	}
	never := func() float64 { return 1 }
	made := "\n| trials | months | busy cores, % | devices per server, % | servers, % | GB, % | cost, % |\n" +
		"|---|---:|---:|---:|---:|---:|---:|\n"
	for _, tt := range []struct {
		words     string
		trials    int
		cpu, wire func() float64 // of a trial, in means
		alike     bool           // a trial that takes longer sends more
		least     float64        // %
	}{
		{"5, normal, 5 %", 5, normal(0.05), normal(0.05), false, 94},
		{"10, normal, 5 %", 10, normal(0.05), normal(0.05), false, 94},
		{"5, normal, 5 %, bytes and CPU time as much in each", 5, normal(0.05), nil, true, 94},
		{"5, normal, 5 %, bytes always the same", 5, normal(0.05), never, false, 94},
		{"5, log-normal, 30 %", 5, skewed(0.3), skewed(0.3), false, 92},
		{"10, log-normal, 30 %", 10, skewed(0.3), skewed(0.3), false, 92},
		{"10, log-normal, 100 %", 10, skewed(1), skewed(1), false, 80},
		{"5, three of ten take 40 % longer", 5, humps, never, false, 80},
		{"10, three of ten take 40 % longer", 10, humps, never, false, 93},
	} {
		held := [5]int{}
		for range months {
			cpu, wire := 0.04+0.02*r.Float64(), 500+1000*r.Float64() // s and B of a request
			var cpus, wires []float64
			for range tt.trials {
				x := tt.cpu()
				cpus = append(cpus, cpu*x)
				if !tt.alike {
					x = tt.wire()
				}
				wires = append(wires, wire*x)
			}
			m := Of(devices, period, mean(t, cpus), mean(t, wires), &p)
			cores := devices / 3600 * cpu
			servers := math.Ceil(cores / 2)                    // two of four cores may be busy
			gigabytes := devices / 3600 * wire * 2629800 / 1e9 // a month has so many seconds
			for i, x := range []struct {
				got   Amount
				truth float64
			}{{m.Cores, cores}, {m.PerServer, math.Floor(2 * 3600 / cpu)}, {m.Servers, servers}, {m.Bytes, 1e9 * gigabytes},
				{m.Cost, 20*servers + gigabytes/10}} {
				const rounding = 1e-12
				if x.got.Lo*(1-rounding) <= x.truth && x.truth <= x.got.Hi*(1+rounding) {
					held[i]++
				}
			}
		}
		made += fmt.Sprintf("| %s | %d |", tt.words, months)
		for i, n := range held {
			share := 100 * float64(n) / months
			made += fmt.Sprintf(" %.1f |", share)
			if share < tt.least {
				t.Errorf("%s: figure %d holds in %.1f %%, want %g or more", tt.words, i, share, tt.least)
			}
		}
		made += "\n"
	}
	made += "\n"
	old, write := kerneltest.Made(t, "../../../doc/method.md",
		"go test ./internal/advise/cost -run TestMonthsHoldMadeUpTruths -update")
	switch {
	case *update:
		write(made)
	case old != made:
		t.Errorf("doc/method.md has another table; run this test with -update:\n%s", made)
	}
}

// mean is what a report takes of the trials.
func mean(t *testing.T, xs []float64) stat.Summary {
	t.Helper()
	s, err := stat.PositiveMean(xs, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
