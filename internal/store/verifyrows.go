package store

import (
	"bytes"
	"cmp"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"

	"edgegauge.example/edgegauge/internal/plural"
)

// runDigestsKey of the table meta has a digest of each run's row, with its overrides: JSON, run to digest. Ledgers of
// older labs lack it, and runs that an older lab has added.
const runDigestsKey = "run_digests"

// A querier is a ledger, or a transaction on one.
type querier interface {
	Query(query string, args ...any) (*sql.Rows, error)
	QueryRow(query string, args ...any) *sql.Row
}

// runDigests are those of the rows as they are now, and those that were noted when they were written. What was noted is
// read first: a lab may add a run meanwhile.
func runDigests(from querier) (now, noted map[int]string, err error) {
	now, noted = map[int]string{}, map[int]string{}
	var text string
	switch err := from.QueryRow("SELECT value FROM meta WHERE key = ?", runDigestsKey).Scan(&text); {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return nil, nil, err
	default:
		if err := json.Unmarshal([]byte(text), &noted); err != nil || noted == nil {
			noted = map[int]string{0: ""} // no run has this number: it was changed
		}
	}
	rows, err := from.Query("SELECT * FROM runs")
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var run, pid int
		var text [8]string
		if err := rows.Scan(&run, &text[0], &text[1], &pid, &text[2], &text[3], &text[4], &text[5], &text[6],
			&text[7]); err != nil {
			return nil, nil, err
		}
		all, err := json.Marshal([]any{run, pid, text})
		if err != nil {
			return nil, nil, err
		}
		now[run] = digestOf(all)
	}
	return now, noted, rows.Err()
}

// noteRun notes the digest of a run's row, which is written already.
func noteRun(tx *sql.Tx, run int) error {
	now, noted, err := runDigests(tx)
	if err != nil {
		return err
	}
	noted[run] = now[run]
	text, err := json.Marshal(noted)
	if err == nil {
		err = setMeta(tx, runDigestsKey, string(text))
	}
	return err
}

// checkRunRows compares the rows of runs with what was noted of them.
func (s *Store) checkRunRows(note func(error)) error {
	now, noted, err := runDigests(s.db)
	if err != nil {
		return s.word(err)
	}
	for _, run := range slices.Sorted(maps.Keys(noted)) {
		if sum, ok := now[run]; !ok || sum != noted[run] {
			note(fail(ErrEdited, "%s: what it says of run %d, such as the overrides, was changed since the lab wrote it; "+
				"restore the ledger from a copy", s.path(ledgerFile), run))
		}
	}
	return nil
}

// checkTrialRows compares trials with the plan, which has a file, too.
func (s *Store) checkTrialRows() error {
	for {
		plan, err := s.plan()
		if err != nil {
			return err
		}
		same, err := s.trialsAreOf(plan)
		if err != nil || same {
			return err
		}
		if again, err := s.plan(); err != nil || bytes.Equal(again, plan) { // else a lab has added to it meanwhile
			return cmp.Or(err, fail(ErrEdited, "%s: the trials are not those of the plan, in their blocks and order: they were "+
				"changed since the lab wrote them; restore the ledger from a copy", s.path(ledgerFile)))
		}
	}
}

// trialsAreOf says whether the trials are those of a plan. Of a text that is no plan of a study nobody can say.
func (s *Store) trialsAreOf(plan []byte) (bool, error) {
	lines := csv.NewReader(bytes.NewReader(plan))
	lines.FieldsPerRecord, lines.ReuseRecord = -1, true
	head, err := lines.Read()
	if err != nil || len(head) < 3 || !slices.Equal(head[:3], []string{"id", "block", "replication"}) {
		return true, nil
	}
	rows, err := s.db.Query("SELECT id, block, replication FROM trials ORDER BY position")
	if err != nil {
		return false, s.word(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, block, replication int
		if err := rows.Scan(&id, &block, &replication); err != nil {
			return false, s.word(err)
		}
		line, err := lines.Read()
		if err != nil || len(line) < 3 || line[0] != strconv.Itoa(id) || line[1] != strconv.Itoa(block) ||
			line[2] != strconv.Itoa(replication) {
			return false, nil
		}
	}
	_, err = lines.Read()
	return errors.Is(err, io.EOF), s.word(rows.Err())
}

// checkAttempts finds attempts that are gone: those of trials that are valid, and those of which there are files,
// figures or notes.
func (s *Store) checkAttempts() error {
	without := 0
	err := s.db.QueryRow(`SELECT count(*) FROM (
		SELECT id FROM trials WHERE state = 'valid' EXCEPT SELECT trial FROM attempts WHERE state = 'valid'
		UNION SELECT trial FROM (SELECT trial, attempt FROM results UNION SELECT trial, attempt FROM quality UNION
			SELECT trial, attempt FROM files EXCEPT SELECT trial, attempt FROM attempts))`).Scan(&without)
	if err != nil {
		return s.word(err)
	}
	if without == 0 {
		return s.checkStates()
	}
	return fail(ErrEdited, "%s: attempts of %s are missing, which were there when the lab wrote it; restore the ledger "+
		"from a copy", s.path(ledgerFile), plural.Count(without, "trial"))
}

// checkStates finds trials that are not valid and have a valid attempt.
func (s *Store) checkStates() error {
	others := 0
	err := s.db.QueryRow(`SELECT count(*) FROM trials JOIN attempts ON trial = id
		WHERE attempts.state = 'valid' AND trials.state <> 'valid'`).Scan(&others)
	if err != nil || others == 0 {
		return s.word(err)
	}
	return fail(ErrEdited, "%s: the state of %s was changed since the lab wrote it: an attempt is valid, and the trial "+
		"is not; restore the ledger from a copy", s.path(ledgerFile), plural.Count(others, "trial"))
}
