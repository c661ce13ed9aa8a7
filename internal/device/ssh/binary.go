package ssh

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"edgegauge.example/edgegauge/internal/device"
)

// machines are the architectures of uname -m in Go's words, and what else runs there.
var machines = map[string][]string{
	"x86_64": {"amd64"}, "aarch64": {"arm64"}, "riscv64": {"riscv64"}, "i686": {"386"}, "i586": {"386"},
	"armv8l": {"arm7", "arm6", "arm5"}, "armv7l": {"arm7", "arm6", "arm5"}, "armv6l": {"arm6", "arm5"},
	"armv5tel": {"arm5"}, "armv5tejl": {"arm5"},
	"ppc64le": {"ppc64le"}, "s390x": {"s390x"}, "mips64": {"mips64"}, "mips": {"mips"},
	"mips64el": {"mips64le"}, "mipsel": {"mipsle"}, // with their byte order: see ordered
}

// ownArch is the architecture of this program, in the same words.
func ownArch() string {
	if runtime.GOARCH != "arm" {
		return runtime.GOARCH
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "GOARM" {
				return "arm" + s.Value[:1]
			}
		}
	}
	return "arm"
}

// boardFile begins the name of the program that is enough for most studies on a
// board: cmd/edgegauge-board.
const boardFile = "edgegauge-board-"

// findBinary finds an edgegauge for a machine of that name: the small
// edgegauge-board-ARCH beside this program or in the user's cache, unless whole is
// needed; else this program, if it runs there, or a file edgegauge-ARCH. Why says
// how it came to that.
func (b *Board) findBinary(machine string) (file, why string, err error) {
	exe, whole := b.Exe, b.Whole
	archs, ok := machines[machine]
	if !ok {
		return "", "", refusal{fmt.Sprintf("it is a %s, an architecture unknown to edgegauge", machine)}
	}
	real := exe
	if r, err := filepath.EvalSymlinks(exe); err == nil {
		real = r // a run's exe is a link in a folder of its own
	}
	folders := []string{filepath.Dir(real)}
	if cache, err := os.UserCacheDir(); err == nil {
		folders = append(folders, filepath.Join(cache, "edgegauge"))
	}
	find := func(prefix, arch string) string {
		for _, dir := range folders {
			file := filepath.Join(dir, prefix+arch)
			if i, err := os.Stat(file); err == nil && i.Mode().IsRegular() {
				return file
			}
		}
		return ""
	}
	why = "programs run there that edgegauge-board does not have"
	if !whole {
		for _, arch := range archs {
			if file := find(boardFile, arch); file != "" {
				return file, "it has all that runs there", nil
			}
		}
		why = "there is no " + boardFile + archs[0] + " in the folder of edgegauge; make board builds it"
	}
	for _, arch := range archs {
		if arch == ownArch() {
			return exe, why, nil
		}
		if file := find("edgegauge-", arch); file != "" {
			return file, why, nil
		}
	}
	// what is said to be built goes where it is looked for
	to, flags, pkg := filepath.Join(folders[len(folders)-1], boardFile+archs[0]), "-tags board ", "./cmd/edgegauge-board"
	if whole {
		to, flags, pkg = filepath.Join(folders[len(folders)-1], "edgegauge-"+archs[0]), "", "./cmd/edgegauge"
	}
	if b.Build != "" && b.Build != device.Build("") { // else a release would refuse what this builds
		flags += fmt.Sprintf(`-ldflags "-X 'main.stamp=%s'" `, b.Build)
	}
	return "", "", refusal{fmt.Sprintf("it is a %s, and there is no edgegauge for it; in edgegauge's sources run: "+
		"CGO_ENABLED=0 GOOS=linux %s go build -trimpath %s-o %s %s", machine, variables(archs[0]), flags, to, pkg)}
}

// variables are those of go build.
func variables(arch string) string {
	if v, ok := strings.CutPrefix(arch, "arm"); ok && v != "64" {
		return "GOARCH=arm GOARM=" + v
	}
	switch arch { // many have no floating-point unit
	case "mips", "mipsle":
		return "GOARCH=" + arch + " GOMIPS=softfloat"
	case "mips64", "mips64le":
		return "GOARCH=" + arch + " GOMIPS64=softfloat"
	}
	return "GOARCH=" + arch
}
