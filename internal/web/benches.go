package web

import (
	"maps"
	"slices"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A benchRow is a bench that shares a running study.
type benchRow struct {
	Name     string
	Standing string // also a class of the style
	Why      string
	Block    int // under way; 0: none
	Began    time.Time
	Arriving bool
	Trials   int // valid
	Heard    string
}

// benchesOf are the benches that the ledger knows, by name; nil: one that has none.
func benchesOf(trials []store.TrialState, attempts []store.AttemptState) []benchRow {
	blocks := map[int]int{}
	for _, t := range trials {
		blocks[t.ID] = t.Block
	}
	known := map[string]*benchRow{}
	for _, a := range attempts {
		if a.Bench.Name == "" {
			continue
		}
		b := known[a.Bench.Name]
		if b == nil {
			b = &benchRow{Name: a.Bench.Name, Standing: "not heard"}
			known[b.Name] = b
		}
		switch a.State {
		case store.Valid:
			b.Trials++
		case store.Running:
			b.Block, b.Began = blocks[a.Trial], a.Began
		}
	}
	var all []benchRow
	for _, name := range slices.Sorted(maps.Keys(known)) {
		all = append(all, *known[name])
	}
	return all
}

// heardOf adds what the coordinator says of the benches. Where it leaves some out, only those
// that it names are listed.
func heardOf(rows []benchRow, said []fleet.BenchState, more int) []benchRow {
	rows = slices.Clone(rows)
	if more > 0 {
		rows = slices.DeleteFunc(rows, func(b benchRow) bool {
			return !slices.ContainsFunc(said, func(x fleet.BenchState) bool { return x.Bench == b.Name })
		})
	}
	for _, x := range said {
		i := slices.IndexFunc(rows, func(b benchRow) bool { return b.Name == x.Bench })
		if i < 0 {
			i = len(rows)
			rows = append(rows, benchRow{Name: x.Bench})
		}
		b := &rows[i]
		b.Standing, b.Why, b.Arriving = string(x.Standing), x.Why, x.Arriving
		if b.Block != x.Block { // the ledger was read a moment before
			b.Block, b.Began = x.Block, time.Time{}
		}
		if !x.Heard.IsZero() {
			b.Heard = study.DurationText(max(0, time.Since(x.Heard)).Round(time.Second)) + " ago"
		}
	}
	return rows
}

// agreements remembers in what the benches of running studies disagree so far.
type agreements struct {
	mu    sync.Mutex
	known map[string]agreement // by path
}

type agreement struct {
	at    time.Time
	valid int
	lines []string
}

// judgeEvery is how often benches are compared while a study runs.
const judgeEvery = 30 * time.Second

// of compares the benches of a place anew if there are more valid trials, not too often.
func (x *agreements) of(p place, valid int) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	a, ok := x.known[p.path()]
	if ok && (a.valid == valid || time.Since(a.at) < judgeEvery) {
		return a.lines
	}
	a = agreement{at: time.Now(), valid: valid}
	if s, err := p.store(true); err == nil {
		defer s.Close()
		if r, err := report.ReadUnverified(s); err == nil { // what is wrong the report's page says
			a.lines = r.DisagreementsSoFar()
		}
	}
	if x.known == nil {
		x.known = map[string]agreement{}
	}
	x.known[p.path()] = a
	return a.lines
}
