package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// rootlessMark is set in a process that Rootless started.
const rootlessMark = "EDGEGAUGE_ROOTLESS"

// IsRootless reports whether Rootless started this process.
func IsRootless() bool { return os.Getenv(rootlessMark) != "" }

// Able tries whether this process may make network namespaces.
func Able() error {
	f, err := kernel.NewNetwork()
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
	if IsRootless() {
		return 0, kernel.NetworkDenied("create a network namespace in a user namespace", unix.EPERM)
	}
	if _, err := os.Stat(TUN); err != nil {
		return 0, fmt.Errorf("there is no %s: %w; load it with: modprobe tun", TUN, err)
	}
	runtime.LockOSThread() // the child's parent-death signal follows this thread
	defer runtime.UnlockOSThread()
	cmd := inUserNamespace(exec.Command("/proc/self/exe", os.Args[1:]...))
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, kernel.Ends()...)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, kernel.NetworkDenied("create a user namespace", err)
	}
	go func() {
		for s := range signals { // of a terminal both get it, and the child takes this one for an echo
			cmd.Process.Signal(s)
		}
	}()
	err = cmd.Wait()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

// inUserNamespace has a program start in a user namespace of its own, in which it
// may make network namespaces, under the same user and group.
func inUserNamespace(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env = append(os.Environ(), rootlessMark+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW},
		Pdeathsig:   unix.SIGTERM,
	}
	return cmd
}

// TryVerb is the hidden verb of the binary that runs Try.
const TryVerb = "link-try"

// TryRootless tries whether a link could be made by Rootless: it makes one in a
// user namespace of its own, and ends it. Exe is this binary.
func TryRootless(ctx context.Context, exe string, l Link) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if IsRootless() {
		return kernel.NetworkDenied("create a network namespace in a user namespace", unix.EPERM)
	}
	said, err := kernel.CombinedOutput(inUserNamespace(exec.CommandContext(ctx, exe, TryVerb, string(text))))
	var status *exec.ExitError
	switch {
	case errors.As(err, &status):
		return errors.New(strings.TrimSpace(string(said)))
	case err != nil:
		return kernel.NetworkDenied("create a user namespace", err)
	}
	return nil
}

// Try makes the link that its argument describes, and ends it: the exit code says
// whether that could be done, standard error why not.
func Try(args []string) int {
	var l Link
	err := errors.New("name one link")
	if len(args) == 1 {
		err = json.Unmarshal([]byte(args[0]), &l)
	}
	if err == nil {
		err = try(l)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func try(l Link) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	line, err := Open(context.Background(), exe, l)
	if err != nil {
		return err
	}
	return line.Close()
}
