package store

import (
	"database/sql"
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
	attempts, lacks, err := s.readDelivery(o, retries, dir)
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
		if counts {
			return insertLacking(tx, o, lacks)
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
// the bench's facts. Lacks are trials that it cannot run, with the reason.
func (s *Store) readDelivery(o Order, retries int, dir string) (
	attempts []delivered, lacks map[int]string, err error) {
	from, err := OpenReadOnly(dir)
	if err != nil {
		return nil, nil, refused(o, "%v", err)
	}
	defer from.Close()
	if found := from.Verify(); len(found) > 0 {
		return nil, nil, refused(o, "%v", found[0])
	}
	if err := s.sameStudy(from, o.Block); err != nil {
		return nil, nil, refused(o, "%v", err)
	}
	if attempts, err = from.delivered(); err == nil {
		lacks, err = from.lacked()
	}
	if err != nil {
		return nil, nil, refused(o, "%v", err)
	}
	if err := s.checkDelivery(o, retries, attempts, lacks); err != nil {
		return nil, nil, err
	}
	last, err := from.lastRun()
	if err != nil {
		return nil, nil, refused(o, "%v", err)
	}
	facts, err := from.Facts(last)
	if err != nil {
		return nil, nil, refused(o, "%v", err)
	}
	return attempts, lacks, s.AddBench(o.Bench.Name, facts)
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
