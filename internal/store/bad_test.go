package store

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// finished is a directory with two valid trials and one to go, closed.
func finished(t *testing.T) string {
	t.Helper()
	s := create(t, 3)
	ok(t, write(t, s, 1, 300).Commit(results, quality))
	ok(t, write(t, s, 2, 300).Commit(results, quality))
	ok(t, s.Close())
	return s.Dir()
}

func edit(t *testing.T, path string, f func([]byte) []byte) {
	t.Helper()
	b := must[[]byte](t)(os.ReadFile(path))
	ok(t, os.WriteFile(path, f(b), 0o644))
}

func execSQL(t *testing.T, dir, text string) {
	t.Helper()
	db := must[*sql.DB](t)(sql.Open("sqlite", dsn(filepath.Join(dir, ledgerFile))))
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}

// fabricate is execSQL by who keeps the seal.
func fabricate(t *testing.T, dir, text string) {
	t.Helper()
	execSQL(t, dir, text)
	ok(t, Reseal(dir))
}

// ofFormat1 makes ledgers in a test as they were before seals.
func ofFormat1(t *testing.T) {
	newFormat = 1
	t.Cleanup(func() { newFormat = ledgerFormat })
}

// Every way results go bad: what Verify, or opening, says of it and advises.
func TestBadResultsAreNamedWithAdvice(t *testing.T) {
	parquet := filepath.Join("exchanges", "0002-1-client.parquet")
	for name, c := range map[string]struct {
		spoil  func(t *testing.T, dir string)
		kind   error
		says   string // the place
		opens  bool   // read-only opens; Verify finds it
		writes bool   // Open for writing does not mind: it would measure beside what decides nothing
	}{
		"one bit of a raw file": {func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, parquet), func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
		}, ErrEdited, parquet, true, false},
		"a raw file cut short": {func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, parquet), func(b []byte) []byte { return b[:len(b)-100] })
		}, ErrEdited, parquet, true, false},
		"a raw file gone": {func(t *testing.T, dir string) { ok(t, os.Remove(filepath.Join(dir, parquet))) },
			ErrMissing, parquet, true, false},
		"a raw file from elsewhere": {func(t *testing.T, dir string) {
			ok(t, copyFile(filepath.Join(dir, "exchanges", "mine.parquet"), filepath.Join(dir, parquet)))
		}, ErrEdited, "mine.parquet", true, true},
		"study edited": {func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, studyFile),
				func(b []byte) []byte { return bytes.Replace(b, []byte("100"), []byte("200"), 1) })
		}, ErrEdited, studyFile, true, false},
		"plan edited": {func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, planFile),
				func(b []byte) []byte { return bytes.Replace(b, []byte("2,1,1,b"), []byte("2,1,1,a"), 1) })
		}, ErrEdited, planFile, true, false},
		"facts edited": {func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, factsFile), func(b []byte) []byte { return append(b, ' ') })
		}, ErrEdited, factsFile, true, false},
		"study gone": {func(t *testing.T, dir string) { ok(t, os.Remove(filepath.Join(dir, studyFile))) },
			ErrMissing, studyFile, true, false},
		"a figure made better": {func(t *testing.T, dir string) {
			execSQL(t, dir, "UPDATE results SET mean = mean / 2 WHERE trial = 2 AND response = 'rtt'")
		}, ErrEdited, "trial 2", true, false},
		"an outlier dropped": {func(t *testing.T, dir string) {
			execSQL(t, dir, "DELETE FROM results WHERE trial = 1 AND response = 'rtt'")
		}, ErrEdited, "trial 1", true, false},
		"a valid trial made invalid": {func(t *testing.T, dir string) {
			execSQL(t, dir, `UPDATE attempts SET state = 'invalid' WHERE trial = 1`)
		}, ErrEdited, "trial 1", true, false},
		"a treatment renamed": {func(t *testing.T, dir string) {
			execSQL(t, dir, `UPDATE trials SET treatment = '{"stack":"b"}' WHERE id = 1`)
		}, ErrEdited, "trial 1", true, false},
		"overrides edited": {func(t *testing.T, dir string) {
			execSQL(t, dir, `UPDATE runs SET overrides = '["requests=7"]'`)
		}, ErrEdited, "run 1", true, false},
		"digests of runs edited": {func(t *testing.T, dir string) {
			execSQL(t, dir, `UPDATE meta SET value = 'none' WHERE key = 'run_digests'`)
		}, ErrEdited, "run 0", true, false},
		"a trial in another block": {func(t *testing.T, dir string) {
			execSQL(t, dir, `UPDATE trials SET block = 2 WHERE id = 1`)
		}, ErrEdited, "not those of the plan", true, false},
		"trials in another order": {func(t *testing.T, dir string) {
			execSQL(t, dir, `UPDATE trials SET position = -1 WHERE id = 1; UPDATE trials SET position = 1 WHERE id = 2;
				UPDATE trials SET position = 2 WHERE id = 1`)
		}, ErrEdited, "not those of the plan", true, false},
		"ledger of format 3": {func(t *testing.T, dir string) { execSQL(t, dir, "PRAGMA user_version = 3") },
			ErrNewer, "format 3 is newer", false, false},
		"ledger that is text": {func(t *testing.T, dir string) {
			ok(t, os.WriteFile(filepath.Join(dir, ledgerFile), []byte(strings.Repeat("not a database ", 50)), 0o644))
		}, ErrCorrupt, ledgerFile, false, false},
		"ledger empty": {func(t *testing.T, dir string) { ok(t, os.WriteFile(filepath.Join(dir, ledgerFile), nil, 0o644)) },
			ErrCorrupt, ledgerFile, false, false},
		"ledger cut in half": {func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, ledgerFile), func(b []byte) []byte { return b[:len(b)/2] })
		}, ErrCorrupt, ledgerFile, false, false},
		"somebody else's database": {func(t *testing.T, dir string) { execSQL(t, dir, "PRAGMA application_id = 7") },
			ErrForeign, "not edgegauge's", false, false},
		"ledger gone": {func(t *testing.T, dir string) { ok(t, os.Remove(filepath.Join(dir, ledgerFile))) },
			ErrMissing, "incomplete", false, false},
		"treatment that is no object": {func(t *testing.T,
			dir string) {
			execSQL(t, dir, "UPDATE trials SET treatment = '[1' WHERE id = 1")
		},
			ErrCorrupt, "trial 1", true, false}, // Pending says so
	} {
		t.Run(name, func(t *testing.T) {
			dir := finished(t)
			c.spoil(t, dir)
			r, err := OpenReadOnly(dir)
			if c.opens != (err == nil) {
				t.Fatalf("read-only: got %v", err)
			}
			if err == nil {
				err = errors.Join(r.Verify()...)
				r.Close()
			}
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "; ") {
				t.Errorf("got %v\nwant %v, naming %q, with advice", err, c.kind, c.says)
			}
			s, err := Open(dir, header(3))
			if err == nil {
				s.Close()
			}
			if c.opens && c.writes != (err == nil) || !c.opens && !errors.Is(err, c.kind) {
				t.Errorf("open for writing: got %v", err)
			}
		})
	}
}

