package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A Run is one time a lab opened the directory to run; of a study that has ended,
// only if it measured something after all. A study or facts that differ from the
// run before lie in a file of their own: study-2.yaml, facts-3.json.
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
	facts, err := factsFileOf(h.Facts)
	if err != nil {
		return Run{}, err
	}
	host, _ := os.Hostname()
	r := Run{Number: number, Started: time.Now().UTC(), Host: host, PID: os.Getpid(), Program: h.Program,
		Overrides: h.Overrides, StudyFile: numbered(studyFile, number), FactsFile: numbered(factsFile, number),
		study: h.Study, facts: facts}
	r.studyDigest, r.factsSum = digestOf(r.study), digestOf(r.facts)
	return r, nil
}

// numbered is the name of a file's nth version: study.yaml, study-2.yaml.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	ext := filepath.Ext(name)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
}

// isNumbered says whether a name is that of some version of a file.
func isNumbered(name, first string) bool {
	ext := filepath.Ext(first)
	digits, ok := strings.CutPrefix(strings.TrimSuffix(name, ext), strings.TrimSuffix(first, ext)+"-")
	n, err := strconv.Atoi(digits)
	return name == first || ok && err == nil && n > 1 && name == numbered(first, n)
}

// factsText is what facts.json holds.
type factsText struct {
	Format int             `json:"format"`
	Facts  json.RawMessage `json:"facts"`
}

// factsFileOf is the text of a file of facts; none are {}.
func factsFileOf(facts json.RawMessage) ([]byte, error) {
	if len(facts) == 0 {
		facts = json.RawMessage("{}")
	}
	text, err := json.MarshalIndent(factsText{Format, facts}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("facts are not JSON: %w", err)
	}
	return append(text, '\n'), nil
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
	_, err = tx.Exec("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", r.Number,
		r.Started.Format(time.RFC3339Nano), r.Host, r.PID, r.Program,
		r.StudyFile, r.studyDigest, string(overrides), r.FactsFile, r.factsSum)
	if err != nil {
		return err
	}
	return noteRun(tx, r.Number)
}

// recordRun adds this run, with files only for what differs from the last.
func (s *Store) recordRun(r Run) error {
	last, err := s.lastRun()
	if err != nil {
		return err
	}
	r.Number = last.Number + 1
	r.StudyFile, r.FactsFile = numbered(studyFile, r.Number), numbered(factsFile, r.Number)
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

// recordWaiting is recordRun for a run that found nothing left to measure, and measures now.
func (s *Store) recordWaiting() error {
	s.mu.Lock()
	r := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	if r == nil {
		return nil
	}
	return s.recordRun(*r)
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
		if err := rows.Scan(&r.Number, &started, &r.Host, &r.PID, &r.Program, &r.StudyFile, &r.studyDigest, &overrides,
			&r.FactsFile, &r.factsSum); err != nil {
			return nil, s.word(err)
		}
		if !isNumbered(r.StudyFile, studyFile) || !isNumbered(r.FactsFile, factsFile) {
			// A stranger's: what is read below this directory may be run or written elsewhere by that name.
			return nil, s.damaged("run %d has its study in %q and its facts in %q", r.Number, r.StudyFile, r.FactsFile)
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
		return nil, s.damaged("it has no run")
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
func (s *Store) Facts(r Run) (json.RawMessage, error) { return s.readFacts(r.FactsFile) }

func (s *Store) readFacts(name string) (json.RawMessage, error) {
	b, err := kernel.ReadFile(s.path(name), mostText)
	if err != nil {
		return nil, s.word(err)
	}
	var text factsText
	if err := json.Unmarshal(b, &text); err != nil {
		return nil, fail(ErrCorrupt, "%s: not JSON (%v); restore it from a copy", s.path(name), err)
	}
	return text.Facts, checkFormat(s.path(name), int64(text.Format), Format)
}

// Span is when the first valid attempt began and when the last ended; zero if there is none.
func (s *Store) Span() (began, ended time.Time, err error) {
	attempts, err := s.Attempts(0)
	for _, a := range attempts {
		if a.State != Valid {
			continue
		}
		if began.IsZero() || a.Began.Before(began) {
			began = a.Began
		}
		if a.Ended.After(ended) {
			ended = a.Ended
		}
	}
	return began, ended, err
}

// Took is how long all attempts took that ended. Of one that was interrupted nobody knows: the run after it
// notes when, however much later.
func (s *Store) Took() (time.Duration, error) {
	rows, err := s.db.Query("SELECT started, ended FROM attempts WHERE ended IS NOT NULL AND state <> 'interrupted'")
	if err != nil {
		return 0, s.word(err)
	}
	defer rows.Close()
	var total time.Duration
	for rows.Next() {
		var text [2]string
		if err := rows.Scan(&text[0], &text[1]); err != nil {
			return 0, s.word(err)
		}
		began, err1 := time.Parse(time.RFC3339Nano, text[0])
		ended, err2 := time.Parse(time.RFC3339Nano, text[1])
		if err1 != nil || err2 != nil {
			return 0, s.damaged("an attempt has no time")
		}
		total += ended.Sub(began)
	}
	return total, rows.Err()
}

// RunOf says, of every attempt of the lab itself, in which of the runs (an index of Runs) it began.
// What another bench measured ran in no process of the runs.
func (s *Store) RunOf(runs []Run) (map[AttemptID]int, error) {
	own := ""
	if s.benches {
		own = " WHERE bench = ''"
	}
	rows, err := s.db.Query("SELECT trial, attempt, started, host, pid FROM attempts" + own)
	if err != nil {
		return nil, s.word(err)
	}
	defer rows.Close()
	all := map[AttemptID]int{}
	for rows.Next() {
		var a AttemptID
		var text, host string
		var pid int
		if err := rows.Scan(&a.Trial, &a.Attempt, &text, &host, &pid); err != nil {
			return nil, s.word(err)
		}
		began, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return nil, s.damaged("trial %d: %v", a.Trial, err)
		}
		all[a] = runOf(runs, began, host, pid)
	}
	return all, s.word(rows.Err())
}

// runOf finds the run of a process; of several, the last that had begun. Note: the
// instant alone would not do, since a board's clock may step back between two runs.
func runOf(runs []Run, began time.Time, host string, pid int) int {
	found := -1
	for i, r := range runs {
		if r.Host == host && r.PID == pid && (found < 0 || !r.Started.After(began)) {
			found = i
		}
	}
	return max(0, found)
}
