package kernel

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// A PTY is a pseudo terminal that behaves like a serial line (pts(4)): programs
// open Name, this one reads and writes Master. Neither end blocks: deadlines work.
type PTY struct {
	Master *os.File
	Name   string
	line   *os.File // kept open, or the master would read EIO while nobody has it open
}

// NewPTY makes a raw pseudo terminal at a speed in Bd, which is only told, not
// kept. Every user may open it.
func NewPTY(speed uint32) (*PTY, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("pseudo terminal: %w", err)
	}
	p := &PTY{Master: master}
	if err := p.open(speed); err != nil {
		return nil, errors.Join(fmt.Errorf("pseudo terminal: %w", err), p.Close())
	}
	return p, nil
}

func (p *PTY) open(speed uint32) error {
	c, err := p.Master.SyscallConn()
	if err != nil {
		return err
	}
	var number int
	var failed error
	if err := c.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	}); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	p.Name = fmt.Sprintf("/dev/pts/%d", number)
	if p.line, err = OpenSerial(p.Name, speed); err != nil {
		return err
	}
	return p.line.Chmod(0o666)
}

// Close unplugs the line.
func (p *PTY) Close() error {
	if p.line == nil {
		return p.Master.Close()
	}
	return errors.Join(p.line.Close(), p.Master.Close())
}
