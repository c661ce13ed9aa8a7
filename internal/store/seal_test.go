package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// eventful are results with everything that a ledger may hold, closed: valid, invalid, interrupted and running
// attempts, two runs, facts of a bench, what one lacks, and files beside. Those of other trials differ in all of it.
func eventful(t *testing.T, study string, trials int) string {
	t.Helper()
	h := header(trials)
	h.Study = append([]byte("# "+study+"\n"), h.Study...)
	h.Incomplete = true
	own, noted := slices.Clone(results), []Quality{{"drops", "packets", float64(trials)}}
	for i := range own {
		own[i].Mean += float64(trials)
	}
	s := must[*Store](t)(Create(filepath.Join(t.TempDir(), study), h))
	first := write(t, s, 1, 3*trials)
	ok(t, first.Keep("ready.json", []byte("{}")))
	ok(t, first.Commit(own, noted))
	ok(t, must[*Attempt](t)(s.Begin(2)).Invalidate("it rained", "trials/0002/x.log", noted))
	ok(t, write(t, s, 2, 2*trials).Commit(own, noted))
	must[*Attempt](t)(s.Begin(3))
	ok(t, s.Close())
	h.Facts, h.Overrides = []byte(`{"kernel": "6.2"}`), []string{"retries=3"}
	s = must[*Store](t)(Open(s.Dir(), h))
	ok(t, s.AddBench("a", fmt.Appendf(nil, `{"board": %d}`, trials)))
	ok(t, write(t, s, 3, trials).Commit(own, noted))
	ok(t, s.Lack(trials, "no such stack"))
	ok(t, s.End(""))
	for _, name := range besides {
		ok(t, PutBeside(s.Dir(), name, func(w io.Writer) error { _, err := io.WriteString(w, study); return err }))
	}
	must[*Attempt](t)(s.Begin(5))
	verified(t, s)
	ok(t, s.Close())
	return s.Dir()
}

