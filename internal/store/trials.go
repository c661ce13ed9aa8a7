package store

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// A State says how far a trial is.
type State string

const (
	Planned State = "planned" // no attempt yet, or the last one was interrupted
	Running State = "running" // an attempt is under way
	Valid   State = "valid"   // measured; never run again
	Invalid State = "invalid" // the last attempt failed: TrialState.Reason
	// Interrupted is a state of attempts only: the lab ended in the middle of a trial.
	Interrupted State = "interrupted"
	// Lacking is a state of trials only: the bench of their block cannot run the treatment, and need not.
	Lacking State = "lacking"
	// Superseded is a state of attempts only: valid when measured, but its block had been given to another attempt.
	Superseded State = "superseded"
)

// A TrialState is a trial and what became of it so far.
type TrialState struct {
	PlannedTrial
	State    State
	Attempts int    // begun so far, interrupted ones included; how many, and no number of one
	Attempt  int    // number of the valid one, else of the last; 0: none began
	Refused  int    // attempts found invalid: what a bound on retries counts
	Reason   string // of the last invalid attempt; why it is lacking
	Log      string // that the reason refers to
}

// Trials lists all trials in plan order.
func (s *Store) Trials() ([]TrialState, error) { return s.trials("") }

// Pending lists, in plan order, the trials that are not yet valid.
func (s *Store) Pending() ([]TrialState, error) {
	return s.trials("WHERE t.state <> 'valid'" + s.unlacking("t.id"))
}

func (s *Store) trials(where string) ([]TrialState, error) {
	// Note: one correlated lookup a column would be slower than these two joins.
	rows, err := s.db.Query(`
		SELECT t.id, t.block, t.replication, t.treatment, t.state,
		       coalesce(c.attempts, 0), coalesce(c.valid, c.highest, 0), coalesce(c.refused, 0),
		       coalesce(l.reason, ''), coalesce(l.log, '')
		FROM trials t
		LEFT JOIN (SELECT trial, count(*) AS attempts, sum(state = 'invalid') AS refused,
		                  max(CASE state WHEN 'invalid' THEN attempt END) AS last,
		                  max(CASE state WHEN 'valid' THEN attempt END) AS valid, max(attempt) AS highest
		           FROM attempts GROUP BY trial) c ON c.trial = t.id
		LEFT JOIN attempts l ON l.trial = t.id AND l.attempt = c.last
		` + where + ` ORDER BY t.position`)
	if err != nil {
		return nil, s.word(err)
	}
	defer rows.Close()
	lacked, err := s.lacked()
	if err != nil {
		return nil, err
	}
	var all []TrialState
	known := map[string][]Level{} // trials of one treatment share it
	for rows.Next() {
		var t TrialState
		var treatment string
		if err := rows.Scan(&t.ID, &t.Block, &t.Replication, &treatment, &t.State, &t.Attempts, &t.Attempt, &t.Refused,
			&t.Reason, &t.Log); err != nil {
			return nil, s.word(err)
		}
		levels, ok := known[treatment]
		if !ok {
			if levels, err = decodeTreatment(treatment); err != nil {
				return nil, s.damaged("trial %d: %v", t.ID, err)
			}
			known[treatment] = slices.Clip(levels)
		}
		t.Treatment = levels
		if why, ok := lacked[t.ID]; ok {
			t.State, t.Reason, t.Log = Lacking, why, ""
		}
		all = append(all, t)
	}
	return all, s.word(rows.Err())
}

// damaged is a ledger that is a database, but holds what no lab wrote.
func (s *Store) damaged(format string, args ...any) error {
	return fail(ErrCorrupt, "%s/%s: %s; restore it from a copy, or run the study into a new directory", s.dir, ledgerFile,
		fmt.Sprintf(format, args...))
}

// AddTrials appends whole blocks to the plan, as adaptive stopping asks: csv is
// the new lines of plan.csv, without the header.
func (s *Store) AddTrials(csv []byte, trials []PlannedTrial) error {
	old, err := s.plan()
	if err != nil {
		return err
	}
	if err := checkTrials(Header{Plan: append(bytes.Clone(old), csv...)}); err != nil && !errors.Is(err, errCount) {
		return err
	}
	if n := bytes.Count(csv, []byte("\n")); n != len(trials) {
		return fmt.Errorf("%s: the plan has %d lines for %d new trials", s.dir, n, len(trials))
	}
	if err := s.change(func(tx *sql.Tx) error { return insertPlan(tx, csv, trials) }); err != nil {
		return err
	}
	return s.word(s.completePlanFile())
}

