// Package store keeps results as plain files that outlive this program: raw
// Parquet, a SQLite ledger that says which trial is done, and logs. It appends
// or renames and never rewrites, so a killed run resumes and neither loses nor
// repeats a trial. It computes no figures and knows no study.
package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// Format is the version of what is in a results directory, but for the ledger: Parquet
// key "edgegauge.format", "format" in JSON.
const Format = 1

// ledgerFormat is that of the ledger: SQLite user_version. Ledgers since sealedFormat have
// a seal, and digests of attempts that tell whose they are.
const (
	ledgerFormat = 2
	sealedFormat = 2
)

var newFormat = ledgerFormat // of ledgers that are created: tests make earlier ones

// Names in a results directory; doc/formats.md describes each.
const (
	studyFile  = "study.yaml"
	planFile   = "plan.csv"
	factsFile  = "facts.json"
	ledgerFile = "ledger.sqlite"
	lockFile   = "lock"
	invalidDir = "invalid"
	trialsDir  = "trials"
	benchesDir = "benches"
)

// kinds are the folders of raw files, one file per trial, attempt and source.
var kinds = []string{"exchanges", "samples", "packets"}

// A Header is what a run is: the same header resumes the same directory.
type Header struct {
	Study     []byte          // the study file as read
	Overrides []string        // "path=value", as given on the command line
	Plan      []byte          // plan.csv: a header line, then one line a trial, in order
	Trials    []PlannedTrial  // the same trials, in the same order
	Facts     json.RawMessage // what both devices are; any JSON
	Program   string          // version of the program that runs
	// Incomplete says that benches need not run every treatment: trials may be lacking.
	Incomplete bool
	First      int // number of each trial's first attempt, in a bench's own results (Order); 0: 1
}

// A PlannedTrial is one run of one treatment, as the plan has it.
type PlannedTrial struct {
	ID, Block, Replication int
	Treatment              []Level // in the order of the study's factors
}

// A Level is the value one factor takes in a treatment.
type Level struct{ Factor, Text string }

// A Store is an open results directory. Its methods may be called from several
// goroutines; one Attempt and its writers belong to one goroutine at a time.
type Store struct {
	dir        string
	db         *sql.DB
	ledger     os.FileInfo // the file that was opened for writing
	lock       *os.File    // nil when read-only
	format     int64       // of the ledger
	origin     string      // of a ledger with a seal: when it was created, which its attempts are bound to
	benches    bool        // the ledger has columns for benches: older ones have not
	incomplete bool        // it has a table of lacking trials
	scratch    string      // a copy of a ledger that could not be opened in place
	create     func(path string) (diskFile, error)
	syncDir    func(dir string) error
	mu         sync.Mutex
	together   *sql.Tx // of Together; else nil
	verified   map[string]bool
	until      <-chan struct{} // files are read until it is closed; nil: to their ends
	answered   sync.Pool       // of *answered, of Columns that were closed
	waiting    *Run            // of a study that had ended: recorded when it measures after all
	// exchangeLayout is made with the first file.
	exchangeLayout func() (exchangeLayout, error)
}

// Create makes a results directory and takes its lock. It refuses a directory
// that is not ours, and one that already holds results (ErrExists): Open that.
// A directory whose creation was cut short is created afresh.
func Create(dir string, h Header) (*Store, error) {
	if err := checkTrials(h); err != nil {
		return nil, err
	}
	if err := usable(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, word(dir, err)
	}
	lock, err := takeLock(dir)
	if err != nil {
		return nil, err
	}
	if err := checkOwn(dir); err != nil {
		lock.Close()
		return nil, err
	}
	if err := populate(dir, h); err != nil {
		lock.Close()
		return nil, word(dir, err)
	}
	return open(dir, lock)
}

// Open takes the lock of a results directory, settles what a killed run left,
// and resumes it. A changed study or plan is refused (ErrChanged) unless only
// blocks were added, which are then planned.
func Open(dir string, h Header) (*Store, error) {
	if err := holdsResults(dir); err != nil {
		return nil, err
	}
	lock, err := takeLock(dir)
	if err != nil {
		return nil, err
	}
	if err := checkOwn(dir); err != nil {
		lock.Close()
		return nil, err
	}
	s, err := open(dir, lock)
	if err != nil {
		return nil, err
	}
	if err := s.resume(h); err != nil {
		s.Close()
		return nil, word(dir, err)
	}
	return s, nil
}