// told is what is said of results: why they do not open, or what Verify finds.
func told(dir string) error {
	s, err := OpenReadOnly(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	return errors.Join(s.Verify()...)
}

// edits makes one edit each of copies of a ledger, and says which are not told.
func edits(t *testing.T, dir string, pragmas string, all map[string]string) {
	t.Helper()
	path := filepath.Join(dir, ledgerFile)
	ok(t, execAll(dir, "PRAGMA wal_checkpoint(TRUNCATE)"))
	whole := must[[]byte](t)(os.ReadFile(path))
	for name, text := range all {
		if err := execAll(dir, pragmas+text); err == nil && told(dir) == nil {
			t.Errorf("%s: nothing is said of %s", name, text)
		}
		for _, end := range []string{"-wal", "-shm"} {
			os.Remove(path + end)
		}
		ok(t, os.WriteFile(path, whole, 0o644))
	}
	ok(t, told(dir))
}

func execAll(dir, text string) error {
	db, err := sql.Open("sqlite", dsn(filepath.Join(dir, ledgerFile)))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.Exec(text)
	return err
}

// Whatever is edited in a ledger is told: each column of each table in its first and its last row, each row that is
// gone, added or another study's, and a ledger that is said to be of before seals. No column is left out.
func TestEveryEditOfALedgerIsTold(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	dir, other := eventful(t, "one", 8), eventful(t, "another", 10)
	s := must[*Store](t)(OpenReadOnly(dir))
	all := map[string]string{
		"the trials of the end": "DELETE FROM trials WHERE id > 6",
		"an attempt with its all": "DELETE FROM results WHERE trial = 2; DELETE FROM quality WHERE trial = 2; " +
			"DELETE FROM files WHERE trial = 2; DELETE FROM attempts WHERE trial = 2; " +
			"UPDATE trials SET state = 'planned' WHERE id = 2",
		"a run that was not": "INSERT INTO runs SELECT 3, started, host, pid, program, study, study_sha256, " +
			"'[\"requests=5\"]', facts, facts_sha256 FROM runs WHERE run = 1",
		"no digests of runs": "DELETE FROM meta WHERE key = 'run_digests'",
		"no seal":            "DELETE FROM meta WHERE key = 'seal'",
		"format 1": "DELETE FROM meta WHERE key = 'seal'; UPDATE meta SET value = '1' WHERE key = 'format'; " +
			"PRAGMA user_version = 1",
		"a copy":                `INSERT INTO meta VALUES ('left_out', '["exchanges"]')`,
		"a setting of nobody's": "INSERT INTO meta VALUES ('x', 'y')",
	}
	var columns []string
	for _, table := range must[[]string](t)(tablesOf(s.db)) {
		rows := must[*sql.Rows](t)(s.db.Query("SELECT * FROM " + table))
		names := must[[]string](t)(rows.Columns())
		rows.Close()
		key := map[string]string{"results": "trial || attempt || side || response || method",
			"quality": "trial || attempt || key"}[table]
		if key == "" {
			key = "rowid"
		}
		for _, end := range []string{"min", "max"} {
			where := fmt.Sprintf(" WHERE %s = (SELECT %s(%s) FROM %s)", key, end, key, table)
			for _, name := range names {
				columns = append(columns, table+" "+name+" ")
				for i, value := range []string{`CAST("x" AS TEXT) || 'x'`, `"x" + 1`, "'invalid'", "'planned'", "NULL",
					"CAST('x' AS BLOB)", "'counted'", "'2019-01-01T00:00:00Z'", "''", "1 - \"x\""} {
					value = strings.ReplaceAll(value, `"x"`, `"`+name+`"`)
					all[fmt.Sprint(table, " ", name, " ", end, " ", i)] = fmt.Sprintf(`UPDATE %s SET "%s" = %s%s AND "%s" IS NOT %s`,
						table, name, value, where, name, value)
				}
			}
			all[table+" delete "+end] = "DELETE FROM " + table + where
		}
		all[table+" of another"] = fmt.Sprintf("ATTACH '%s' AS o; INSERT OR REPLACE INTO %s SELECT * FROM o.%s",
			filepath.Join(other, ledgerFile), table, table)
	}
	ok(t, s.Close())
	if len(columns) < 2*60 {
		t.Fatalf("only %d columns", len(columns)/2)
	}
	// An UPDATE that SQLite refuses, or that finds no row to change, is none: as many as this are made at least.
	for name, text := range all {
		if strings.HasPrefix(text, "UPDATE") && !changes(t, dir, text) {
			delete(all, name)
		}
	}
	made := slices.Collect(maps.Keys(all))
	for _, column := range columns {
		if !slices.ContainsFunc(made, func(name string) bool { return strings.HasPrefix(name, column) }) {
			t.Errorf("%swas not edited", column)
		}
	}
	edits(t, dir, "PRAGMA foreign_keys = OFF; ", all)
}

// changes says whether a statement would change a row.
func changes(t *testing.T, dir, text string) bool {
	db := must[*sql.DB](t)(sql.Open("sqlite", dsn(filepath.Join(dir, ledgerFile))))
	defer db.Close()
	tx := must[*sql.Tx](t)(db.Begin())
	defer tx.Rollback()
	got, err := tx.Exec(text)
	if err != nil {
		return false
	}
	n, err := got.RowsAffected()
	return err == nil && n > 0
}

// A trial whose rows and files are another study's is named: its attempt is bound to its own results.
func TestRowsOfAnotherStudyAreNamed(t *testing.T) {
	dir, other := finished(t), finished(t)
	text := "PRAGMA foreign_keys = OFF; ATTACH '" + filepath.Join(other, ledgerFile) + "' AS o;"
	for _, table := range []string{"attempts", "results", "quality", "files"} {
		text += fmt.Sprintf("DELETE FROM main.%s WHERE trial = 2; INSERT INTO main.%s SELECT * FROM o.%s WHERE trial = 2;",
			table, table, table)
	}
	ok(t, execAll(dir, text))
	name := filepath.Join("exchanges", "0002-1-client.parquet")
	ok(t, copyFile(filepath.Join(dir, name), filepath.Join(other, name)))
	if err := told(dir); !errors.Is(err, ErrEdited) || !strings.Contains(err.Error(), "the rows of trial 2, attempt 1") {
		t.Errorf("got %v", err)
	}
	if s, err := Open(dir, header(3)); !errors.Is(err, ErrEdited) {
		closed(s, err)
		t.Errorf("resumed: got %v", err)
	}
}

// harmless are files of results that no figure and no sentence of a report rests on, with why.
var harmless = map[string]string{
	lockFile:        "who writes now: the lock is the kernel's",
	ledgerFile:      "its rows have a test of their own",
	"capacity.html": "a page made of capacity.json, which may be deleted; if it is there, it is compared",
}

// Whatever file of results is edited, emptied, deleted, or replaced by another study's is told.
func TestEveryEditOfAFileIsTold(t *testing.T) {
	dir, other := eventful(t, "one", 8), eventful(t, "another", 10)
	var names []string
	ok(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, must[string](t)(filepath.Rel(dir, path)))
		}
		return err
	}))
	for _, want := range append(Besides(), studyFile, factsFile, "facts-2.json", planFile, "benches/a/facts.json",
		"trials/0001/ready.json", "exchanges/0001-1-client.parquet") {
		if !slices.Contains(names, want) {
			t.Errorf("there is no %s", want)
		}
	}
	for _, name := range names {
		if harmless[name] != "" && name != "capacity.html" {
			continue
		}
		path := filepath.Join(dir, name)
		whole := must[[]byte](t)(os.ReadFile(path))
		others, _ := os.ReadFile(filepath.Join(other, name))
		for what, text := range map[string][]byte{"longer": append(slices.Clone(whole), '\n'), "empty": {}, "another": others,
			"one bit": append([]byte{whole[0] ^ 1}, whole[1:]...), "gone": nil} {
			if text == nil {
				ok(t, os.Remove(path))
			} else {
				ok(t, os.WriteFile(path, text, 0o644))
			}
			if told(dir) == nil && string(text) != string(whole) && !(text == nil && harmless[name] != "") {
				t.Errorf("%s: %s, and nothing is said", name, what)
			}
			ok(t, os.WriteFile(path, whole, 0o644))
		}
	}
	for _, name := range []string{"exchanges/0004-1-client.parquet", "trials/0001/joint.json",
		"trials/0002-2/warmup.json"} {
		path := filepath.Join(dir, name)
		ok(t, os.WriteFile(path, []byte("{}"), 0o644))
		if told(dir) == nil {
			t.Errorf("%s was put there, and nothing is said", name)
		}
		ok(t, os.Remove(path))
	}
	bare := finished(t)
	for _, name := range Besides() {
		path := filepath.Join(bare, name)
		ok(t, os.WriteFile(path, []byte(`{"says": ["The server can handle 52000 requests/s"]}`), 0o644))
		if err := told(bare); !errors.Is(err, ErrEdited) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s was put there: got %v", name, err)
		}
		s, err := Open(bare, header(3))
		if closed(s, err); name == searchFile && !errors.Is(err, ErrEdited) {
			t.Errorf("%s was put there, and resumed: got %v", name, err)
		}
		ok(t, os.Remove(path))
	}
}

