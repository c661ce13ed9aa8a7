package kernel

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// OpenSerial opens a serial line: 8 data bits, raw, at any speed in Bd, without
// becoming its terminal. Deadlines work on the file. Closing it leaves the modem
// lines as they are, since a change of DTR resets an Arduino. The error is the
// kernel's; ENOTTY means that path is not a serial line.
func OpenSerial(path string, speed uint32) (*os.File, error) {
	return openSerial(path, func(fd int) error { return setLine(fd, speed) })
}

// OpenSerialAlone is OpenSerial for one process at a time: EBUSY says that
// another has the line open. What has already come on the line is dropped.
func OpenSerialAlone(path string, speed uint32) (*os.File, error) {
	return openSerial(path, func(fd int) error {
		// Subtle: TIOCEXCL stops neither root nor an open before it; the lock does, among us.
		if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
			return unix.EBUSY
		}
		if err := setLine(fd, speed); err != nil {
			return err
		}
		if err := unix.IoctlSetInt(fd, unix.TIOCEXCL, 0); err != nil {
			return err
		}
		return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIOFLUSH)
	})
}

func openSerial(path string, set func(fd int) error) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := set(fd); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil // polled, since it does not block
}

// setLine makes a line raw and sets its speed (ioctl_tty(2), TCSETS2: any speed,
// not only those with names).
func setLine(fd int, speed uint32) error {
	t, err := unix.IoctlGetTermios(fd, getLine)
	if err != nil {
		return err
	}
	t.Iflag, t.Oflag, t.Lflag = unix.IGNBRK, 0, 0
	t.Cflag = unix.CS8 | unix.CREAD | unix.CLOCAL | unix.BOTHER // no HUPCL: closing must not reset a board
	t.Ispeed, t.Ospeed = speed, speed
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(fd, putLine, t)
}

// MakeRaw keeps a terminal from changing bytes (termios(3), cfmakeraw) and leaves
// its speed. A file that is no terminal is left alone.
func MakeRaw(f *os.File) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = c.Control(func(fd uintptr) {
		t, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
		if err != nil {
			return // no terminal: nothing changes bytes
		}
		t.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
		t.Oflag &^= unix.OPOST
		t.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
		t.Cflag &^= unix.CSIZE | unix.PARENB
		t.Cflag |= unix.CS8
		t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
		failed = unix.IoctlSetTermios(int(fd), unix.TCSETS, t)
	})
	return errors.Join(err, failed)
}
