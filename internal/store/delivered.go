package store

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// incomingDir is where results from benches lie until they are taken.
const incomingDir = "incoming"

// Incoming makes an empty folder for what is fetched from a bench. It lies in the
// results directory, so that Take moves files instead of copying them.
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
	}
	return s.word(err)
}

// portable matches what a results directory is made of, apart from its lock: nothing
// else travels.
var portable = regexp.MustCompile(`^(study\.yaml|plan\.csv|facts\.json|ledger\.sqlite|` +
	`(exchanges|samples|packets|invalid|trials/[0-9]{4,}(-[0-9]+)?)/[A-Za-z0-9][A-Za-z0-9._-]{0,200})$`)

// Portable says whether a file of that name, with slashes, may be part of results
// that a bench delivers.
func Portable(name string) bool { return portable.MatchString(name) }

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

// ErrRefused means that what a bench delivered is not what it was asked for.
var ErrRefused = errors.New("refused")

// A delivered attempt is a row of a bench's own ledger, checked.
type delivered struct {
	AttemptID
	state          State
	started, ended string
	host           string
	pid            int
	reason, log    *string
	treatment      string
	results        []Result
	quality        []Quality
	files          []deliveredFile
}

type deliveredFile struct {
	fileRecord
	path string // in the bench's directory and, if its attempt counts, in ours
}

