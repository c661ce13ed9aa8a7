package store

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// besides are the files that commands leave beside results: the answers of a search for a capacity and of a scaling,
// where a search stands, and which runs a confirmation is of.
var besides = []string{"capacity.json", "capacity.html", searchFile, "scaling.json", "confirmation.json",
	"confirming.json"}

const searchFile = "capacity-search.json"

// Besides are the files beside results that a copy by Keep has, too, where they are there.
func Besides() []string { return slices.Clone(besides) }

// besideKey of the table meta has the checksums of besides: JSON, name to what the file may be. That are two while it
// is replaced, the empty one being no file.
const besideKey = "beside"

func besideOf(from querier) (map[string][]string, error) {
	text, err := metaOf(from, besideKey)
	all := map[string][]string{}
	if err == nil && text != "" && (json.Unmarshal([]byte(text), &all) != nil || all == nil) {
		all = map[string][]string{"": nil} // no file has this name: it was changed
	}
	return all, err
}

// PutBeside writes one of Besides whole, as Replace does, and its checksum into the ledger. Ledgers older than seals
// have none.
func PutBeside(dir, name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return replaceBeside(dir, name, digestOf(b.Bytes()), func() error {
		return replaceFile(filepath.Join(dir, name), b.Bytes())
	})
}

// RemoveBeside removes one of Besides, if it is there.
func RemoveBeside(dir, name string) error {
	return replaceBeside(dir, name, "", func() error {
		err := os.Remove(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return errors.Join(err, syncDir(dir))
	})
}

// replaceBeside has the ledger know the file before it is replaced and after: a process may be killed between.
func replaceBeside(dir, name, digest string, replace func() error) error {
	path := filepath.Join(dir, ledgerFile)
	format, err := formatOf(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return word(dir, err)
	case err != nil || format < sealedFormat:
		return replace()
	}
	db, err := sql.Open("sqlite", dsn(path, "busy_timeout(10000)", "synchronous(FULL)", untrusted, heapLimit))
	if err != nil {
		return word(dir, err)
	}
	defer db.Close()
	note := func(allowed func(was []string) []string) error {
		return word(dir, sealed(db, func(tx *sql.Tx) error {
			all, err := besideOf(tx)
			if err != nil {
				return err
			}
			if all[name] = allowed(all[name]); len(all[name]) == 0 {
				delete(all, name)
			}
			text, err := json.Marshal(all)
			if err == nil {
				err = setMeta(tx, besideKey, string(text))
			}
			return err
		}))
	}
	if err := note(func(was []string) []string {
		if len(was) == 0 {
			was = []string{""}
		}
		return append(was, digest)
	}); err != nil {
		return err
	}
	if err := replace(); err != nil {
		return err
	}
	return note(func([]string) []string {
		if digest == "" {
			return nil
		}
		return []string{digest}
	})
}

// checkBeside compares the files beside results with what commands wrote.
func (s *Store) checkBeside(note func(error)) {
	if s.format < sealedFormat {
		return
	}
	for _, name := range besides {
		note(s.checkOneBeside(name))
	}
}

// checkSearch is of the file by which a search for a capacity goes on.
func (s *Store) checkSearch(note func(error)) error {
	if s.format >= sealedFormat {
		note(s.checkOneBeside(searchFile))
	}
	return nil
}

// checkOneBeside looks again while the ledger says another thing than before: a command may be replacing the file.
func (s *Store) checkOneBeside(name string) error {
	for was := "nothing yet"; ; {
		all, err := besideOf(s.db)
		if err != nil {
			return s.word(err)
		}
		got, err := checksum(s.path(name), -1, s.until)
		absent := errors.Is(err, fs.ErrNotExist)
		switch known := all[name]; {
		case err != nil && !absent:
			return s.unread(name, err)
		case absent && (len(known) == 0 || slices.Contains(known, "") || filepath.Ext(name) == ".html"),
			got != "" && slices.Contains(known, got):
			return nil
		}
		if now := strings.Join(all[name], " "); now != was {
			was = now
			continue
		}
		if absent {
			return fail(ErrMissing, "%s: missing; restore it from a copy, or measure again", s.path(name))
		}
		return fail(ErrEdited, "%s: not as it was written here; restore it from a copy, or measure again", s.path(name))
	}
}

// checkOwnTexts finds texts beside the logs of valid trials that reports read and the ledger does not know. A running
// attempt's are on their way into it, and an interrupted one's stay.
func (s *Store) checkOwnTexts(note func(error)) error {
	if s.format < sealedFormat {
		return nil
	}
	var names []string
	folders, err := os.ReadDir(s.path(trialsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // archives keep no empty folder
		return s.unread(trialsDir, err)
	}
	for _, folder := range folders {
		for _, name := range []string{readyFile, WarmUpFile, JointFile} {
			path := s.path(trialsDir, folder.Name(), name)
			if _, err := os.Lstat(path); err == nil {
				names = append(names, path)
			}
		}
	}
	done, err := s.names("SELECT printf('%04d-%d', trial, attempt) FROM attempts WHERE state = 'valid'")
	if err != nil {
		return s.word(err)
	}
	known, err := s.names("SELECT path FROM files WHERE kind = 'trials'") // later: an attempt may have become valid
	if err != nil {
		return s.word(err)
	}
	for _, path := range names {
		folder := filepath.Base(filepath.Dir(path))
		attempt := folder
		if !strings.Contains(folder, "-") {
			attempt += "-1"
		}
		if name := filepath.Join(trialsDir, folder, filepath.Base(path)); done[attempt] && !known[name] {
			note(fail(ErrEdited, "%s: not written by this run; remove it", s.path(name)))
		}
	}
	return nil
}
