package testbed

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// openStore gathers the facts, and makes or resumes the results directory.
func (e *Experiment) openStore(ctx context.Context, r Request) error {
	x := e.assembly
	facts, err := x.gatherFacts(ctx)
	if err != nil {
		return err
	}
	facts.LeftOut = r.LeftOut
	h, err := x.header(r.Plan, r.Text, facts)
	if err != nil {
		return err
	}
	if err := e.chooseResults(r, h, facts); err != nil {
		return err
	}
	if err := sameName(e.Dir, h); err != nil {
		return err
	}
	if changed := changedSince(e.Dir, facts); changed != nil {
		return fmt.Errorf("%s was measured with %s: results of two programs must not be mixed, nor those of two machines or "+
			"links; use the original ones, or run into a new directory",
			e.Dir, strings.Join(changed, " and "))
	}
	if x.lab.Plan, err = asLongAs(r.Plan, e.Dir); err != nil {
		return err
	}
	if h, err = x.header(x.lab.Plan, r.Text, facts); err != nil {
		return err
	}
	if !r.shared {
		if x.lab.Same, err = x.watchStacks(facts); err != nil {
			return err
		}
	}
	if r.Ready != nil {
		if err := r.Ready(); err != nil {
			return err
		}
	}
	if r.Out == "" {
		base := filepath.Dir(e.Dir)
		if err := os.MkdirAll(base, 0o777); err != nil {
			return notThere(base, err)
		}
	}
	if x.lab.Store, err = createOrOpen(e.Dir, h); err != nil {
		return err
	}
	x.close = append(x.close, x.lab.Store.Close)
	e.latest = func() error {
		if r.Out != "" {
			return nil
		}
		return point(r.results(), e.Dir)
	}
	return alone(x.lab.Store, r.shared)
}

// sameName refuses results of a study with another name. What else is wrong with them, the store says.
func sameName(dir string, h store.Header) error {
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		return nil
	}
	defer s.Close()
	return s.Named(h)
}

// chooseResults names the results directory.
func (e *Experiment) chooseResults(r Request, h store.Header, facts runFacts) error {
	if e.Dir = r.Out; e.Dir != "" {
		return nil
	}
	base := filepath.Join(r.results(), r.Plan.Study.Name)
	last := LastNumber(base)
	e.Dir = filepath.Join(base, fmt.Sprintf("%03d", last))
	if e.Resumed = !r.Fresh && last > 0 && unfinished(e.Dir, h, r.Plan.Study.Retries); e.Resumed {
		e.Apart = changedSince(e.Dir, facts)
	}
	if !e.Resumed || e.Apart != nil {
		e.Resumed = false
		e.Dir = filepath.Join(base, fmt.Sprintf("%03d", last+1))
	}
	return nil
}

// results is the folder of results that get a number.
func (r Request) results() string { return cmp.Or(r.Results, "results") }

func notThere(base string, err error) error {
	return fmt.Errorf("%s: %w; run where you may write, or name a directory with --out", base, err)
}

// asLongAs makes the plan as long as results already are: precision may have added blocks, and
// blocks of some treatments only. Blocks that the results have stay as they are there.
func asLongAs(p study.Plan, dir string) (study.Plan, error) {
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		return p, nil // nothing there yet; what is wrong with it Open will say
	}
	defer s.Close()
	all, err := s.Trials()
	if err != nil || len(all) == 0 {
		return p, err
	}
	planned := map[int]bool{}
	for _, t := range all {
		planned[t.ID] = true
	}
	last := all[len(all)-1].Block
	if more := last - p.Trials[len(p.Trials)-1].Block; more > 0 && p.Study.Design.Precision > 0 {
		if p, err = p.Extend(more); err != nil {
			return p, err
		}
	}
	p.Trials = slices.DeleteFunc(slices.Clone(p.Trials), func(t study.Trial) bool {
		return t.Block <= last && !planned[t.ID]
	})
	return p, nil
}

func createOrOpen(dir string, h store.Header) (*store.Store, error) {
	s, err := store.Create(dir, h)
	if errors.Is(err, store.ErrExists) {
		return store.Open(dir, h)
	}
	return s, err
}

// unfinished reports whether dir holds results of this study that has not ended.
func unfinished(dir string, h store.Header, retries int) bool {
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		return false
	}
	defer s.Close()
	text, overrides, err := s.Study()
	if err != nil || !bytes.Equal(text, h.Study) || !slices.Equal(overrides, h.Overrides) {
		return false
	}
	left, err := s.Left(retries)
	return err == nil && left
}

// LastNumber is that of the newest results directory below base; 0: there is none.
func LastNumber(base string) int {
	entries, _ := os.ReadDir(base)
	last := 0
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "%d", &n); err == nil {
			last = max(last, n)
		}
	}
	return last
}

// point makes latest, in the folder of results, lead to dir.
func point(results, dir string) error {
	link := filepath.Join(results, "latest")
	target, err := filepath.Rel(results, dir)
	if err != nil {
		return err
	}
	next := filepath.Join(results, ".latest-"+rand.Text()) // another study may begin at the same instant
	if err := os.Symlink(target, next); err != nil {
		return err
	}
	if err := os.Rename(next, link); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return nil
}
