package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"edgegauge.example/edgegauge/internal/kernel"
)

// edited is the error for a file that is not what the lab wrote.
func (s *Store) edited(name string) error {
	return fail(ErrEdited,
		"%s: changed since the lab wrote it; restore it from a copy, or run the study into a new directory",
		filepath.Join(s.dir, name))
}

// checkFile compares a file with the checksum and the size that the ledger has; size -1: it has none, of a text.
func (s *Store) checkFile(name, want string, size int64) error {
	got, err := checksum(s.path(name), size, s.until)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail(ErrMissing, "%s: missing; restore it from a copy, or run the study into a new directory",
			filepath.Join(s.dir, name))
	case err != nil:
		return s.unread(name, err)
	case got != want:
		return s.edited(name)
	}
	return nil
}

// checkFileOnce is checkFile, remembered: reading six columns hashes once.
func (s *Store) checkFileOnce(name, want string, size int64) error {
	s.mu.Lock()
	done := s.verified[name]
	s.mu.Unlock()
	if done {
		return nil
	}
	return s.checkAndRemember(name, want, size)
}

func (s *Store) checkAndRemember(name, want string, size int64) error {
	err := s.checkFile(name, want, size)
	s.mu.Lock()
	s.verified[name] = err == nil
	s.mu.Unlock()
	return err
}

// checkRuns compares studies and facts with what the lab was given.
func (s *Store) checkRuns(note func(error)) error {
	runs, err := s.Runs()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, r := range runs {
		for name, want := range map[string]string{r.StudyFile: r.studyDigest, r.FactsFile: r.factsSum} {
			if !seen[name] {
				note(s.checkFile(name, want, -1))
			}
			seen[name] = true
		}
	}
	return nil
}

// Verify compares everything a report rests on with what the lab wrote: the
// study, the plan, the facts, every raw file, and the ledger's own rows. It
// returns all it finds; nothing means the results are whole and unedited.
func (s *Store) Verify() []error {
	var found []error
	note := func(err error) {
		if err != nil {
			found = append(found, err)
		}
	}
	note(s.checkRuns(note))
	note(s.checkBenches(note))
	note(s.checkPlan())
	note(s.checkRaw(note))
	note(s.checkLedgerRows(note))
	for _, kind := range kinds {
		note(s.checkStrangers(kind, note))
	}
	note(s.checkOwnTexts(note))
	s.checkBeside(note)
	return found
}

// checkLedgerRows compares the ledger's own rows: first what tells which are not as the lab wrote them, then the seal,
// which finds the rest.
func (s *Store) checkLedgerRows(note func(error)) error {
	found := false
	look := func(err error) {
		found = found || err != nil
		note(err)
	}
	look(s.checkRunRows(look))
	look(s.checkTrialRows())
	look(s.checkAttempts())
	look(s.checkRows(look))
	look(s.checkLacking(look))
	if found {
		return nil
	}
	return s.checkSeal()
}

// mostSaid is how much of what is wrong with results one error says.
const mostSaid = 3

// few says what checks find, of much the first.
func few(checks ...func(note func(error)) error) error {
	var found []error
	note := func(err error) {
		if err != nil {
			found = append(found, err)
		}
	}
	for _, check := range checks {
		note(check(note))
	}
	if more := len(found) - mostSaid; more > 0 {
		found = append(found[:mostSaid], fmt.Errorf("and %d more, which edgegauge report lists", more))
	}
	return errors.Join(found...)
}

func (s *Store) checkPlan() error {
	want, err := s.plan()
	if err != nil {
		return err
	}
	err = s.checkFile(planFile, digestOf(want), int64(len(want)))
	if errors.Is(err, ErrEdited) && s.planLags() {
		return nil
	}
	return err
}

// planLags says whether plan.csv lacks no more than the end of what a lab has added to the plan: it appends to the
// file when the ledger has it, and one that was killed between does so when it is resumed.
func (s *Store) planLags() bool {
	have, err := kernel.ReadFile(s.path(planFile), mostText)
	var first []byte
	err2 := s.db.QueryRow("SELECT csv FROM plan ORDER BY part LIMIT 1").Scan(&first)
	want, err3 := s.plan() // after the file: it may have grown meanwhile
	ending, err4 := s.Ending()
	return errors.Join(err, err2, err3, err4) == nil && ending == nil && len(have) >= len(first) &&
		bytes.HasPrefix(want, have)
}

