package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked says that another process, or another open file of this one, holds
// the lock.
var ErrLocked = errors.New("it is locked by another process")

// Lock takes the kernel's lock of an open file or folder (flock(2)) at once, or
// returns ErrLocked. The lock ends when f is closed, so at the latest with this
// process, however it ends.
func Lock(f *os.File) error { return flock(f, unix.LOCK_EX|unix.LOCK_NB) }

// Unlock gives the lock back while f stays open.
func Unlock(f *os.File) error { return flock(f, unix.LOCK_UN) }

// flock uses the descriptor without making f block, as Fd would.
func flock(f *os.File, how int) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := c.Control(func(fd uintptr) {
		for {
			if failed = unix.Flock(int(fd), how); failed != unix.EINTR {
				return
			}
		}
	}); err != nil {
		return err
	}
	if errors.Is(failed, unix.EWOULDBLOCK) {
		failed = ErrLocked
	}
	if failed != nil {
		return &fs.PathError{Op: "lock", Path: f.Name(), Err: failed}
	}
	return nil
}

// LockShared takes a lock that others may hold at the same time, and nobody holds alone meanwhile: at once, or with
// ErrLocked. It writes nothing, and takes what may only be read. Close the file to give it back.
//
// There are two locks: Sharers names who has the one, SharedByOthers asks quickly for the other.
func LockShared(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := flock(f, unix.LOCK_SH|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	_, _ = recordLock(f, unix.F_OFD_SETLK, unix.F_RDLCK)
	return f, nil
}

// SharedByOthers says whether a file that LockShared has locked may be locked by others so, too. It takes microseconds.
// Reading /proc/locks, as Sharers does, takes a grace period of the kernel's RCU: 6 to 20 ms.
func SharedByOthers(f *os.File) bool {
	kind, err := recordLock(f, unix.F_OFD_GETLK, unix.F_WRLCK)
	return err != nil || kind != unix.F_UNLCK
}

// recordLock sets a lock of an open file (fcntl(2), "open file description locks"), or asks for what is in its way.
func recordLock(f *os.File, command int, kind int16) (found int16, err error) {
	c, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	lock := unix.Flock_t{Type: kind}
	if err2 := c.Control(func(fd uintptr) { err = unix.FcntlFlock(fd, command, &lock) }); err2 != nil {
		return 0, err2
	}
	return lock.Type, err
}

// LockFolder locks a folder itself, not a file in it, at once or with ErrLocked.
// Close the file to give it back.
func LockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	if err := Lock(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// WaitLockFolder is LockFolder that waits until the lock is free, or ctx ends: who holds it may never let go.
func WaitLockFolder(ctx context.Context, dir string) (*os.File, error) {
	for {
		f, err := LockFolder(dir)
		if !errors.Is(err, ErrLocked) {
			return f, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w; it was waited for: %w", err, context.Cause(ctx))
		}
	}
}

// LockFile opens a lock file, makes it if it is not there, and locks it at once
// or with ErrLocked. In a folder that others may write to, a link, a pipe or a
// device in the file's place is refused and neither followed nor waited for.
func LockFile(path string, perm fs.FileMode) (*os.File, error) {
	// Subtle: without O_NONBLOCK opening a FIFO waits for its other end for ever.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, perm)
	if errors.Is(err, unix.ELOOP) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("a lock file must not be a link; remove it")}
	}
	if err != nil {
		return nil, err
	}
	i, err := f.Stat()
	if err == nil && !i.Mode().IsRegular() {
		err = &fs.PathError{Op: "lock", Path: path, Err: fmt.Errorf("not a regular file (%v); remove it", i.Mode().Type())}
	}
	if err == nil {
		err = Lock(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// IsOwnFolder says whether path is a folder, not a link to one, that belongs to
// this process's user.
func IsOwnFolder(path string) bool {
	i, err := os.Lstat(path)
	if err != nil || !i.IsDir() {
		return false
	}
	st, ok := i.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
