package device

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// openChannel opens what an agent speaks on: stdin and stdout, or a character
// device, which is made raw if it is a terminal.
func openChannel(args []string) (io.ReadWriteCloser, error) {
	if len(args) == 0 {
		in, err := pollable(0)
		if err != nil {
			return nil, err
		}
		out, err := pollable(1)
		if err != nil {
			return nil, err
		}
		unix.Dup3(2, 1, 0) // whatever else prints to stdout must not reach the channel
		return twoWay{in, out}, nil
	}
	f, err := os.OpenFile(args[0], os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("open the connection to the lab: %w", err)
	}
	return f, kernel.MakeRaw(f)
}

// pollable is a copy of fd of which a pending read ends with Close.
func pollable(fd int) (*os.File, error) {
	mine, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("the agent has no connection to its lab: %w", err)
	}
	if err := unix.SetNonblock(mine, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(mine), "channel"), nil
}

// twoWay is one stream made of two.
type twoWay struct {
	in  io.ReadCloser
	out io.WriteCloser
}

func (t twoWay) Read(b []byte) (int, error)  { return t.in.Read(b) }
func (t twoWay) Write(b []byte) (int, error) { return t.out.Write(b) }
func (t twoWay) Close() error                { return errors.Join(t.in.Close(), t.out.Close()) }