// checkRaw compares raw files, on all CPUs. Those that a copy leaves out are not missed.
func (s *Store) checkRaw(note func(error)) error {
	leftOut, err := s.LeftOut()
	if err != nil {
		return err
	}
	rows, err := s.db.Query("SELECT path, sha256, bytes FROM files ORDER BY path")
	if err != nil {
		return s.word(err)
	}
	defer rows.Close()
	const some = 1024 // a stranger's ledger may name millions
	files := make([]checked, 0, some)
	check := func() {
		s.checkFiles(files)
		for _, f := range files {
			if !(errors.Is(f.err, ErrMissing) && within(leftOut, f.name)) {
				note(f.err)
			}
		}
		files = files[:0]
	}
	for rows.Next() {
		var f checked
		if err := rows.Scan(&f.name, &f.want, &f.size); err != nil {
			return s.word(err)
		}
		if files = append(files, f); len(files) == some {
			check()
		}
	}
	check()
	return s.word(rows.Err())
}

// A checked file has a checksum and a size that it should have, and what is wrong with it.
type checked struct {
	name, want string
	size       int64
	err        error
}

func (s *Store) checkFiles(files []checked) {
	var group sync.WaitGroup
	next := make(chan *checked)
	for range min(len(files), runtime.NumCPU()) {
		group.Go(func() {
			for f := range next {
				f.err = s.checkAndRemember(f.name, f.want, f.size)
			}
		})
	}
	for i := range files {
		next <- &files[i]
	}
	close(next)
	group.Wait()
}

// checkRows recomputes the digest of every concluded attempt's rows.
func (s *Store) checkRows(note func(error)) error {
	results := map[int][]Result{}
	for row, err := range s.Results() {
		if err != nil {
			return err
		}
		results[row.ID] = append(results[row.ID], row.Result)
	}
	noted, err := s.Qualities()
	if err != nil {
		return err
	}
	rows, err := s.db.Query(`SELECT trial, attempt, t.treatment, a.state, digest, ` + s.benchColumns() + `
		FROM attempts a JOIN trials t ON t.id = trial
		WHERE digest IS NOT NULL OR a.state IN ('valid', 'invalid', 'superseded') ORDER BY trial, attempt`)
	if err != nil {
		return s.word(err)
	}
	defer rows.Close()
	var edited []AttemptID
	for rows.Next() {
		var trial, attempt int
		var treatment string
		var state State
		var want *string
		var on Bench
		if err := rows.Scan(&trial, &attempt, &treatment, &state, &want, &on.Name, &on.Boot); err != nil {
			return s.word(err)
		}
		id := AttemptID{trial, attempt}
		quality := noted[id]
		own := results[trial]
		if state != Valid {
			own = nil
		}
		if want == nil || digestRows(s.origin, id, state, treatment, on, own, quality) != *want {
			edited = append(edited, id)
		}
	}
	note(s.editedRows(edited))
	return s.word(rows.Err())
}

// editedRows says once that rows of attempts, in order, were changed.
func (s *Store) editedRows(all []AttemptID) error {
	if len(all) == 0 {
		return nil
	}
	whose := fmt.Sprintf("trial %d, attempt %d,", all[0].Trial, all[0].Attempt)
	if n := len(slices.CompactFunc(slices.Clone(all), func(a, b AttemptID) bool { return a.Trial == b.Trial })); n > 1 {
		whose = fmt.Sprintf("%d trials, the first of them %s", n, whose)
	}
	return fail(ErrEdited, "%s: the rows of %s were changed since the lab wrote them; restore the ledger from a copy",
		s.path(ledgerFile), whose)
}

// checkStrangers finds raw files the ledger does not know: whoever reads
// exchanges/*.parquet would read them too. Those of a running attempt are on
// their way into the ledger, or set aside by the next Open.
func (s *Store) checkStrangers(kind string, note func(error)) error {
	entries, err := os.ReadDir(s.path(kind)) // before the ledger: a file appears first here
	if errors.Is(err, fs.ErrNotExist) {
		return nil // archives keep no empty folder; of one that was not, checkRaw misses each file
	}
	if err != nil {
		return s.unread(kind, err)
	}
	known, err := s.names("SELECT path FROM files")
	if err != nil {
		return s.word(err)
	}
	running, err := s.names("SELECT printf('%04d-%d', trial, attempt) FROM attempts WHERE state = 'running'")
	if err != nil {
		return s.word(err)
	}
	for _, e := range entries {
		name := filepath.Join(kind, e.Name())
		own := ourName().FindStringSubmatch(e.Name())
		if known[name] || filepath.Ext(name) == partialSuffix || own != nil && running[own[1]+"-"+own[2]] {
			continue
		}
		note(fail(ErrEdited, "%s: not written by this run; move it elsewhere, or tools that read the folder will include it",
			s.path(name)))
	}
	return nil
}

// names collects a query's one column.
func (s *Store) names(query string) (map[string]bool, error) {
	rows, err := s.db.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		all[name] = true
	}
	return all, rows.Err()
}
