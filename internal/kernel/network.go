package kernel

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// NewNetwork makes a network namespace (network_namespaces(7)) that lives as long
// as the returned file or a process in it. It has no name, so a killed lab leaves
// none behind. It has no interfaces but lo, which is down.
func NewNetwork() (f *os.File, err error) {
	OnThread(func() {
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			err = NetworkDenied("create a network namespace", err)
			return
		}
		f, err = os.Open("/proc/thread-self/ns/net")
	})
	return f, err
}

// InNetwork runs f on a thread of its own in a network namespace. What f starts
// or opens there stays there; f must not leave work to other goroutines.
func InNetwork(ns *os.File, f func() error) (err error) {
	OnThread(func() {
		if err = enterNetwork(ns); err == nil {
			err = f()
		}
	})
	return err
}

// enterNetwork moves the calling thread.
func enterNetwork(ns *os.File) error {
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return NetworkDenied("enter a network namespace", err)
	}
	return nil
}

// NetworkDenied says what to do when the kernel refuses a change of networks; what
// was tried begins the text.
func NetworkDenied(what string, err error) error {
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%s: %w; run as root, or where user namespaces are allowed "+
			"(Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0; Docker: --privileged; doc/links.md), "+
			"or drop the link from the study", what, err)
	case errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("%s: %w; no more namespaces are allowed: raise user.max_user_namespaces (some systems have 0) and "+
			"user.max_net_namespaces with sysctl", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