// A command that is killed while it replaces a file beside results leaves them sound, at whatever step.
func TestAFileBesideIsReplacedSafely(t *testing.T) {
	dir := finished(t)
	put := func(text string) error {
		return PutBeside(dir, "capacity.json", func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
	}
	killed := errors.New("killed")
	for _, before := range []string{"", "first", "second"} {
		if before != "" {
			ok(t, put(before))
		}
		for _, after := range []bool{false, true} {
			digest := digestOf([]byte("next"))
			err := replaceBeside(dir, "capacity.json", digest, func() error {
				ok(t, told(dir))
				if after {
					ok(t, replaceFile(filepath.Join(dir, "capacity.json"), []byte("next")))
				}
				return killed
			})
			if !errors.Is(err, killed) {
				t.Fatal(err)
			}
			ok(t, told(dir))
		}
		ok(t, put("last"))
		ok(t, told(dir))
	}
	ok(t, RemoveBeside(dir, "capacity.json"))
	ok(t, RemoveBeside(dir, "capacity.json"))
	ok(t, told(dir))
	ok(t, os.WriteFile(filepath.Join(dir, "capacity.json"), []byte("last"), 0o644))
	if err := told(dir); !errors.Is(err, ErrEdited) {
		t.Errorf("it is back: got %v", err)
	}
}

// Results of before seals have files beside them without a checksum, and go on so.
func TestResultsOfFormat1HaveNoSeal(t *testing.T) {
	ofFormat1(t)
	dir := finished(t)
	ok(t, PutBeside(dir, "capacity.json", func(w io.Writer) error { _, err := io.WriteString(w, "{}"); return err }))
	newFormat = ledgerFormat
	s := must[*Store](t)(Open(dir, header(3)))
	ok(t, write(t, s, 3, 10).Commit(results, quality))
	verified(t, s)
	ok(t, s.Close())
	if format := must[int64](t)(formatOf(s.path(ledgerFile))); format != 1 {
		t.Errorf("format %d", format)
	}
	execSQL(t, dir, "UPDATE trials SET state = 'invalid' WHERE id = 1")
	if err := told(dir); !errors.Is(err, ErrEdited) || !strings.Contains(err.Error(), "the state of 1 trial") {
		t.Errorf("got %v", err)
	}
}

// A file that takes hardly any room and hours to read is told at once: it has another size than the ledger says, or is
// hollow where that lies, too.
func TestHollowFilesAreNotRead(t *testing.T) {
	const name = "exchanges/0001-1-client.parquet"
	for _, lie := range []string{"", fmt.Sprintf("UPDATE files SET bytes = %d WHERE path = '%s'", int64(8<<40), name)} {
		for _, name := range []string{name, studyFile, factsFile, planFile} {
			dir := finished(t)
			if lie != "" {
				fabricate(t, dir, lie)
			}
			if err := os.Truncate(filepath.Join(dir, name), 8<<40); err != nil {
				t.Skip(err)
			}
			found := make(chan error)
			go func() { found <- told(dir) }()
			select {
			case err := <-found:
				if !errors.Is(err, ErrEdited) || !strings.Contains(err.Error(), name) {
					t.Errorf("%s: got %v", name, err)
				}
			case <-time.After(2 * time.Minute): // it would take hours
				t.Fatalf("%s is read", name)
			}
		}
	}
}

// What cannot be read here is not called changed, nor told to be written elsewhere.
func TestUnreadableIsNotChanged(t *testing.T) {
	s := create(t, 1)
	for _, cause := range []error{syscall.EACCES, syscall.EIO, syscall.EMFILE} {
		err := s.unread("exchanges/x", &fs.PathError{Op: "open", Path: "x", Err: cause})
		if !errors.Is(err, ErrUnread) || errors.Is(err, ErrEdited) || !errors.Is(err, cause) ||
			strings.Contains(err.Error(), "written here") || !strings.Contains(err.Error(), "exchanges/x") {
			t.Errorf("got %v", err)
		}
	}
	if err := s.unread("x", &fs.PathError{Op: "open", Path: "x", Err: errors.New("it is no regular file")}); errors.Is(err,
		ErrUnread) {
		t.Errorf("a pipe: got %v", err)
	}
	if os.Getuid() != 0 {
		dir := finished(t)
		ok(t, os.Chmod(filepath.Join(dir, "exchanges"), 0))
		defer os.Chmod(filepath.Join(dir, "exchanges"), 0o755)
		if err := told(dir); !errors.Is(err, ErrUnread) {
			t.Errorf("got %v", err)
		}
	}
}

// What a trial costs in a study of 100,000, with and without a seal.
func BenchmarkTrial(b *testing.B) {
	const trials = 100_000
	var rows []Result
	var noted []Quality
	for i := range 40 {
		rows = append(rows, Result{Side: "client", Response: fmt.Sprint("r", i), Unit: "s", N: 1000, Mean: 0.25 + float64(i),
			SD: 0.1, Median: 0.2, P95: 0.9, Min: 0.1, Max: 3, Method: Measured})
		noted = append(noted, Quality{fmt.Sprint("q", i), "s", float64(i)})
	}
	for _, format := range []int{1, ledgerFormat} {
		b.Run(fmt.Sprint("format ", format), func(b *testing.B) {
			newFormat = format
			defer func() { newFormat = ledgerFormat }()
			s, err := Create(filepath.Join(b.TempDir(), "r"), header(trials))
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			trial := 0
			for b.Loop() {
				trial++
				a, err := s.Begin(trial)
				if err == nil {
					err = a.Commit(rows, noted)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			began := time.Now()
			if found := s.Verify(); found != nil {
				b.Fatal(found)
			}
			b.ReportMetric(float64(time.Since(began).Microseconds())/float64(trial), "verify-µs/trial")
		})
	}
}
