package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A Run is one time a lab opened the directory to run. A study or facts that
// differ from the run before lie in a file of their own: study-2.yaml,
// facts-3.json.
type Run struct {
	Number                int
	Started               time.Time
	Host                  string
	PID                   int
	Program               string
	Overrides             []string
	StudyFile, FactsFile  string
	studyDigest, factsSum string
	study, facts          []byte // of a run about to be recorded
}

func newRun(number int, h Header) (Run, error) {
	facts := h.Facts
	if len(facts) == 0 {
		facts = json.RawMessage("{}")
	}
	text, err := json.MarshalIndent(factsText{Format, facts}, "", "  ")
	if err != nil {
		return Run{}, fmt.Errorf("facts are not JSON: %w", err)
	}
	host, _ := os.Hostname()
	r := Run{Number: number, Started: time.Now().UTC(), Host: host, PID: os.Getpid(), Program: h.Program,
		Overrides: h.Overrides, StudyFile: studyFile, FactsFile: factsFile, study: h.Study, facts: append(text, '\n')}
	if number > 1 {
		r.StudyFile = fmt.Sprintf("study-%d.yaml", number)
		r.FactsFile = fmt.Sprintf("facts-%d.json", number)
	}
	r.studyDigest, r.factsSum = digestOf(r.study), digestOf(r.facts)
	return r, nil
}

// factsText is what facts.json holds.
type factsText struct {
	Format int             `json:"format"`
	Facts  json.RawMessage `json:"facts"`
}

// write puts the run's own files into dir, before the ledger names them.
func (r Run) write(dir string) error {
	if r.study != nil {
		if err := replaceFile(filepath.Join(dir, r.StudyFile), r.study); err != nil {
			return err
		}
	}
	if r.facts != nil {
		return replaceFile(filepath.Join(dir, r.FactsFile), r.facts)
	}
	return nil
}

func (r Run) record(tx *sql.Tx) error {
	overrides, err := json.Marshal(r.Overrides)
	if err != nil {
		return err
	}
	_, err = tx.Exec("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", r.Number, r.Started.Format(time.RFC3339Nano), r.Host, r.PID, r.Program,
		r.StudyFile, r.studyDigest, string(overrides), r.FactsFile, r.factsSum)
	return err
}

// recordRun adds this run, with files only for what differs from the last.
func (s *Store) recordRun(h Header) error {
	last, err := s.lastRun()
	if err != nil {
		return err
	}
	r, err := newRun(last.Number+1, h)
	if err != nil {
		return err
	}
	if r.studyDigest == last.studyDigest {
		r.StudyFile, r.study = last.StudyFile, nil
	}
	if r.factsSum == last.factsSum {
		r.FactsFile, r.facts = last.FactsFile, nil
	}
	if err := r.write(s.dir); err != nil {
		return err
	}
	return s.change(r.record)
}

// Runs lists all runs, oldest first; there is at least one.
func (s *Store) Runs() ([]Run, error) {
	rows, err := s.db.Query("SELECT * FROM runs ORDER BY run")
	if err != nil {
		return nil, s.word(err)
	}
	defer rows.Close()
	var all []Run
	for rows.Next() {
		var r Run
		var started, overrides string
		if err := rows.Scan(&r.Number, &started, &r.Host, &r.PID, &r.Program, &r.StudyFile, &r.studyDigest, &overrides, &r.FactsFile, &r.factsSum); err != nil {
			return nil, s.word(err)
		}
		if r.Started, err = time.Parse(time.RFC3339Nano, started); err != nil {
			return nil, s.damaged("run %d: %v", r.Number, err)
		}
		if err := json.Unmarshal([]byte(overrides), &r.Overrides); err != nil {
			return nil, s.damaged("run %d: overrides: %v", r.Number, err)
		}
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		return nil, s.word(err)
	}
	if len(all) == 0 {
		return nil, s.damaged("it records no run")
	}
	return all, nil
}

func (s *Store) lastRun() (Run, error) {
	all, err := s.Runs()
	if err != nil {
		return Run{}, err
	}
	return all[len(all)-1], nil
}

// Facts returns the facts a run found, as the lab gave them.
func (s *Store) Facts(r Run) (json.RawMessage, error) {
	b, err := os.ReadFile(s.path(r.FactsFile))
	if err != nil {
		return nil, s.word(err)
	}
	var text factsText
	if err := json.Unmarshal(b, &text); err != nil {
		return nil, fail(ErrCorrupt, "%s: not JSON (%v); restore it from a copy", s.path(r.FactsFile), err)
	}
	return text.Facts, checkFormat(s.path(r.FactsFile), int64(text.Format))
}
