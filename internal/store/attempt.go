package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/measure"
)

// An Attempt is one run of a trial. It ends with Commit, Invalidate or Supersede;
// if none comes, it was interrupted and the trial is run again.
type Attempt struct {
	Trial, Number int
	Bench         Bench // that it runs on

	s       *Store
	mu      sync.Mutex
	files   []fileRecord // written whole, still partial by name
	open    map[*fileWriter]bool
	failed  error          // of the first file that could not be written
	syncing sync.WaitGroup // files that are on their way to the disk
}

// A Source says where samples come from.
type Source struct {
	Side       measure.Side
	Instrument string // Description.Name of the instrument
	Method     Method
}

// A Method says whether figures were read from a meter or computed.
type Method string

const (
	Measured Method = "measured" // read from a meter or a clock
	Modelled Method = "modelled" // computed from a model; never in one column with the measured
	Counted  Method = "counted"  // time is instructions counted in an emulated machine
)

func (m Method) known() bool { return m == Measured || m == Modelled || m == Counted }

type fileRecord struct {
	kind, name string // exchanges, 0017-1-client.parquet
	source     Source
	rows       int64
	bytes      int64
	digest     string
	unsynced   bool // until Flush, or the attempt's end: a program may be measured now
}

// Begin records that a pending trial runs now and makes its log directory.
func (s *Store) Begin(trial int) (*Attempt, error) { return s.BeginOn(trial, Bench{}) }

// BeginOn is Begin for a trial that runs on one of several benches.
func (s *Store) BeginOn(trial int, on Bench) (*Attempt, error) {
	if err := s.takesBench(on); err != nil {
		return nil, err
	}
	if err := s.recordWaiting(); err != nil {
		return nil, err
	}
	a := &Attempt{Trial: trial, Bench: on, s: s, open: map[*fileWriter]bool{}}
	err := s.change(func(tx *sql.Tx) error {
		var state State
		err := tx.QueryRow(`SELECT state, coalesce(
			(SELECT max(attempt) + 1 FROM attempts WHERE trial = id),
			(SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'first_attempt'), 1) FROM trials WHERE id = ?`,
			trial).Scan(&state, &a.Number)
		if errors.Is(err, sql.ErrNoRows) {
			return fail(ErrNoData, "trial %d: not in the plan of %s", trial, s.dir)
		}
		if err == nil && (state == Valid || state == Running) {
			err = fmt.Errorf("trial %d: already %s", trial, state)
		}
		if err != nil {
			return err
		}
		host, _ := os.Hostname()
		if _, err := tx.Exec(`INSERT INTO attempts (trial, attempt, state, started, host, pid) VALUES (?, ?, 'running', `+
			`?, ?, ?)`,
			trial, a.Number, now(), host, os.Getpid()); err != nil {
			return err
		}
		if on != (Bench{}) {
			if _, err := tx.Exec("UPDATE attempts SET bench = ?, boot = ? WHERE trial = ? AND attempt = ?", on.Name, on.Boot,
				trial, a.Number); err != nil {
				return err
			}
		}
		_, err = tx.Exec("UPDATE trials SET state = 'running' WHERE id = ?", trial)
		return err
	})
	if err != nil {
		return nil, err
	}
	return a, s.word(makeFolder(a.Dir()))
}

// Dir is where the attempt's logs go.
func (a *Attempt) Dir() string { return a.s.TrialDir(a.Trial, a.Number) }

// Keep writes a file beside the attempt's logs, and has its checksum kept with those of
// the raw files. It is durable when the attempt has ended.
func (a *Attempt) Keep(name string, b []byte) error {
	f, err := a.s.create(filepath.Join(a.Dir(), name))
	if err != nil {
		return a.s.word(err)
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		return a.s.word(err)
	}
	rec := fileRecord{kind: trialsDir, name: filepath.Join(filepath.Base(a.Dir()), name), bytes: int64(len(b)),
		digest: digestOf(b), unsynced: true}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.files = append(a.files, rec)
	return nil
}

// Packets opens packets/NNNN-A-name.pcapng. The caller writes pcapng and closes.
func (a *Attempt) Packets(name string) (io.WriteCloser, error) {
	w, err := a.raw("packets", Source{Instrument: name, Method: Measured}, name, ".pcapng")
	if err != nil {
		return nil, err
	}
	return w, nil
}

// A rawWriter is one raw file of an attempt; after its first error it stays
// broken and the attempt cannot be valid.
type rawWriter struct {
	a      *Attempt
	w      *fileWriter
	rec    fileRecord
	err    error
	closed bool
}

