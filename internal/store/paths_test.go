package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Nothing in a results directory that leads elsewhere is written through: the
// file there stays as it was, whatever becomes of the run.
func TestLinksInADirectoryAreNotWrittenThrough(t *testing.T) {
	const treasure = "edgegauge results\nkeep me"
	for _, c := range []struct {
		name   string // that leads elsewhere
		before bool   // of a directory that has no results yet
		do     func(dir string) error
	}{
		{"lock", false, func(dir string) error { s, err := Open(dir, header(3)); return closed(s, err) }},
		{"lock", true, func(dir string) error { s, err := Create(dir, header(3)); return closed(s, err) }},
		{"plan.csv.partial", true, func(dir string) error { s, err := Create(dir, header(3)); return closed(s, err) }},
		{"study.yaml.partial", true, func(dir string) error { s, err := Create(dir, header(3)); return closed(s, err) }},
		{"ledger.sqlite.partial", true, func(dir string) error { s, err := Create(dir, header(3)); return closed(s, err) }},
		{"study-2.yaml.partial", false, func(dir string) error {
			h := header(3)
			h.Study = append(h.Study, "\n# a comment\n"...)
			s, err := Open(dir, h)
			return closed(s, err)
		}},
		{"plan.csv", false, func(dir string) error { s, err := Open(dir, header(4)); return closed(s, err) }},
		{"ledger.sqlite-wal", false, func(dir string) error { s, err := Open(dir, header(3)); return closed(s, err) }},
		{"exchanges", false, func(dir string) error { s, err := Open(dir, header(3)); return closed(s, err) }},
		{"trials/0003", false, func(dir string) error {
			s, err := Open(dir, header(3))
			if err != nil {
				return err
			}
			_, err = s.Begin(3)
			return closed(s, err)
		}},
		{"summary.csv.partial", false, func(dir string) error {
			return Replace(filepath.Join(dir, "summary.csv"),
				func(w io.Writer) error { _, err := w.Write([]byte("new")); return err })
		}},
	} {
		dir, elsewhere := finished(t), filepath.Join(t.TempDir(), "treasure")
		if c.before {
			dir = t.TempDir()
			ok(t, os.WriteFile(filepath.Join(dir, lockFile), []byte(lockMagic+"\n"), 0o644))
		}
		ok(t, os.WriteFile(elsewhere, []byte(treasure), 0o644))
		target := filepath.Join(dir, c.name)
		ok(t, os.RemoveAll(target))
		ok(t, os.Symlink(elsewhere, target))
		err := c.do(dir)
		if got := string(must[[]byte](t)(os.ReadFile(elsewhere))); got != treasure {
			t.Errorf("%s: the file it led to is now %.40q (%v)", c.name, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s: got %v, which does not name it", c.name, err)
		}
		if strings.HasSuffix(c.name, partialSuffix) && err != nil {
			t.Errorf("%s: got %v; an unfinished file is made anew", c.name, err)
		}
	}
}

// A folder for results of benches that leads elsewhere is refused: what is fetched replaces what was there.
func TestNothingIsTakenInElsewhere(t *testing.T) {
	for _, name := range []string{"incoming", "incoming/here", "incoming/here/here-1"} {
		dir, elsewhere := finished(t), t.TempDir()
		mine := filepath.Join(elsewhere, "here", "here-1", "thesis.tex")
		ok(t, os.MkdirAll(filepath.Dir(mine), 0o755))
		ok(t, os.WriteFile(mine, nil, 0o644))
		ok(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		ok(t, os.Symlink(filepath.Join(elsewhere, strings.TrimPrefix(name, "incoming")), filepath.Join(dir, name)))
		s, err := Open(dir, header(3))
		if err == nil {
			_, err = s.Incoming("here")
		}
		if err := closed(s, err); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want ErrForeign", name, err)
		}
		if _, err := os.Stat(mine); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func closed(s *Store, err error) error {
	if s != nil {
		err = errors.Join(err, s.Close())
	}
	return err
}

// A power cut while a directory is made leaves one that can be made again.
func TestACreationCutShortIsMadeAgain(t *testing.T) {
	for _, left := range [][]string{{"lock"}, {"lock", "exchanges/"},
		{"lock", "exchanges/", "trials/", "plan.csv.partial"}, {"lock", "plan.csv", "study.yaml", "facts.json.partial"}} {
		dir := t.TempDir()
		for _, name := range left {
			if strings.HasSuffix(name, "/") {
				ok(t, os.Mkdir(filepath.Join(dir, name), 0o755))
				continue
			}
			ok(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
		}
		s, err := Create(dir, header(2))
		if err := closed(s, err); err != nil {
			t.Errorf("%v: %v", left, err)
		}
	}
	dir := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(dir, "lock"), nil, 0o644))
	ok(t, os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o644))
	if s, err := Create(dir, header(2)); !errors.Is(closed(s, err), ErrForeign) {
		t.Errorf("a directory with somebody's thesis: got %v, want ErrForeign", err)
	}
}

// SQLite says "unable to open database file" of a path that is too long.
func TestAPathTooLongIsSaidToBe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat(strings.Repeat("d", 200)+"/", 3))
	for _, err := range []error{func() error { s, err := Create(dir, header(1)); return closed(s, err) }(),
		func() error { s, err := OpenReadOnly(dir); return closed(s, err) }()} {
		if err == nil || !strings.Contains(err.Error(), "use a shorter one") {
			t.Errorf("got %v", err)
		}
	}
}

