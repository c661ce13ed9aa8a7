package store

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
)

// A Result is one response variable of one side in one trial. A figure that
// does not exist (the sd of one value) is NaN.
type Result struct {
	Side                            measure.Side
	Response, Unit                  string // a name of measure.Responses; SI, B or 1
	N                               int64
	Mean, SD, Median, P95, Min, Max float64
	Method                          Method
}

// A Quality is a figure by which a trial is found valid or not.
type Quality struct {
	Key, Unit string
	Value     float64
}

// FailuresRefused is the key of an attempt that was found invalid since so many requests failed: the trials that count
// are those in which fewer did.
const FailuresRefused = "failures_refused"

// A Row is a Result with the trial it belongs to: a row of the trial table.
type Row struct {
	PlannedTrial
	Attempt int
	Bench   string // that it ran on; empty: the one bench of a study run alone
	Result
}

// Results iterates the trial table: valid attempts, in plan order.
func (s *Store) Results() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		trials, err := s.trialsByID()
		if err != nil {
			yield(Row{}, err)
			return
		}
		rows, err := s.db.Query(`SELECT r.trial, r.attempt, r.side, r.response, r.unit, r.n, r.mean, r.sd, r.median, r.p95,
			r.min, r.max, r.method, ` + s.benchColumns() + `
			FROM results r JOIN attempts a USING (trial, attempt) JOIN trials t ON t.id = r.trial
			WHERE a.state = 'valid' ORDER BY t.position, r.side, r.response, r.method`)
		if err != nil {
			yield(Row{}, s.word(err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var trial int
			var row Row
			var boot string
			r := &row.Result
			err := rows.Scan(&trial, &row.Attempt, &r.Side, &r.Response, &r.Unit, &r.N, (*real)(&r.Mean), (*real)(&r.SD),
				(*real)(&r.Median), (*real)(&r.P95), (*real)(&r.Min), (*real)(&r.Max), &r.Method,
				&row.Bench, &boot)
			row.PlannedTrial = trials[trial]
			if !yield(row, s.word(err)) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Row{}, s.word(err))
		}
	}
}

func (s *Store) trialsByID() (map[int]PlannedTrial, error) {
	all, err := s.Trials()
	if err != nil {
		return nil, err
	}
	byID := make(map[int]PlannedTrial, len(all))
	for _, t := range all {
		byID[t.ID] = t.PlannedTrial
	}
	return byID, nil
}

// An AttemptID names an attempt of a trial.
type AttemptID struct{ Trial, Attempt int }

// Qualities lists what was noted of all attempts, by attempt: one query instead
// of one for each trial. Keys say what is wanted; none: all.
func (s *Store) Qualities(keys ...string) (map[AttemptID][]Quality, error) {
	which, wanted := "", make([]any, len(keys))
	for i, k := range keys {
		wanted[i] = k
	}
	if len(keys) > 0 {
		which = " WHERE key IN (?" + strings.Repeat(", ?", len(keys)-1) + ")"
	}
	rows, err := s.db.Query("SELECT trial, attempt, key, unit, value FROM quality"+which+
		" ORDER BY trial, attempt, key", wanted...)
	if err != nil {
		return nil, s.word(err)
	}
	defer rows.Close()
	all := map[AttemptID][]Quality{}
	for rows.Next() {
		var a AttemptID
		var q Quality
		if err := rows.Scan(&a.Trial, &a.Attempt, &q.Key, &q.Unit, (*real)(&q.Value)); err != nil {
			return nil, s.word(err)
		}
		all[a] = append(all[a], q)
	}
	return all, s.word(rows.Err())
}

// Quality lists what was noted of a trial's attempt.
func (s *Store) Quality(trial, attempt int) ([]Quality, error) {
	rows, err := s.db.Query("SELECT key, unit, value FROM quality WHERE trial = ? AND attempt = ? ORDER BY key",
		trial, attempt)
	if err != nil {
		return nil, s.word(err)
	}
	defer rows.Close()
	var all []Quality
	for rows.Next() {
		var q Quality
		if err := rows.Scan(&q.Key, &q.Unit, (*real)(&q.Value)); err != nil {
			return nil, s.word(err)
		}
		all = append(all, q)
	}
	return all, s.word(rows.Err())
}

