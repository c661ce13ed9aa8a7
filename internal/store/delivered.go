package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

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

// An Examined delivery is what was ordered, whole and unedited.
type Examined struct {
	order    Order
	dir      string
	attempts []delivered
	lacks    map[int]string // trials that the bench cannot run, with the reason
	facts    json.RawMessage
}

// Examine reads the results of an order, which lie in dir: a closed results directory of the block
// alone, begun with Header.First as the order says. It compares all files with their checksums, which
// takes as long as they are large, and changes nothing: the ledger may be used meanwhile. What is
// damaged, or not what was ordered, is an error of kind ErrRefused.
func (s *Store) Examine(o Order, retries int, dir string) (Examined, error) {
	x := Examined{order: o, dir: dir}
	if _, err := s.Fate(o); err != nil {
		return x, err
	}
	// Subtle: what is refused the bench throws away. So where this machine lacks something, nothing is refused.
	unfit := func(err error) error {
		if lacking(dir, err) {
			return fmt.Errorf("results of bench %s cannot be read here: %w", o.Bench.Name, err)
		}
		return refused(o, "%v", err)
	}
	from, err := OpenReadOnly(dir)
	if err != nil {
		return x, unfit(err)
	}
	defer from.Close()
	if found := from.Verify(); len(found) > 0 {
		for _, err := range found {
			if lacking(dir, err) {
				return x, unfit(err)
			}
		}
		return x, unfit(found[0])
	}
	if err := s.sameStudy(from, o.Block); err != nil {
		return x, unfit(err)
	}
	if x.attempts, err = from.delivered(); err == nil {
		x.lacks, err = from.lacked()
	}
	if err != nil {
		return x, unfit(err)
	}
	had, err := from.retries()
	if err != nil {
		return x, unfit(err)
	}
	if err := s.checkDelivery(o, retries, had, x.attempts, x.lacks); err != nil {
		return x, err
	}
	last, err := from.lastRun()
	if err == nil {
		x.facts, err = from.Facts(last)
	}
	if err != nil {
		return x, unfit(err)
	}
	return x, nil
}

// Left says that a trial of it that is invalid may be run again: more retries are allowed than when it was ordered.
func (x Examined) Left(retries int) bool {
	failed, valid := map[int]int{}, map[int]bool{}
	for _, a := range x.attempts {
		if valid[a.Trial] = valid[a.Trial] || a.state == Valid; a.state == Invalid {
			failed[a.Trial]++
		}
	}
	for trial, n := range failed {
		if !valid[trial] && n <= retries {
			return true
		}
	}
	return false
}

// Accept takes over results that were examined. They count if the order is under way (Valid); else
// they are kept without counting (Superseded). For an order whose results are here already it changes
// nothing, and answers the same. Files are moved, then the ledger names them all in one transaction.
func (s *Store) Accept(x Examined) (State, error) {
	o := x.order
	fate, err := s.Fate(o)
	if err != nil || fate == Valid || fate == Superseded {
		return fate, err
	}
	if err := s.AddBench(o.Bench.Name, x.facts); err != nil {
		return "", err
	}
	counts := fate == Running
	if err := s.moveFiles(x.attempts, x.dir, counts); err != nil {
		return "", s.word(err)
	}
	err = s.change(func(tx *sql.Tx) error {
		for _, a := range x.attempts {
			if err := s.insertDelivered(tx, o, a, counts); err != nil {
				return err
			}
		}
		if counts {
			if err := insertLacking(tx, o, x.lacks); err != nil {
				return err
			}
		}
		return noteWork(tx)
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

func (s *Store) insertDelivered(tx *sql.Tx, o Order, a delivered, counts bool) error {
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
		digestRows(s.origin, a.AttemptID, state, a.treatment, o.Bench, results, a.quality), o.Bench.Name, o.Bench.Boot)
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
