package qemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A machine's folder may have a long path, as below a TMPDIR of a user's; the address of a socket may not.
func TestAMonitorInALongFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 20), strings.Repeat("long", 20))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), monitorFile))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		fmt.Fprintln(c, `{"QMP": {}}`)
		fmt.Fprintln(c, `{"return": {}}`)
		io.Copy(io.Discard, c)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	m, err := dialMonitor(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	m.close()
}

// A socket that cannot be connected to is not tried until nobody waits any more.
func TestAMonitorThatCannotBeConnectedTo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := dialMonitor(ctx, dir); !errors.Is(err, errMonitor) || ctx.Err() != nil {
		t.Errorf("got %v, and until then waited: %v", err, ctx.Err())
	}
}
