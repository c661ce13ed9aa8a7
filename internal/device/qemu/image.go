package qemu

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// An Image is a built machine: a folder with its kernel, the start of its
// initial file system, and image.json, which says what they are made of.
type Image struct {
	Board Board
	Dir   string
	Made  Made
	Java  *Java // nil: none is wanted
}

// Made is image.json: all that the machine's figures depend on besides the job.
type Made struct {
	Format   int               `json:"format"`             // 1
	Recipe   string            `json:"recipe"`             // SHA-256 of how it is built: another one, another image
	Packages []Package         `json:"packages"`           // of Debian, each once
	Compiler string            `json:"compiler,omitempty"` // of the kernel
	Files    map[string]Digest `json:"files"`              // of the image, by name
}

// A Package is a Debian package that went into an image.
type Package struct {
	Name    string `json:"name"`    // as Debian has it
	Version string `json:"version"` // as Debian has it
	SHA256  string `json:"sha256"`  // of the .deb file, in hex
}

// A Digest is a file's size and checksum.
type Digest struct {
	Size   int64  `json:"size"`   // B
	SHA256 string `json:"sha256"` // in hex
}

const (
	imageFile   = "image.json"
	imageFormat = 1
	baseFile    = "base.cpio.gz" // modules, /dev/console and other things that every guest has
)

// ErrNotBuilt means that a machine must be built first.
var ErrNotBuilt = errors.New("is not built")

// OpenImage opens what Build made in dir and makes sure that it is whole. Its
// error says how to build it again.
func OpenImage(b Board, dir string) (Image, error) {
	im := Image{Board: b, Dir: dir}
	var err error
	im.Made, err = open(dir, "device "+b.Name, recipe(b), fmt.Errorf("run: edgegauge devices build %s", b.Name))
	return im, err
}

func (im *Image) seal(files ...string) error {
	return seal(im.Dir, &im.Made, recipe(im.Board), files...)
}

func digest(file string) (Digest, error) {
	f, err := os.Open(file)
	if err != nil {
		return Digest{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return Digest{n, hex.EncodeToString(h.Sum(nil))}, err
}

// pack writes files to a compressed archive that the kernel unpacks.
func pack(file string, level int, files []File) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, level)
	if err != nil {
		return err
	}
	return errors.Join(writeArchive(z, files), z.Close())
}

// initrd puts a guest's initial file system together: archives may stand one
// after the other, and the kernel unpacks them all.
func initrd(file, base string, job []File) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := appendFile(f, base); err != nil {
		return err
	}
	if n, err := f.Seek(0, io.SeekEnd); err != nil {
		return err
	} else if _, err := io.WriteString(f, zeros(int(n&3))); err != nil { // a plain archive begins at a multiple of 4
		return err
	}
	return writeArchive(f, job)
}

func appendFile(to io.Writer, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(to, f)
	return err
}

// sum is the SHA-256 of text.
func sum(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}
