package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"edgegauge.example/edgegauge/internal/lazy"
)

// incomingDir is where results from benches lie until they are taken.
const incomingDir = "incoming"

// Incoming makes an empty folder for what is fetched from a bench. It lies in the
// results directory, so that Accept moves files instead of copying them.
func (s *Store) Incoming(name string) (string, error) {
	dir := s.path(incomingDir, plainName(name))
	err := os.RemoveAll(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	return dir, s.word(err)
}

// RemoveIncoming takes away what is left of a folder that Incoming made.
func (s *Store) RemoveIncoming(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		os.Remove(s.path(incomingDir)) // unless others are in it
		os.Remove(s.dir)               // where all else was taken away meanwhile: a lab does not begin where something is
	}
	return s.word(err)
}

// portable matches what a results directory is made of, apart from its lock: nothing
// else travels. Note: characters counted by an expression take every process of this program
// some 0.2 ms and 200 kB.
var portable = lazy.Regexp(`^(study\.yaml|plan\.csv|facts\.json|ledger\.sqlite|` +
	`(exchanges|samples|packets|invalid|trials/[0-9]{4,}(-[0-9]+)?)/[A-Za-z0-9][A-Za-z0-9._-]*)$`)

// longestName is that of a file there, and of its folder.
const longestName = 201

// Portable says whether a file of that name, with slashes, may be part of results
// that a bench delivers.
func Portable(name string) bool {
	return len(path.Base(name)) <= longestName && len(path.Dir(name)) <= longestName && portable().MatchString(name)
}

// Files lists what a closed results directory consists of, by names with slashes.
func Files(dir string) ([]string, error) {
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if name = filepath.ToSlash(name); err == nil && d.Type().IsRegular() && Portable(name) {
			all = append(all, name)
		}
		return err
	})
	return all, word(dir, err)
}

// Whole puts into the ledger of a closed results directory what is only in its log, which does not travel: it stays
// there where somebody else reads the ledger as it is closed. The error says that this reader is not done.
func Whole(dir string) error {
	path := filepath.Join(dir, ledgerFile)
	if log, err := os.Stat(path + "-wal"); err != nil || log.Size() == 0 {
		return nil
	}
	if err := checkLedgerHeader(path); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", dsn(path, "busy_timeout(1000)", untrusted, heapLimit))
	if err != nil {
		return word(dir, err)
	}
	defer db.Close()
	var busy, frames, merged int
	if err := db.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &merged); err != nil {
		return word(dir, err)
	}
	if busy != 0 {
		return fail(ErrLocked, "%s: another program reads it, and its log cannot be merged", path)
	}
	return nil
}

func (s *Store) deliveredFiles(all []delivered, at map[AttemptID]int) error {
	rows, err := s.db.Query(`SELECT path, trial, attempt, kind, side, instrument, method, "rows", bytes, sha256
		FROM files`)
	if err != nil {
		return s.word(err)
	}
	defer rows.Close()
	for rows.Next() {
		var f deliveredFile
		var id AttemptID
		src := &f.source
		if err := rows.Scan(&f.path, &id.Trial, &id.Attempt, &f.kind, &src.Side, &src.Instrument, &src.Method, &f.rows,
			&f.bytes, &f.digest); err != nil {
			return s.word(err)
		}
		i, ok := at[id]
		if !ok {
			return fmt.Errorf("%s: of no attempt", f.path)
		}
		f.name = filepath.Base(f.path)
		if err := f.check(all[i]); err != nil {
			return err
		}
		all[i].files = append(all[i].files, f)
	}
	return s.word(rows.Err())
}

// moveFiles gives delivered files their places in our directory, durably.
func (s *Store) moveFiles(attempts []delivered, dir string, counts bool) error {
	touched := map[string]bool{trialsDir: true}
	for _, a := range attempts {
		logs := filepath.Join(trialsDir, trialName(a.Trial, a.Attempt))
		if err := os.RemoveAll(s.path(logs)); err != nil { // what an order that was cut short had begun
			return err
		}
		switch err := os.Rename(filepath.Join(dir, logs), s.path(logs)); {
		case err == nil:
			touched[logs] = true // what it names was on its way, and may not be on the disk yet
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		for _, f := range a.files {
			if f.kind == trialsDir {
				continue
			}
			to := f.home(counts)
			if err := os.Rename(filepath.Join(dir, f.path), s.path(to)); err != nil {
				return err
			}
			touched[filepath.Dir(to)] = true
		}
	}
	return s.syncDirs(slices.Collect(maps.Keys(touched)))
}

// home is where a delivered file lies with us.
func (f deliveredFile) home(counts bool) string {
	if !counts && slices.Contains(kinds, filepath.Dir(f.path)) {
		return asideName(f.kind, f.name)
	}
	return f.path
}
