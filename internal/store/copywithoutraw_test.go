package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A copy without raw files has every figure, is whole, and misses only what it leaves out.
func TestKeep(t *testing.T) {
	s := create(t, 4)
	for trial := range 4 {
		a := write(t, s, trial+1, 10)
		if trial == 0 {
			ok(t, a.Keep(readyFile, []byte("{}")))
		}
		ok(t, a.Commit(results, quality))
	}
	dir := filepath.Join(t.TempDir(), "below", "kept")
	ok(t, s.Keep(t.Context(), dir))
	var names []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	want := []string{"facts.json", "ledger.sqlite", "plan.csv", "study.yaml", "trials/0001/ready.json"}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("got %v (%v), want %v", names, err, want)
	}
	kept := must[*Store](t)(OpenReadOnly(dir))
	defer kept.Close()
	if found := kept.Verify(); len(found) > 0 {
		t.Errorf("a whole copy has faults: %v", found)
	}
	if leftOut, err := kept.LeftOut(); err != nil || !slices.Contains(leftOut, "exchanges") {
		t.Errorf("left out %v, %v", leftOut, err)
	}
	front := must[[]byte](t)(os.ReadFile(filepath.Join(dir, ledgerFile)))
	if size := binary.BigEndian.Uint16(front[16:]); size != copyPage { // SQLite file format, section 1.3.2
		t.Errorf("its ledger has pages of %d B, want %d", size, copyPage)
	}
	if got, was := rowsOf(t, kept), rowsOf(t, s); got != was || got == 0 {
		t.Errorf("got %d rows of results, want %d", got, was)
	}
	if leftOut, err := s.LeftOut(); err != nil || leftOut != nil {
		t.Errorf("the original leaves out %v, %v", leftOut, err)
	}
	if err := s.Keep(t.Context(), dir); !errors.Is(err, ErrExists) {
		t.Errorf("got %v, want ErrExists", err)
	}
	if _, err := Open(dir, header(4)); !errors.Is(err, ErrChanged) {
		t.Errorf("a copy was resumed: %v", err)
	}
	ok(t, os.WriteFile(filepath.Join(dir, planFile), nil, 0o644))
	if found := kept.Verify(); len(found) != 1 || !errors.Is(found[0], ErrEdited) {
		t.Errorf("an edited plan: got %v", found)
	}
}

// What a search or a confirmation left beside its results is in the copy, which would else be of an ordinary run; a
// link in its place is not.
func TestKeepHasTheAnswers(t *testing.T) {
	s := create(t, 1)
	ok(t, write(t, s, 1, 10).Commit(results, quality))
	for _, name := range besides {
		ok(t, os.WriteFile(s.path(name), []byte(name), 0o644))
	}
	ok(t, os.WriteFile(s.path("notes.txt"), []byte("mine"), 0o644))
	dir := filepath.Join(t.TempDir(), "kept")
	ok(t, s.Keep(t.Context(), dir))
	for _, name := range besides {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != name {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "notes.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what no command wrote: %v", err)
	}
	ok(t, os.Remove(s.path(besides[0])))
	ok(t, os.Symlink("/etc/hostname", s.path(besides[0])))
	if err := s.Keep(t.Context(), dir+"2"); !errors.Is(err, ErrForeign) {
		t.Errorf("a link: %v", err)
	}
}

// A heard file tells when it is synced.
type heard struct {
	diskFile
	tell func()
}

func (h heard) Sync() error {
	h.tell()
	return h.diskFile.Sync()
}