// Take takes over the results of an order, which lie in dir: a closed results
// directory of the block alone, begun with Header.First as the order says. They count
// if the order is under way (Valid); else they are kept without counting (Superseded).
// It may be asked again, as often as one likes, and answers the same.
//
// What is damaged, or not what was ordered, is an error of kind ErrRefused, and changes
// nothing. Files are moved out of dir, then the ledger names them all in one transaction.
func (s *Store) Take(o Order, retries int, dir string) (State, error) {
	fate, err := s.Fate(o)
	if err != nil || fate == Valid || fate == Superseded {
		return fate, err
	}
	attempts, err := s.readDelivery(o, retries, dir)
	if err != nil {
		return "", err
	}
	counts := fate == Running
	if err := s.moveFiles(attempts, dir, counts); err != nil {
		return "", s.word(err)
	}
	err = s.change(func(tx *sql.Tx) error {
		for _, a := range attempts {
			if err := insertDelivered(tx, o, a, counts); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if counts {
		return Valid, nil
	}
	return Superseded, nil
}

func refused(o Order, format string, args ...any) error {
	return fail(ErrRefused, "block %d, attempt %d, of bench %s: %s", o.Block, o.Attempt, o.Bench.Name,
		fmt.Sprintf(format, args...))
}

// readDelivery reads a bench's results, compares them with what was ordered, and keeps
// the bench's facts.
func (s *Store) readDelivery(o Order, retries int, dir string) ([]delivered, error) {
	from, err := OpenReadOnly(dir)
	if err != nil {
		return nil, refused(o, "%v", err)
	}
	defer from.Close()
	if found := from.Verify(); len(found) > 0 {
		return nil, refused(o, "%v", found[0])
	}
	if err := s.sameStudy(from, o.Block); err != nil {
		return nil, refused(o, "%v", err)
	}
	attempts, err := from.delivered()
	if err != nil {
		return nil, refused(o, "%v", err)
	}
	if err := s.checkDelivery(o, retries, attempts); err != nil {
		return nil, err
	}
	last, err := from.lastRun()
	if err != nil {
		return nil, refused(o, "%v", err)
	}
	facts, err := from.Facts(last)
	if err != nil {
		return nil, refused(o, "%v", err)
	}
	return attempts, s.AddBench(o.Bench.Name, facts)
}

// sameStudy says how the study or the block of other results differ from ours.
func (s *Store) sameStudy(from *Store, block int) error {
	ours, sets, err := s.Study()
	if err != nil {
		return err
	}
	theirs, others, err := from.Study()
	if err != nil {
		return err
	}
	if !bytes.Equal(ours, theirs) || !slices.Equal(sets, others) {
		return errors.New("results of another study")
	}
	want, err := s.BlockPlan(block)
	if err != nil {
		return err
	}
	got, err := from.plan()
	if err == nil && !bytes.Equal(got, want) {
		err = errors.New("results of another plan")
	}
	if err != nil {
		return err
	}
	trials, err := from.Trials()
	if err != nil {
		return err
	}
	all, err := s.trialsByID()
	if err != nil {
		return err
	}
	for _, t := range trials {
		own, ok := all[t.ID]
		if !ok || own.Block != block || t.Block != block ||
			encodeTreatment(own.Treatment) != encodeTreatment(t.Treatment) {
			return fmt.Errorf("trial %d is not in the plan of block %d", t.ID, block)
		}
	}
	return nil
}

// BlockPlan is plan.csv of one block alone: the header, and its lines.
func (s *Store) BlockPlan(block int) ([]byte, error) {
	text, err := s.plan()
	if err != nil {
		return nil, err
	}
	trials, err := s.Trials()
	if err != nil {
		return nil, err
	}
	// Note: a quoted level may hold a line break, so that lines would not do; plans that
	// are written by study.Plan have none (a level is one word), and checkTrials counts.
	lines := strings.SplitAfter(string(text), "\n")
	if len(lines) < len(trials)+1 {
		return nil, s.damaged("the plan has %d lines for %d trials", len(lines), len(trials))
	}
	out := []byte(lines[0])
	for i, t := range trials {
		if t.Block == block {
			out = append(out, lines[i+1]...)
		}
	}
	return out, nil
}

// delivered reads all attempts of a ledger with everything that hangs on them.
func (s *Store) delivered() ([]delivered, error) {
	rows, err := s.db.Query(`SELECT trial, attempt, a.state, started, coalesce(ended, ''), host, pid, reason, log,
		treatment
		FROM attempts a JOIN trials ON id = trial ORDER BY trial, attempt`)
	if err != nil {
		return nil, s.word(err)
	}
	defer rows.Close()
	var all []delivered
	at := map[AttemptID]int{}
	for rows.Next() {
		var a delivered
		if err := rows.Scan(&a.Trial, &a.Attempt, &a.state, &a.started, &a.ended, &a.host, &a.pid, &a.reason, &a.log,
			&a.treatment); err != nil {
			return nil, s.word(err)
		}
		at[a.AttemptID] = len(all)
		all = append(all, a)
	}
	if err := rows.Err(); err != nil {
		return nil, s.word(err)
	}
	for row, err := range s.Results() {
		if err != nil {
			return nil, err
		}
		a := &all[at[AttemptID{row.ID, row.Attempt}]]
		a.results = append(a.results, row.Result)
	}
	noted, err := s.Qualities()
	if err != nil {
		return nil, err
	}
	for id, q := range noted {
		if i, ok := at[id]; ok {
			all[i].quality = q
		}
	}
	return all, s.deliveredFiles(all, at)
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

// check refuses a path that is not as this package names the files of an attempt:
// it becomes a path of ours.
func (f deliveredFile) check(a delivered) error {
	want := filepath.Join(f.kind, f.name)
	own := ourName.FindStringSubmatch(f.name)
	switch {
	case f.kind == trialsDir:
		want, own = filepath.Join(trialsDir, trialName(a.Trial, a.Attempt), f.name), nil
	case !slices.Contains(kinds, f.kind):
		return fmt.Errorf("%s: no kind of file %q", f.path, f.kind)
	case a.state != Valid:
		inner, ok := strings.CutPrefix(f.name, f.kind+"-")
		if own = ourName.FindStringSubmatch(inner); !ok {
			own = nil
		}
		want = asideName(f.kind, inner)
	}
	named := own != nil && own[1]+"-"+own[2] == attemptName(a.Trial, a.Attempt)
	if f.path != want || !Portable(filepath.ToSlash(f.path)) || f.kind != trialsDir && !named {
		return fmt.Errorf("%.200q: not a file of trial %d, attempt %d", f.path, a.Trial, a.Attempt)
	}
	return nil
}

// checkDelivery says what is wrong with attempts that a bench delivered.
func (s *Store) checkDelivery(o Order, retries int, attempts []delivered) error {
	ordered, err := s.ordered(o)
	if err != nil {
		return err
	}
	valid, failed := map[int]int{}, map[int]int{}
	for i, a := range attempts {
		first := i == 0 || attempts[i-1].Trial != a.Trial
		switch {
		case !ordered[a.Trial]:
			return refused(o, "trial %d was not ordered", a.Trial)
		case a.Attempt < o.Attempt || a.Attempt > o.Attempt+retries || first && a.Attempt != o.Attempt:
			return refused(o, "trial %d has an attempt %d", a.Trial, a.Attempt)
		case a.state == Valid:
			valid[a.Trial]++
		case a.state == Invalid:
			failed[a.Trial]++
		default:
			return refused(o, "trial %d is %s", a.Trial, a.state)
		}
		if err := a.check(s); err != nil {
			return refused(o, "%v", err)
		}
	}
	for trial := range ordered {
		if valid[trial] != 1 && failed[trial] != retries+1 {
			return refused(o, "trial %d is not done", trial)
		}
	}
	return nil
}

// ordered are the trials of an order.
func (s *Store) ordered(o Order) (map[int]bool, error) {
	rows, err := s.db.Query(`SELECT trial FROM attempts JOIN trials ON id = trial
		WHERE block = ? AND attempt = ? AND bench = ? AND boot = ?`, o.Block, o.Attempt, o.Bench.Name, o.Bench.Boot)
	if err != nil {
		return nil, s.word(err)
	}
	defer rows.Close()
	all := map[int]bool{}
	for rows.Next() {
		var trial int
		if err := rows.Scan(&trial); err != nil {
			return nil, s.word(err)
		}
		all[trial] = true
	}
	return all, s.word(rows.Err())
}

// mostWords is what a reason or a host name of a bench may have.
const mostWords = 64 << 10 // B

// check refuses what this program would not have written, and what would harm whoever
// reads our ledger later.
func (a delivered) check(s *Store) error {
	for _, text := range []string{a.started, a.ended} {
		if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
			return fmt.Errorf("trial %d: %w", a.Trial, err)
		}
	}
	for _, text := range []*string{&a.host, a.reason, a.log} {
		if text != nil && len(*text) > mostWords {
			return fmt.Errorf("trial %d: a text of %d B", a.Trial, len(*text))
		}
	}
	if a.state == Valid && len(a.results) == 0 {
		return fmt.Errorf("trial %d: valid without a result", a.Trial)
	}
	for _, r := range a.results {
		if known, ok := measure.FindResponse(r.Response); !ok || known.Unit != r.Unit ||
			r.Side != measure.Client && r.Side != measure.Server {
			return fmt.Errorf("trial %d: no response %.80q in %.20q of the %.20q", a.Trial, r.Response, r.Unit, r.Side)
		}
	}
	return s.checkResults(a.Trial, a.results)
}

// moveFiles gives delivered files their places in our directory, durably.
func (s *Store) moveFiles(attempts []delivered, dir string, counts bool) error {
	touched := map[string]bool{trialsDir: true}
	for _, a := range attempts {
		logs := filepath.Join(trialsDir, trialName(a.Trial, a.Attempt))
		if err := os.RemoveAll(s.path(logs)); err != nil { // what an order that was cut short had begun
			return err
		}
		err := os.Rename(filepath.Join(dir, logs), s.path(logs))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
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
	for name := range touched {
		if err := syncDir(s.path(name)); err != nil {
			return err
		}
	}
	return nil
}

// home is where a delivered file lies with us.
func (f deliveredFile) home(counts bool) string {
	if !counts && slices.Contains(kinds, filepath.Dir(f.path)) {
		return asideName(f.kind, f.name)
	}
	return f.path
}

func insertDelivered(tx *sql.Tx, o Order, a delivered, counts bool) error {
	state, results, reason := a.state, a.results, a.reason
	if !counts {
		late := "its block had been reassigned"
		if reason != nil {
			late += "; " + *reason
		}
		state, results, reason = Superseded, nil, &late
	}
	// Subtle: the first attempt has a row since the order; those after it have none.
	got, err := tx.Exec(`INSERT INTO attempts (trial, attempt, state, started, ended, host, pid, reason, log, digest,
		bench, boot) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (trial, attempt) DO UPDATE SET state = excluded.state,
		started = excluded.started, ended = excluded.ended, host = excluded.host, pid = excluded.pid,
		reason = excluded.reason, log = excluded.log, digest = excluded.digest
		WHERE bench = excluded.bench AND boot = excluded.boot AND state IN ('running', 'interrupted')`, a.Trial, a.Attempt,
		state, a.started, a.ended, a.host, a.pid, reason, a.log,
		digestRows(state, a.treatment, o.Bench, results, a.quality), o.Bench.Name, o.Bench.Boot)
	if err != nil {
		return err
	}
	if n, err := got.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("trial %d: attempt %d belongs to another order", a.Trial, a.Attempt)
	}
	for _, f := range a.files {
		if _, err := tx.Exec(`INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, f.home(counts), a.Trial, a.Attempt,
			f.kind, string(f.source.Side), f.source.Instrument, string(f.source.Method), f.rows, f.bytes,
			f.digest); err != nil {
			return err
		}
	}
	if err := insertResults(tx, a.Trial, a.Attempt, results, a.quality); err != nil {
		return err
	}
	if !counts {
		return nil
	}
	_, err = tx.Exec("UPDATE trials SET state = ? WHERE id = ?", state, a.Trial)
	return err
}
