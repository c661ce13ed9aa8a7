package qemu

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/kernel"
)

// kernels are the configurations of kernels of our own: options to be set, one
// a line, or with "not" before it, to be unset.
//
//go:embed kernels
var kernels embed.FS

// recipeVersion changes whenever the code here makes another image of the same parts.
const recipeVersion = "2"

// recipe is the checksum of how a board's image is built.
func recipe(b Board) string {
	text, _ := json.Marshal(b) // plain values: it never fails
	for _, f := range []string{"versatile", b.Kernel.Own} {
		if own, err := kernels.ReadFile("kernels/" + f); err == nil {
			text = append(text, own...)
		}
	}
	return sum(append(text, recipeVersion...))
}

// A Builder makes images.
type Builder struct {
	Cache  string       // folder of everything fetched and made
	Newest bool         // packages as Debian has them now, not as pinned
	Tell   func(string) // what happens now
}

// Dir is the folder of a board's image.
func (u Builder) Dir(b Board) string { return filepath.Join(u.Cache, "devices", b.Name) }

// Once builds what is not ready, or again. One build at a time works in the cache: others,
// which may be of the same kernel or need the same lists of packages, are waited for.
func (u Builder) Once(ctx context.Context, again bool, ready, build func() error) (did bool, err error) {
	if ready() == nil && !again {
		return false, nil
	}
	if err := os.MkdirAll(u.Cache, 0o755); err != nil {
		return false, err
	}
	lock, err := kernel.LockFolder(u.Cache)
	if errors.Is(err, kernel.ErrLocked) {
		u.Tell("waiting for another build in " + u.Cache + kernel.Holder(u.Cache))
		lock, err = kernel.WaitLockFolder(ctx, u.Cache)
	}
	if err != nil {
		return false, err
	}
	defer lock.Close()
	if ready() == nil && !again { // by whom we waited for
		return false, nil
	}
	for _, dir := range kernel.Matching(u.Cache, workPrefix+"*") { // of builds that were killed: no other is at work
		os.RemoveAll(dir)
	}
	return true, build()
}

// workPrefix begins the name of each folder in which something is built.
const workPrefix = "build-"

// Build makes the board's image, from nothing if need be: Debian packages are
// fetched, the kernel is taken from one or compiled, and nothing needs root.
func (u Builder) Build(ctx context.Context, b Board) (Image, error) {
	im := Image{Board: b, Dir: u.Dir(b)}
	if err := errors.Join(os.RemoveAll(filepath.Join(im.Dir, imageFile)), os.MkdirAll(im.Dir, 0o755)); err != nil {
		return im, err
	}
	from := u.archive(b)
	work, err := os.MkdirTemp(u.Cache, workPrefix)
	if err != nil {
		return im, err
	}
	defer os.RemoveAll(work)
	files := []string{kernelFile, baseFile}
	modules, err := u.kernel(ctx, &im, from, work)
	if err != nil {
		return im, fmt.Errorf("device %s: %w", b.Name, err)
	}
	if b.Kernel.DTB != "" {
		files = append(files, dtbFile)
	}
	base := append([]File{{Name: "dev/console", Mode: fs.ModeDevice | fs.ModeCharDevice | 0o600,
		Device: [2]uint32{5, 1}}}, modules...)
	if err := pack(filepath.Join(im.Dir, baseFile), 9, base); err != nil {
		return im, err
	}
	return im, im.seal(files...)
}

// archive is Debian's for the board's architecture.
func (u Builder) archive(b Board) *apt {
	return &apt{arch: b.Debian, dir: filepath.Join(u.Cache, "apt-"+b.Debian), newest: u.Newest, tell: u.Tell}
}

// Unpack unpacks Debian packages of the board's architecture into dir, as their
// files lie in them: none of their scripts runs.
func (u Builder) Unpack(ctx context.Context, b Board, dir string, names ...string) ([]Package, error) {
	u.Tell("fetching " + strings.Join(names, ", "))
	packages, files, err := u.archive(b).fetchAll(ctx, names...)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if err := unpackPackage(ctx, file, dir); err != nil {
			return nil, err
		}
	}
	return packages, nil
}

