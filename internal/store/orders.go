package store

import (
	"database/sql"
	"fmt"
	"os"
)

// An Order is a block given to a bench, to be measured there as a whole. Attempt
// is drawn by the ledger and never again for that block, so that it fences off what
// was given away before: no clock and no message decides which results count.
type Order struct {
	Block, Attempt int
	Bench          Bench
}

// Order gives what is left of a block to a bench: the trials that are neither valid
// nor were found invalid more than retries times. They run from now on, all under one
// attempt number. The bench may use that and the retries numbers after it for each
// trial; no later order draws one of them.
func (s *Store) Order(block int, on Bench, retries int) (Order, error) {
	o := Order{Block: block, Bench: on}
	if on == (Bench{}) {
		return o, fmt.Errorf("block %d: no bench is named", block)
	}
	if err := s.takesBench(on); err != nil {
		return o, err
	}
	if err := s.recordWaiting(); err != nil {
		return o, err
	}
	host, _ := os.Hostname()
	return o, s.change(func(tx *sql.Tx) error {
		// Those who used the last number may have used as many after it.
		if err := tx.QueryRow(`SELECT coalesce(max(attempt) + ?, 0) + 1 FROM attempts JOIN trials ON id = trial
			WHERE block = ?`, retries, block).Scan(&o.Attempt); err != nil {
			return err
		}
		left := `block = ? AND state IN ('planned', 'invalid') AND (SELECT count(*) FROM attempts a
			WHERE a.trial = trials.id AND a.state = 'invalid') <= ?` + s.unlacking("trials.id")
		got, err := tx.Exec(`INSERT INTO attempts (trial, attempt, state, started, host, pid, bench, boot)
			SELECT id, ?, 'running', ?, ?, ?, ?, ? FROM trials WHERE `+left, o.Attempt, now(), host, os.Getpid(), on.Name,
			on.Boot, block, retries)
		if err != nil {
			return err
		}
		if n, err := got.RowsAffected(); err != nil || n == 0 {
			return fail(ErrNoData, "block %d: no trial is left to be measured", block)
		}
		if _, err = tx.Exec("UPDATE trials SET state = 'running' WHERE "+left, block, retries); err != nil {
			return err
		}
		return noteWork(tx)
	})
}

// Orders lists the blocks that benches measure now.
func (s *Store) Orders() ([]Order, error) {
	if !s.benches {
		return nil, nil
	}
	rows, err := s.db.Query(`SELECT DISTINCT block, attempt, bench, boot FROM attempts a JOIN trials ON id = trial
		WHERE a.state = 'running' AND bench <> '' ORDER BY block`)
	if err != nil {
		return nil, s.word(err)
	}
	defer rows.Close()
	var all []Order
	for rows.Next() {
		var o Order
		if err := rows.Scan(&o.Block, &o.Attempt, &o.Bench.Name, &o.Bench.Boot); err != nil {
			return nil, s.word(err)
		}
		all = append(all, o)
	}
	return all, s.word(rows.Err())
}

// Withdraw records that an order was interrupted, and why: its block may be given
// away again. Of an order that is no longer under way it changes nothing.
func (s *Store) Withdraw(o Order, reason string) error {
	return s.change(func(tx *sql.Tx) error {
		const trials = "(SELECT id FROM trials WHERE block = ?)"
		got, err := tx.Exec(`UPDATE attempts SET state = 'interrupted', ended = ?, reason = ? WHERE state = 'running'
			AND attempt = ? AND bench = ? AND boot = ? AND trial IN `+trials, now(), reason, o.Attempt, o.Bench.Name,
			o.Bench.Boot, o.Block)
		if err != nil {
			return err
		}
		if n, err := got.RowsAffected(); err != nil || n == 0 {
			return err
		}
		// Note: an invalid attempt of an earlier order still shows in the trial's reason.
		_, err = tx.Exec("UPDATE trials SET state = 'planned' WHERE state = 'running' AND block = ?", o.Block)
		return err
	})
}

// Fate is what became of an order: Running, Valid once its results are kept,
// Interrupted, Superseded, or ErrNoData if it never was.
func (s *Store) Fate(o Order) (State, error) {
	rows, err := s.db.Query(`SELECT DISTINCT a.state FROM attempts a JOIN trials ON id = trial
		WHERE block = ? AND attempt = ? AND bench = ? AND boot = ?`, o.Block, o.Attempt, o.Bench.Name, o.Bench.Boot)
	if err != nil {
		return "", s.word(err)
	}
	defer rows.Close()
	seen := map[State]bool{}
	for rows.Next() {
		var state State
		if err := rows.Scan(&state); err != nil {
			return "", s.word(err)
		}
		seen[state] = true
	}
	if err := rows.Err(); err != nil {
		return "", s.word(err)
	}
	for _, state := range []State{Running, Superseded, Interrupted} {
		if seen[state] {
			return state, nil
		}
	}
	if seen[Valid] || seen[Invalid] {
		return Valid, nil
	}
	return "", fail(ErrNoData, "block %d: attempt %d was never given to bench %s", o.Block, o.Attempt, o.Bench.Name)
}
