package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A Java is a runtime for a board's architecture, made of Debian packages: a
// read-only file system that a guest mounts, unpacked only where it is read. Only
// machines that a study runs Java programs on have it.
type Java struct {
	Dir  string
	Made Made
}

const (
	javaFile = "java.squashfs"
	javaIn   = "/java"                         // where it is mounted in the guest
	javaMark = "/" + javaFile                  // a guest's file: the runtime, where it does not lie in flash
	javaRoot = "usr/lib/jvm/java-17-openjdk-*" // where Debian puts it
)

// javaPackages are the runtime and the libraries that it loads; those for
// screens, printers, sound and cards are left out.
var javaPackages = []string{"openjdk-17-jre-headless", "libc6", "libgcc-s1", "libstdc++6", "zlib1g"}

// javaNeedless are parts of the packages that no program looks into.
var javaNeedless = []string{"usr/share", "usr/lib/*/gconv", javaRoot + "/lib/ct.sym", javaRoot + "/legal",
	javaRoot + "/man", javaRoot + "/docs"}

// HasJava says whether a runtime can be made for the board.
func (b Board) HasJava() bool { return !b.RootInFlash }

// JavaDir is the folder of the runtime of a board's architecture.
func (u Builder) JavaDir(b Board) string { return filepath.Join(u.Cache, "java", b.Debian) }

// BuildJava makes the runtime of the board's architecture.
func (u Builder) BuildJava(ctx context.Context, b Board) (Java, error) {
	j := Java{Dir: u.JavaDir(b)}
	if !b.HasJava() {
		return j, fmt.Errorf("device %s has too little memory for Java", b.Name)
	}
	if err := needSquash(); err != nil {
		return j, err
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(j.Dir, imageFile)), os.MkdirAll(j.Dir, 0o755)); err != nil {
		return j, err
	}
	work, err := os.MkdirTemp(u.Cache, workPrefix)
	if err != nil {
		return j, err
	}
	defer os.RemoveAll(work)
	needed := javaPackages
	if b.Debian == "armel" {
		needed = append(needed[:len(needed):len(needed)], "libatomic1") // ARMv5 has no such instructions
	}
	if j.Made.Packages, err = u.Unpack(ctx, b, work, needed...); err != nil {
		return j, fmt.Errorf("java for %s: %w", b.Debian, err)
	}
	if err := trimJava(work); err != nil {
		return j, err
	}
	u.Tell("packing the runtime")
	if err := squash(ctx, work, filepath.Join(j.Dir, javaFile)); err != nil {
		return j, err
	}
	return j, seal(j.Dir, &j.Made, javaRecipe(), javaFile)
}

// trimJava takes out what is needless and makes the command java.
func trimJava(root string) error {
	for _, pattern := range javaNeedless {
		found, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			return err
		}
		for _, f := range found {
			if err := os.RemoveAll(filepath.Join(root, f)); err != nil {
				return err
			}
		}
	}
	programs, err := fs.Glob(os.DirFS(root), path.Join(javaRoot, "bin", "java"))
	if err != nil {
		return err
	}
	if len(programs) != 1 {
		return fmt.Errorf("expected one java below %s, found %d", javaRoot, len(programs))
	}
	to, err := filepath.Rel(filepath.Join("usr", "bin"), programs[0])
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Join(root, "usr", "bin"), 0o755),
		os.Symlink(to, filepath.Join(root, "usr", "bin", "java")))
}

func javaRecipe() string {
	return sum([]byte("1 " + strings.Join(javaPackages, " ") + strings.Join(javaNeedless, " ") +
		strings.Join(squashOptions, " ")))
}

// OpenJava opens the runtime of the board's architecture and makes sure that it
// is whole. Its error says how to build it.
func (u Builder) OpenJava(b Board) (Java, error) {
	j := Java{Dir: u.JavaDir(b)}
	if !b.HasJava() {
		return j, fmt.Errorf("device %s has no Java: its memory is too small for it", b.Name)
	}
	var err error
	j.Made, err = open(j.Dir, "device "+b.Name+": its Java", javaRecipe(),
		fmt.Errorf("run: edgegauge devices build %s --java", b.Name))
	return j, err
}

func (j Java) file() string { return filepath.Join(j.Dir, javaFile) }

// open reads a folder's image.json and makes sure that its files are as built.
// What is its name in errors, again says how to build it again.
func open(dir, what, recipe string, again error) (Made, error) {
	var made Made
	text, err := os.ReadFile(filepath.Join(dir, imageFile))
	if errors.Is(err, fs.ErrNotExist) {
		return made, fmt.Errorf("%s %w; %w", what, ErrNotBuilt, again)
	}
	if err != nil {
		return made, err
	}
	if err := json.Unmarshal(text, &made); err != nil {
		return made, fmt.Errorf("%s: %w; %w", filepath.Join(dir, imageFile), err, again)
	}
	if made.Format > imageFormat {
		return made, fmt.Errorf("%s: format %d is newer than this edgegauge can read (%d); update edgegauge, or %w",
			filepath.Join(dir, imageFile), made.Format, imageFormat, again)
	}
	if made.Recipe != recipe {
		return made, fmt.Errorf("%s was built by a different edgegauge; %w", what, again)
	}
	for name, want := range made.Files {
		got, err := digest(filepath.Join(dir, name))
		switch {
		case err != nil:
			return made, fmt.Errorf("%s: %w; %w", what, err, again)
		case got.Size != want.Size:
			return made, fmt.Errorf("%s: %s is %d B long, %d when it was built: it is truncated or changed; %w", what,
				filepath.Join(dir, name), got.Size, want.Size, again)
		case got != want:
			return made, fmt.Errorf("%s: %s has changed since it was built; %w", what, filepath.Join(dir, name), again)
		}
	}
	return made, nil
}

// seal writes image.json, last: a folder without it is no image.
func seal(dir string, made *Made, recipe string, files ...string) error {
	made.Format, made.Recipe, made.Files = imageFormat, recipe, map[string]Digest{}
	for _, f := range files {
		d, err := digest(filepath.Join(dir, f))
		if err != nil {
			return err
		}
		made.Files[f] = d
	}
	text, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, imageFile), append(text, '\n'), 0o644)
}

// squashOptions make the same bytes of the same files, whoever owns them and
// whenever they were written.
var squashOptions = []string{"-comp", "zstd", "-Xcompression-level", "9", "-b", "128K", "-all-root", "-all-time", "0",
	"-mkfs-time", "0",
	"-no-xattrs", "-noappend", "-quiet", "-no-progress"}

func needSquash() error {
	if _, err := exec.LookPath("mksquashfs"); err != nil {
		return errors.New("mksquashfs is missing, which packs a guest's files; run: apt-get install squashfs-tools")
	}
	return nil
}

var parted atomic.Int64 // file systems that this process began to pack

// squash packs a folder into a read-only file system.
func squash(ctx context.Context, dir, file string) error {
	if err := needSquash(); err != nil {
		return err
	}
	for _, p := range kernel.Matching(filepath.Dir(file), filepath.Base(file)+".*") { // of those killed while they wrote
		owner, _, _ := strings.Cut(strings.TrimPrefix(p, file+"."), "-")
		if kernel.OwnerGone(owner) {
			os.Remove(p)
		}
	}
	// Subtle: a name of its own, since several labs may pack the same at once.
	part := fmt.Sprintf("%s.%s-%d", file, kernel.Owner(), parted.Add(1))
	defer os.Remove(part)
	if err := command(ctx, "", nil, "mksquashfs", append([]string{dir, part}, squashOptions...)...); err != nil {
		return err
	}
	return os.Rename(part, file)
}
