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
)

// A guestProgram is edgegauge-board for another architecture, which machines boot, or the whole edgegauge.
type guestProgram struct {
	arch, arm string // in Go's words
	whole     bool
}

// programOf is what a machine boots: as little as does, since it stays in the machine's memory.
func programOf(m qemu.Board, w wanted) guestProgram { return guestProgram{m.GOARCH, m.GOARM, w.whole} }

// programOn is what a core runs, which has this machine's memory.
func programOn(c device.Core) guestProgram { return guestProgram{c.GOARCH, c.GOARM, true} }

// name is that of its file, as a release or a user puts it beside this program.
func (g guestProgram) name() string {
	switch {
	case !g.whole:
		return "edgegauge-board-" + g.arch + g.arm
	case g.arm != "":
		return "edgegauge-linux-" + g.arch + "v" + g.arm
	}
	return "edgegauge-linux-" + g.arch
}

// build are the words of go build that make it.
func (g guestProgram) build() []string {
	if g.whole {
		return []string{"./cmd/edgegauge"}
	}
	return []string{"-tags=board", "./cmd/edgegauge-board"}
}

// most is the size in B that it does not exceed: what make board allows, and half as much again as the whole one had.
func (g guestProgram) most() int64 {
	if g.whole {
		return 65_000_000
	}
	return 12_000_000
}

// beside is its file beside this program; empty: there is none. The whole edgegauge does in place of edgegauge-board.
func (b *Testbed) beside(g guestProgram) string {
	for _, g := range []guestProgram{g, {g.arch, g.arm, true}} {
		if file := filepath.Join(filepath.Dir(b.Exe), g.name()); exists(file) {
			return file
		}
	}
	return ""
}

// takesBeside says whether a file beside this program goes before one that is built: where it is the whole edgegauge,
// which only a user can have put there, and with a release, whose parts belong together. In the sources, make board may
// have been long ago.
func (b *Testbed) takesBeside(g guestProgram) bool {
	return g.whole || b.Version != device.Build("")
}

// guestAtHand says why there is no program for a device and none can be made.
func (b *Testbed) guestAtHand(name string, g guestProgram) error {
	if b.beside(g) != "" {
		return nil
	}
	root, ok := b.source()
	if !ok {
		return fmt.Errorf("device %s: it needs this program, built for it: put %s into %s, or name the folder of its "+
			"source with EDGEGAUGE_SOURCE", name, g.name(), filepath.Dir(b.Exe))
	}
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("device %s: it needs this program, built for it, and to build it from %s takes Go: %w; install "+
			"Go, or put %s into %s", name, root, err, g.name(), filepath.Dir(b.Exe))
	}
	return nil
}

// guestProgram is a file of edgegauge for another architecture: one beside this program, or made from the source if
// that is at hand.
func (b *Testbed) guestProgram(ctx context.Context, name string, g guestProgram) (string, error) {
	if err := b.guestAtHand(name, g); err != nil {
		return "", err
	}
	root, ok := b.source()
	_, err := exec.LookPath("go")
	if beside := b.beside(g); beside != "" && (b.takesBeside(g) || !ok || err != nil) {
		return beside, nil
	}
	cache, err := b.cacheDir()
	if err != nil {
		return "", err
	}
	out := filepath.Join(cache, "guest", g.name())
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w",
		"-o", out}, g.build()...)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+g.arch, "GOARM="+g.arm,
		"GOFLAGS=")
	if said, err := kernel.CombinedOutput(cmd); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("device %s needs this program, built for it: go build for %s: %w", name, g.name(),
				context.Cause(ctx))
		}
		if err := writable(filepath.Dir(out)); err != nil {
			return "", fmt.Errorf("device %s needs this program, built for it: %w", name, InCache(err))
		}
		return "", fmt.Errorf("device %s needs this program, built for it: go build for %s: %w: "+
			"%s", name, g.name(), err, buildFaults(said))
	}
	return out, nil
}

// buildFaults is what go build says of what is wrong, on one line: it tells each module that it downloads, too.
func buildFaults(said []byte) string {
	var out []string
	for line := range strings.Lines(string(said)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "go: downloading ") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "; ")
}

// guestSize is how large a program for another architecture is, before it is made: as large as it may become.
func (b *Testbed) guestSize(g guestProgram) int64 {
	if file := b.beside(g); file != "" && b.takesBeside(g) {
		if i, err := os.Stat(file); err == nil {
			return i.Size()
		}
	}
	return g.most()
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
