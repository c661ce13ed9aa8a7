package ssh

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// machines are the architectures of uname -m in Go's words, and what else runs there.
var machines = map[string][]string{
	"x86_64": {"amd64"}, "aarch64": {"arm64"}, "riscv64": {"riscv64"}, "i686": {"386"}, "i586": {"386"},
	"armv8l": {"arm7", "arm6", "arm5"}, "armv7l": {"arm7", "arm6", "arm5"}, "armv6l": {"arm6", "arm5"},
	"armv5tel": {"arm5"}, "armv5tejl": {"arm5"},
	"ppc64le": {"ppc64le"}, "s390x": {"s390x"}, "mips64": {"mips64"}, "mips": {"mips"},
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

// findBinary finds an edgegauge for a machine of that name: this program if it
// runs there, else a file edgegauge-ARCH beside it or in the user's cache.
func findBinary(exe, machine string) (string, error) {
	archs, ok := machines[machine]
	if !ok {
		return "", refusal{fmt.Sprintf("it is a %s, an architecture unknown to edgegauge", machine)}
	}
	folders := []string{filepath.Dir(exe)}
	if cache, err := os.UserCacheDir(); err == nil {
		folders = append(folders, filepath.Join(cache, "edgegauge"))
	}
	for _, arch := range archs {
		if arch == ownArch() {
			return exe, nil
		}
		for _, dir := range folders {
			file := filepath.Join(dir, "edgegauge-"+arch)
			if i, err := os.Stat(file); err == nil && i.Mode().IsRegular() {
				return file, nil
			}
		}
	}
	return "",
		refusal{fmt.Sprintf("it is a %s, and there is no edgegauge for it; in edgegauge's sources run: CGO_ENABLED=0 "+
			"GOOS=linux %s go build -trimpath -o %s ./cmd/edgegauge",
			machine, variables(archs[0]), filepath.Join(folders[len(folders)-1], "edgegauge-"+archs[0]))}
}

// variables are those of go build.
func variables(arch string) string {
	if v, ok := strings.CutPrefix(arch, "arm"); ok && v != "64" {
		return "GOARCH=arm GOARM=" + v
	}
	return "GOARCH=" + arch
}
