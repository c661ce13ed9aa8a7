package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A folder is one that the user named. Below it no link is followed.
type folder struct {
	path string // absolute, links resolved
	name string // as the user wrote it
	root *os.Root
}

func openFolder(name string) (*folder, error) {
	whole, err := filepath.Abs(name)
	if err == nil {
		whole, err = filepath.EvalSymlinks(whole)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(whole)
	if err != nil {
		return nil, err
	}
	return &folder{whole, name, root}, nil
}

// A place is a results directory.
type place struct {
	folder *folder
	dir    string // below the folder, with slashes; ".": the folder itself
	id     string // in addresses
	state  string // of the ledger's files: their sizes and times
	key    string // differs when the ledger has changed, or may have
}

// path is the directory's.
func (p place) path() string { return filepath.Join(p.folder.path, filepath.FromSlash(p.dir)) }

// shown is the directory as the user would write it.
func (p place) shown() string { return filepath.Join(p.folder.name, filepath.FromSlash(p.dir)) }

// How far results are looked for.
const (
	deepest     = 5       // folders below the one named
	mostFolders = 100_000 // of one that was named
)

const ledgerFile = "ledger.sqlite"

// find lists the results below the folder. What cannot be read is passed over.
func (f *folder) find() []place {
	var found []place
	left := mostFolders
	var look func(dir string, depth int)
	look = func(dir string, depth int) {
		if left--; left < 0 {
			return
		}
		if st, err := f.root.Lstat(path.Join(dir, ledgerFile)); err == nil {
			found = append(found, f.place(dir, st))
			return
		}
		if depth == deepest {
			return
		}
		d, err := f.root.Open(dir)
		if err != nil {
			return
		}
		entries, _ := d.ReadDir(-1)
		d.Close()
		for _, e := range entries {
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") { // a link is not a folder here
				look(path.Join(dir, e.Name()), depth+1)
			}
		}
	}
	look(".", 0)
	return found
}

var plainName = lazy.Regexp(`[^A-Za-z0-9]+`)

// coarse is how far the time of modification of a file may be behind the clock: a tick of the kernel, more on a starved
// machine.
const coarse = 100 * time.Millisecond

func (f *folder) place(dir string, ledger fs.FileInfo) place {
	p := place{folder: f, dir: dir}
	p.id = idOf(p.path())
	changed := ledger.ModTime()
	p.state = fmt.Sprintf("%d %d", ledger.Size(), changed.UnixNano())
	if log, err := f.root.Lstat(path.Join(dir, ledgerFile+"-wal")); err == nil && log.Size() > 0 {
		p.state += fmt.Sprintf(" %d %d", log.Size(), log.ModTime().UnixNano())
		if log.ModTime().After(changed) {
			changed = log.ModTime()
		}
	}
	p.key = p.state
	// A ledger that was written just now may be written again with the same time and size.
	if now := time.Now(); now.Sub(changed).Abs() < coarse {
		p.key += fmt.Sprintf(" read %d", now.UnixNano())
	}
	return p
}

// idOf is what stands for a results directory in addresses.
func idOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	name := filepath.Base(filepath.Dir(dir)) + "-" + filepath.Base(dir)
	name = strings.Trim(plainName().ReplaceAllString(name, "-"), "-")
	return strings.ToLower(fmt.Sprintf("%.40s-%s", name, hex.EncodeToString(sum[:5])))
}

// mostFacts is what facts may have, in B.
const mostFacts = 16 << 20

// sound says why a result is not to be opened: a part of it leads elsewhere or is not
// a plain file, or a text is larger than any that edgegauge writes. Where raw, the
// folders of raw files are looked through, too.
func (p place) sound(raw bool) error {
	entries, err := p.list(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case e.Type()&^fs.ModeDir != 0:
			return leadsElsewhere(path.Join(p.shown(), name))
		case strings.HasPrefix(name, "study") && !e.IsDir():
			err = p.atMost(name, study.MostText)
		case strings.HasPrefix(name, "facts") && !e.IsDir():
			err = p.atMost(name, mostFacts)
		case e.IsDir() && raw:
			err = p.soundFolder(name, 1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p place) soundFolder(dir string, depth int) error {
	entries, err := p.list(dir)
	for _, e := range entries {
		switch {
		case err != nil:
			return err
		case e.Type()&^fs.ModeDir != 0:
			return leadsElsewhere(path.Join(p.shown(), dir, e.Name()))
		case e.IsDir() && depth < 2:
			err = p.soundFolder(path.Join(dir, e.Name()), depth+1)
		}
	}
	return err
}

func (p place) list(dir string) ([]fs.DirEntry, error) {
	d, err := p.folder.root.Open(path.Join(p.dir, dir))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadDir(-1)
}

func (p place) atMost(name string, most int64) error {
	st, err := p.folder.root.Lstat(path.Join(p.dir, name))
	if err == nil && st.Size() > most {
		err = fmt.Errorf("%s has %d B, more than any that edgegauge writes", path.Join(p.shown(), name), st.Size())
	}
	return err
}

func leadsElsewhere(name string) error {
	return fmt.Errorf("%s is a link, a pipe or similar; such results are not opened: replace it with a regular "+
		"file", name)
}

// open opens a plain file of the directory for reading.
func (p place) open(name string) (*os.File, error) {
	whole := path.Join(p.dir, path.Join("/", name)[1:])
	st, err := p.folder.root.Lstat(whole)
	if err == nil && !st.Mode().IsRegular() {
		err = leadsElsewhere(path.Join(p.shown(), name))
	}
	if err != nil {
		return nil, err
	}
	return p.folder.root.Open(whole)
}

// store opens the results, if they are sound.
func (p place) store(raw bool) (*store.Store, error) {
	if err := p.sound(raw); err != nil {
		return nil, unreadable(err)
	}
	s, err := store.OpenReadOnly(p.path())
	if err != nil {
		return nil, unreadable(err)
	}
	return s, nil
}

// places lists all results, each once, whatever folders name it.
func (s *Server) places() []place {
	if s.static && s.found != nil {
		return s.found
	}
	var all []place
	seen := map[string]bool{}
	for _, f := range s.folders {
		for _, p := range f.find() {
			if !seen[p.id] {
				seen[p.id] = true
				all = append(all, p)
			}
		}
	}
	return all
}

// IDs are the names of all results in addresses: r/ID/.
func (s *Server) IDs() []string {
	var all []string
	for _, p := range s.places() {
		all = append(all, p.id)
	}
	return all
}

// find is the result that an address names.
func (s *Server) find(id string) (place, error) {
	all := s.places()
	if i := slices.IndexFunc(all, func(p place) bool { return p.id == id }); i >= 0 {
		return all[i], nil
	}
	return place{}, notFound("There is no such result in the folders that are shown. It may have been moved or removed.")
}
