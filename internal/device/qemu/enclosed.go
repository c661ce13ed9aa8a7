package qemu

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/device"
)

// Enclosed is a machine that boots for every job, does it, and gives back what
// it wrote: nothing outside reaches it meanwhile, so that its time is a count of
// instructions and the same job takes the same time to the nanosecond.
type Enclosed struct {
	Image Image
	Exe   string // this binary, which keeps QEMU
	Temp  string // folder for temporary files; empty: this process's
	Guest string // this program, or edgegauge-board, for the guest's architecture
	// program is its content from the beginning: all trials of a run have the same,
	// even if it is made anew meanwhile.
	program []byte
	root    []byte // with it, where it lies in flash
}

// Enclose boots the machine, has it do the job, and returns what the job wrote.
// The seed is that of everything random in the guest. What the guest said on its
// console goes to log.
func (d *Enclosed) Enclose(ctx context.Context, j device.Job) (out []byte, err error) {
	dir, err := os.MkdirTemp(d.Temp, machinePrefix)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := d.furnish(dir, j); err != nil {
		return nil, fmt.Errorf("device %s: %w", d.Image.Board.Name, roomFor(err))
	}
	if j.Log != "" {
		defer func() { err = errors.Join(err, keepLog(dir, j.Log)) }()
	}
	m, err := boot(ctx, d.Exe, d.Image.Board, dir,
		device.Command{Argv: d.Image.Board.argv(Deterministic, d.Image.Board.unpacksJava(j.Files), j.Seed,
			flashed(dir)...)})
	if err != nil {
		return nil, err
	}
	defer m.end()
	ctx, stop := m.whileAlive(ctx)
	defer stop()
	said := console{file: filepath.Join(dir, consoleFile)}
	out, err = transcript(ctx, &said)
	if err != nil {
		return nil, m.blame(err)
	}
	return out, nil
}

// roomFor adds to an error of files that could not be written what to do.
func roomFor(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("%w; a machine needs about 50 MB there: free some, or name another folder with TMPDIR", err)
	}
	return err
}

// furnish puts what QEMU needs into dir.
func (d *Enclosed) furnish(dir string, j device.Job) error {
	if err := d.Image.Fits(int64(len(d.program)), j.Files); err != nil {
		return err
	}
	b := d.Image.Board
	var java string // the runtime, if the job has programs for it
	files := []File{{Name: strings.TrimPrefix(seedFile, "/"), Mode: 0o600, Data: fmt.Appendf(nil, "%d", j.Seed)}}
	if j.Text != nil {
		files = append(files, File{Name: strings.TrimPrefix(JobFile, "/"), Mode: 0o644, Data: j.Text})
	}
	for _, f := range j.Files {
		if f.Name == javaMark && b.Flash {
			java = f.Source
			continue
		}
		files = append(files, File{Name: strings.TrimPrefix(f.Name, "/"), Mode: f.Mode, Data: f.Data, Source: f.Source})
	}
	if err := d.store(dir, files, java); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Join(d.Image.Dir, kernelFile), filepath.Join(dir, kernelFile)); err != nil {
		return err
	}
	if b.Kernel.DTB == "" {
		return nil
	}
	tree, err := os.ReadFile(filepath.Join(d.Image.Dir, dtbFile))
	if err != nil {
		return err
	}
	if c := b.Clock; c.Hertz > 0 {
		if err := setCell(tree, c.Node, c.Property, c.Hertz); err != nil {
			return err
		}
	}
	if tree, err = addSeed(tree); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, dtbFile), tree, 0o644)
}

// store puts the guest's files into its initial file system, or into its flash.
func (d *Enclosed) store(dir string, files []File, java string) error {
	if d.Image.Board.RootInFlash {
		return writeFlash(filepath.Join(dir, flashFile), d.root, files)
	}
	files = append(files,
		File{Name: strings.TrimPrefix(GuestExe, "/"), Mode: 0o755, Data: d.program},
		File{Name: "init", Mode: os.ModeSymlink | 0o777, Data: []byte(GuestExe)},
		File{Name: "etc/hosts", Mode: 0o644, Data: []byte(hosts)})
	if java != "" {
		b, err := os.ReadFile(java)
		if err != nil {
			return err
		}
		if err := writeFlash(filepath.Join(dir, flashFile), b, nil); err != nil {
			return err
		}
	}
	return initrd(filepath.Join(dir, initrdFile), filepath.Join(d.Image.Dir, baseFile), files)
}