// A copy is on the disk before it has its name: each file, and each folder.
func TestKeepIsDurable(t *testing.T) {
	s := create(t, 2)
	for trial := range 2 {
		ok(t, write(t, s, trial+1, 10).Commit(results, quality))
	}
	ok(t, os.WriteFile(filepath.Join(s.TrialDir(1, 1), readyFile), []byte("{}"), 0o644))
	synced := map[string]bool{ledgerFile: true} // SQLite's own care
	tell := func(path string) {
		if _, name, ok := strings.Cut(path, partialSuffix+"/results"); ok {
			synced[strings.TrimPrefix(name, "/")] = true
		}
	}
	s.create = func(path string) (diskFile, error) {
		f, err := createFile(path)
		return heard{f, func() { tell(path) }}, err
	}
	s.syncDir = func(dir string) error {
		tell(dir)
		return syncDir(dir)
	}
	dir, n := filepath.Join(t.TempDir(), "kept"), 0
	ok(t, s.Keep(t.Context(), dir, "exchanges"))
	ok(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		n++
		if name := strings.TrimPrefix(strings.TrimPrefix(path, dir), "/"); !synced[name] {
			t.Errorf("%q was not synced", name)
		}
		return err
	}))
	if n < 10 {
		t.Errorf("the copy has %d files and folders", n)
	}
}