// An edited file yields no number, asked of it directly.
func TestAnEditedFileYieldsNoNumber(t *testing.T) {
	dir := finished(t)
	edit(t, filepath.Join(dir, "exchanges", "0001-1-client.parquet"), func(b []byte) []byte { b[200] ^= 4; return b })
	r := must[*Store](t)(OpenReadOnly(dir))
	defer r.Close()
	if _, err := r.Columns(1, measure.Client); !errors.Is(err, ErrEdited) {
		t.Errorf("columns: got %v, want ErrEdited", err)
	}
	for _, err := range r.Exchanges(1, measure.Client) {
		if !errors.Is(err, ErrEdited) {
			t.Errorf("exchanges: got %v, want ErrEdited", err)
		}
	}
	if _, err := r.Columns(3, measure.Client); !errors.Is(err, ErrNoData) {
		t.Errorf("a trial not run: got %v, want ErrNoData", err)
	}
}

func TestOthersDirectoriesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(dir, "thesis.tex"), []byte("x"), 0o644))
	if _, err := Create(dir, header(1)); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("create: got %v, want ErrForeign naming the file", err)
	}
	if _, err := Open(dir, header(1)); !errors.Is(err, ErrForeign) {
		t.Errorf("open: got %v, want ErrForeign", err)
	}
	if _, err := Create(filepath.Join(dir, "thesis.tex"), header(1)); !errors.Is(err, ErrForeign) {
		t.Errorf("create at a file: got %v, want ErrForeign", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left %v", left)
	}
	if _, err := Create(finished(t), header(3)); !errors.Is(err, ErrExists) {
		t.Errorf("create over results: got %v, want ErrExists", err)
	}
}

