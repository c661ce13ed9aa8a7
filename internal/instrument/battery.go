package instrument

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/kernel"
)

// openBattery reads a battery that the kernel's power_supply class shows: a
// coarse source, for long trials. Most gauges renew their values only every few
// seconds to half a minute, which the readings show: energy.Facts.Held.
func openBattery(ctx context.Context, arg string, o Options) (Meter, error) {
	dir, err := pick(o.Root, "battery", "sys/class/power_supply/*", "model_name", arg, func(dir string) bool {
		kind, _ := kernel.ReadText(o.Root, path.Join(dir, "type"))
		scope, _ := kernel.ReadText(o.Root, path.Join(dir, "scope")) // "Device" is a mouse's
		return kind == "Battery" && scope != "Device"
	})
	if err != nil {
		return nil, err
	}
	p := &poller{
		name:       "battery",
		facts:      energy.Facts{Kind: energy.Instant, Interval: time.Second, Held: true},
		quantities: threeQuantities,
		read:       func(context.Context) (reading, error) { return readBattery(o.Root, dir) },
	}
	return p, p.onDevice(ctx)
}

func readBattery(root fs.FS, dir string) (reading, error) {
	status, err := kernel.ReadText(root, path.Join(dir, "status"))
	if err != nil {
		return unknown, err
	}
	if status != "Discharging" {
		return unknown, fatal{fmt.Errorf("/%s is %q, so the battery does not supply the device; unplug the charger", dir,
			status)}
	}
	r := unknown
	var errs [3]error
	r.watts, errs[0] = kernel.ReadOptional(root, path.Join(dir, "power_now"), 1e-6)
	r.volts, errs[1] = kernel.ReadOptional(root, path.Join(dir, "voltage_now"), 1e-6)
	r.amps, errs[2] = kernel.ReadOptional(root, path.Join(dir, "current_now"), 1e-6)
	r.watts, r.amps = math.Abs(r.watts), math.Abs(r.amps) // the sign of discharging varies by driver
	return r.known(errors.Join(errs[:]...), dir)
}
