package instrument

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

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

// A MarkerPin is the RTS line of a serial adapter, wired to the meters' marker
// inputs: the best tie between their clocks and the host's.
type MarkerPin struct {
	port *os.File
	high bool
}

// OpenMarkerPin opens a serial port for its RTS line and sets it low.
func OpenMarkerPin(path string) (*MarkerPin, error) {
	port, err := openSerial(path, 9600)
	if err != nil {
		return nil, err
	}
	m := &MarkerPin{port: port}
	if _, err := m.Set(false); err != nil {
		port.Close()
		return nil, err
	}
	return m, nil
}

// Set changes the line and returns the instant, the middle of the call.
func (m *MarkerPin) Set(high bool) (time.Time, error) {
	request := uint(unix.TIOCMBIC)
	if high {
		request = unix.TIOCMBIS
	}
	conn, err := m.port.SyscallConn()
	if err != nil {
		return time.Time{}, err
	}
	before := time.Now()
	var failed error
	if err := conn.Control(func(fd uintptr) {
		failed = unix.IoctlSetPointerInt(int(fd), request,
			unix.TIOCM_RTS)
	}); err != nil {
		return before, err
	}
	if failed != nil {
		return before, fmt.Errorf("%s: no RTS line: %w", m.port.Name(), failed)
	}
	m.high = high
	return before.Add(time.Since(before) / 2), nil
}

func (m *MarkerPin) Close() error { return m.port.Close() }
