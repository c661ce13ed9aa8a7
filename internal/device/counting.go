package device

import (
	"context"
	_ "embed"
	endian "encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// Counting is this machine emulating another's user programs, one at a time, to
// count their instructions. It is no machine to take times on: it is slow, and
// follows this machine's load. System calls are this machine's own and are not
// counted.
type Counting struct {
	Local
	Core
	Plugin string // the counter, as Build made it
	Guest  string // this program for that architecture
}

// A Core is what user programs can be emulated on.
type Core struct {
	Name    string // of the device
	Title   string
	Program string // qemu-user's, the one that loads plugins
	CPU     string
	Target  string // folder of a stack's programs for it, below build/
	GOARCH  string
	GOARM   string
}

// Cores are all of them.
func Cores() []Core {
	return []Core{
		{Name: "instructions-armv5", Title: "user instructions of an ARM926", Program: "qemu-arm", CPU: "arm926",
			Target: "armel", GOARCH: "arm", GOARM: "5"},
		{Name: "instructions-armv6", Title: "user instructions of an ARM1176", Program: "qemu-arm", CPU: "arm1176",
			Target: "armel", GOARCH: "arm", GOARM: "6"},
		{Name: "instructions-arm64", Title: "user instructions of a Cortex-A53", Program: "qemu-aarch64", CPU: "cortex-a53",
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

//go:embed counter.c.txt
var countSource string

// BuildCounter compiles the counter into file.
func BuildCounter(ctx context.Context, file string) error {
	cc, err := exec.LookPath("cc")
	if err != nil {
		return fmt.Errorf("cc is missing; run: apt-get install gcc libc6-dev")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, cc, "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-x", "c",
		"-", "-o", file)
	cmd.Stdin = strings.NewReader(countSource)
	if out, err := kernel.CombinedOutput(cmd); err != nil {
		return fmt.Errorf("compile the counter of instructions: %w: %s", err, out)
	}
	return nil
}

// Start runs c on the emulated core. A program of a stack is taken from
// build/TARGET in place of build.
func (d Counting) Start(ctx context.Context, c Command) (*Process, error) {
	qemu, err := exec.LookPath(d.Program)
	if err != nil {
		return nil, fmt.Errorf("device %s: %s is missing; run: apt-get install qemu-user", d.Core.Name, d.Program)
	}
	if _, err := os.Stat(d.Plugin); err != nil {
		return nil, fmt.Errorf("device %s is not built: %w; run: edgegauge devices build %s", d.Core.Name, err, d.Core.Name)
	}
	program := d.Guest
	if c.Argv[0] != d.Exe {
		program = filepath.Join(c.Dir, filepath.Dir(c.Argv[0]), d.Target, filepath.Base(c.Argv[0]))
		if _, err := os.Stat(program); err != nil {
			return nil, fmt.Errorf("device %s: %w; it runs native programs only: make this one with the stack's build.sh %s",
				d.Core.Name, err, d.Target)
		}
	}
	f, err := os.CreateTemp(d.Temp, "edgegauge-count-")
	if err != nil {
		return nil, err
	}
	f.Close()
	c.Argv = append([]string{qemu, "-cpu", d.CPU, "-plugin", d.Plugin + ",out=" + f.Name(), program}, c.Argv[1:]...)
	p, err := d.Local.Start(ctx, c)
	if err != nil {
		os.Remove(f.Name())
		return nil, err
	}
	p.usage = func() (Usage, error) {
		u, err := usage(p.PID)
		if err == nil {
			u.Instructions, err = readCount(f.Name())
		}
		return u, err
	}
	ended := make(chan Exit, 1)
	go func(exit <-chan Exit) {
		e := <-exit
		os.Remove(f.Name())
		ended <- e
		close(ended)
	}(p.exit)
	p.exit = ended
	return p, nil
}

// readCount sums the threads' counters.
func readCount(file string) (int64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	var n uint64
	for ; len(b) >= 8; b = b[8:] {
		n += endian.NativeEndian.Uint64(b)
	}
	if n == 0 {
		return 0, fmt.Errorf("%s: nothing was counted; does this QEMU support plugins?", file)
	}
	return int64(n), nil
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
	out, err := kernel.Output(exec.CommandContext(ctx, d.Program, "--version"))
	if err != nil {
		return f, fmt.Errorf("device %s: %s --version: %w; run: apt-get install qemu-user", d.Core.Name, d.Program, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	f.Emulation = map[string]string{"qemu": line, "cpu": d.CPU}
	return f, nil
}

// Observe is refused: nothing but instructions can be seen there.
func (d Counting) Observe(_ context.Context, instrument string, _ func(measure.Sample)) error {
	return fmt.Errorf("device %s: instrument %s: this device counts only instructions", d.Core.Name, instrument)
}
