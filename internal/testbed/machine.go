package testbed

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/qemu"
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
	return errors.Join(err, m.Usable(ctx), b.guestAtHand(m.Name, programOf(m, w)))
}

func openMachine(ctx context.Context, b *Testbed, w wanted) (device.Device, error) {
	im, err := b.image(w)
	if err != nil {
		return nil, err
	}
	m, paced, _ := findMachine(w.name)
	guest, err := b.guestProgram(ctx, m.Name, programOf(m, w))
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
	err = d.Usable(ctx)
	if !w.others {
		err = errors.Join(err, b.guestAtHand(d.Core.Name, programOn(d.Core)))
	}
	return err
}

func openCore(ctx context.Context, b *Testbed, w wanted) (device.Device, error) {
	d, err := b.counting(w)
	if err != nil {
		return nil, err
	}
	if !w.others {
		d.Guest, err = b.guestProgram(ctx, d.Core.Name, programOn(d.Core))
	}
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
