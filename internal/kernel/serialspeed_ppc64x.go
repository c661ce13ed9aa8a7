//go:build ppc64 || ppc64le

package kernel

import "golang.org/x/sys/unix"

// Here the usual requests take any speed, and there are no others (ioctl_tty(2)).
const (
	getLine = unix.TCGETS
	putLine = unix.TCSETS
)