// What is flushed is on its way to the disk before the attempt ends, whose end finds what the disk said.
func TestFlushedFilesAreBroughtToTheDiskAtOnce(t *testing.T) {
	s := create(t, 1)
	a := write(t, s, 1, 5)
	ok(t, a.Keep("ready.json", []byte("{}")))
	file := filepath.Join(a.Dir(), "ready.json")
	ok(t, os.Rename(file, file+"-away"))
	a.Flush()
	a.Settle()
	ok(t, os.Rename(file+"-away", file))
	if err := a.Commit(results, nil); err == nil || !strings.Contains(err.Error(), "ready.json") {
		t.Errorf("got %v of a file that was not there when it was flushed", err)
	}
}

// What is kept beside the logs has a checksum, as raw files have.
func TestKeptFilesAreVerified(t *testing.T) {
	s := create(t, 1)
	a := write(t, s, 1, 5)
	ok(t, a.Keep("ready.json", []byte("{}")))
	ok(t, a.Commit(results, nil))
	if bad := s.Verify(); bad != nil {
		t.Errorf("verify: %v", bad)
	}
	ok(t, os.WriteFile(filepath.Join(a.Dir(), "ready.json"), []byte("[]"), 0o644))
	if bad := errors.Join(s.Verify()...); !errors.Is(bad, ErrEdited) || !strings.Contains(bad.Error(), "ready.json") {
		t.Errorf("edited: got %v", bad)
	}
	ok(t, os.Remove(filepath.Join(a.Dir(), "ready.json")))
	if bad := errors.Join(s.Verify()...); !errors.Is(bad, ErrMissing) {
		t.Errorf("lost: got %v", bad)
	}
}

// A new file is made new: what lies at its path, a link, a second name or a pipe, is
// neither written to nor waited for.
func TestANewFileTakesNothingOver(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(dir, "elsewhere")
	for what, lay := range map[string]func(path string) error{
		"link":          func(path string) error { return os.Symlink(elsewhere, path) },
		"dangling link": func(path string) error { return os.Symlink(filepath.Join(dir, "nothing"), path) },
		"second name":   func(path string) error { return os.Link(elsewhere, path) },
		"pipe": func(path string) error {
			ok(t, unix.Mkfifo(path, 0o600))
			fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0) // nobody waits for a reader
			t.Cleanup(func() { unix.Close(fd) })
			return err
		},
		"unfinished file": func(path string) error { return os.WriteFile(path, []byte("old"), 0o600) },
	} {
		ok(t, os.WriteFile(elsewhere, []byte("keep me"), 0o600))
		path := filepath.Join(dir, "of a "+what)
		ok(t, lay(path))
		if f, err := createNew(path); err == nil {
			f.Close()
			t.Errorf("a %s was taken for the new file", what)
		}
		if got := string(must[[]byte](t)(os.ReadFile(elsewhere))); got != "keep me" {
			t.Errorf("%s: the file it led to is now %q", what, got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a file was made where a dangling link leads")
	}
}

// Where a FIFO, a device or a folder takes the place of a file of results, reading ends, and says
// so: opening a FIFO would wait for ever, and a device never ends.
func TestFilesThatAreNone(t *testing.T) {
	for _, name := range []string{ledgerFile, factsFile, studyFile, planFile, lockFile, ledgerFile + "-wal"} {
		for what, put := range map[string]func(path string) error{
			"a FIFO":   func(path string) error { return unix.Mkfifo(path, 0o644) },
			"a device": func(path string) error { return os.Symlink("/dev/zero", path) },
			"a folder": func(path string) error { return os.Mkdir(path, 0o755) },
		} {
			dir := finished(t)
			path := filepath.Join(dir, name)
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			ok(t, put(path))
			done := make(chan error, 1)
			go func() {
				Busy(dir)
				s, err := OpenReadOnly(dir)
				if err == nil {
					err = errors.Join(append(s.Verify(), s.Close())...)
				}
				done <- err
			}()
			select {
			case err := <-done:
				// the lock is no result, and what takes the log's place is not read
				if err == nil && name != lockFile && name != ledgerFile+"-wal" {
					t.Errorf("%s in place of %s: taken for results", what, name)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s in place of %s: it waits for ever", what, name)
			}
		}
	}
}
