package store

import (
	"errors"
	"io"
	"time"

	"github.com/parquet-go/parquet-go"

	"edgegauge.example/edgegauge/internal/measure"
)

// An AttemptState is an attempt, where it ran and what became of it.
type AttemptState struct {
	AttemptID
	Bench       Bench
	State       State
	Began       time.Time
	Ended       time.Time // zero: it has not
	Reason, Log string    // of one that does not count
}

// Attempts lists those of one trial, or of all where trial is 0, in the order they began.
func (s *Store) Attempts(trial int) ([]AttemptState, error) {
	rows, err := s.db.Query("SELECT trial, attempt, "+s.benchColumns()+`, state, started, coalesce(ended, ''),
		coalesce(reason, ''), coalesce(log, '') FROM attempts
		WHERE trial = ?1 OR ?1 = 0 ORDER BY started, trial, attempt`, trial)
	if err != nil {
		return nil, s.word(err)
	}
	defer rows.Close()
	var all []AttemptState
	for rows.Next() {
		var a AttemptState
		var began, ended string
		if err := rows.Scan(&a.Trial, &a.Attempt, &a.Bench.Name, &a.Bench.Boot, &a.State, &began, &ended, &a.Reason,
			&a.Log); err != nil {
			return nil, s.word(err)
		}
		if a.Began, err = time.Parse(time.RFC3339Nano, began); err == nil && ended != "" {
			a.Ended, err = time.Parse(time.RFC3339Nano, ended)
		}
		if err != nil {
			return nil, s.damaged("trial %d, attempt %d: %v", a.Trial, a.Attempt, err)
		}
		all = append(all, a)
	}
	return all, s.word(rows.Err())
}

// Captures lists the capture files of a trial's valid attempt, as paths in the directory.
func (s *Store) Captures(trial int) ([]string, error) {
	rows, err := s.db.Query(`SELECT path FROM files f JOIN attempts a USING (trial, attempt)
		WHERE trial = ? AND kind = 'packets' AND a.state = 'valid' ORDER BY path`, trial)
	if err != nil {
		return nil, s.word(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var path string
		if err := rows.Scan(&path); err != nil {
			return nil, s.word(err)
		}
		all = append(all, path)
	}
	return all, s.word(rows.Err())
}

// Exchange returns one side's record of a request, by its seq, from a trial's valid
// attempt. ErrNoData: there is none.
func (s *Store) Exchange(trial int, side measure.Side, seq uint64) (measure.Exchange, error) {
	f, err := s.openRaw("exchanges", trial, Source{Side: side})
	if err != nil {
		return measure.Exchange{}, err
	}
	defer f.Close()
	if x, err := f.exchangeAt(int64(seq) - 1); err == nil && x.Seq == seq { // where records are in order
		return x, nil
	}
	row, found := int64(0), int64(-1)
	err = f.pages("seq", func(p parquet.Page) {
		data := p.Data()
		for _, v := range data.Int64() {
			if uint64(v) == seq {
				found = row
			}
			row++
		}
	})
	switch {
	case err != nil:
		return measure.Exchange{}, err
	case found < 0:
		return measure.Exchange{}, fail(ErrNoData, "trial %d: no request %d at the %s", trial, seq, side)
	}
	return f.exchangeAt(found)
}

// exchangeAt reads the row of that number, from 0, and not those before it.
func (r *rawFile) exchangeAt(row int64) (x measure.Exchange, err error) {
	defer refuse(r.name, &err)
	if row < 0 || row >= r.NumRows() {
		return x, fail(ErrNoData, "%s: no row %d", r.name, row)
	}
	set, err := r.setters()
	if err != nil {
		return x, err
	}
	reader := parquet.NewReader(r.File)
	defer reader.Close()
	if err := reader.SeekToRow(row); err != nil {
		return x, r.unreadable(err)
	}
	rows := make([]parquet.Row, 1)
	if n, err := reader.ReadRows(rows); n != 1 {
		return x, r.unreadable(errors.Join(err, io.ErrUnexpectedEOF))
	}
	for _, v := range rows[0] {
		if c := v.Column(); c >= 0 && c < len(set) && set[c] != nil && !v.IsNull() {
			set[c](&x, v)
		}
	}
	return x, nil
}

// Rows is how many records and readings the raw files of valid attempts hold.
func (s *Store) Rows() (int64, error) {
	var n int64
	err := s.db.QueryRow(`SELECT coalesce(sum("rows"), 0) FROM files JOIN attempts a USING (trial, attempt)
		WHERE a.state = 'valid'`).Scan(&n)
	return n, s.word(err)
}
