package instrument

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// A zone is one RAPL counter.
type zone struct {
	file string  // energy_uj
	wrap float64 // J at which it starts again
	last float64
	sum  float64
}

// openRAPL sums the packages' counters and those of their DRAM, which no package
// includes (powercap, Documentation/power/powercap in the kernel). Root only,
// since CVE-2020-8694.
func openRAPL(ctx context.Context, arg string, o Options) (Meter, error) {
	if arg != "" {
		return nil, fmt.Errorf("rapl takes no argument, got %q", arg)
	}
	zones, err := raplZones(o.Root)
	if err != nil {
		return nil, err
	}
	first := true
	p := &poller{
		name: "rapl",
		// 61 µJ a step
		facts:      energy.Facts{Kind: energy.Cumulative, Interval: 10 * time.Millisecond, Resolution: 61e-6 / 10e-3},
		quantities: []measure.Quantity{energy.Counter},
		begin:      func() { first = true },
	}
	p.read = func(context.Context) (reading, error) {
		r := unknown
		r.joules = 0
		for i := range zones {
			if err := zones[i].look(o.Root, first, p.facts.Interval, &p.q); err != nil {
				return r, err
			}
			r.joules += zones[i].sum
		}
		first = false
		return r, nil
	}
	return p, p.onDevice(ctx)
}

func raplZones(root fs.FS) ([]zone, error) {
	dirs, err := fs.Glob(root, "sys/class/powercap/intel-rapl:*")
	if err != nil {
		return nil, err
	}
	var zones []zone
	for _, dir := range dirs {
		name, err := kernel.ReadText(root, path.Join(dir, "name"))
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(name, "package-") && name != "dram" {
			continue // core and uncore are parts of the package; psys is another sum
		}
		wrap, err := kernel.ReadNumber(root, path.Join(dir, "max_energy_range_uj"), 1e-6)
		if err != nil {
			return nil, err
		}
		zones = append(zones, zone{file: path.Join(dir, "energy_uj"), wrap: wrap})
	}
	if len(zones) == 0 {
		return nil,
			fmt.Errorf("%w: /sys/class/powercap lists no package; the processor has no RAPL, or a virtual machine hides it",
				ErrNoData)
	}
	return zones, nil
}

// mostWatts is more than any package draws: a step beyond it is no wrap.
const mostWatts = 5000

// look adds what the counter moved. One that went back has wrapped, if what it
// then moved is possible; else it was set back, and nobody knows what is lost.
func (z *zone) look(root fs.FS, first bool, interval time.Duration, q *MeterStats) error {
	now, err := kernel.ReadNumber(root, z.file, 1e-6)
	if err != nil {
		return err
	}
	moved := now - z.last
	z.last = now
	if first {
		z.sum = 0
		return nil
	}
	if moved < 0 {
		moved += z.wrap
		if moved < 0 || moved > mostWatts*max(interval.Seconds(), 1) {
			q.Steps++
			moved = 0
		}
	}
	z.sum += moved
	return nil
}
