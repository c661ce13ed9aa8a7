// Package report turns a store into tables, figures and their warnings. It
// recomputes every summary from the trials and measures nothing.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// Formats are the ways to write a report.
var Formats = map[string]func(*Report, io.Writer) error{
	"text": (*Report).Text, "csv": (*Report).CSV, "json": (*Report).JSON, "html": (*Report).HTML,
	"markdown": (*Report).Markdown, "latex": (*Report).LaTeX, "benchfmt": (*Report).Benchfmt,
}

// A Report is a results directory, summarized.
type Report struct {
	Study      study.Study
	Dir        string
	Started    time.Time     // of the first run
	Within     time.Duration // in which all valid trials ran
	StudyFile  string        // of the last run, in Dir
	Factors    []string
	Treatments []Treatment
	Cells      []Cell // treatment by treatment, in the order of measure.Responses, client first
	Facts      Facts
	RawFacts   json.RawMessage
	Runtimes   map[string][]string // what each stack's programs ran on, "server: …", by stack
	Trials     []store.TrialState
	Warnings   []string         // about the whole, as doubts and missing trials
	Starved    []Starvation     // sides that waited for a CPU
	Alarms     []string         // figures that cannot be right as they stand, each with its likely cause and what to try
	Damage     []string         // how the files differ from what the lab wrote
	Unread     bool             // that is only that some cannot be read here: nobody knows what they hold
	LeftOut    []string         // folders of raw files that these results, a copy, do not hold
	Effects    []Effects        // of the factors, in the order of Panels
	ShowAnova  bool             // Text says what explains the variation of trials, too
	Search     string           // what the search for a capacity found whose trials these are; empty: they are of none
	Published  *paper.Scorecard // what was published, and what ours say of its claims; nil: nothing is asked

	Predicted   []Predicted // what a board would do; Predict fills both
	Unpredicted []string    // where that is not known, and why

	Pilot int // blocks of a pilot whose spread may have said how many there are; 0: there was none

	Benches *Benches // nil: the study ran on one
	joint   []string // how several benches drove the servers together, in words
	ending  *store.Ending

	Next []Step // what to do with these results; the page shows it

	Distributions []*Distribution // as Cells; ReadRaw fills them
	Traces        []*Trace        // trial by trial; ReadRaw fills them

	places  map[string]int // among Treatments, by placeKey of their levels
	failing map[int]bool   // trials of which requests failed
}

// A Step is what a reader may do next, and the command that does it.
type Step struct{ What, Command string }

// A Treatment is one level of every factor.
type Treatment struct {
	Levels []string
	Stack  string // full name of the server's
	Floor  int    // index of the treatment that is its floor; -1: none, or it is one
	Wanted int    // trials planned
	Valid  int

	unrun     int // of the trials planned: never begun, or interrupted
	setup     *study.Setup
	failed    []stat.Share       // of the requests of each valid trial
	repeated  []stat.Share       // likewise, those that the client sent again
	trials    []int              // likewise, their IDs
	late      []int              // likewise, of those that failed the ones without an answer in time; nil: nobody knows
	timers    []float64          // s, from where on the timer is at which round trips of each gather; 0: none
	lost      map[int]stat.Share // of the requests, by block: see lostInBlocks
	ended     map[int]int        // attempts that took longer than a trial may, by block
	faults    advise.Faults      // attempts that do not count for what its programs did
	drift     float64            // RTT of the last third of a trial over that of its first; 0: they do not differ
	recovered [2]int             // trials whose devices recovered, of those with an outage
}

// Setup is every setting of the treatment.
func (t Treatment) Setup() *study.Setup { return t.setup }

// Name is the treatment in words: its levels, or its stack or URL where nothing varies.
func (t Treatment) Name() string {
	switch {
	case len(t.Levels) > 0:
		return strings.Join(t.Levels, " ")
	case t.setup != nil && t.setup.URL != "":
		return t.setup.URL
	}
	return t.Stack
}

// Read summarizes an open store.
func Read(s *store.Store) (*Report, error) {
	r, err := read(s, s.Verify(), (*Report).readFailed)
	if err == nil && len(r.Damage) == 0 {
		r.Effects = r.effectsOfAll()
	}
	return r, err
}

// ReadUnverified is Read for a first look at results that are large, or still in
// motion: it reads the ledger only, Damage is empty whatever the files are, and
// Effects, which take longest, are left out.
func ReadUnverified(s *store.Store) (*Report, error) {
	return read(s, nil, (*Report).unseenFailed)
}

// ReadPast is ReadUnverified for PastOf: where requests failed, it reads the exchanges of those trials.
func ReadPast(s *store.Store) (*Report, error) {
	return read(s, nil, (*Report).readFailed)
}

