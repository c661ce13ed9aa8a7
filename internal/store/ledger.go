package store

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the database driver "sqlite"

	"edgegauge.example/edgegauge/internal/kernel"
)

//go:embed schema.sql
var schema string

// applicationID marks our ledgers in the SQLite header: "EdGa".
const applicationID = 0x45644761

// createLedger writes a whole ledger beside its place, then renames it there.
func createLedger(path string, h Header, r Run) error {
	temp := path + partialSuffix
	if err := os.Remove(temp); err != nil && !os.IsNotExist(err) {
		return err
	}
	empty, err := createNew(temp) // SQLite itself would follow a link
	if err != nil {
		return err
	}
	empty.Close()
	db, err := sql.Open("sqlite", dsn(temp, "synchronous(FULL)"))
	if err != nil {
		return err
	}
	err = fillLedger(db, h, r)
	if closed := db.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return settle(temp, path)
}

func fillLedger(db *sql.DB, h Header, r Run) error {
	if _, err := db.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID,
		newFormat)); err != nil {
		return err
	}
	return sealed(db, func(tx *sql.Tx) error {
		if _, err := tx.Exec(schema); err != nil {
			return err
		}
		if h.Incomplete {
			if _, err := tx.Exec(lackingTable); err != nil {
				return err
			}
		}
		if newFormat >= sealedFormat {
			if err := setMeta(tx, sealKey, seal{}.String()); err != nil {
				return err
			}
		}
		for _, kv := range [][2]string{{"format", strconv.Itoa(newFormat)}, {"created", r.Started.Format(time.RFC3339Nano)},
			{"program", h.Program}, {"first_attempt", strconv.Itoa(max(1, h.First))}, {endingKey, ""}} {
			if _, err := tx.Exec("INSERT INTO meta VALUES (?, ?)", kv[0], kv[1]); err != nil {
				return err
			}
		}
		if err := r.record(tx); err != nil {
			return err
		}
		return insertPlan(tx, h.Plan, h.Trials)
	})
}

// openLedger checks the ledger's format before anything is written to it.
func (s *Store) openLedger() error {
	path := filepath.Join(s.dir, ledgerFile)
	if err := checkLedgerHeader(path); err != nil {
		return err
	}
	var err error
	if s.lock != nil {
		// FULL: with a log and NORMAL, a power cut could forget trials that were committed.
		s.db, err = sql.Open("sqlite", dsn(path, "busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)",
			"foreign_keys(1)", untrusted, heapLimit))
		if err == nil {
			s.ledger, err = os.Stat(path)
		}
	} else {
		s.db, err = s.openForReading(path)
	}
	if err != nil {
		return err
	}
	return s.checkLedger(path)
}

// openForReading opens the ledger in place. SQLite must share memory through a
// file beside it; where that cannot be made, a ledger without a log is read as
// it lies, and one with a log (a killed lab's) from a copy.
func (s *Store) openForReading(path string) (*sql.DB, error) {
	db, err := openAndTry(dsn(path, "busy_timeout(10000)", "query_only(1)", untrusted, heapLimit) + "&mode=ro")
	if err == nil {
		return db, nil
	}
	if st, err := os.Stat(path + "-wal"); err != nil || st.Size() == 0 {
		return openAndTry(dsn(path, "query_only(1)", untrusted, heapLimit) + "&mode=ro&immutable=1")
	}
	if s.scratch, err = os.MkdirTemp("", "edgegauge-ledger-"); err != nil {
		return nil, err
	}
	temp := filepath.Join(s.scratch, ledgerFile)
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(temp+suffix, path+suffix); err != nil {
			return nil, err
		}
	}
	return openAndTry(dsn(temp, "query_only(1)", untrusted, heapLimit))
}

