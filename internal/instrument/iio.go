package instrument

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/kernel"
)

// A channel is one IIO input: raw × scale gives mV, mA or mW.
type channel struct {
	raw   string
	scale float64 // to SI
}

// openIIO reads an INA2xx of the IIO class (ABI/testing/sysfs-bus-iio in the
// kernel): power, or bus voltage and current. Its in_voltage0 is the shunt.
func openIIO(ctx context.Context, arg string, o Options) (Meter, error) {
	dir, err := pick(o.Root, "iio", "sys/bus/iio/devices/iio:device*", "name", arg, func(dir string) bool {
		return len(glob(o.Root, dir, "in_power*_raw")) > 0 || len(glob(o.Root, dir, "in_current*_raw")) > 0
	})
	if err != nil {
		return nil, err
	}
	power, err1 := findChannel(o.Root, dir, "in_power*_raw", 0)
	current, err2 := findChannel(o.Root, dir, "in_current*_raw", 0)
	voltage, err3 := findChannel(o.Root, dir, "in_voltage*_raw", 1)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	p := &poller{
		name:       "iio",
		facts:      energy.Facts{Kind: energy.Instant, Interval: 10 * time.Millisecond, Resolution: power.scale},
		quantities: threeQuantities,
	}
	p.read = func(context.Context) (reading, error) {
		r := unknown
		var errs [3]error
		r.watts, errs[0] = power.read(o.Root)
		r.volts, errs[1] = voltage.read(o.Root)
		r.amps, errs[2] = current.read(o.Root)
		return r.known(errors.Join(errs[:]...), dir)
	}
	return p, p.onDevice(ctx)
}

func glob(root fs.FS, dir, pattern string) []string {
	files, _ := fs.Glob(root, path.Join(dir, pattern))
	return files
}

// findChannel takes the input with the wanted place among those that match; a
// zero channel if there is none.
func findChannel(root fs.FS, dir, pattern string, place int) (channel, error) {
	files := glob(root, dir, pattern)
	if len(files) <= place {
		return channel{}, nil
	}
	raw := files[place]
	stem := raw[:len(raw)-len("_raw")]
	scale, err := kernel.ReadNumber(root, stem+"_scale", 1e-3)
	if err != nil {
		return channel{}, fmt.Errorf("the scale of %s: %w", raw, err)
	}
	return channel{raw, scale}, nil
}

func (c channel) read(root fs.FS) (float64, error) {
	if c.raw == "" {
		return unknown.watts, nil
	}
	return kernel.ReadOptional(root, c.raw, c.scale)
}
