package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// The test binary is run so, as root in an emulated machine whose kernel has
// cgroup v2 with CPU and memory (cmd/edgegauge, TestConstrainedUnderCgroup2), since
// the machines that tests run on may have v1 only: DEVICE_TEST_CGROUP2=PART.
const cgroup2Part = "DEVICE_TEST_CGROUP2"

func playCgroup2(part string) {
	var err error
	switch part {
	case "all":
		err = inGuestCgroup2()
	case "limits": // memory first: the group that the lab was moved to has no more than that
		err = errors.Join(memoryKept(), quotaKept(), noneLeft())
	case "burn":
		//lint:ignore SA5002 to use all of a CPU is what it is for
		for {
		}
	case "eat":
		all := make([]byte, 128<<20)
		for i := range all {
			all[i] = 1
		}
		fmt.Println(len(all))
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(part, "fine")
	os.Exit(0)
}

// inGuestCgroup2 keeps limits as root, then as an ordinary user in a group that was
// delegated, as systemd does for a user's session.
func inGuestCgroup2() error {
	os.MkdirAll(cgroupRoot, 0o755)
	if err := unix.Mount("cgroup2", cgroupRoot, "cgroup2", 0, ""); err != nil {
		return fmt.Errorf("mount cgroup2: %w", err)
	}
	if err := errors.Join(quotaKept(), memoryKept(), noneLeft()); err != nil {
		return fmt.Errorf("as root: %w", err)
	}
	const user = 65534
	session := filepath.Join(cgroupRoot, "user.slice", "user-65534.slice")
	if err := os.MkdirAll(session, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(cgroupRoot, "user.slice", "cgroup.subtree_control"), []byte("+cpu +memory"),
		0); err != nil {
		return err
	}
	for _, f := range []string{".", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} {
		if err := os.Chown(filepath.Join(session, f), user, user); err != nil {
			return err
		}
	}
	group, err := os.Open(session)
	if err != nil {
		return err
	}
	exe, err := forAll()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), cgroup2Part+"=limits")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}, UseCgroupFD: true,
		CgroupFD: int(group.Fd())}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("as an ordinary user in a delegated group: %w: %s", err, out)
	}
	return nil
}

// forAll is this binary where everybody may run it.
func forAll() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	const to = "/for-all"
	text, err := os.ReadFile(exe)
	if err == nil {
		err = os.WriteFile(to, text, 0o755)
	}
	return to, err
}

func playing(l Limits, part string) (*Process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return Constrained{Local: Local{Exe: exe}, Limits: l}.Start(context.Background(),
		Command{Argv: []string{"/proc/self/exe"}, Env: []string{cgroup2Part + "=" + part}})
}

// quotaKept: a program that counts for ever gets a quarter of the CPU.
func quotaKept() error {
	p, err := playing(Limits{CPU: 0.25, Memory: 64 << 20}, "burn")
	if err != nil {
		return err
	}
	defer p.Kill()
	time.Sleep(500 * time.Millisecond)
	before, err := p.Usage()
	if err != nil {
		return err
	}
	began := time.Now()
	time.Sleep(3 * time.Second)
	after, err := p.Usage()
	if err != nil {
		return err
	}
	share := (after.CPU - before.CPU).Seconds() / time.Since(began).Seconds()
	if spent := after.Throttled - before.Throttled; share < 0.1 || share > 0.4 || spent < 20 ||
		after.ThrottledFor <= before.ThrottledFor {
		return fmt.Errorf("it got %.2f of a CPU, want 0.25, and spent its quota in %d periods, waiting %v", share, spent,
			after.ThrottledFor-before.ThrottledFor)
	}
	return nil
}

func memoryKept() error {
	p, err := playing(Limits{Memory: 48 << 20}, "eat")
	if err != nil {
		return err
	}
	said, _ := io.ReadAll(p.Stdout)
	if e := p.Wait(); e.Code != -1 || !strings.Contains(e.Signal, "memory limit of 48 MiB") {
		return fmt.Errorf("a program that took 128 MiB of 48 ended with %+v and said %q", e, said)
	}
	return nil
}

// noneLeft: groups go with their programs, and the lab is where it may be.
func noneLeft() error {
	var left []string
	filepath.Walk(cgroupRoot, func(path string, i os.FileInfo, err error) error {
		if err == nil && i.IsDir() && strings.HasPrefix(filepath.Base(path), groupPrefix+kernel.Owner()) {
			left = append(left, path)
		}
		return nil
	})
	if len(left) > 0 {
		return fmt.Errorf("left behind: %v", left)
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if os.Geteuid() != 0 && !slices.ContainsFunc(bytes.Fields(own),
		func(b []byte) bool { return bytes.HasSuffix(b, []byte("user-65534.slice/"+labGroup)) }) {
		return errors.Join(err, fmt.Errorf("the lab is in %s, want it moved out of the way", own))
	}
	if LeaveGroup(); err != nil || os.Geteuid() == 0 {
		return err
	}
	own, err = os.ReadFile("/proc/self/cgroup")
	if !slices.ContainsFunc(bytes.Fields(own),
		func(b []byte) bool { return bytes.HasSuffix(b, []byte("user-65534.slice")) }) {
		return errors.Join(err, fmt.Errorf("the lab is in %s, want it back", own))
	}
	if _, gone := os.Stat(filepath.Join(cgroupRoot, "user.slice", "user-65534.slice", labGroup)); gone == nil {
		return errors.Join(err, errors.New("its group stays"))
	}
	return err
}