// Raw files that are there are compared, in a copy too; those of an original are missed.
func TestKeepComparesWhatIsThere(t *testing.T) {
	s := create(t, 1)
	ok(t, write(t, s, 1, 10).Commit(results, quality))
	dir := filepath.Join(t.TempDir(), "kept")
	ok(t, s.Keep(t.Context(), dir))
	kept := must[*Store](t)(OpenReadOnly(dir))
	defer kept.Close()
	raw, err := filepath.Glob(s.path("exchanges/*"))
	if err != nil || len(raw) == 0 {
		t.Fatalf("no raw files: %v", err)
	}
	name := strings.TrimPrefix(raw[0], s.Dir()+"/")
	if err := os.MkdirAll(filepath.Dir(kept.path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	ok(t, os.WriteFile(kept.path(name), []byte("other"), 0o644))
	if found := kept.Verify(); len(found) != 1 || !errors.Is(found[0], ErrEdited) {
		t.Errorf("another raw file: got %v", found)
	}
	ok(t, os.Remove(raw[0]))
	if found := s.Verify(); len(found) != 1 || !errors.Is(found[0], ErrMissing) {
		t.Errorf("a missing raw file: got %v", found)
	}
}

// A copy that keeps every request is whole with them: what it holds is missed where it is gone, and read as it was.
func TestKeepWithRequests(t *testing.T) {
	s := create(t, 2)
	for trial := range 2 {
		ok(t, write(t, s, trial+1, 10).Commit(results, quality))
	}
	dir := filepath.Join(t.TempDir(), "kept")
	ok(t, s.Keep(t.Context(), dir, "exchanges"))
	kept := must[*Store](t)(OpenReadOnly(dir))
	defer kept.Close()
	if leftOut, err := kept.LeftOut(); err != nil || slices.Contains(leftOut, "exchanges") ||
		!slices.Contains(leftOut, "samples") || !slices.Contains(leftOut, "trials") {
		t.Errorf("left out %v, %v", leftOut, err)
	}
	if found := kept.Verify(); len(found) > 0 {
		t.Errorf("a whole copy has faults: %v", found)
	}
	for trial := range 2 {
		got, was := must[*Columns](t)(kept.Columns(trial+1, "client")), must[*Columns](t)(s.Columns(trial+1, "client"))
		a, b := must[[]int64](t)(got.Read(nil, "rtt")), must[[]int64](t)(was.Read(nil, "rtt"))
		if !slices.Equal(a, b) || len(a) == 0 {
			t.Errorf("trial %d: got %v, want %v", trial+1, a, b)
		}
		got.Close()
		was.Close()
	}
	raw, err := filepath.Glob(kept.path("exchanges/*"))
	if err != nil || len(raw) == 0 {
		t.Fatalf("no requests: %v", err)
	}
	ok(t, os.Remove(raw[0]))
	if found := kept.Verify(); len(found) != 1 || !errors.Is(found[0], ErrMissing) {
		t.Errorf("a missing file of requests: got %v", found)
	}
	if err := s.Keep(t.Context(), filepath.Join(t.TempDir(), "kept"), "trials"); err == nil {
		t.Error("logs were taken for raw files")
	}
}

// A ledger that names files elsewhere has none of them copied.
func TestKeepCopiesNothingFromElsewhere(t *testing.T) {
	s := create(t, 1)
	ok(t, write(t, s, 1, 10).Commit(results, quality))
	must[sql.Result](t)(s.db.Exec("UPDATE files SET path = 'exchanges/../../' || path WHERE kind = 'exchanges'"))
	dir := filepath.Join(t.TempDir(), "kept")
	if err := s.Keep(t.Context(), dir, "exchanges"); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
}

// A ledger that names its study or its facts elsewhere is refused, and nothing is read or written there.
func TestKeepStaysInItsDirectory(t *testing.T) {
	for _, name := range []string{"../study.yaml", "../../study.yaml", "x/study.yaml", "study-1.yaml", "study-02.yaml",
		"study-2.json", "facts.json", "ledger.sqlite", "lock", "/etc/hosts", ""} {
		s := create(t, 1)
		ok(t, write(t, s, 1, 10).Commit(results, quality))
		must[sql.Result](t)(s.db.Exec("INSERT INTO runs SELECT 2, started, host, pid, program, ?, study_sha256, overrides, "+
			"facts, facts_sha256 FROM runs", name))
		above := t.TempDir()
		dir := filepath.Join(above, "below", "kept")
		if err := s.Keep(t.Context(), dir); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "run 2") {
			t.Errorf("%q: got %v, want ErrCorrupt", name, err)
		}
		if found := errors.Join(s.Verify()...); !errors.Is(found, ErrCorrupt) {
			t.Errorf("%q: verify: got %v", name, found)
		}
		left, err := filepath.Glob(filepath.Join(above, "*"))
		inside, err2 := filepath.Glob(filepath.Join(above, "below", "*"))
		if err = errors.Join(err, err2); err != nil || len(left) > 1 || len(inside) > 0 {
			t.Errorf("%q: something was written: %v %v, %v", name, left, inside, err)
		}
	}
}

// A copy is given away: what links of a stranger's results lead to is not in it.
func TestKeepFollowsNoLinks(t *testing.T) {
	for _, name := range []string{"trials/0001/ready.json", "trials/0001", planFile, studyFile, factsFile, "exchanges"} {
		s := create(t, 1)
		ok(t, write(t, s, 1, 10).Commit(results, quality))
		ok(t, os.WriteFile(filepath.Join(s.TrialDir(1, 1), readyFile), []byte("{}"), 0o644))
		elsewhere := filepath.Join(t.TempDir(), "elsewhere")
		ok(t, os.Rename(s.path(name), elsewhere))
		ok(t, os.Symlink(elsewhere, s.path(name)))
		dir := filepath.Join(t.TempDir(), "kept")
		if err := s.Keep(t.Context(), dir, "exchanges"); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want ErrForeign", name, err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: something was written: %v", name, err)
		}
	}
}

func rowsOf(t *testing.T, s *Store) int {
	t.Helper()
	n := 0
	for _, err := range s.Results() {
		ok(t, err)
		n++
	}
	return n
}

// A copy that is stopped in the middle leaves nothing.
func TestKeepStops(t *testing.T) {
	s := create(t, 1)
	ok(t, write(t, s, 1, 10).Commit(results, quality))
	ctx, cancel := context.WithCancel(t.Context())
	wrote := 0
	s.create = func(path string) (diskFile, error) {
		if wrote++; wrote == 2 {
			cancel()
		}
		return createFile(path)
	}
	above := t.TempDir()
	if err := s.Keep(ctx, filepath.Join(above, "kept"), "exchanges"); !errors.Is(err, context.Canceled) || wrote != 2 {
		t.Errorf("got %v after %d files, want that it is stopped after two", err, wrote)
	}
	if left := must[[]os.DirEntry](t)(os.ReadDir(above)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
