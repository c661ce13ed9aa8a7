package link

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// rootlessMark is set in a process that Rootless started.
const rootlessMark = "EDGEGAUGE_ROOTLESS"

// Able tries whether this process may make network namespaces.
func Able() error {
	f, err := newNamespace()
	if err != nil {
		return err
	}
	return f.Close()
}

// Rootless runs this program again with the same arguments in a user namespace
// of its own, in which it may make network namespaces, under the same user and
// group. It returns that process's exit code. An error means that the kernel
// allows no user namespace, or that this process is in one already.
//
// Subtle: the ids stay what they are, not root, so that stacks behave as they
// would without it; the capabilities are ambient, or exec would drop them.
func Rootless() (code int, err error) {
	if os.Getenv(rootlessMark) != "" {
		return 0, denied("make a network namespace in a user namespace", unix.EPERM)
	}
	if _, err := os.Stat(TUN); err != nil {
		return 0, fmt.Errorf("there is no %s: %w; load it with: modprobe tun", TUN, err)
	}
	runtime.LockOSThread() // the child's parent-death signal follows this thread
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), rootlessMark+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW},
		Pdeathsig:   unix.SIGTERM,
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGTERM, unix.SIGHUP, unix.SIGINT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, denied("make a user namespace", err)
	}
	go func() {
		for s := range signals {
			if s != unix.SIGINT { // a terminal sends that one to both
				cmd.Process.Signal(s)
			}
		}
	}()
	err = cmd.Wait()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}
