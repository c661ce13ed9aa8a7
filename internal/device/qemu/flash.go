package qemu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A Versatile board has 64 MiB of NOR flash, which the guest can read and nothing
// else. What lies there takes no memory until it is read, and the guest can give
// it up again; and unlike a disk's, its answers come at once, so that counted time
// stays equal.
//
//	0        a squashfs: the Java runtime, or the whole root file system
//	48 MiB   behind a root: what the machine is to do, a cpio archive
const (
	flashSize = 64 << 20
	jobAt     = 48 << 20
	flashFile = "flash"
)

// flashOptions attach the flash.
var flashOptions = []string{"-drive", "if=pflash,format=raw,readonly=on,file=" + flashFile}

// writeFlash puts a board's flash together.
func writeFlash(file string, squashed []byte, job []File) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	room := flashSize
	if job != nil {
		room = jobAt
	}
	if len(squashed) > room {
		return fmt.Errorf("%d MiB do not fit into its %d MiB of flash", len(squashed)>>20, room>>20)
	}
	if _, err := f.Write(squashed); err != nil {
		return err
	}
	if job != nil {
		if _, err := f.Seek(jobAt, 0); err != nil {
			return err
		}
		if err := writeArchive(f, job); err != nil {
			return err
		}
		if at, err := f.Seek(0, 1); err != nil || at > flashSize {
			return errors.Join(err, fmt.Errorf("the trial's files exceed its flash by %d MiB", (at-flashSize)>>20+1))
		}
	}
	return f.Truncate(flashSize)
}

// rootLinks are those of the root file system in flash: what the job brings lies
// in memory, since nothing else can be written.
var rootLinks = map[string]string{
	"init": GuestExe, JobFile: runIn + JobFile, seedFile: runIn + seedFile, stacksIn: runIn + stacksIn,
	credentialsIn: runIn + credentialsIn,
}

const (
	runIn         = "/run"
	credentialsIn = "/credentials"
)

// treePrefix begins the name of a folder that is packed, then the lab's kernel.Owner.
const treePrefix = "tree-"

// root is the root file system of a board that has it in flash, with this guest
// program in it. It is kept beside the image, since packing takes seconds.
func (im Image) root(ctx context.Context, program []byte) ([]byte, error) {
	file := filepath.Join(im.Dir, "root-"+sum(append(append([]byte(nil), program...),
		strings.Join(squashOptions, " ")...))[:16]+".squashfs")
	if b, err := os.ReadFile(file); err == nil {
		return b, nil
	}
	for _, l := range kernel.Matching(im.Dir, treePrefix+"*") { // of labs that were killed
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(l), treePrefix), "-")
		if kernel.OwnerGone(owner) {
			os.RemoveAll(l)
		}
	}
	dir, err := os.MkdirTemp(im.Dir, treePrefix+kernel.Owner()+"-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, d := range []string{"bin", "dev", "proc", "sys", "tmp", "run", "etc"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	for name, to := range rootLinks {
		if err := os.Symlink(strings.TrimPrefix(to, "/"), filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(filepath.Join(dir, "etc", "hosts"), []byte(hosts), 0o644),
		os.WriteFile(filepath.Join(dir, GuestExe), program, 0o755)); err != nil {
		return nil, err
	}
	for _, o := range kernel.Matching(im.Dir, "root-*.squashfs") {
		if o != file { // else of a lab that packs the same and has just done so
			os.Remove(o)
		}
	}
	if err := squash(ctx, dir, file); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

const hosts = "127.0.0.1 localhost device\n::1 localhost\n"
