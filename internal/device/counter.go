package device

import (
	"context"
	"crypto/sha256"
	_ "embed"
	endian "encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/kernel"
)

//go:embed counter.c.txt
var countSource string

// counterFile is the counter of instructions for a version of QEMU's interface to
// plugins. Its name has the source's checksum: one that another edgegauge made is not
// taken for it.
func counterFile(dir string, version int) string {
	sum := sha256.Sum256([]byte(countSource))
	return filepath.Join(dir, fmt.Sprintf("libcount-%s-%d.so", hex.EncodeToString(sum[:6]), version))
}

// pluginVersion is the version of the interface to plugins that every QEMU of that
// major version takes: 9.0 refuses 1, and those before do not know 2.
func pluginVersion(major int) int {
	if major < 9 {
		return 1
	}
	return 2
}

// BuildCounters compiles the counter of instructions into a folder, for every QEMU.
func BuildCounters(ctx context.Context, dir string) error {
	cc, err := exec.LookPath("cc")
	if err != nil {
		return fmt.Errorf("cc is missing; run: apt-get install gcc libc6-dev")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, version := range []int{1, 2} {
		file := counterFile(dir, version)
		part := file + "." + kernel.Owner() // a lab may be loading the other
		cmd := exec.CommandContext(ctx, cc, "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
			"-DVERSION="+strconv.Itoa(version), "-x", "c", "-", "-o", part)
		cmd.Stdin = strings.NewReader(countSource)
		if out, err := kernel.CombinedOutput(cmd); err != nil {
			os.Remove(part)
			return fmt.Errorf("compile the counter of instructions: %w: %s", err, out)
		}
		if err := os.Rename(part, file); err != nil {
			return err
		}
	}
	return nil
}

// oldestCounting is the oldest QEMU that hands a plugin its settings as done here.
var oldestCounting = [2]int{6, 2}

// An emulator is qemu-user with a counter that it can load.
type emulator struct {
	path, version string
	cpu, counter  string
}

// counting is the command line that counts into a file, up to the program.
func (e emulator) counting(file string) []string {
	return []string{e.path, "-cpu", e.cpu, "-plugin", e.counter + ",out=" + file}
}

// emulator finds the QEMU of the core and the counter for it, or says what to do.
func (d Counting) emulator(ctx context.Context) (emulator, error) {
	path, err := exec.LookPath(d.QEMU)
	if err != nil {
		return emulator{}, fmt.Errorf("%s is missing; run: apt-get install qemu-user", d.QEMU)
	}
	v, err := AskQEMU(ctx, path)
	if err == nil {
		err = v.AtLeast(path, oldestCounting)
	}
	if err != nil {
		return emulator{}, err
	}
	e := emulator{path, v.Line, d.CPU, counterFile(d.Counters, pluginVersion(v.Major))}
	if _, err := os.Stat(e.counter); err != nil {
		return e, fmt.Errorf("it is not built; run: edgegauge devices build %s", d.Core.Name)
	}
	return e, nil
}

// Usable says why nothing can be counted here, and what to do: it counts a program of
// three instructions, since QEMU may be built without plugins, or refuse this one.
func (d Counting) Usable(ctx context.Context) error {
	e, err := d.emulator(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(d.Temp, "edgegauge-count-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, file := filepath.Join(dir, "program"), filepath.Join(dir, "count")
	if err := os.WriteFile(program, smallest(d.GOARCH), 0o755); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %v", patience))
	defer cancel()
	argv := append(e.counting(file), program)
	out, err := kernel.CombinedOutput(exec.CommandContext(ctx, argv[0], argv[1:]...))
	if err == nil {
		_, err = readCount(file)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		return nil
	}
	said, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return fmt.Errorf("%s (%s) does not count instructions: %w: %s; install a QEMU that loads plugins", e.path, e.version,
		err, said)
}

// smallest is a program that only ends, with status 0: an ELF file of one segment.
func smallest(arch string) []byte {
	code, machine, wide := []uint32{0xe3a00000, 0xe3a07001, 0xef000000}, uint16(40), false // mov r0, 0; mov r7, 1; svc
	if arch == "arm64" {
		code, machine, wide = []uint32{0xd2800000, 0xd2800ba8, 0xd4000001}, 183, true // mov x0, 0; mov x8, 93; svc
	}
	const at = 0x10000
	size := uint32(0x34 + 0x20 + 4*len(code))
	b := append([]byte("\x7fELF\x01\x01\x01"), make([]byte, 9)...)
	le := endian.LittleEndian
	if wide {
		b[4], size = 2, uint32(0x40+0x38+4*len(code))
	}
	b = le.AppendUint16(b, 2) // an executable
	b = le.AppendUint16(b, machine)
	b = le.AppendUint32(b, 1)
	words := func(all ...uint32) { // addresses and sizes
		for _, w := range all {
			if b = le.AppendUint32(b, w); wide {
				b = le.AppendUint32(b, 0)
			}
		}
	}
	if wide {
		words(at+0x40+0x38, 0x40, 0)                                  // entry, segments, no sections
		b = append(b, 0, 0, 0, 0, 0x40, 0, 0x38, 0, 1, 0, 0, 0, 0, 0) // flags, sizes and numbers of headers
		b = append(b, 0, 0)                                           // no names
		b = append(b, 1, 0, 0, 0, 5, 0, 0, 0)                         // loaded, to read and to run
		words(0, at, at, size, size, at)                              // whole file
	} else {
		words(at+0x34+0x20, 0x34, 0, 0x5000000) // and the flags: version 5 of the ABI
		b = append(b, 0x34, 0, 0x20, 0, 1, 0, 0, 0, 0, 0, 0, 0)
		words(1, 0, at, at, size, size, 5, at)
	}
	for _, c := range code {
		b = le.AppendUint32(b, c)
	}
	return b
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
		return 0, errors.New("nothing was counted; does this QEMU support plugins?")
	}
	return int64(n), nil
}
