package kernel

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// TUN is the device that makes TUN and TAP interfaces.
const TUN = "/dev/net/tun"

// OpenTUN opens the device at path, usually TUN, without blocking, and says what
// to do where that is refused. The caller closes the descriptor.
func OpenTUN(path string) (fd int, err error) {
	fd, err = unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return -1, fmt.Errorf("there is no %s: %w; load it with: modprobe tun; "+
			"in a container, start it with: --device /dev/net/tun", path, err)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return -1, fmt.Errorf("this user may not open %s: %w; run as root, or once: chmod 666 %s", path, err, path)
	case err != nil:
		return -1, fmt.Errorf("%s: %w", path, err)
	}
	return fd, nil
}
