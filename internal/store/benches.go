package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"edgegauge.example/edgegauge/internal/lazy"
)

// A Bench is one of the benches that share a study: the devices, the link and the
// meters of one lab host. The zero Bench is the one bench of a study run alone.
type Bench struct {
	Name string // as the lab calls it
	Boot string // random, made each time its worker starts
}

// benchName is what a bench may be called, in 63 characters: its facts lie in a folder of that name.
var benchName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// takesBench refuses a name that is none, and a ledger older than benches.
func (s *Store) takesBench(on Bench) error {
	switch {
	case on == Bench{}:
		return nil
	case !s.benches:
		return s.olderThanBenches()
	}
	return checkBenchName(on.Name)
}

func checkBenchName(name string) error {
	if len(name) > 63 || !benchName().MatchString(name) {
		return fmt.Errorf("bench %.80q: write 1 to 63 letters, digits, - and _, the first a letter or a digit", name)
	}
	return nil
}

func (s *Store) olderThanBenches() error {
	return fail(ErrChanged, "%s: begun by an older edgegauge, which supported one bench only; run into a new "+
		"directory", s.dir)
}

// benchColumns are the columns of attempts that say where one ran.
func (s *Store) benchColumns() string {
	if !s.benches {
		return "'', ''"
	}
	return "bench, boot"
}

// AddBench keeps the facts of a bench (any JSON), in a file of their own where
// they differ from the last that it brought.
func (s *Store) AddBench(name string, facts json.RawMessage) error {
	if err := checkBenchName(name); err != nil {
		return err
	}
	if !s.benches {
		return s.olderThanBenches()
	}
	text, err := factsFileOf(facts)
	if err != nil {
		return fmt.Errorf("bench %s: %w", name, err)
	}
	digest := digestOf(text)
	return s.change(func(tx *sql.Tx) error {
		var number int
		var last string
		err := tx.QueryRow("SELECT number, facts_sha256 FROM benches WHERE bench = ? ORDER BY number DESC LIMIT 1", name).
			Scan(&number, &last)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if last == digest {
			return nil
		}
		number++
		if err := s.makeBenchFolder(name); err != nil {
			return err
		}
		if err := replaceFile(s.path(benchFactsFile(name, number)), text); err != nil {
			return err
		}
		_, err = tx.Exec("INSERT INTO benches VALUES (?, ?, ?, ?)", name, number, now(), digest)
		return err
	})
}

// benchFactsFile is benches/NAME/facts.json, and benches/NAME/facts-2.json for the second.
func benchFactsFile(bench string, number int) string {
	return filepath.Join(benchesDir, bench, numbered(factsFile, number))
}

// makeBenchFolder makes the folder of a bench, durably.
func (s *Store) makeBenchFolder(name string) error {
	for _, parts := range [][]string{{benchesDir}, {benchesDir, name}} {
		path := s.path(parts...)
		if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if st, err := os.Lstat(path); err != nil || !st.IsDir() {
			return errors.Join(err, leadsElsewhere(path))
		}
		if err := syncDir(filepath.Dir(path)); err != nil {
			return err
		}
	}
	return nil
}

// A factsRecord is a file of a bench's facts, as the ledger has it.
type factsRecord struct{ bench, file, digest string }

// benchFacts lists all, each bench's oldest first.
func (s *Store) benchFacts() ([]factsRecord, error) {
	if !s.benches {
		return nil, nil
	}
	rows, err := s.db.Query("SELECT bench, number, facts_sha256 FROM benches ORDER BY bench, number")
	if err != nil {
		return nil, s.word(err)
	}
	defer rows.Close()
	var all []factsRecord
	for rows.Next() {
		var r factsRecord
		var number int
		if err := rows.Scan(&r.bench, &number, &r.digest); err != nil {
			return nil, s.word(err)
		}
		if err := checkBenchName(r.bench); err != nil {
			return nil, s.damaged("%v", err)
		}
		r.file = benchFactsFile(r.bench, number)
		all = append(all, r)
	}
	return all, s.word(rows.Err())
}

// BenchFacts returns the facts that each bench brought last.
func (s *Store) BenchFacts() (map[string]json.RawMessage, error) {
	records, err := s.benchFacts()
	if err != nil {
		return nil, err
	}
	last := map[string]string{}
	for _, r := range records {
		last[r.bench] = r.file
	}
	all := map[string]json.RawMessage{}
	for name, file := range last {
		if all[name], err = s.readFacts(file); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// BenchFactsSeen returns all the facts that a bench ever brought, by bench, the oldest first.
func (s *Store) BenchFactsSeen() (map[string][]json.RawMessage, error) {
	records, err := s.benchFacts()
	if err != nil {
		return nil, err
	}
	all := map[string][]json.RawMessage{}
	for _, r := range records {
		facts, err := s.readFacts(r.file)
		if err != nil {
			return nil, err
		}
		all[r.bench] = append(all[r.bench], facts)
	}
	return all, nil
}

// checkBenches compares the facts of benches with what they brought.
func (s *Store) checkBenches(note func(error)) error {
	records, err := s.benchFacts()
	for _, r := range records {
		note(s.checkFile(r.file, r.digest, -1))
	}
	return err
}