// flashed are QEMU's words for the flash in a machine's folder, if one is there.
func flashed(dir string) []string {
	if exists(filepath.Join(dir, flashFile)) {
		return flashOptions
	}
	return nil
}

func keepLog(dir, log string) error {
	var b bytes.Buffer
	for _, f := range []string{consoleFile, errorsFile} {
		text, err := os.ReadFile(filepath.Join(dir, f))
		if err == nil {
			b.Write(bytes.ReplaceAll(text, []byte{'\r'}, nil))
		}
	}
	return os.WriteFile(log, b.Bytes(), 0o644)
}

// Marks of the lines that carry what a job wrote over the console, among what
// the kernel may say there: the output compressed, in base 64, then its digest.
const (
	dataMark = "edgegauge| "
	endMark  = "edgegauge. "
	failMark = "edgegauge! "
)

// Deliver writes a job's output to the console, for transcript to read.
func Deliver(console io.Writer, out []byte) error {
	var z bytes.Buffer
	w, err := gzip.NewWriterLevel(&z, gzip.BestSpeed)
	if err != nil {
		return err
	}
	w.Write(out)
	if err := w.Close(); err != nil {
		return err
	}
	b := bufio.NewWriter(console)
	const width = 3 << 10
	for part := z.Bytes(); len(part) > 0; {
		n := min(len(part), width)
		fmt.Fprintf(b, "\n%s%s", dataMark, base64.StdEncoding.EncodeToString(part[:n]))
		part = part[n:]
	}
	digest := sha256.Sum256(out)
	fmt.Fprintf(b, "\n%s%s\n", endMark, hex.EncodeToString(digest[:]))
	return b.Flush()
}

// Fail says on the console why the guest cannot do its job.
func Fail(console io.Writer, why error) {
	fmt.Fprintf(console, "\n%s%s\n", failMark, strings.ReplaceAll(why.Error(), "\n", "; "))
}

// transcript reads from the console what the job wrote.
func transcript(ctx context.Context, c *console) ([]byte, error) {
	var packed []byte
	for {
		line, err := c.next(ctx)
		if err != nil {
			return nil, fmt.Errorf("its job failed: %w", err)
		}
		if data, ok := strings.CutPrefix(line, dataMark); ok {
			part, err := base64.StdEncoding.DecodeString(data)
			if err != nil {
				return nil, fmt.Errorf("its console output is damaged: %w", err)
			}
			packed = append(packed, part...)
		}
		if err := trouble(line); err != nil {
			return nil, err
		}
		if want, ok := strings.CutPrefix(line, endMark); ok {
			return unpack(packed, want)
		}
	}
}

// trouble is what a line of the console says that ends all; nil: nothing.
func trouble(line string) error {
	why, failed := strings.CutPrefix(line, failMark)
	switch {
	case failed:
		return fmt.Errorf("its guest said: %s", why)
	case strings.Contains(line, "Kernel panic"):
		return fmt.Errorf("its kernel panicked: %s", line)
	case strings.Contains(line, "Initramfs unpacking failed"): // it goes on, with a part of its files
		return fmt.Errorf("its kernel has no room for what it was given: %s", line)
	}
	return nil
}

func unpack(packed []byte, want string) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("its console output is damaged: %w", err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("its console output is damaged: %w", err)
	}
	if got := sum(out); got != want {
		return nil, fmt.Errorf("its console output is damaged: %d B whose checksum does not match", len(out))
	}
	return out, nil
}

// NewEnclosed is the machine of an image. Exe is this binary, guest the program for
// the machine's architecture that has package guest.
func NewEnclosed(ctx context.Context, im Image, exe, guest string) (*Enclosed, error) {
	d := &Enclosed{Image: im, Exe: exe, Guest: guest}
	var err error
	if d.program, err = os.ReadFile(guest); err == nil && im.Board.RootInFlash {
		d.root, err = im.root(ctx, d.program)
	}
	return d, err
}
