//go:build !ppc64 && !ppc64le

package kernel

import "golang.org/x/sys/unix"

// The requests that take any speed.
const (
	getLine = unix.TCGETS2
	putLine = unix.TCSETS2
)