// kernel puts the kernel and the device tree into the image and returns the
// modules that the guest loads.
func (u Builder) kernel(ctx context.Context, im *Image, from *apt, work string) ([]File, error) {
	if im.Board.Kernel.Own != "" {
		return nil, u.compile(ctx, im, from)
	}
	u.Tell("fetching " + im.Board.Kernel.Package)
	p, file, err := from.fetch(ctx, im.Board.Kernel.Package)
	if err != nil {
		return nil, err
	}
	im.Made.Packages = append(im.Made.Packages, p)
	root := filepath.Join(work, "kernel")
	if err := unpackPackage(ctx, file, root); err != nil {
		return nil, err
	}
	release := strings.TrimPrefix(p.Name, "linux-image-")
	if err := copyFile(filepath.Join(im.Dir, kernelFile), filepath.Join(root, "boot", "vmlinuz-"+release)); err != nil {
		return nil, err
	}
	dir := filepath.Join(root, "lib", "modules", release)
	always, err := modules(dir, im.Board.Kernel.Modules, "list")
	if err != nil {
		return nil, err
	}
	forJava, err := modules(dir, javaModules, javaList)
	return append(always, forJava...), err
}

// modules finds the named kernel modules and those they need, in the order in
// which to load them. The package has no modules.dep, so every module says
// itself what it needs. The file of that name lists them.
func modules(dir string, names []string, listName string) ([]File, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".ko") {
			files[moduleName(p)] = p
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	builtin, err := os.ReadFile(filepath.Join(dir, "modules.builtin"))
	if err != nil {
		return nil, err
	}
	inside := map[string]bool{}
	for s := bufio.NewScanner(bytes.NewReader(builtin)); s.Scan(); {
		inside[moduleName(s.Text())] = true
	}
	var order []string
	var out []File
	var load func(name string) error
	load = func(name string) error {
		if inside[name] || slices.Contains(order, name) {
			return nil
		}
		file, ok := files[name]
		if !ok {
			return fmt.Errorf("the kernel has no module %s", name)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, need := range depends(content) {
			if err := load(need); err != nil {
				return err
			}
		}
		order = append(order, name)
		out = append(out, File{Name: strings.TrimPrefix(modulesIn, "/") + "/" + name + ".ko", Mode: 0o644, Data: content})
		return nil
	}
	for _, n := range names {
		if err := load(n); err != nil {
			return nil, err
		}
	}
	list := strings.Join(order, ".ko\n") + ".ko\n"
	return append(out, File{Name: strings.TrimPrefix(modulesIn, "/") + "/" + listName, Mode: 0o644,
		Data: []byte(list)}), nil
}

func moduleName(path string) string {
	return strings.ReplaceAll(strings.TrimSuffix(filepath.Base(path), ".ko"), "-", "_")
}

// depends are the modules that a module says it needs: "depends=a,b" among the
// zero-terminated texts of its section .modinfo.
func depends(module []byte) []string {
	_, rest, ok := bytes.Cut(module, []byte("\x00depends="))
	if !ok {
		return nil
	}
	text, _, _ := bytes.Cut(rest, []byte{0})
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == ',' })
}

// compile takes a kernel of our own from the cache, or makes it from Debian's
// source of it. It takes minutes, so it is kept apart from the image, whose other
// parts change more often, and goes on where one that was interrupted stopped.
func (u Builder) compile(ctx context.Context, im *Image, from *apt) error {
	for program, of := range map[string]string{cross + "gcc": "gcc-arm-linux-gnueabi", "make": "make", "flex": "flex",
		"bison": "bison", "bc": "bc", "gcc": "gcc"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s is missing, which compiles the kernel; run: apt-get install %s", program, of)
		}
	}
	u.Tell("fetching " + sourcePackage)
	p, file, err := from.fetch(ctx, sourcePackage)
	if err != nil {
		return err
	}
	im.Made.Packages = append(im.Made.Packages, p)
	compiler, err := kernel.Output(exec.CommandContext(ctx, cross+"gcc", "--version"))
	if err != nil {
		return err
	}
	im.Made.Compiler, _, _ = strings.Cut(string(compiler), "\n")
	options, err := kernelOptions(im.Board.Kernel.Own)
	if err != nil {
		return err
	}
	wanted := strings.Join(options, "\n") + "\n"
	kept := filepath.Join(u.Cache, "kernels", sum([]byte(kernelRecipe + p.SHA256 + im.Made.Compiler + wanted))[:16])
	if !exists(kept) {
		if err := u.make(ctx, kept+".part", file, wanted, im.Board); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(kept+".part", "out"), kept); err != nil {
			return err
		}
		if err := os.RemoveAll(kept + ".part"); err != nil {
			return err
		}
	}
	return errors.Join(copyFile(filepath.Join(im.Dir, kernelFile), filepath.Join(kept, "zImage")),
		copyFile(filepath.Join(im.Dir, dtbFile), filepath.Join(kept, im.Board.Kernel.DTB)))
}

const (
	cross        = "arm-linux-gnueabi-"
	kernelRecipe = "1" // changes whenever make makes another kernel of the same parts
)

