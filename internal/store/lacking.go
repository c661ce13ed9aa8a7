package store

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// lackingTable is only in ledgers of studies whose benches need not run every treatment
// (Header.Incomplete): programs from before it refuse those alone.
const lackingTable = "CREATE TABLE lacking (trial INTEGER PRIMARY KEY REFERENCES trials, bench TEXT NOT NULL, " +
	"reason TEXT NOT NULL) STRICT"

// unlacking restricts a query of trials to those that their bench can run.
func (s *Store) unlacking(id string) string {
	if !s.incomplete {
		return ""
	}
	return " AND " + id + " NOT IN (SELECT trial FROM lacking)"
}

// Lack records in a bench's own results that it cannot run a trial's treatment, and why.
func (s *Store) Lack(trial int, reason string) error {
	if !s.incomplete {
		return fmt.Errorf("trial %d: the study wants every treatment of every bench", trial)
	}
	return s.change(func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO lacking VALUES (?, '', ?)", trial, reason)
		return err
	})
}

// lacked lists the reasons why benches cannot run trials, by trial.
func (s *Store) lacked() (map[int]string, error) {
	if !s.incomplete {
		return nil, nil
	}
	rows, err := s.db.Query("SELECT trial, reason FROM lacking")
	if err != nil {
		return nil, s.word(err)
	}
	defer rows.Close()
	all := map[int]string{}
	for rows.Next() {
		var trial int
		var reason string
		if err := rows.Scan(&trial, &reason); err != nil {
			return nil, s.word(err)
		}
		all[trial] = reason
	}
	return all, s.word(rows.Err())
}

// checkLacking finds trials that are said to be lacking and were attempted.
func (s *Store) checkLacking(note func(error)) error {
	if !s.incomplete {
		return nil
	}
	n := 0
	err := s.db.QueryRow("SELECT count(*) FROM lacking JOIN attempts USING (trial) WHERE state = 'valid'").Scan(&n)
	if n > 0 {
		note(fail(ErrEdited, "%s: of %d trials it says both that they are valid and that their bench cannot run them; restore "+
			"the ledger from a copy", s.path(ledgerFile), n))
	}
	return s.word(err)
}

// insertLacking takes a bench's word that it cannot run trials of an order: they were never
// attempted.
func insertLacking(tx *sql.Tx, o Order, lacks map[int]string) error {
	var errs []error
	for _, trial := range slices.Sorted(maps.Keys(lacks)) {
		_, err := tx.Exec("DELETE FROM attempts WHERE trial = ? AND attempt = ? AND bench = ? AND boot = ?", trial, o.Attempt,
			o.Bench.Name, o.Bench.Boot)
		if err == nil {
			_, err = tx.Exec("UPDATE trials SET state = 'planned' WHERE id = ?", trial)
		}
		if err == nil {
			_, err = tx.Exec("INSERT INTO lacking VALUES (?, ?, ?)", trial, o.Bench.Name, lacks[trial])
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
