package device

import (
	"context"
	"maps"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// usageInstrument samples what all processes of an agent use together.
type usageInstrument struct {
	a     *agent
	every time.Duration
}

var (
	cpuTime     = measure.Quantity{Name: "cpu", Unit: "s"}
	residentNow = measure.Quantity{Name: "rss", Unit: "B"}
)

func (u usageInstrument) Describe() measure.Description {
	return measure.Description{Name: UsageInstrument, Quantities: []measure.Quantity{cpuTime, residentNow},
		Resolution: 1e-9, Interval: u.every}
}

// Observe emits CPU time used so far and what is resident now.
func (u usageInstrument) Observe(ctx context.Context, emit func(measure.Sample)) error {
	began := time.Now()
	t := time.NewTicker(u.every)
	defer t.Stop()
	for {
		var cpu time.Duration
		var rss int64
		for _, program := range u.a.programs() {
			spent := program.ofAdopted()
			for _, p := range program.family() {
				if took, err := kernel.CPUTime(p); err == nil {
					was, _ := kernel.ReadProcess(p)
					spent += took + was.Waited
					rss += kernel.StatusBytes(p, "VmRSS")
				}
			}
			all, _ := program.group.spent() // of children that nobody waited for as well: see Usage
			cpu += max(spent, all)
		}
		at := time.Since(began)
		emit(measure.Sample{Quantity: cpuTime, At: at, Value: cpu.Seconds()})
		emit(measure.Sample{Quantity: residentNow, At: at, Value: float64(rss)})
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

// programs are those that the agent started and that have not ended.
func (a *agent) programs() []*Process {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Values(a.procs))
}
