package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/store"
)

// packed is up to which size files travel together. An object costs some eight round trips
// and two synced writes, whatever its size, and a block has dozens of small files; a large
// file travels alone, so that only what is missing is sent again.
const packed = 1 << 20 // B

// A parcel is files that are one object at the hub, one after the other.
type parcel struct {
	object string
	files  []fleet.File
}

func (p parcel) bytes() (n int64) {
	for _, f := range p.files {
		n += f.Bytes
	}
	return n
}

// parcelsOf says how the files of a result travel. Both ends know it from the result
// alone. Names of objects follow from the task and the content, and are never used twice:
// nobody overwrites what another has written.
func parcelsOf(r fleet.Bundle) parcels {
	var all parcels
	var small []fleet.File
	content := sha256.New()
	for _, f := range r.Files {
		if f.Bytes > packed {
			all = append(all, parcel{objectName(r.Task, f.SHA256), []fleet.File{f}})
			continue
		}
		small = append(small, f)
		fmt.Fprintf(content, "%s %d\n", f.SHA256, f.Bytes)
	}
	if len(small) > 0 {
		all = append(all, parcel{objectName(r.Task, hex.EncodeToString(content.Sum(nil))), small})
	}
	return all
}

// parcels are those of one result; the last may be of small files.
type parcels []parcel

// mostEnclosed is how many bytes travel with the result itself.
const mostEnclosed = 1 << 20

// enclosedHeader says of a result how many of its bytes are the result; files follow.
const enclosedHeader = "Edgegauge-Result"

// enclose takes out what travels with the result itself, if anything does: of a block
// without large files the hub stores nothing, and nobody waits for it.
func (all parcels) enclose() (rest parcels, enclosed *parcel) {
	last := len(all) - 1
	if last < 0 || all[last].bytes() > mostEnclosed {
		return all, nil
	}
	return all[:last], &all[last]
}

// appendTo appends the bytes of a parcel's files.
func (p parcel) appendTo(text []byte, dir string) ([]byte, error) {
	from := &packer{dir: dir, left: p.files}
	defer from.Close()
	files, err := io.ReadAll(io.LimitReader(from, p.bytes()))
	return append(text, files...), err
}

// apart splits the message of a result; files are nil where none are enclosed.
func apart(m *nats.Msg) (result, files []byte) {
	n, err := strconv.Atoi(m.Header.Get(enclosedHeader))
	if err != nil || n < 0 || n > len(m.Data) {
		return m.Data, nil
	}
	return m.Data[:n], append([]byte{}, m.Data[n:]...)
}

func objectName(t fleet.Task, content string) string {
	return fmt.Sprintf("%s/%d-%d/%s", t.Run, t.Block, t.Attempt, content)
}

// A packer reads files one after the other.
type packer struct {
	dir  string
	left []fleet.File
	now  *os.File // nil: the next is to be opened
}

func (p *packer) Read(b []byte) (int, error) {
	for {
		if p.now == nil {
			if len(p.left) == 0 {
				return 0, io.EOF
			}
			var err error
			if p.now, err = os.Open(filepath.Join(p.dir, filepath.FromSlash(p.left[0].Name))); err != nil {
				return 0, err
			}
			p.left = p.left[1:]
		}
		n, err := p.now.Read(b)
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		if err := p.Close(); err != nil {
			return 0, err
		}
	}
}

func (p *packer) Close() error {
	if p.now == nil {
		return nil
	}
	f := p.now
	p.now = nil
	return f.Close()
}

// An unpacker writes files into dir.
type unpacker struct {
	dir     string
	turns   chan struct{} // of files that are being synced
	syncing sync.WaitGroup
	mu      sync.Mutex
	errs    []error
}

// mostSynced is how many files of a result are synced beside each other: a bench says how many it has, and each of
// them is open.
const mostSynced = 32

func newUnpacker(dir string) *unpacker {
	return &unpacker{dir: dir, turns: make(chan struct{}, mostSynced)}
}

// enclosed writes what travelled with a result, and returns what the hub has stored of it.
func (u *unpacker) enclosed(r fleet.Bundle, files []byte) (stored parcels, err error) {
	seen := map[string]bool{}
	for _, f := range r.Files {
		if !store.Portable(f.Name) || f.Bytes < 0 {
			return nil, fmt.Errorf("%w: %.200q is not a results file", fleet.ErrDamaged, f.Name)
		}
		if seen[f.Name] {
			return nil, fmt.Errorf("%w: %s is there twice", fleet.ErrDamaged, f.Name)
		}
		seen[f.Name] = true
	}
	stored = parcelsOf(r)
	if files == nil {
		return stored, nil
	}
	stored, first := stored.enclose()
	if first == nil {
		return stored, nil
	}
	return stored, u.all(bytes.NewReader(files), *first)
}

// all writes the files of a parcel.
func (u *unpacker) all(from io.Reader, p parcel) error {
	for _, f := range p.files {
		if err := u.file(from, f); err != nil {
			return err
		}
	}
	n, err := from.Read(make([]byte, 1)) // the library compares the digest at the end
	if n > 0 {
		return fmt.Errorf("%w: %s is longer than was said", fleet.ErrDamaged, p.files[len(p.files)-1].Name)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return damaged(err, p.files[0])
	}
	return nil
}

// file writes the next of a parcel, and compares its checksum.
func (u *unpacker) file(from io.Reader, f fleet.File) error {
	path := filepath.Join(u.dir, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.CopyN(io.MultiWriter(to, sum), from, f.Bytes)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		err = damaged(err, f)
	case n != f.Bytes || hex.EncodeToString(sum.Sum(nil)) != f.SHA256:
		err = fmt.Errorf("%w: %s does not match its checksum", fleet.ErrDamaged, f.Name)
	default:
		err = nil
	}
	if err != nil {
		return errors.Join(err, to.Close())
	}
	u.turns <- struct{}{}
	u.syncing.Go(func() { // beside each other, the file system commits them together
		err := errors.Join(to.Sync(), to.Close())
		<-u.turns
		u.mu.Lock()
		defer u.mu.Unlock()
		u.errs = append(u.errs, err)
	})
	return nil
}

// sync waits until all files are durable.
func (u *unpacker) sync() error {
	u.syncing.Wait()
	return errors.Join(u.errs...)
}

func damaged(err error, f fleet.File) error {
	if errors.Is(err, jetstream.ErrDigestMismatch) {
		return fmt.Errorf("%w: %s: %w", fleet.ErrDamaged, f.Name, err)
	}
	return err
}
