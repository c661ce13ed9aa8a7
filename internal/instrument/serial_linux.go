package instrument

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// openSerial opens a serial port, raw, at any speed in Bd, for this process alone.
func openSerial(path string, speed uint32) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, portError(path, err)
	}
	if err := setUp(fd, speed); err != nil {
		unix.Close(fd)
		return nil, portError(path, err)
	}
	return os.NewFile(uintptr(fd), path), nil // polled, so deadlines work
}

func setUp(fd int, speed uint32) error {
	// Subtle: TIOCEXCL does not stop root, nor a second open before it; the lock does, among us.
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return unix.EBUSY
	}
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
	if err != nil {
		return err
	}
	t.Iflag, t.Oflag, t.Lflag = unix.IGNBRK, 0, 0
	t.Cflag = unix.CS8 | unix.CREAD | unix.CLOCAL | unix.BOTHER // no HUPCL: closing must not reset a Nano
	t.Ispeed, t.Ospeed = speed, speed
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS2, t); err != nil {
		return err
	}
	if err := unix.IoctlSetInt(fd, unix.TIOCEXCL, 0); err != nil {
		return err
	}
	return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIOFLUSH)
}

func portError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied; join the group that owns it (dialout on Debian), or run as root", path)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%s: another program has it open; end that one", path)
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
		return fmt.Errorf("%s: the meter went silent; check its cable and supply", path)
	}
	return fmt.Errorf("%s: the port is gone (%w): was the cable pulled?", path, err)
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
	if err := conn.Control(func(fd uintptr) { failed = unix.IoctlSetPointerInt(int(fd), request, unix.TIOCM_RTS) }); err != nil {
		return before, err
	}
	if failed != nil {
		return before, fmt.Errorf("%s: no RTS line: %w", m.port.Name(), failed)
	}
	m.high = high
	return before.Add(time.Since(before) / 2), nil
}

func (m *MarkerPin) Close() error { return m.port.Close() }