// real reads NULL as NaN.
type real float64

func (r *real) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*r = real(math.NaN())
	case float64:
		*r = real(v)
	case int64:
		*r = real(v)
	default:
		return fmt.Errorf("%v is not a number", v)
	}
	return nil
}

func orNull(v float64) any {
	if math.IsNaN(v) {
		return nil
	}
	return v
}

// checkResults refuses what would look like a figure and is not one.
func (s *Store) checkResults(trial int, results []Result) error {
	for _, r := range results {
		what := fmt.Sprintf("trial %d: %s %s", trial, r.Side, r.Response)
		if r.Response == "" || r.Unit == "" || !r.Method.known() {
			return fmt.Errorf("%s: needs a response, a unit and a method, got %q, %q, %q", what, r.Response, r.Unit, r.Method)
		}
		for _, v := range r.figures() {
			if math.IsInf(v, 0) {
				return fmt.Errorf("%s: infinite", what)
			}
		}
	}
	return nil
}

func (r Result) figures() []float64 {
	return []float64{r.Mean, r.SD, r.Median, r.P95, r.Min, r.Max}
}

// insertResults prepares each statement once: to parse it takes longer than to insert the row.
func insertResults(tx *sql.Tx, trial, attempt int, results []Result, quality []Quality) error {
	result, err := tx.Prepare("INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer result.Close()
	for _, r := range results {
		if _, err := result.Exec(trial, attempt, string(r.Side), r.Response, r.Unit, r.N, orNull(r.Mean), orNull(r.SD),
			orNull(r.Median), orNull(r.P95), orNull(r.Min), orNull(r.Max), string(r.Method)); err != nil {
			return fmt.Errorf("trial %d: %s %s: %w", trial, r.Side, r.Response, err)
		}
	}
	noted, err := tx.Prepare("INSERT INTO quality VALUES (?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer noted.Close()
	for _, q := range quality {
		if _, err := noted.Exec(trial, attempt, q.Key, orNull(q.Value), q.Unit); err != nil {
			return fmt.Errorf("trial %d: quality %s: %w", trial, q.Key, err)
		}
	}
	return nil
}

// digestRows is the checksum of an attempt: its verdict, its trial's treatment
// as the ledger has it, its bench, and its rows in any order. By it Verify finds a ledger
// edited by hand. Of a ledger with an origin, it is that of this attempt of these results alone.
func digestRows(origin string, id AttemptID, state State, treatment string, on Bench, results []Result,
	quality []Quality) string {
	lines := []string{"attempt\t" + string(state) + "\t" + treatment}
	if origin != "" {
		lines = append(lines, fmt.Sprintf("of\t%q\t%d\t%d", origin, id.Trial, id.Attempt))
	}
	if on != (Bench{}) {
		lines = append(lines, fmt.Sprintf("bench\t%q\t%q", on.Name, on.Boot))
	}
	for _, r := range results {
		line := fmt.Sprintf("result\t%q\t%q\t%q\t%q\t%d", r.Side, r.Response, r.Unit, r.Method, r.N)
		for _, v := range r.figures() {
			line += fmt.Sprintf("\t%x", bits(v))
		}
		lines = append(lines, line)
	}
	for _, q := range quality {
		lines = append(lines, fmt.Sprintf("quality\t%q\t%q\t%x", q.Key, q.Unit, bits(q.Value)))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])
}

// bits makes all NaNs, and both zeros, equal: SQLite keeps neither apart.
func bits(v float64) uint64 {
	switch {
	case math.IsNaN(v):
		return math.MaxUint64
	case v == 0:
		return 0
	}
	return math.Float64bits(v)
}
