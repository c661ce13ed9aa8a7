package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// noMore allows this user namespace none below it, as hardened systems do, and tries to make a link in one.
func noMore() {
	err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	if err == nil {
		err = TryRootless(context.Background(), "/proc/self/exe", Link{})
	}
	fmt.Println(err)
	os.Exit(0)
}

// Where a system allows no user namespace, the limit to be raised is named.
func TestNoMoreUserNamespaces(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "LINK_TEST_NO_MORE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) { // it could not even begin
		t.Skip("this kernel allows no user namespace at all: ", err)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(string(out), "no space left on device") ||
		!strings.Contains(string(out), "user.max_user_namespaces") {
		t.Errorf("got %s", out)
	}
}