func openAndTry(name string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	var version int
	if err := db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// checkLedgerHeader reads what SQLite keeps at fixed offsets of a database
// (SQLite file format, section 1.3) without opening it.
//
//	0  "SQLite format 3\0"    60  user_version    68  application_id    big-endian
func checkLedgerHeader(path string) error {
	_, err := formatOf(path)
	return err
}

// formatOf is the format of a ledger that this program can read.
func formatOf(path string) (int64, error) {
	f, err := kernel.OpenRegular(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var b [100]byte
	if _, err := io.ReadFull(f, b[:]); err != nil || !bytes.HasPrefix(b[:], []byte("SQLite format 3\x00")) {
		return 0, fail(ErrCorrupt, "%s: not a database; restore it from a copy, or run the study into a new directory", path)
	}
	if id := binary.BigEndian.Uint32(b[68:]); id != applicationID {
		return 0, fail(ErrForeign,
			"%s: a database, but not edgegauge's (application id %#x); name a directory that edgegauge run wrote", path, id)
	}
	format := int64(binary.BigEndian.Uint32(b[60:]))
	return format, checkFormat(path, format, ledgerFormat)
}

func checkFormat(path string, format, newest int64) error {
	switch {
	case format > newest:
		return fail(ErrNewer,
			"%s: format %d is newer than this program's %d; install the edgegauge that wrote it, or a later one", path,
			format, newest)
	case format < 1:
		return fail(ErrCorrupt, "%s: no format version %d exists; restore it from a copy", path, format)
	}
	return nil
}

// checkLedger asks SQLite the same again (a log may hold a newer first page)
// and whether the pages hang together.
func (s *Store) checkLedger(path string) error {
	if err := s.db.QueryRow("PRAGMA user_version").Scan(&s.format); err != nil {
		return err
	}
	if err := checkFormat(path, s.format, ledgerFormat); err != nil {
		return err
	}
	if err := s.checkSchema(path); err != nil {
		return err
	}
	var verdict string
	if err := s.db.QueryRow("PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fail(ErrCorrupt, "%s: damaged (%s); restore it from a copy, or run the study into a new directory",
			path, verdict)
	}
	if err := s.checkSizes(path); err != nil || s.format < sealedFormat {
		return err
	}
	var err error
	s.origin, err = metaOf(s.db, "created")
	return err
}

// dsn names a database file for the driver; pragmas are set on each connection.
// Transactions are immediate, that is, they take the write lock when they begin:
// SQLite may refuse it to one that has read first.
func dsn(path string, pragmas ...string) string {
	q := url.Values{"_pragma": pragmas, "_txlock": {"immediate"}}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// change is sealed for an open store: refused where it is read-only.
func (s *Store) change(f func(*sql.Tx) error) error {
	if s.lock == nil {
		return fail(ErrLocked, "%s: opened read-only; cannot write", s.dir)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.together != nil {
		return s.word(f(s.together))
	}
	if err := sealed(s.db, f); err != nil {
		return s.word(err)
	}
	return s.inPlace()
}

// inPlace is the error of a ledger that is no longer the file that was opened: SQLite goes on writing to what nobody
// will find.
func (s *Store) inPlace() error {
	if now, err := os.Stat(filepath.Join(s.dir, ledgerFile)); err == nil && os.SameFile(now, s.ledger) {
		return nil
	}
	return fail(ErrMissing, "%s/%s was removed, or another put in its place, while it was written: what it said of "+
		"trials is lost; restore it from a copy, or run the study into a new directory", s.dir, ledgerFile)
}

// Together makes all changes of f one transaction: many times quicker, but a crash
// loses all of them, and nothing can be read before the end. It is for who fabricates
// results; a lab keeps each trial.
func (s *Store) Together(f func() error) error {
	if s.lock == nil {
		return fail(ErrLocked, "%s: opened read-only; cannot write", s.dir)
	}
	return s.word(sealed(s.db, func(tx *sql.Tx) error {
		s.together = tx
		defer func() { s.together = nil }()
		return f()
	}))
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
