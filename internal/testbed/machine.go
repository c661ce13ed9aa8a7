package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/qemu"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/study"
)

// emulated are the names of the machines that can be emulated.
func emulated() []string {
	var names []string
	for _, m := range qemu.Boards() {
		names = append(names, m.Name)
	}
	return names
}

func machineNames(*Testbed) []string {
	names := emulated()
	for _, n := range emulated() {
		names = append(names, n+qemu.PacedSuffix)
	}
	return names
}

func isMachine(_ *Testbed, name string) bool { return IsMachine(name) }

// IsMachine says whether a device's name is an emulated machine's.
func IsMachine(name string) bool {
	_, _, ok := findMachine(name)
	return ok
}

// Builder builds the emulated machines that a testbed offers, and their parts.
func (b *Testbed) Builder() (qemu.Builder, error) {
	cache, err := b.cacheDir()
	return qemu.Builder{Cache: cache}, err
}

func stateOfMachine(b *Testbed, name string) string {
	m, _, _ := findMachine(name)
	u, err := b.Builder()
	if err == nil {
		_, err = qemu.OpenImage(m, u.Dir(m))
	}
	switch {
	case errors.Is(err, qemu.ErrNotBuilt):
		return fmt.Sprintf("emulated %s (not built; run: edgegauge devices build %s)", m.Title, m.Name)
	case err != nil:
		return fmt.Sprintf("emulated %s (%v)", m.Title, err)
	}
	return fmt.Sprintf("emulated %s (built)", m.Title)
}

// image is a machine that was built, with what its programs need.
func (b *Testbed) image(w wanted) (qemu.Image, error) {
	m, _, _ := findMachine(w.name)
	u, err := b.Builder()
	if err != nil {
		return qemu.Image{}, err
	}
	im, err := qemu.OpenImage(m, u.Dir(m))
	if err != nil || !w.java {
		return im, err
	}
	j, err := u.OpenJava(m)
	im.Java = &j
	return im, err
}

func readyMachine(ctx context.Context, b *Testbed, w wanted) error {
	_, err := b.image(w)
	m, _, _ := findMachine(w.name)
	return errors.Join(err, m.Usable(ctx), b.guestAtHand(m.Name, m.GOARCH, m.GOARM))
}

func openMachine(ctx context.Context, b *Testbed, w wanted) (device.Device, error) {
	im, err := b.image(w)
	if err != nil {
		return nil, err
	}
	m, paced, _ := findMachine(w.name)
	guest, err := b.GuestProgram(ctx, m.Name, m.GOARCH, m.GOARM)
	if err != nil {
		return nil, err
	}
	if w.time == study.Instructions {
		e, err := qemu.NewEnclosed(ctx, im, w.exe, guest)
		if e != nil {
			e.Temp = w.temp
		}
		return e, err
	}
	d := &qemu.Interactive{Image: im, Exe: w.exe, Temp: w.temp, Guest: guest, Mode: qemu.Free, Build: b.Version,
		Cache: filepath.Join(b.Cache, "states"), Number: w.number}
	if paced {
		d.Mode = qemu.Paced
	}
	return d, nil
}

func refuseMachine(s study.Study, t *study.Setup) (why, key string) {
	client, server := t.Client.Device, t.Server.Device
	switch {
	case lab.IsAway(client) || lab.IsAway(server):
		return "an emulated machine can only be reached from this machine; put the other side on this one or on another " +
			"emulated one", "server.device"
	case lab.NeedsPackets(s) && lab.Captured(t) && client == server && !lab.IsLinked(t) && s.Time != study.Instructions:
		return "both sides are in one emulated machine, where packets cannot be captured; add a link, which puts the " +
			"server on its own machine, or write capture: off", "server.device"
	}
	return "", ""
}

func fitnessMachine(ctx context.Context, b *Testbed, name string) ([]device.Finding, error) {
	u, err := b.Builder()
	if err != nil {
		return nil, err
	}
	m, _, _ := findMachine(name)
	here, err := fitnessHere(ctx, b, name)
	return append(m.Check(ctx, u.Dir(m), b.tryLink(ctx, toMachine)), here...), err
}

func coreNames(*Testbed) []string {
	var names []string
	for _, c := range device.Cores() {
		names = append(names, c.Name)
	}
	return names
}

func isCore(_ *Testbed, name string) bool { _, ok := device.FindCore(name); return ok }

