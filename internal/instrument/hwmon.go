package instrument

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

var threeQuantities = []measure.Quantity{energy.Power, energy.Voltage, energy.Current}

// openHwmon reads a power sensor of the kernel's hwmon class, such as an INA219,
// INA226 or INA238 (Documentation/hwmon in the kernel): power1_input in µW, or
// in1_input in mV times curr1_input in mA.
func openHwmon(ctx context.Context, arg string, o Options) (Meter, error) {
	dir, err := pick(o.Root, "hwmon", "sys/class/hwmon/*", "name", arg, func(dir string) bool {
		return exists(o.Root, path.Join(dir, "power1_input")) ||
			exists(o.Root, path.Join(dir, "in1_input")) && exists(o.Root, path.Join(dir, "curr1_input"))
	})
	if err != nil {
		return nil, err
	}
	interval := hwmonInterval(o.Root, dir)
	p := &poller{
		name:       "hwmon",
		facts:      energy.Facts{Kind: energy.Instant, Interval: interval},
		quantities: threeQuantities,
		read:       func(context.Context) (reading, error) { return readHwmon(o.Root, dir) },
	}
	return p, p.onDevice(ctx)
}

// hwmonInterval is how often a sensor is looked at: as often as it says that it changes, but neither so often that it
// takes 3 % of a core, and so energy (every 2 ms), nor so seldom that a trial has no reading.
func hwmonInterval(root fs.FS, dir string) time.Duration {
	const least, most = 10, 10_000 // ms
	ms, err := kernel.ReadNumber(root, path.Join(dir, "update_interval"), 1)
	if err != nil {
		ms = least
	}
	return time.Duration(min(max(ms, least), most) * float64(time.Millisecond))
}

func readHwmon(root fs.FS, dir string) (reading, error) {
	r := unknown
	var errs [3]error
	r.watts, errs[0] = kernel.ReadOptional(root, path.Join(dir, "power1_input"), 1e-6)
	r.volts, errs[1] = kernel.ReadOptional(root, path.Join(dir, "in1_input"), 1e-3)
	r.amps, errs[2] = kernel.ReadOptional(root, path.Join(dir, "curr1_input"), 1e-3)
	return r.known(errors.Join(errs[:]...), dir)
}

// known refuses a look at files of which none is there any more.
func (r reading) known(err error, dir string) (reading, error) {
	if f := r.fill(); err == nil && f.watts != f.watts {
		err = &fs.PathError{Op: "read", Path: dir, Err: fs.ErrNotExist}
	}
	return r, err
}