// make makes the kernel of a source package in dir and puts it into dir/out.
func (u Builder) make(ctx context.Context, dir, source, wanted string, b Board) error {
	tree, unpacked := filepath.Join(dir, sourcePackage), filepath.Join(dir, "unpacked")
	if !exists(unpacked) {
		u.Tell("unpacking " + filepath.Base(source))
		if err := errors.Join(os.RemoveAll(dir), unpackPackage(ctx, source, dir)); err != nil {
			return err
		}
		argv := []string{"xf", filepath.Join(dir, "usr", "src", sourcePackage+".tar.xz")}
		for _, d := range unneeded {
			argv = append(argv, "--exclude="+sourcePackage+"/"+d)
		}
		if err := command(ctx, dir, nil, "tar", argv...); err != nil {
			return err
		}
		if err := allowV6(filepath.Join(tree, "arch", "arm", "mach-versatile", "Kconfig")); err != nil {
			return err
		}
		if err := os.WriteFile(unpacked, nil, 0o644); err != nil {
			return err
		}
	}
	config := filepath.Join(dir, "wanted")
	if err := os.WriteFile(config, []byte(wanted), 0o644); err != nil {
		return err
	}
	// the kernel states when, by whom and where it was built: the same for all
	env := []string{"ARCH=arm", "CROSS_COMPILE=" + cross, "KCONFIG_ALLCONFIG=" + config, "LC_ALL=C",
		"KBUILD_BUILD_TIMESTAMP=2020-01-01",
		"KBUILD_BUILD_USER=edgegauge", "KBUILD_BUILD_HOST=edgegauge", "KBUILD_BUILD_VERSION=1"}
	if err := command(ctx, tree, env, "make", "allnoconfig"); err != nil {
		return err
	}
	if err := allSet(filepath.Join(tree, ".config"), strings.Fields(wanted)); err != nil {
		return err
	}
	u.Tell(fmt.Sprintf("compiling the kernel (%s); this takes some minutes", b.Kernel.Own))
	if err := command(ctx, tree, env, "make", fmt.Sprintf("-j%d", runtime.NumCPU()), "zImage", b.Kernel.DTB); err != nil {
		return err
	}
	out, boot := filepath.Join(dir, "out"), filepath.Join(tree, "arch", "arm", "boot")
	return errors.Join(os.MkdirAll(out, 0o755), copyFile(filepath.Join(out, "zImage"), filepath.Join(boot, "zImage")),
		copyFile(filepath.Join(out, b.Kernel.DTB), filepath.Join(boot, "dts", b.Kernel.DTB)))
}

// unneeded are files of the kernel's source, half of it, that take long to unpack
// and hold nothing of these kernels; every Kconfig must stay.
var unneeded = []string{"drivers/gpu/drm/*.[ch]", "drivers/media/*.[ch]", "sound/*.[ch]", "Documentation/*.rst",
	"tools/testing/*", "tools/perf/*"}

const sourcePackage = "linux-source-6.1"

// allowV6 lets the Versatile board have an ARMv6 core, which Linux rules out and
// QEMU does not.
func allowV6(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, after, ok := strings.Cut(string(text), "config ARCH_VERSATILE\n")
	changed := strings.Replace(after, "depends on ARCH_MULTI_V5", "depends on ARCH_MULTI_V5 || ARCH_MULTI_V6", 1)
	changed = strings.Replace(changed, "select CPU_ARM926T", "select CPU_ARM926T if ARCH_MULTI_V5", 1)
	if !ok || changed == after {
		return fmt.Errorf("%s is not as expected; the pinned version of %s has it", file, sourcePackage)
	}
	return os.WriteFile(file, []byte(before+"config ARCH_VERSATILE\n"+changed), 0o644)
}

// kernelOptions are the lines of a kernel's configuration.
func kernelOptions(name string) ([]string, error) {
	var out []string
	for _, f := range []string{"versatile", name} {
		text, err := kernels.ReadFile("kernels/" + f)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, "#")
			to := "=y"
			for _, word := range strings.Fields(line) {
				if word == "not" {
					to = "=n"
					continue
				}
				out = append(out, "CONFIG_"+word+to)
			}
		}
	}
	return out, nil
}

// allSet makes sure that no wanted option vanished: one whose dependency is
// missing does so without a word.
func allSet(config string, options []string) error {
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	has := strings.Split(string(text), "\n")
	var gone []string
	for _, o := range options {
		if strings.HasSuffix(o, "=y") && !slices.Contains(has, o) {
			gone = append(gone, o)
		}
	}
	if len(gone) > 0 {
		return fmt.Errorf("this kernel lacks %s; something they depend on is missing", strings.Join(gone, ", "))
	}
	return nil
}

// command runs a program and gives its last words if it does not succeed.
func command(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := kernel.CombinedOutput(cmd)
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, lastWords(out))
	}
	return nil
}

func copyFile(to, from string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}
