package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// leftOutKey of the table meta names the folders that a copy by Keep does not hold.
const leftOutKey = "left_out"

// readyFile is what a trial's programs said when they were ready.
const readyFile = "ready.json"

// RawFolders are the folders of raw files, which a copy by Keep may leave out.
func RawFolders() []string { return slices.Clone(kinds) }

// Keep copies results into a new directory, small enough for a repository: studies,
// facts (those of benches, too), plan and ledger, Besides, and of each treatment's first valid trial what its
// programs said of themselves. Of the raw files only those in the folders named by
// raw are copied, and no logs; the copy says what it leaves out, and is complete
// without it. It cannot be resumed. When ctx ends, nothing is left of it.
func (s *Store) Keep(ctx context.Context, dir string, raw ...string) (err error) {
	dir = filepath.Clean(dir) // of "kept/" the folder beside is wanted, not one inside
	if err := checkPlace(dir); err != nil {
		return err
	}
	for _, folder := range raw {
		if !slices.Contains(kinds, folder) {
			return fmt.Errorf("%q is no folder of raw files", folder)
		}
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fail(ErrExists, "%s exists already; remove it, or name another directory", dir)
	}
	beside := filepath.Dir(dir)
	if err := os.MkdirAll(beside, 0o755); err != nil {
		return word(beside, err)
	}
	sweepApart(beside)
	apart, err := os.MkdirTemp(beside, apartPrefix+"*"+partialSuffix)
	if err != nil {
		return word(beside, err)
	}
	if lock, err := kernel.LockFolder(apart); err == nil { // else nobody can tell that it is left
		defer lock.Close()
	}
	defer func() { err = errors.Join(word(dir, err), os.RemoveAll(apart)) }()
	temp := filepath.Join(apart, "results") // with the permissions of any folder, which apart has not
	if err := errors.Join(checkPlace(temp), os.Mkdir(temp, 0o755)); err != nil {
		return err
	}
	names, err := s.texts()
	if err != nil {
		return err
	}
	rows, err := s.rawFiles(raw)
	if err != nil {
		return err
	}
	if err := s.copyInto(ctx, temp, append(names, rows...)); err != nil {
		return err
	}
	if err := s.keepLedger(filepath.Join(temp, ledgerFile), raw); err != nil {
		return err
	}
	if err := s.syncDir(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		return err
	}
	return s.syncDir(beside)
}

// apartPrefix begins the name of a folder in which a copy is made.
const apartPrefix = ".edgegauge-"

// sweepApart removes what copies that were killed have left in a folder. One that is being made is locked, but for its
// first instants: none is removed in its first hour.
func sweepApart(beside string) {
	all, _ := os.ReadDir(beside)
	for _, e := range all {
		if !strings.HasPrefix(e.Name(), apartPrefix) || !strings.HasSuffix(e.Name(), partialSuffix) {
			continue
		}
		left := filepath.Join(beside, e.Name())
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < time.Hour || !kernel.IsOwnFolder(left) {
			continue
		}
		if lock, err := kernel.LockFolder(left); err == nil {
			os.RemoveAll(left) // what stays is removed by the next
			lock.Close()
		}
	}
}

// copyInto copies files of the directory, durably. What leads out of it, as a link does, is not copied: a copy is given
// away.
func (s *Store) copyInto(ctx context.Context, dir string, names []string) error {
	from, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer from.Close()
	folders := map[string]bool{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := readPlain(from, name)
		if errors.Is(err, errNotPlain) {
			return fail(ErrForeign, "%s: a link, a pipe or similar, which may lead out of these results; remove it, or put the "+
				"file itself there", filepath.Join(s.dir, name))
		}
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755)
		}
		if err == nil {
			err = s.writeNew(filepath.Join(dir, name), text)
		}
		if err != nil {
			return err
		}
		for in := filepath.Dir(name); in != "."; in = filepath.Dir(in) {
			folders[in] = true
		}
	}
	for in := range folders {
		if err := s.syncDir(filepath.Join(dir, in)); err != nil {
			return err
		}
	}
	return nil
}

// writeNew writes a file that was not there, durably.
func (s *Store) writeNew(path string, text []byte) error {
	f, err := s.create(path)
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		return errors.Join(err, f.Close())
	}
	return settled(f)
}