// read looks among all requests of trials, of which some failed, as it is told to.
func read(s *store.Store, damage []error, amongAll func(*Report, *store.Store)) (*Report, error) {
	r, err := ReadFigures(s)
	if err != nil {
		return nil, err
	}
	r.Unread = len(damage) > 0
	for _, err := range damage {
		r.Damage = append(r.Damage, err.Error())
		r.Unread = r.Unread && errors.Is(err, store.ErrUnread)
	}
	r.Search = searched(s.Dir())
	r.runtimes(s)
	if err := r.clockSteps(s); err != nil {
		return nil, err
	}
	if err := errors.Join(r.doubtPrograms(s), r.doubtBenchPrograms(s)); err != nil {
		return nil, err
	}
	amongAll(r, s)
	r.aboveFloor()
	if err := r.doubtTrials(s); err != nil {
		return nil, err
	}
	r.sayServices()
	if err := r.judgeBenches(s); err != nil {
		return nil, err
	}
	r.doubtPrecision()
	r.doubtModels()
	r.doubtFrames()
	r.doubtPlacement()
	r.checkSanity()
	r.checkSpeed()
	if err := r.published(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Dir(), err)
	}
	r.doubts()
	return r, nil
}

// valid are the trials that figures are of, with the index of their treatment.
func (r *Report) valid() iter.Seq2[int, store.TrialState] {
	return func(yield func(int, store.TrialState) bool) {
		for _, t := range r.Trials {
			i := r.TreatmentOf(t.Treatment)
			if i >= 0 && t.State == store.Valid && !r.isAside(t.ID) && !yield(i, t) {
				return
			}
		}
	}
}

// ReadFigures is ReadUnverified without comparisons and most doubts: the trials of each treatment, and what they come
// to. It reads the ledger, the study and the facts, and no file of a trial.
func ReadFigures(s *store.Store) (*Report, error) {
	text, overrides, err := s.Study()
	if err != nil {
		return nil, err
	}
	r := &Report{Dir: s.Dir()}
	if r.LeftOut, err = s.LeftOut(); err != nil {
		return nil, err
	}
	if err := r.readFacts(s); err != nil {
		return nil, err
	}
	known := study.Vocabulary{Earlier: r.Facts.Placement == nil}
	if r.Study, err = study.Parse("study.yaml", text, known, overrides...); err != nil {
		return nil, fmt.Errorf("%s: study.yaml: %w", s.Dir(), err)
	}
	for _, f := range r.Study.Factors {
		r.Factors = append(r.Factors, f.Name)
	}
	if r.Trials, err = s.Trials(); err != nil {
		return nil, err
	}
	if r.Pilot, err = r.pilot(s); err != nil {
		return nil, err
	}
	if r.ending, err = s.Ending(); err != nil {
		return nil, err
	}
	if err := r.treatments(); err != nil {
		return nil, err
	}
	if err := r.cells(s); err != nil {
		return nil, err
	}
	if err := r.chooseHeadlines(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Dir(), err)
	}
	return r, nil
}

// treatments lists the plan's treatments in the order of the study file.
func (r *Report) treatments() error {
	p, err := study.Expand(r.Study)
	if err != nil {
		return err
	}
	r.Treatments = make([]Treatment, r.Study.Treatments())
	for _, t := range p.Trials {
		x := &r.Treatments[t.Cell]
		if x.Levels == nil {
			for _, w := range t.Treatment {
				x.Levels = append(x.Levels, w.Text)
			}
			x.Stack, x.setup = t.Setup.Server.Stack, t.Setup
		}
	}
	r.places = make(map[string]int, len(r.Treatments))
	for i := range r.Treatments {
		r.Treatments[i].Floor = r.floorOf(i)
		r.places[placeKey(r.Treatments[i].Levels)] = i
	}
	for _, t := range r.Trials {
		i := r.TreatmentOf(t.Treatment)
		if i < 0 {
			continue
		}
		if t.State == store.Lacking || Dropped(r.Study, t) {
			continue
		}
		r.Treatments[i].Wanted++ // by the ledger: a precision adds blocks that the study does not have
		switch t.State {
		case store.Valid:
			r.Treatments[i].Valid++
		case store.Planned, store.Running:
			r.Treatments[i].unrun++
		}
	}
	return nil
}

// TreatmentOf is the place of a trial's treatment among Treatments; -1: it is none.
func (r *Report) TreatmentOf(levels []store.Level) int {
	texts := make([]string, len(r.Factors))
	for _, l := range levels {
		k := slices.Index(r.Factors, l.Factor)
		if k < 0 || len(levels) != len(texts) {
			return -1
		}
		texts[k] = l.Text
	}
	if i, ok := r.places[placeKey(texts)]; ok {
		return i
	}
	return -1
}

// placeKey is levels as one text. The study's have no NUL, so whatever a ledger's hold, only equal ones are equal.
func placeKey(levels []string) string { return strings.Join(levels, "\x00") }
