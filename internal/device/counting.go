package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"edgegauge.example/edgegauge/internal/measure"
)

// Counting is this machine emulating another's user programs, one at a time, to
// count their instructions. It is no machine to take times on: it is slow, and
// follows this machine's load. System calls are this machine's own and are not
// counted.
type Counting struct {
	Local
	Core
	Counters string // folder of the counters, as BuildCounters made them
	Guest    string // this program for that architecture
}

// A Core is what user programs can be emulated on.
type Core struct {
	Name   string // of the device
	Title  string
	QEMU   string // qemu-user's program, the one that loads plugins
	CPU    string
	Target string // folder of a stack's programs for it, below build/
	GOARCH string
	GOARM  string
}

// Cores are all of them.
func Cores() []Core {
	return []Core{
		{Name: "instructions-armv5", Title: "user instructions of an ARM926", QEMU: "qemu-arm", CPU: "arm926",
			Target: "armel", GOARCH: "arm", GOARM: "5"},
		{Name: "instructions-armv6", Title: "user instructions of an ARM1176", QEMU: "qemu-arm", CPU: "arm1176",
			Target: "armel", GOARCH: "arm", GOARM: "6"},
		{Name: "instructions-arm64", Title: "user instructions of a Cortex-A53", QEMU: "qemu-aarch64", CPU: "cortex-a53",
			Target: "arm64", GOARCH: "arm64"},
	}
}

// FindCore finds a core by the device's name.
func FindCore(name string) (Core, bool) {
	for _, c := range Cores() {
		if c.Name == name {
			return c, true
		}
	}
	return Core{}, false
}

// Program is the file of a stack's program for the core, or what to do where there is none.
func (c Core) Program(stack, dir, program string) (string, error) {
	file, err := Crossed(stack, dir, program, c.Target)
	switch {
	case errors.Is(err, ErrNotNative):
		return "", fmt.Errorf("device %s: there is no %s for stack %s; it runs native programs only", c.Name, program, stack)
	case err != nil:
		return "", fmt.Errorf("device %s: %w", c.Name, err)
	}
	return file, nil
}

// Start runs c on the emulated core. A program of a stack is taken from
// build/TARGET in place of build.
func (d Counting) Start(ctx context.Context, c Command) (*Process, error) {
	emulator, err := d.emulator(ctx)
	if err != nil {
		return nil, fmt.Errorf("device %s: %w", d.Core.Name, err)
	}
	program := d.Guest
	if c.Argv[0] != d.Exe {
		if program, err = d.Program(filepath.Base(c.Dir), c.Dir, c.Argv[0]); err != nil {
			return nil, err
		}
	}
	f, err := os.CreateTemp(d.Temp, "edgegauge-count-")
	if err != nil {
		return nil, err
	}
	f.Close()
	c.Argv = slices.Concat(emulator.counting(f.Name()), []string{program}, c.Argv[1:])
	p, err := d.Local.Start(ctx, c)
	if err != nil {
		os.Remove(f.Name())
		return nil, err
	}
	p.usage = func() (Usage, error) {
		u, err := p.used(p.group)
		if err == nil {
			u.Instructions, err = readCount(f.Name())
		}
		return u, err
	}
	p.Tell(func(e Exit) Exit {
		os.Remove(f.Name())
		return e
	})
	return p, nil
}

// Facts are this machine's, with what it emulates.
func (d Counting) Facts(ctx context.Context) (Facts, error) {
	f, err := d.Local.Facts(ctx)
	if err != nil {
		return f, err
	}
	f.Model, f.Arch = d.Title+", counted on "+f.Model, d.GOARCH
	f.Doubts = []string{"it counts user instructions, not the kernel's (such as TCP's); its " +
		"times are discarded"}
	emulator, err := d.emulator(ctx)
	if err != nil {
		return f, fmt.Errorf("device %s: %w", d.Core.Name, err)
	}
	f.Emulation = map[string]string{"qemu": emulator.version, "cpu": d.CPU}
	return f, nil
}

// Observe is refused: nothing but instructions can be seen there.
func (d Counting) Observe(_ context.Context, instrument string, _ func(measure.Sample)) error {
	return fmt.Errorf("device %s: instrument %s: this device counts only instructions", d.Core.Name, instrument)
}