// raw opens a raw file of this attempt under its partial name.
func (a *Attempt) raw(kind string, src Source, label, ext string) (*rawWriter, error) {
	if !src.Method.known() {
		return nil, fmt.Errorf("trial %d: %s: unknown method %q; supported: measured, modelled, counted", a.Trial, label,
			src.Method)
	}
	name := fmt.Sprintf("%s-%s%s", attemptName(a.Trial, a.Number), plainName(label), ext)
	w, err := newFileWriter(a.s.create, a.s.path(kind, name))
	if err != nil {
		return nil, a.s.word(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[w] = true
	return &rawWriter{a: a, w: w, rec: fileRecord{kind: kind, name: name, source: src}}, nil
}

func (w *rawWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.w.Write(p)
	w.note(err)
	return n, w.err
}

// note keeps the first error, in our words.
func (w *rawWriter) note(err error) {
	if err != nil && w.err == nil {
		w.err = w.a.s.word(err)
	}
}

func (w *rawWriter) Close() error {
	if !w.closed {
		w.closed = true
		w.err = w.a.end(w.w, w.rec, w.err)
	}
	return w.err
}

// end finishes a raw file, or abandons it if it failed before. The disk takes its time meanwhile: conclude waits.
func (a *Attempt) end(w *fileWriter, rec fileRecord, err error) error {
	if err == nil {
		err = w.buf.Flush()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, w)
	if err != nil {
		return a.fail(w, err)
	}
	rec.bytes, rec.digest = w.bytes, w.digest()
	a.files = append(a.files, rec)
	a.syncing.Go(func() {
		err := settled(w.f)
		if err == nil {
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.files = slices.DeleteFunc(a.files, func(f fileRecord) bool { return f.kind == rec.kind && f.name == rec.name })
		a.fail(w, err)
	})
	return nil
}

// fail removes a file that could not be written, without which the attempt cannot be valid.
func (a *Attempt) fail(w *fileWriter, err error) error {
	w.abandon()
	a.failed = a.s.word(err)
	return a.failed
}

// settled makes a file durable.
func settled(f diskFile) error {
	err := f.Sync()
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// Flush has the disk begin with what was kept so far, while the caller goes on: conclude waits. It is for when no
// program is measured any more.
func (a *Attempt) Flush() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.files {
		f := &a.files[i]
		if !f.unsynced {
			continue
		}
		f.unsynced = false
		path := a.s.path(f.kind, f.name)
		a.syncing.Go(func() {
			file, err := openOwn(path, 0)
			if err == nil {
				err = settled(file)
			}
			if err != nil {
				a.mu.Lock()
				defer a.mu.Unlock()
				a.failed = a.s.word(err)
			}
		})
	}
}

// sync waits until all files are on the disk.
func (a *Attempt) sync() {
	a.Flush()
	a.Settle()
}

// Settle waits until no file is on its way to the disk, as the end of an attempt does.
func (a *Attempt) Settle() { a.syncing.Wait() }

// Commit makes the attempt valid, durably: its files get their names, then the
// ledger names them with their checksums in one transaction. A crash between
// leaves files the ledger does not know, which Open sets aside.
func (a *Attempt) Commit(results []Result, quality []Quality) error {
	if err := a.s.checkResults(a.Trial, results); err != nil {
		return err
	}
	return a.conclude(Valid, "", "", results, quality)
}

// Invalidate records why the attempt does not count, and the log that shows
// it. Its raw files are kept in invalid/, out of every exchanges/*.parquet.
func (a *Attempt) Invalidate(reason, log string, quality []Quality) error {
	return a.conclude(Invalid, reason, log, nil, quality)
}

// Supersede records that the attempt does not count although it was measured
// well: its block had been given to another attempt, for a cause that has nothing
// to do with its values. It may have been recorded as interrupted before. Its
// figures are not kept; its raw files are, in invalid/.
func (a *Attempt) Supersede(reason string, quality []Quality) error {
	if !a.s.benches {
		return a.s.olderThanBenches()
	}
	return a.conclude(Superseded, reason, "", nil, quality)
}

// conclude inserts the rows while the disk takes the files. The ledger has them when all files have their names.
func (a *Attempt) conclude(state State, reason, log string, results []Result, quality []Quality) error {
	var paths []string
	var unplaced error
	var placing sync.WaitGroup
	placing.Go(func() { paths, unplaced = a.place(state) })
	err := a.s.change(func(tx *sql.Tx) error {
		if err := insertResults(tx, a.Trial, a.Number, results, quality); err != nil {
			return err
		}
		if placing.Wait(); unplaced != nil {
			return unplaced
		}
		if err := a.recordFiles(tx, paths); err != nil {
			return err
		}
		return a.recordEnd(tx, state, reason, log, results, quality)
	})
	if placing.Wait(); unplaced != nil {
		return unplaced
	}
	return err
}

// recordEnd records what became of the attempt, and of its trial.
func (a *Attempt) recordEnd(tx *sql.Tx, state State, reason, log string, results []Result, quality []Quality) error {
	var treatment string
	if err := tx.QueryRow("SELECT treatment FROM trials WHERE id = ?", a.Trial).Scan(&treatment); err != nil {
		return err
	}
	var was State
	if err := tx.QueryRow("SELECT state FROM attempts WHERE trial = ? AND attempt = ?", a.Trial, a.Number).
		Scan(&was); err != nil {
		return err
	}
	if was != Running && (state != Superseded || was != Interrupted) {
		return fmt.Errorf("trial %d: attempt %d is %s, not running", a.Trial, a.Number, was)
	}
	if _, err := tx.Exec(`UPDATE attempts SET state = ?, ended = ?, reason = nullif(?, ''), log = nullif(?, ''),
		digest = ? WHERE trial = ? AND attempt = ?`, state, now(), reason, log,
		digestRows(a.s.origin, AttemptID{a.Trial, a.Number}, state, treatment, a.Bench, results, quality), a.Trial,
		a.Number); err != nil {
		return err
	}
	if was == Interrupted { // the trial is another attempt's by now
		return nil
	}
	if state == Superseded {
		state = Planned
	}
	_, err := tx.Exec("UPDATE trials SET state = ? WHERE id = ?", state, a.Trial)
	return err
}

// place waits until all files are on the disk, and gives them their final places, durably.
func (a *Attempt) place(state State) (paths []string, err error) {
	a.sync()
	a.mu.Lock()
	defer a.mu.Unlock()
	if state == Valid && a.failed != nil {
		return nil, a.failed
	}
	if state == Valid && len(a.open) > 0 {
		return nil, fmt.Errorf("trial %d: %d raw files are not closed yet", a.Trial, len(a.open))
	}
	for w := range a.open {
		w.abandon()
	}
	clear(a.open)
	paths, err = a.rename(state)
	return paths, a.s.word(err)
}

// rename gives the attempt's files their final places, durably.
func (a *Attempt) rename(state State) ([]string, error) {
	touched := map[string]bool{}
	paths := make([]string, len(a.files))
	for i, f := range a.files {
		paths[i] = filepath.Join(f.kind, f.name)
		if f.kind == trialsDir { // in place already
			touched[filepath.Dir(paths[i])], touched[trialsDir] = true, true
			continue
		}
		if state != Valid {
			paths[i] = asideName(f.kind, f.name)
		}
		if err := os.Rename(a.s.path(f.kind, f.name)+partialSuffix, a.s.path(paths[i])); err != nil {
			return nil, err
		}
		touched[filepath.Dir(paths[i])] = true
	}
	return paths, a.s.syncDirs(slices.Collect(maps.Keys(touched)))
}

func (a *Attempt) recordFiles(tx *sql.Tx, paths []string) error {
	for i, f := range a.files {
		if _, err := tx.Exec(`INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, paths[i], a.Trial, a.Number, f.kind,
			string(f.source.Side), f.source.Instrument, string(f.source.Method), f.rows, f.bytes, f.digest); err != nil {
			return err
		}
	}
	return nil
}

// path is a file of the directory. Names come from the ledger, which may be a
// stranger's: rooted first, they cannot climb out of it.
func (s *Store) path(elem ...string) string {
	return filepath.Join(s.dir, filepath.Join("/", filepath.Join(elem...)))
}

// trialName is 0017 for the first attempt, 0017-2 for the second.
func trialName(trial, attempt int) string {
	if attempt <= 1 {
		return fmt.Sprintf("%04d", trial)
	}
	return attemptName(trial, attempt)
}

func attemptName(trial, attempt int) string { return fmt.Sprintf("%04d-%d", trial, attempt) }

// ourName matches raw files this package names: trial, attempt, label.
var ourName = lazy.Regexp(`^([0-9]{4,})-([0-9]+)-[A-Za-z0-9._-]+\.(parquet|pcapng)$`)

// asideName is where a file lies that no valid trial owns.
func asideName(kind, name string) string { return filepath.Join(invalidDir, kind+"-"+name) }

// plainName keeps what is safe in a file name everywhere.
func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}
