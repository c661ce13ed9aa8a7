package qemu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/device"
)

// ErrNoRoom means that a machine has no memory for what it would be given.
var ErrNoRoom = errors.New("what it is given does not fit into its memory")

// kernelWorks is what the kernel needs in B while it fills a ramfs: with 14 MB left, that of cortex-a53 had not enough,
// and with 5 that of cortex-a7.
const kernelWorks = 24 << 20

// smallThings are the job, keys and the like, in B: some kB, and not known before they are made.
const smallThings = 1 << 20

// unpacksJava says whether the Java runtime is among files that the board's kernel unpacks.
func (b Board) unpacksJava(files []device.File) bool {
	return !b.Flash && slices.ContainsFunc(files, func(f device.File) bool { return f.Name == javaMark })
}

// Fits says whether the machine's kernel can unpack what it is given: its own program, of so many bytes, and files.
// What is not there counts as nothing: others say that it is missing.
//
// All of it is in memory twice while it is unpacked, packed and as a file system. A tmpfs takes no more than half of
// what the packed leaves, a ramfs all of it (Documentation/filesystems/ramfs-rootfs-initramfs.rst). A kernel that has
// no room unpacks a part and goes on, so that a program or a library is cut off.
func (im Image) Fits(program int64, files []device.File) error {
	b := im.Board
	var java, stacks int64
	seen := map[string]bool{}
	for _, f := range files {
		n := int64(len(f.Data))
		if f.Source != "" {
			n = sizeOf(f.Source)
		}
		switch {
		case seen[f.Name] || f.Name == javaMark && b.Flash: // both sides may have the same; Java is read where it lies
		case f.Name == javaMark:
			java = n
		default:
			stacks += (n + pageSize - 1) / pageSize * pageSize
		}
		seen[f.Name] = true
	}
	others := smallThings + 4*sizeOf(filepath.Join(im.Dir, baseFile))
	free := int64(b.MemoryMiB-b.KernelMiB) << 20
	most := free / 3
	switch {
	case b.RootInFlash: // so is its program, and what else it has comes from there
		most, program = min(free/2, flashSize-jobAt), 0
	case java > 0:
		most = (free - kernelWorks) / 2
	}
	if program+java+stacks+others <= most {
		return nil
	}
	var parts []string
	for _, p := range []struct {
		what string
		size int64
	}{{"its program", program}, {"Java", java}, {"stacks", stacks}} {
		if p.size > 0 {
			parts = append(parts, fmt.Sprintf("%s %d MB", p.what, mega(p.size)))
		}
	}
	return fmt.Errorf("%w: %s; it can unpack %d MB of them; take a machine with more memory",
		ErrNoRoom, strings.Join(parts, ", "), mega(max(most-others, 0)))
}

const pageSize = 4096

func mega(n int64) int64 { return (n + 500_000) / 1_000_000 }

func sizeOf(file string) int64 {
	i, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return i.Size()
}