var errNotPlain = errors.New("no plain file")

// readPlain reads a file below a folder that no link leads to.
func readPlain(in *os.Root, name string) ([]byte, error) {
	part := ""
	for elem := range strings.SplitSeq(name, "/") {
		part = filepath.Join(part, elem)
		st, err := in.Lstat(part)
		if err != nil {
			return nil, err
		}
		if whole := part == name; whole && !st.Mode().IsRegular() || !whole && !st.IsDir() {
			return nil, errNotPlain
		}
	}
	f, err := in.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) // a FIFO, put there meanwhile, is not waited for
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err == nil && int64(len(text)) > mostBytes {
		err = fmt.Errorf("%s has more than %d bytes", name, int64(mostBytes))
	}
	return text, err
}

// texts are the files of a copy besides its ledger and raw files.
func (s *Store) texts() ([]string, error) {
	names := []string{planFile}
	runs, err := s.Runs()
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		names = append(names, r.StudyFile, r.FactsFile)
	}
	benches, err := s.benchFacts()
	if err != nil {
		return nil, err
	}
	for _, r := range benches {
		names = append(names, r.file)
	}
	for _, name := range besides {
		if _, err := os.Lstat(s.path(name)); err == nil {
			names = append(names, name)
		}
	}
	trials, err := s.Trials()
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, t := range trials {
		name := filepath.Join(trialsDir, trialName(t.ID, t.Attempt), readyFile)
		if treatment := fmt.Sprint(t.Treatment); t.State == Valid && !seen[treatment] {
			if _, err := os.Lstat(s.path(name)); err == nil {
				names, seen[treatment] = append(names, name), true
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// rawFiles are those of valid trials in the folders.
func (s *Store) rawFiles(folders []string) ([]string, error) {
	rows, err := s.db.Query("SELECT path FROM files ORDER BY path")
	if err != nil {
		return nil, s.word(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, s.word(err)
		}
		if !within(folders, name) {
			continue
		}
		if filepath.Clean(name) != name { // a ledger from elsewhere may name files outside
			return nil, s.damaged("raw file %q", name)
		}
		names = append(names, name)
	}
	return names, s.word(rows.Err())
}

// copyPage is the page size of a copy's ledger, in bytes. Each table and index ends in a page that is part full, and
// a small study has 18 of those: the ledgers of findings/ are a tenth smaller than with SQLite's 4096.
const copyPage = 1024

// keepLedger writes the ledger without the space that deleted rows left, as one
// file without a log. It says which folders are left out: all but raw.
func (s *Store) keepLedger(path string, raw []string) error {
	from, err := s.db.Conn(context.Background())
	if err != nil {
		return err
	}
	_, err = from.ExecContext(context.Background(), "PRAGMA query_only = 0") // it forbids this, too
	if err == nil {
		_, err = from.ExecContext(context.Background(), fmt.Sprintf("PRAGMA page_size = %d; VACUUM INTO ?", copyPage), path)
	}
	if _, again := from.ExecContext(context.Background(), "PRAGMA query_only = 1"); err == nil {
		err = again
	}
	if err = errors.Join(err, from.Close()); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", dsn(path, "synchronous(FULL)", untrusted, heapLimit))
	if err != nil {
		return err
	}
	leftOut := slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return slices.Contains(raw, kind) })
	text, err := json.Marshal(append(leftOut, invalidDir, trialsDir))
	if err == nil {
		err = sealed(db, func(tx *sql.Tx) error { return setMeta(tx, leftOutKey, string(text)) })
	}
	return errors.Join(err, db.Close())
}

// LeftOut are the folders of raw files and logs that this copy of results does
// not hold; none, if these are the results as the lab left them.
func (s *Store) LeftOut() ([]string, error) {
	var text string
	switch err := s.db.QueryRow("SELECT value FROM meta WHERE key = ?", leftOutKey).Scan(&text); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, s.word(err)
	}
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		return nil, s.damaged("%s %q: %v", leftOutKey, text, err)
	}
	return names, nil
}

// within reports whether a file lies in one of the folders.
func within(folders []string, name string) bool {
	folder, _, _ := strings.Cut(filepath.ToSlash(name), "/")
	return slices.Contains(folders, folder)
}