var errCount = errors.New("plan and trials differ in number")

// checkTrials refuses headers no plan makes: a bug of the caller, named here
// before it is on disk.
func checkTrials(h Header) error {
	if len(h.Plan) == 0 || h.Plan[len(h.Plan)-1] != '\n' {
		return errors.New("the plan is empty or lacks its last newline")
	}
	if n := bytes.Count(h.Plan, []byte("\n")) - 1; n != len(h.Trials) {
		return fmt.Errorf("%w: %d lines, %d trials", errCount, n, len(h.Trials))
	}
	return nil
}

func insertPlan(tx *sql.Tx, csv []byte, trials []PlannedTrial) error {
	if _, err := tx.Exec("INSERT INTO plan (added, csv) VALUES (?, ?)", now(), csv); err != nil {
		return err
	}
	insert, err := tx.Prepare(`INSERT INTO trials (id, position, block, replication, treatment, state)
		VALUES (?, (SELECT coalesce(max(position), 0) + 1 FROM trials), ?, ?, ?, 'planned')`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, t := range trials {
		if t.ID < 1 {
			return fmt.Errorf("trial %d: invalid id; ids start at 1", t.ID)
		}
		if _, err := insert.Exec(t.ID, t.Block, t.Replication, encodeTreatment(t.Treatment)); err != nil {
			return fmt.Errorf("trial %d: %w", t.ID, err)
		}
	}
	return nil
}

// FirstPlan is how many blocks were planned first, and whether blocks were added to them since, as by a larger number
// of replications.
func (s *Store) FirstPlan() (blocks int, grew bool, err error) {
	var first []byte
	if err := s.db.QueryRow("SELECT csv FROM plan ORDER BY part LIMIT 1").Scan(&first); err != nil {
		return 0, false, s.word(err)
	}
	var all int
	trials := bytes.Count(first, []byte("\n")) - 1 // one a line, below the heading
	err = s.db.QueryRow(`SELECT coalesce(max(CASE WHEN position <= ? THEN block END), 0), coalesce(max(block), 0)
		FROM trials`, trials).Scan(&blocks, &all)
	return blocks, all > blocks, s.word(err)
}

// plan joins the parts of the plan as the ledger has them.
func (s *Store) plan() ([]byte, error) {
	rows, err := s.db.Query("SELECT csv FROM plan ORDER BY part")
	if err != nil {
		return nil, s.word(err)
	}
	defer rows.Close()
	var all []byte
	for rows.Next() {
		var part []byte
		if err := rows.Scan(&part); err != nil {
			return nil, s.word(err)
		}
		all = append(all, part...)
	}
	return all, s.word(rows.Err())
}

// completePlanFile appends to plan.csv what the ledger has and it has not.
func (s *Store) completePlanFile() error {
	want, err := s.plan()
	if err != nil {
		return err
	}
	f, err := openOwn(s.path(planFile), os.O_APPEND)
	if err != nil {
		return err
	}
	defer f.Close()
	have, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	tail, ok := bytes.CutPrefix(want, have)
	if !ok {
		return s.edited(planFile)
	}
	if len(tail) == 0 {
		return nil
	}
	if _, err := f.Write(tail); err != nil {
		return err
	}
	return f.Sync()
}

// encodeTreatment writes {"factor":"level",…} in the order of the factors.
func encodeTreatment(levels []Level) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, l := range levels {
		if i > 0 {
			b.WriteByte(',')
		}
		factor, _ := json.Marshal(l.Factor) // strings always encode
		text, _ := json.Marshal(l.Text)
		b.Write(factor)
		b.WriteByte(':')
		b.Write(text)
	}
	b.WriteByte('}')
	return b.String()
}

// decodeTreatment keeps the order, which a Go map would lose.
func decodeTreatment(text string) ([]Level, error) {
	d := json.NewDecoder(strings.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("treatment %q is not a JSON object", text)
	}
	var levels []Level
	for d.More() {
		factor, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("treatment %q: %w", text, err)
		}
		level, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("treatment %q: %w", text, err)
		}
		name, ok := factor.(string)
		value, ok2 := level.(string)
		if !ok || !ok2 {
			return nil, fmt.Errorf("treatment %q: a level is not text", text)
		}
		levels = append(levels, Level{name, value})
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("treatment %q: %w", text, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("treatment %q goes on behind its object", text)
	}
	return levels, nil
}