// Killed while creating: at each step the directory can be created again.
func TestHalfCreatedDirectoriesAreCreatedAgain(t *testing.T) {
	for _, left := range [][]string{{lockFile}, {lockFile, planFile},
		{lockFile, "exchanges", "trials", planFile, studyFile, ledgerFile + partialSuffix}} {
		whole, dir := finished(t), t.TempDir()
		for _, name := range left {
			if err := os.Rename(filepath.Join(whole, strings.TrimSuffix(name, partialSuffix)),
				filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Create(dir, header(2))
		if err != nil {
			t.Errorf("%v: %v", left, err)
			continue
		}
		ok(t, s.Close())
	}
	dir := t.TempDir() // a lock made, not yet marked
	ok(t, os.WriteFile(filepath.Join(dir, lockFile), nil, 0o644))
	must[*Store](t)(Create(dir, header(2))).Close()
}

func TestResumingAnotherStudyIsRefused(t *testing.T) {
	dir := finished(t)
	for name, c := range map[string]struct {
		change func(*Header)
		says   string // empty: resumes
	}{
		"the same":  {func(*Header) {}, ""},
		"a comment": {func(h *Header) { h.Study = append([]byte("# mine\n"), h.Study...) }, ""},
		"a fixed value": {func(h *Header) { h.Study = bytes.Replace(h.Study, []byte("100"), []byte("200"), 1) },
			"requests was 100, is 200"},
		"a value by an override": {func(h *Header) { h.Overrides = []string{"requests=200"} },
			"requests was 100, is 200"},
		"another name, whatever else differs": {func(h *Header) {
			h.Study = bytes.Replace(h.Study, []byte("study: "), []byte("study: un"), 1)
			h.Overrides = []string{"requests=200"}
		}, "results of another study, "},
		"an override without effect": {func(h *Header) { h.Overrides = []string{"requests=100"} }, ""},
		"a new value": {func(h *Header) { h.Study = append(h.Study, "link: nb-iot\n"...) },
			`link was absent, is "nb-iot"`},
		"a plan in other order": {func(h *Header) {
			h.Plan = bytes.Replace(h.Plan, []byte("1,1,1,a"), []byte("1,1,1,b"),
				1)
		}, `line 2 was "1,1,1,a", but is "1,1,1,b"`},
		"more blocks": {func(h *Header) { *h = header(6); h.Overrides = []string{"design.replications=6"} },
			""},
		"fewer blocks again": {func(h *Header) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := header(3)
			c.change(&h)
			s, err := Open(dir, h)
			if err == nil {
				defer s.Close()
			}
			if c.says == "" && err != nil {
				t.Error(err)
			}
			if c.says != "" && (!errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("got %v, want ErrChanged with %q", err, c.says)
			}
		})
	}
}

func TestBlocksAreAddedAndPlanFileCompleted(t *testing.T) {
	s := create(t, 2)
	long := header(6)
	ok(t, s.AddTrials(long.Plan[len(header(2).Plan):len(header(4).Plan)], long.Trials[2:4]))
	if err := s.AddTrials([]byte("5,1,1,a\n"), nil); err == nil {
		t.Error("a line of plan without its trial was added")
	}
	if p := must[[]TrialState](t)(s.Pending()); len(p) != 4 || p[3].ID != 4 {
		t.Errorf("pending: got %+v", p)
	}
	ok(t, s.Close())
	// killed between ledger and plan.csv, in mid-line
	edit(t, s.path(planFile), func(b []byte) []byte { return b[:len(b)-5] })
	killed := must[*Store](t)(OpenReadOnly(s.Dir()))
	verified(t, killed)
	ok(t, killed.Close())
	s = must[*Store](t)(Open(s.Dir(), long))
	defer s.Close()
	if got := must[[]byte](t)(os.ReadFile(s.path(planFile))); !bytes.Equal(got, long.Plan) {
		t.Errorf("plan.csv: got %q, want %q", got, long.Plan)
	}
	if bad := s.Verify(); bad != nil {
		t.Errorf("verify: %v", bad)
	}
	// What was there from the beginning, and the whole of a study that has ended, is not on its way.
	whole := must[[]byte](t)(os.ReadFile(s.path(planFile)))
	edit(t, s.path(planFile), func(b []byte) []byte { return b[:len(header(2).Plan)-1] })
	if bad := s.Verify(); len(bad) != 1 || !errors.Is(bad[0], ErrEdited) {
		t.Errorf("the first plan cut: %v", bad)
	}
	ok(t, s.End(""))
	edit(t, s.path(planFile), func([]byte) []byte { return whole[:len(whole)-1] })
	if bad := s.Verify(); len(bad) != 1 || !errors.Is(bad[0], ErrEdited) {
		t.Errorf("the plan of a study that has ended cut: %v", bad)
	}
}

// Earlier versions wrote levels that begin like formulas as they are; such results go on.
func TestAPlanWithBareFormulasGoesOn(t *testing.T) {
	was, is := header(2), header(4)
	was.Plan = bytes.ReplaceAll(was.Plan, []byte(",a\n"), []byte(",=a\n"))
	is.Plan = bytes.ReplaceAll(is.Plan, []byte(",a\n"), []byte(",'=a\n"))
	dir := filepath.Join(t.TempDir(), "results")
	ok(t, must[*Store](t)(Create(dir, was)).Close())
	for range 2 {
		s := must[*Store](t)(Open(dir, is))
		if p := must[[]TrialState](t)(s.Trials()); len(p) != 4 {
			t.Errorf("got %d trials, want 4", len(p))
		}
		if bad := s.Verify(); bad != nil {
			t.Errorf("verify: %v", bad)
		}
		ok(t, s.Close())
	}
	is.Plan = bytes.ReplaceAll(is.Plan, []byte(",'=a\n"), []byte(",=b\n"))
	if _, err := Open(dir, is); !errors.Is(err, ErrChanged) {
		t.Errorf("another plan: got %v, want ErrChanged", err)
	}
}

func TestRunsKeepChangedFacts(t *testing.T) {
	dir := finished(t)
	h := header(3)
	h.Facts = []byte(`{"kernel": "6.2"}`)
	for range 2 {
		must[*Store](t)(Open(dir, h)).Close()
	}
	r := must[*Store](t)(OpenReadOnly(dir))
	defer r.Close()
	runs := must[[]Run](t)(r.Runs())
	if len(runs) != 3 || runs[0].FactsFile != "facts.json" || runs[1].FactsFile != "facts-2.json" ||
		runs[2].FactsFile != "facts-2.json" || runs[2].StudyFile != studyFile {
		t.Fatalf("runs: got %+v", runs)
	}
	if f, err := r.Facts(runs[2]); err != nil || !strings.Contains(string(f), "6.2") {
		t.Errorf("facts: got %s, %v", f, err)
	}
	if bad := r.Verify(); bad != nil {
		t.Errorf("verify: %v", bad)
	}
}

// Reports of results on a read-only medium, of a killed lab with a log too.
func TestReadingWhereNothingCanBeWritten(t *testing.T) {
	for _, log := range []bool{false, true} {
		s := create(t, 2)
		ok(t, write(t, s, 1, 10).Commit(results, nil))
		if !log {
			ok(t, s.Close())
		}
		dir := filepath.Join(t.TempDir(), "copy")
		ok(t, os.CopyFS(dir, os.DirFS(s.Dir())))
		os.Remove(filepath.Join(dir, ledgerFile+"-shm"))
		// root writes anywhere: a directory in the way of shared memory stands for "read-only"
		ok(t, os.Mkdir(filepath.Join(dir, ledgerFile+"-shm"), 0o755))
		r, err := OpenReadOnly(dir)
		if err != nil {
			t.Fatalf("with a log %v: %v", log, err)
		}
		if p := must[[]TrialState](t)(r.Pending()); len(p) != 1 {
			t.Errorf("with a log %v: pending: got %d, want 1", log, len(p))
		}
		if bad := r.Verify(); bad != nil {
			t.Errorf("with a log %v: %v", log, bad)
		}
		ok(t, r.Close())
	}
}

// What Verify has found whole is not hashed again when it is read; what was changed since is found by the next Verify.
func TestVerifyRemembers(t *testing.T) {
	s := create(t, 3)
	for trial := 1; trial <= 3; trial++ {
		ok(t, write(t, s, trial, 30).Commit(results, quality))
	}
	if bad := s.Verify(); bad != nil {
		t.Fatal(bad)
	}
	files := must[[]string](t)(filepath.Glob(s.path("exchanges", "*")))
	for _, f := range files {
		if !s.verified[filepath.Join("exchanges", filepath.Base(f))] {
			t.Errorf("%s would be hashed again", f)
		}
	}
	ok(t, os.WriteFile(files[1], []byte("changed"), 0o644))
	if bad := s.Verify(); len(bad) != 1 || !errors.Is(bad[0], ErrEdited) {
		t.Errorf("got %v, want one edited file of %d", bad, len(files))
	}
	if len(files) != 6 {
		t.Errorf("%d files", len(files))
	}
}
