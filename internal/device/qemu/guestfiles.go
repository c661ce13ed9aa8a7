package qemu

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"strings"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/measure"
)

// stacksIn is where stacks stand in the guest.
const stacksIn = "/stacks"

// Furnish turns a command of the lab's into one of the guest's and lists the
// files that it needs there. A native program is taken from build/armel or
// build/arm64 in place of build.
func (d *Enclosed) Furnish(p device.Program, c device.Command) (device.Command, []device.File, error) {
	return d.Image.Furnish(p, c)
}

// Furnish is that of Enclosed.
func (im Image) Furnish(p device.Program, c device.Command) (device.Command, []device.File, error) {
	b := im.Board
	if p.Dir == "" {
		c.Argv = append([]string{GuestExe}, c.Argv[1:]...)
		return c, nil, nil
	}
	to := path.Join(stacksIn, path.Base(filepath.ToSlash(p.Name)))
	c.Dir = to
	switch program := c.Argv[0]; {
	case program == "java" && im.Java != nil:
		files, err := products(p, to)
		return c, append(files, im.Java.asFile()), err
	default:
		file, err := b.File(p.Name, p.Dir, program)
		if err != nil {
			return c, nil, err
		}
		return c, []device.File{{Name: path.Join(to, program), Mode: 0o755, Source: file}}, nil
	}
}

// File is the file of a stack's native program for the board, or what to do where there is none.
func (b Board) File(stack, dir, program string) (string, error) {
	file, err := device.Crossed(stack, dir, program, b.Target())
	if err != nil {
		return "", fmt.Errorf("device %s: %w", b.Name, err)
	}
	return file, nil
}

// Files are what every guest of the image gets besides its program: the runtime, if it is to have one.
func (im Image) Files() []device.File {
	if im.Java == nil {
		return nil
	}
	return []device.File{im.Java.asFile()}
}

// asFile is the runtime as a file of the guest's.
func (j Java) asFile() device.File {
	return device.File{Name: javaMark, Mode: 0o444, Source: j.file()}
}

// products are what a stack was built into, to stand below to.
func products(p device.Program, to string) ([]device.File, error) {
	var out []device.File
	for _, name := range p.Products {
		below, err := device.Files(filepath.Join(p.Dir, name), path.Join(to, filepath.ToSlash(name)))
		if err != nil {
			return nil, fmt.Errorf("stack %s: %w", p.Name, err)
		}
		for _, f := range below {
			// the same bytes of the archive, whatever the umask was
			switch {
			case f.Mode.IsDir():
			case f.Mode&0o111 != 0:
				f.Mode = 0o755
			default:
				f.Mode = 0o644
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// Target is the board's architecture as stacks name the folders of their native
// programs; static programs of armel run on all 32-bit boards.
func (b Board) Target() string {
	if b.GOARCH == "arm64" {
		return "arm64"
	}
	return "armel"
}

// CPUScale: where a faster clock is declared than the board has, the kernel's
// account of CPU time still counts the true one.
func (d *Enclosed) CPUScale() float64 { return 1 / d.Image.Board.Clock.factor() }

// Facts are what the machine is and is made of.
func (d *Enclosed) Facts(ctx context.Context) (device.Facts, error) {
	f, err := facts(ctx, d.Image, Deterministic, d.Guest)
	if err != nil {
		return f, err
	}
	f.Emulation["time"] = d.Image.Board.Model()
	f.Emulation[guestSum] = sum(d.program)
	f.ClockSource = "instructions"
	f.Doubts = append(f.Doubts, "time is "+d.Image.Board.Model()+
		": it models no cache, memory latency or cost of branches or floating point, so it ranks and scales but is "+
		"not a real board's time")
	return f, nil
}

// guestSum is the fact of which edgegauge runs in the guest.
const guestSum = "sha256 of edgegauge in the guest"

func facts(ctx context.Context, im Image, m Mode, guest string) (device.Facts, error) {
	b := im.Board
	f := device.Facts{Model: "emulated " + b.Title, Arch: b.GOARCH, CPUs: 1, MemoryB: int64(b.MemoryMiB) << 20,
		Emulation: map[string]string{"mode": string(m)}}
	var err error
	if _, f.Emulation["qemu"], err = b.emulator(ctx); err != nil {
		return f, err
	}
	packages, files := im.Made.Packages, maps.Clone(im.Made.Files)
	if im.Java != nil {
		packages = append(packages[:len(packages):len(packages)], im.Java.Made.Packages...)
		maps.Copy(files, im.Java.Made.Files)
	}
	for _, p := range packages {
		f.Emulation["package "+p.Name] = p.Version + " " + p.SHA256
		if strings.HasPrefix(p.Name, "linux-") {
			f.Kernel = "Linux " + p.Version
		}
	}
	for name, d := range files {
		f.Emulation["sha256 of "+name] = d.SHA256
	}
	if d, err := digest(guest); err == nil {
		f.Emulation[guestSum] = d.SHA256
	}
	java := b.unpacksJava(im.Files())
	if java && m == Deterministic { // that of each trial in which Java runs
		f.Emulation["command with Java"] = strings.Join(b.argv(m, true, 0), " ")
		java = false
	}
	f.Emulation["command"] = strings.Join(b.argv(m, java, 0), " ")
	return f, nil
}

// errEnclosed: nobody outside speaks with such a machine.
var errEnclosed = errors.New("it runs whole trials by itself; write time: instructions, or open it without")

// Start is refused: see Enclose.
func (d *Enclosed) Start(context.Context, device.Command) (*device.Process, error) {
	return nil, fmt.Errorf("device %s: %w", d.Image.Board.Name, errEnclosed)
}

// Observe is refused: nobody outside looks on.
func (d *Enclosed) Observe(context.Context, string, func(measure.Sample)) error {
	return fmt.Errorf("device %s: %w", d.Image.Board.Name, errEnclosed)
}
