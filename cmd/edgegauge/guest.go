package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"edgegauge/internal/device"
	"edgegauge/internal/device/qemu"
	"edgegauge/internal/lab"
)

// guestMain is this binary as the first process of an emulated machine: it makes
// the bare kernel a system, does what the machine was booted for, and ends it.
func guestMain() {
	if err := inGuest(context.Background()); err != nil {
		qemu.Fail(os.Stdout, err)
	}
	qemu.PowerOff()
}

func inGuest(ctx context.Context) error {
	if err := qemu.SetUp(); err != nil {
		return err
	}
	text, err := os.ReadFile(qemu.JobFile)
	if errors.Is(err, os.ErrNotExist) {
		return serveLab()
	}
	if err != nil {
		return err
	}
	out, err := lab.Conduct(ctx, text, qemu.GuestExe)
	if err != nil {
		return err
	}
	return qemu.Deliver(os.Stdout, out)
}

// serveLab is an agent for the lab on the other side of the machine's channel.
func serveLab() error {
	channel, err := qemu.AwaitLab(os.Stdout)
	if err != nil {
		return err
	}
	return device.RunAgent(channel, "/tmp/edgegauge-agent", version(), openInstrument)
}

// cacheDir is where machines are made and kept: EDGEGAUGE_CACHE, or edgegauge in
// the user's cache.
func cacheDir() (string, error) {
	if dir := os.Getenv("EDGEGAUGE_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w; name a folder with EDGEGAUGE_CACHE", err)
	}
	return filepath.Join(dir, "edgegauge"), nil
}

// inCache adds to an error of files below the cache that could not be written
// what to do.
func inCache(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; free space there, or name another folder with EDGEGAUGE_CACHE", err)
	}
	return err
}

// writable tries to write below a folder, which it makes.
func writable(dir string) error {
	err := os.MkdirAll(dir, 0o755)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "try-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// guestProgram is this program for another architecture: a file beside this one
// that is named after it, or made from the source if that is at hand.
func guestProgram(ctx context.Context, device, arch, arm, exe string) (string, error) {
	name := "edgegauge-linux-" + arch
	if arm != "" {
		name += "v" + arm
	}
	if beside := filepath.Join(filepath.Dir(exe), name); exists(beside) {
		return beside, nil
	}
	root, ok := sourceOf(exe)
	if !ok {
		return "", fmt.Errorf("device %s runs this program too: put %s beside %s, or run where its source is", device, name, exe)
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	out := filepath.Join(cache, "guest", name)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, "./cmd/edgegauge")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOARM="+arm, "GOFLAGS=")
	if said, err := cmd.CombinedOutput(); err != nil {
		if err := writable(filepath.Dir(out)); err != nil {
			return "", fmt.Errorf("device %s runs this program too, which is made for it: %w", device, inCache(err))
		}
		return "", fmt.Errorf("device %s runs this program too: go build for %s: %w: %s", device, name, err, said)
	}
	return out, nil
}

// sourceOf is the folder of this program's source: the one at work, or that
// where exe lies.
func sourceOf(exe string) (string, bool) {
	here, _ := os.Getwd()
	_, file, _, _ := runtime.Caller(0) // where it was built, unless paths were trimmed
	for _, dir := range []string{here, filepath.Dir(exe), filepath.Dir(file)} {
		for ; filepath.IsAbs(dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if exists(filepath.Join(dir, "go.mod")) && exists(filepath.Join(dir, "internal/device/qemu/board.go")) {
				return dir, true
			}
		}
	}
	return "", false
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return !errors.Is(err, os.ErrNotExist)
}
