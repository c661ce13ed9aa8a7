package web

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// An entry is what the list of all results says of one.
type entry struct {
	Key             string // of the ledger it was read from
	Study, Question string
	Stacks          []string
	Devices         []string
	Links           []string
	Began           time.Time // the first run
	PID             int       // of the last run, on Host
	Host            string
	Trials, Valid   int
	Treatments      int
	Refused         int  // invalid attempts
	Ended           bool // the lab found that nothing is left to measure
	Undecided       bool // whether the precision that is asked for takes more trials
	Fault           string
	looked          time.Time // when it was read; zero: before this process began
}

// faultsLast is how long a fault of results is remembered: it may be mended, or the rest of them arrive, while their
// ledger stays as it is.
const faultsLast = 10 * time.Second

// An index remembers entries by the path of the results, for as long as their ledgers
// do not change; in a file too, where there is a folder for it.
type index struct {
	file    string        // empty: none
	faults  time.Duration // see faultsLast
	mu      sync.Mutex
	entries map[string]entry
}

// indexFormat is the version of the file; another one is not read.
const indexFormat = 4 // 4: it says whether the lab found that nothing is left

type indexText struct {
	Format  int              `json:"format"`
	Entries map[string]entry `json:"entries"`
}

func newIndex(cache string) *index {
	x := &index{faults: faultsLast, entries: map[string]entry{}}
	if cache == "" {
		return x
	}
	x.file = filepath.Join(cache, "web-index.json")
	text, err := kernel.ReadFile(x.file, 64<<20)
	var kept indexText
	if err == nil && json.Unmarshal(text, &kept) == nil && kept.Format == indexFormat && kept.Entries != nil {
		x.entries = kept.Entries
	}
	return x
}

// of gives the entries of places, in their order. Those that are new or changed are
// read, by as many readers as there are CPUs.
func (x *index) of(places []place) []entry {
	out := make([]entry, len(places))
	var stale []int
	x.mu.Lock()
	for i, p := range places {
		e, ok := x.entries[p.path()]
		if out[i] = e; !ok || e.Key != p.key || e.Fault != "" && time.Since(e.looked) >= x.faults {
			stale = append(stale, i)
		}
	}
	x.mu.Unlock()
	if len(stale) == 0 {
		return out
	}
	next := make(chan int)
	var group sync.WaitGroup
	for range min(runtime.NumCPU(), len(stale)) {
		group.Go(func() {
			for i := range next {
				out[i] = readEntry(places[i])
			}
		})
	}
	for _, i := range stale {
		next <- i
	}
	close(next)
	group.Wait()
	x.keep(places, out, stale)
	return out
}

// keep remembers what was read anew. The file is written only where some of it will
// stay as it is: a running study changes again at once.
func (x *index) keep(places []place, all []entry, fresh []int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, i := range fresh {
		x.entries[places[i].path()] = all[i]
	}
	stays := func(i int) bool { return all[i].Fault == "" && !all[i].running(places[i]) }
	if x.file == "" || !slices.ContainsFunc(fresh, stays) {
		return
	}
	kept := maps.Clone(x.entries)
	maps.DeleteFunc(kept, func(_ string, e entry) bool { return e.Fault != "" })
	if os.MkdirAll(filepath.Dir(x.file), 0o755) == nil {
		// Without the file the next start is slower, and nothing else.
		_ = store.Replace(x.file, func(w io.Writer) error {
			return json.NewEncoder(w).Encode(indexText{indexFormat, kept})
		})
	}
}

// readEntry reads what an entry says. Results that cannot be read have a Fault.
func readEntry(p place) entry {
	e := entry{Key: p.key, looked: time.Now()}
	if err := e.read(p); err != nil {
		e.Fault = err.Error()
	}
	return e
}

func (e *entry) read(p place) error {
	s, err := p.store(false)
	if err != nil {
		return err
	}
	defer s.Close()
	runs, err := s.Runs()
	if err != nil {
		return err
	}
	last := runs[len(runs)-1]
	e.Began, e.PID, e.Host = runs[0].Started, last.PID, last.Host
	trials, err := s.Trials()
	if err != nil {
		return err
	}
	y, err := readStudy(s, last)
	if err != nil {
		return err
	}
	for _, t := range trials {
		e.Refused += t.Refused
		if t.State != store.Lacking && !report.Dropped(y, t) { // its bench need not run it, or nobody asks for it
			e.Trials++
		}
		if t.State == store.Valid {
			e.Valid++
		}
	}
	e.Study, e.Question, e.Treatments = y.Name, y.Question, y.Treatments()
	ending, err := s.Ending()
	if err != nil {
		return err
	}
	e.Ended, e.Undecided = ending != nil && !ending.At.IsZero(), ending == nil && y.Design.Precision > 0
	plan, err := study.Expand(y)
	if err != nil {
		return err
	}
	for _, t := range plan.Trials[:y.Treatments()] {
		x := t.Setup
		for _, name := range []string{x.Client.Stack, x.Server.Stack, x.URL} {
			e.Stacks = addOnce(e.Stacks, name)
		}
		e.Devices = addOnce(addOnce(e.Devices, x.Client.Device), x.Server.Device)
		e.Links = addOnce(e.Links, x.Link.Text)
	}
	return nil
}

// readStudy parses a results directory's study as report does.
func readStudy(s *store.Store, run store.Run) (study.Study, error) {
	text, overrides, err := s.Study()
	if err != nil {
		return study.Study{}, err
	}
	facts, err := s.Facts(run)
	if err != nil {
		return study.Study{}, err
	}
	var placed struct{ Placement map[string]any }
	if err := json.Unmarshal(facts, &placed); err != nil {
		return study.Study{}, err
	}
	return study.Parse("study.yaml", text, study.Vocabulary{Earlier: placed.Placement == nil}, overrides...)
}

func addOnce(list []string, name string) []string {
	if name == "" || slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// running says whether a lab is writing to the results now, here or on another machine. Subtle: the
// lock is asked only while the process that took it last is alive, or is no process of this machine; else
// asking would take it for a moment, in which a lab that begins would have to wait.
func (e *entry) running(p place) bool {
	if !e.left() || e.Fault != "" {
		return false
	}
	if host, err := os.Hostname(); err == nil && e.Host == host && e.PID > 0 {
		if err := unix.Kill(e.PID, 0); err == nil || err == unix.EPERM {
			return store.Busy(p.path())
		}
	}
	_, err := store.Writer(p.path())
	return errors.Is(err, store.ErrElsewhere)
}

// left says whether there is, or may be, something to measure.
func (e *entry) left() bool { return e.Undecided || e.Valid < e.Trials && !e.Ended }

// state is how far the results are, in a word that is also a class of the style.
func (e *entry) state(p place) string {
	switch {
	case e.Fault != "":
		return "unreadable"
	case e.running(p):
		return "running"
	case e.left():
		return "unfinished"
	}
	return "complete"
}