func stateOfCore(_ *Testbed, name string) string {
	c, _ := device.FindCore(name)
	return c.Title + ": counts instructions, measures no times"
}

// counters is the folder of the counters of instructions.
func (b *Testbed) counters() (string, error) {
	cache, err := b.cacheDir()
	return filepath.Join(cache, "devices"), err
}

// BuildCounters makes the counters of instructions.
func (b *Testbed) BuildCounters(ctx context.Context) error {
	dir, err := b.counters()
	if err != nil {
		return err
	}
	return device.BuildCounters(ctx, dir)
}

// counting is a core of this machine, without a program for reference stacks.
func (b *Testbed) counting(w wanted) (device.Counting, error) {
	c, _ := device.FindCore(w.name)
	dir, err := b.counters()
	return device.Counting{Local: here(w), Core: c, Counters: dir}, err
}

func readyCore(ctx context.Context, b *Testbed, w wanted) error {
	d, err := b.counting(w)
	if err != nil {
		return err
	}
	return errors.Join(d.Usable(ctx), b.guestAtHand(d.Core.Name, d.GOARCH, d.GOARM))
}

func openCore(ctx context.Context, b *Testbed, w wanted) (device.Device, error) {
	d, err := b.counting(w)
	if err != nil {
		return nil, err
	}
	d.Guest, err = b.GuestProgram(ctx, d.Core.Name, d.GOARCH, d.GOARM)
	return d, err
}

func fitnessCore(ctx context.Context, b *Testbed, name string) ([]device.Finding, error) {
	counter := device.Finding{What: "counter", Says: "counts instructions"}
	if err := readyCore(ctx, b, wanted{name: name, exe: b.Exe, temp: b.Temp}); err != nil {
		counter.Says, counter.Do, counter.Bad = "cannot be used", strings.ReplaceAll(err.Error(), "\n", "; "), true
	}
	here, err := fitnessHere(ctx, b, name)
	return append([]device.Finding{counter}, here...), err
}

// guestBeside is this program for another architecture as a release has it: a file
// beside this one that is named after it.
func (b *Testbed) guestBeside(arch, arm string) (name, file string) {
	name = "edgegauge-linux-" + arch
	if arm != "" {
		name += "v" + arm
	}
	return name, filepath.Join(filepath.Dir(b.Exe), name)
}

// guestAtHand says why there is no program for a device and none can be made.
func (b *Testbed) guestAtHand(device, arch, arm string) error {
	name, beside := b.guestBeside(arch, arm)
	if exists(beside) {
		return nil
	}
	root, ok := b.source()
	if !ok {
		return fmt.Errorf("device %s: it needs this program, built for it: put %s into %s, or name the folder of its "+
			"source with EDGEGAUGE_SOURCE", device, name, filepath.Dir(b.Exe))
	}
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("device %s: it needs this program, built for it, and to build it from %s takes Go: %w; install "+
			"Go, or put %s into %s", device, root, err, name, filepath.Dir(b.Exe))
	}
	return nil
}

// GuestProgram is this program for another architecture: the file beside this one,
// or made from the source if that is at hand.
func (b *Testbed) GuestProgram(ctx context.Context, device, arch, arm string) (string, error) {
	if err := b.guestAtHand(device, arch, arm); err != nil {
		return "", err
	}
	name, beside := b.guestBeside(arch, arm)
	if exists(beside) {
		return beside, nil
	}
	root, _ := b.source()
	cache, err := b.cacheDir()
	if err != nil {
		return "", err
	}
	out := filepath.Join(cache, "guest", name)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out,
		"./cmd/edgegauge")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOARM="+arm, "GOFLAGS=")
	if said, err := kernel.CombinedOutput(cmd); err != nil {
		if err := writable(filepath.Dir(out)); err != nil {
			return "", fmt.Errorf("device %s needs this program, built for it: %w", device, InCache(err))
		}
		return "", fmt.Errorf("device %s needs this program, built for it: go build for %s: %w: "+
			"%s", device, name, err, said)
	}
	return out, nil
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

// source is the folder of this program's source: the one that is named, or that
// where exe lies. Not where the caller works: what lies there may be anybody's.
func (b *Testbed) source() (string, bool) {
	for _, dir := range []string{b.Source, filepath.Dir(b.Exe)} {
		for ; filepath.IsAbs(dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if exists(filepath.Join(dir, "go.mod")) && exists(filepath.Join(dir, "internal/device/qemu/board.go")) {
				return dir, true
			}
		}
	}
	return "", false
}
