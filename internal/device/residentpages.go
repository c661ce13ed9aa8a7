package device

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A binary is where this process's program lies in memory: its read-only pages,
// from and to.
type binary [][2]uintptr

// findBinary reads /proc/self/smaps. Subtle: given back may only be what can be
// read again from the file: pages that cannot be written now and of which none
// ever was. A linker writes relocations into pages that it then makes read-only.
func findBinary() binary {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return findLinked()
	}
	defer f.Close()
	var found binary
	var from, to uintptr
	var rights string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		text := lines.Text()
		var a, b uintptr
		var r string
		if n, _ := fmt.Sscanf(text, "%x-%x %s", &a, &b, &r); n == 3 {
			from, to, rights = a, b, r
			if !strings.Contains(text, " /") {
				rights = ""
			}
		}
		if strings.HasPrefix(text, "Anonymous:") && strings.HasSuffix(text, " 0 kB") && strings.HasPrefix(rights, "r-") {
			found = append(found, [2]uintptr{from, to})
		}
	}
	return found
}

// findLinked is for small kernels, which say less: what is mapped, not whether it
// was written. A program that is linked for fixed addresses has no relocations to
// write, so none of its read-only pages was.
func findLinked() binary {
	e, err := elf.Open("/proc/self/exe")
	if err != nil {
		return nil
	}
	defer e.Close()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil || e.Type != elf.ET_EXEC ||
		slices.ContainsFunc(e.Progs, func(p *elf.Prog) bool {
			return p.Type == elf.PT_INTERP ||
				p.Type == elf.PT_GNU_RELRO
		}) {
		return nil
	}
	var found binary
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		var rights string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &rights); n == 3 && strings.HasPrefix(rights, "r-") &&
			strings.Contains(line, " /") {
			found = append(found, [2]uintptr{from, to})
		}
	}
	return found
}

// giveBack lets the kernel take the program's pages, which it reads again from
// its cache when they are needed. The binary is large, and starting all its
// packages touches half of it: 17.5 MB resident at first, under 5 MB so.
func (b binary) giveBack() {
	for _, r := range b {
		unix.Syscall(unix.SYS_MADVISE, r[0], r[1]-r[0], unix.MADV_DONTNEED)
	}
}

// slim gives back free heap too, which takes milliseconds.
func (b binary) slim() {
	debug.FreeOSMemory()
	b.giveBack()
}
