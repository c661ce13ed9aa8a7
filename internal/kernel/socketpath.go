package kernel

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// mostSocketPath is how many bytes of a path the address of a Unix socket has room for (unix(7)).
const mostSocketPath = 107

// DialUnix connects to a Unix socket, however long its path is.
func DialUnix(ctx context.Context, path string) (c net.Conn, err error) {
	err = withRoom(path, func(short string) (err error) {
		var d net.Dialer
		c, err = d.DialContext(ctx, "unix", short)
		return err
	})
	return c, err
}

// ListenUnix listens on a Unix socket, however long its path is. Its file stays when the listener is closed.
func ListenUnix(path string) (l net.Listener, err error) {
	err = withRoom(path, func(short string) error {
		u, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
		if err != nil {
			return err
		}
		u.SetUnlinkOnClose(false) // Subtle: by then the descriptor in its path may be that of another folder
		l = u
		return nil
	})
	return l, err
}

// withRoom calls do with a path to a socket that an address has room for: where its own is longer, by way of the
// descriptor of its folder, as long as do takes.
func withRoom(path string, do func(path string) error) error {
	if len(path) <= mostSocketPath {
		return do(path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)))
}
