package store

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/study"
)

// sameStudy says how the study or the block of other results differ from ours. The study may be that of any of our
// runs: what a later one may change (mayGrow) leaves a block as it was, and benches go on with theirs meanwhile.
func (s *Store) sameStudy(from *Store, block int) error {
	runs, err := s.Runs()
	if err != nil {
		return err
	}
	text, sets, err := from.Study()
	if err != nil {
		return err
	}
	sum := digestOf(text)
	if !slices.ContainsFunc(runs, func(r Run) bool { return r.studyDigest == sum && slices.Equal(r.Overrides, sets) }) {
		return errors.New("results of another study")
	}
	want, err := s.BlockPlan(block)
	if err != nil {
		return err
	}
	got, err := from.plan()
	if err == nil && !bytes.Equal(got, want) {
		err = errors.New("results of another plan")
	}
	if err != nil {
		return err
	}
	trials, err := from.Trials()
	if err != nil {
		return err
	}
	all, err := s.trialsByID()
	if err != nil {
		return err
	}
	for _, t := range trials {
		own, ok := all[t.ID]
		if !ok || own.Block != block || t.Block != block ||
			encodeTreatment(own.Treatment) != encodeTreatment(t.Treatment) {
			return fmt.Errorf("trial %d is not in the plan of block %d", t.ID, block)
		}
	}
	return nil
}

// BlockPlan is plan.csv of one block alone: the header, and its lines.
func (s *Store) BlockPlan(block int) ([]byte, error) {
	text, err := s.plan()
	if err != nil {
		return nil, err
	}
	trials, err := s.Trials()
	if err != nil {
		return nil, err
	}
	// Note: a quoted level may hold a line break, so that lines would not do; plans that
	// are written by study.Plan have none (a level is one word), and checkTrials counts.
	lines := strings.SplitAfter(string(text), "\n")
	if len(lines) < len(trials)+1 {
		return nil, s.damaged("the plan has %d lines for %d trials", len(lines), len(trials))
	}
	out := []byte(lines[0])
	for i, t := range trials {
		if t.Block == block {
			out = append(out, lines[i+1]...)
		}
	}
	return out, nil
}

// check refuses a path that is not as this package names the files of an attempt:
// it becomes a path of ours.
func (f deliveredFile) check(a delivered) error {
	want := filepath.Join(f.kind, f.name)
	own := ourName().FindStringSubmatch(f.name)
	switch {
	case f.kind == trialsDir:
		want, own = filepath.Join(trialsDir, trialName(a.Trial, a.Attempt), f.name), nil
	case !slices.Contains(kinds, f.kind):
		return fmt.Errorf("%s: no kind of file %q", f.path, f.kind)
	case a.state != Valid:
		inner, ok := strings.CutPrefix(f.name, f.kind+"-")
		if own = ourName().FindStringSubmatch(inner); !ok {
			own = nil
		}
		want = asideName(f.kind, inner)
	}
	named := own != nil && own[1]+"-"+own[2] == attemptName(a.Trial, a.Attempt)
	if f.path != want || !Portable(filepath.ToSlash(f.path)) || f.kind != trialsDir && !named {
		return fmt.Errorf("%.200q: not a file of trial %d, attempt %d", f.path, a.Trial, a.Attempt)
	}
	return nil
}

// retries is how many the study of the last run allows.
func (s *Store) retries() (int, error) {
	text, sets, err := s.Study()
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(settings(text, sets)["retries"])
	if err != nil {
		n = study.DefaultRetries
	}
	return n, nil
}

// checkDelivery says what is wrong with attempts that a bench delivered. It had so many retries: fewer than now where
// the study got more of them since the block was ordered.
func (s *Store) checkDelivery(o Order, retries, had int, attempts []delivered, lacks map[int]string) error {
	ordered, err := s.ordered(o)
	if err != nil {
		return err
	}
	valid, failed := map[int]int{}, map[int]int{}
	for i, a := range attempts {
		first := i == 0 || attempts[i-1].Trial != a.Trial
		switch {
		case !ordered[a.Trial]:
			return refused(o, "trial %d was not ordered", a.Trial)
		case a.Attempt < o.Attempt || a.Attempt > o.Attempt+retries || first && a.Attempt != o.Attempt:
			return refused(o, "trial %d has an attempt %d", a.Trial, a.Attempt)
		case a.state == Valid:
			valid[a.Trial]++
		case a.state == Invalid:
			failed[a.Trial]++
		default:
			return refused(o, "trial %d is %s", a.Trial, a.state)
		}
		if err := a.check(s); err != nil {
			return refused(o, "%v", err)
		}
	}
	for trial, why := range lacks {
		switch {
		case !s.incomplete:
			return refused(o, "trial %d is lacking, and the study wants every treatment of every bench", trial)
		case !ordered[trial] || valid[trial]+failed[trial] > 0 || len(why) > mostWords:
			return refused(o, "trial %d cannot be lacking", trial)
		}
	}
	if len(lacks) == len(ordered) {
		return refused(o, "nothing of it was measured")
	}
	for trial := range ordered {
		if _, lacking := lacks[trial]; lacking {
			continue
		}
		if n := failed[trial]; valid[trial] != 1 && n != retries+1 && n != had+1 {
			return refused(o, "trial %d is not done", trial)
		}
	}
	return nil
}

// ordered are the trials of an order.
func (s *Store) ordered(o Order) (map[int]bool, error) {
	rows, err := s.db.Query(`SELECT trial FROM attempts JOIN trials ON id = trial
		WHERE block = ? AND attempt = ? AND bench = ? AND boot = ?`, o.Block, o.Attempt, o.Bench.Name, o.Bench.Boot)
	if err != nil {
		return nil, s.word(err)
	}
	defer rows.Close()
	all := map[int]bool{}
	for rows.Next() {
		var trial int
		if err := rows.Scan(&trial); err != nil {
			return nil, s.word(err)
		}
		all[trial] = true
	}
	return all, s.word(rows.Err())
}

// mostWords is what a reason or a host name of a bench may have.
const mostWords = 64 << 10 // B

// check refuses what this program would not have written, and what would harm whoever
// reads our ledger later.
func (a delivered) check(s *Store) error {
	for _, text := range []string{a.started, a.ended} {
		if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
			return fmt.Errorf("trial %d: %w", a.Trial, err)
		}
	}
	for _, text := range []*string{&a.host, a.reason, a.log} {
		if text != nil && len(*text) > mostWords {
			return fmt.Errorf("trial %d: a text of %d B", a.Trial, len(*text))
		}
	}
	if a.state == Valid && len(a.results) == 0 {
		return fmt.Errorf("trial %d: valid without a result", a.Trial)
	}
	for _, r := range a.results {
		if known, ok := measure.FindResponse(r.Response); !ok || known.Unit != r.Unit ||
			r.Side != measure.Client && r.Side != measure.Server {
			return fmt.Errorf("trial %d: no response %.80q in %.20q of the %.20q", a.Trial, r.Response, r.Unit, r.Side)
		}
	}
	return s.checkResults(a.Trial, a.results)
}