// OpenReadOnly opens results for a report, also while a lab is writing them and
// where the directory cannot be written. It changes nothing; ask Verify whether
// the files are those the lab wrote.
func OpenReadOnly(dir string) (*Store, error) {
	if err := holdsResults(dir); err != nil {
		return nil, err
	}
	return open(dir, nil)
}

// open opens the ledger; it owns lock from here on.
func open(dir string, lock *os.File) (*Store, error) {
	s := &Store{dir: dir, lock: lock, create: createFile, syncDir: syncDir, verified: map[string]bool{},
		exchangeLayout: sync.OnceValues(newExchangeLayout)}
	if err := s.openLedger(); err != nil {
		s.Close()
		if lock == nil && errors.Is(err, fs.ErrPermission) { // nobody wants to write
			return nil, fail(ErrDenied, unreadableHere, dir, err)
		}
		return nil, word(dir, err)
	}
	return s, nil
}

// populate writes a new directory. The ledger is renamed into place last: a
// directory has a ledger exactly if its creation was completed.
func populate(dir string, h Header) error {
	for _, d := range append([]string{invalidDir, trialsDir}, kinds...) {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	if err := replaceFile(filepath.Join(dir, planFile), h.Plan); err != nil {
		return err
	}
	r, err := newRun(1, h)
	if err != nil {
		return err
	}
	if err := r.write(dir); err != nil {
		return err
	}
	if err := createLedger(filepath.Join(dir, ledgerFile), h, r); err != nil {
		return err
	}
	return syncDir(filepath.Dir(filepath.Clean(dir)))
}

// Close releases the directory. An attempt still running stays so in the
// ledger and is recorded as interrupted by the next Open.
func (s *Store) Close() error {
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	if s.scratch != "" {
		os.RemoveAll(s.scratch)
	}
	if s.lock != nil {
		s.lock.Close() // releases the lock; the file stays, or two labs could each lock their own
	}
	return word(s.dir, err)
}

// ID is the same for the same results wherever they are moved, and no others have it.
func (s *Store) ID() (string, error) {
	runs, err := s.Runs()
	if err != nil {
		return "", err
	}
	first := runs[0]
	return digestOf(fmt.Appendf(nil, "%s\t%s\t%d\t%s", first.Started.Format(time.RFC3339Nano), first.Host, first.PID,
		first.studyDigest))[:24], nil
}

// Place stands for the directory of a store that is open for writing, among those of all
// machines, until it is moved.
func (s *Store) Place() (string, error) {
	var st unix.Stat_t
	id, err := s.ID()
	if err == nil {
		err = unix.Fstat(int(s.lock.Fd()), &st)
	}
	return fmt.Sprintf("%s %s %d:%d", id, kernel.BootID(), st.Dev, st.Ino), s.word(err)
}

// Until ends the reading of files for their checksums once a channel is closed. What was not read is then an error.
func (s *Store) Until(over <-chan struct{}) { s.until = over }

// Dir is the results directory.
func (s *Store) Dir() string { return s.dir }

// TrialDir is where the logs of one attempt go: trials/0017, trials/0017-2.
// Begin makes it.
func (s *Store) TrialDir(trial, attempt int) string {
	return filepath.Join(s.dir, trialsDir, trialName(trial, attempt))
}

// mostText is the size in bytes up to which a text of a results directory is read.
const mostText = 256 << 20

// Study returns the study file as last read, and the overrides given with it.
func (s *Store) Study() (text []byte, overrides []string, err error) {
	last, err := s.lastRun()
	if err != nil {
		return nil, nil, err
	}
	text, err = kernel.ReadFile(s.path(last.StudyFile), mostText)
	return text, last.Overrides, s.word(err)
}

// Plan returns plan.csv as the ledger has it, appended blocks included.
func (s *Store) Plan() ([]byte, error) { return s.plan() }

func now() string { return time.Now().UTC().Format(time.RFC3339Nano) }
