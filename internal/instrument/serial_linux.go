package instrument

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// openSerial opens a serial port, raw, at any speed in Bd, for this process alone.
func openSerial(path string, speed uint32) (*os.File, error) {
	f, err := kernel.OpenSerialAlone(path, speed)
	if err != nil {
		return nil, portError(path, err)
	}
	return f, nil
}

func portError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied; join the group that owns it (dialout on Debian), or run as root", path)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%s: another program has it open%s; wait for it, or close it", path, kernel.Holder(path))
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		return fmt.Errorf("%s: no such device; is the meter plugged in?", path)
	case errors.Is(err, unix.ENOTTY):
		return fmt.Errorf("%s: not a serial port", path)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// unplugged says what a read error of a serial port means.
func unplugged(path string, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%s: the meter went silent; check its cable and power supply", path)
	}
	return fmt.Errorf("%s: the port disappeared (%w): was the cable unplugged?", path, err)
}
