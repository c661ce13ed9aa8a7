package device

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// NewNamespace makes a network namespace that lives as long as its file or a
// process in it: no name, so nothing is left of a killed lab.
func NewNamespace() (f *os.File, err error) {
	onThread(func() {
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			if errors.Is(err, unix.EPERM) {
				err = fmt.Errorf("%w; run as root, or where user namespaces are allowed: doc/links.md", err)
			}
			err = fmt.Errorf("make a network namespace: %w", err)
			return
		}
		f, err = os.Open("/proc/thread-self/ns/net")
	})
	return f, err
}

// InNamespace runs f on a thread of its own in a network namespace. What f
// starts or opens there stays there; f must not leave work to other goroutines.
func InNamespace(ns *os.File, f func() error) (err error) {
	onThread(func() {
		if err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("enter the network namespace: %w; run as root", err)
			return
		}
		err = f()
	})
	return err
}

// onThread runs f on a thread that ends with it, so that what f does to its
// thread is undone. Subtle: the main thread never ends, and would keep it.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			onThread(f) // it cannot get this thread, which we hold
			runtime.UnlockOSThread()
			return
		}
		f() // locked for good: the thread ends with this goroutine
	}()
	<-done
}
