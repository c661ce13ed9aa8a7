package report

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/store"
)

// doubtPrograms warns, for the whole and beside the figures, where valid trials of
// one stack were measured with two builds of it, or with two of edgegauge.
// Directories of older labs have one facts.json; they are not doubted.
func (r *Report) doubtPrograms(s *store.Store) error {
	runs, err := s.Runs()
	if err != nil || len(runs) < 2 {
		return err
	}
	facts := make([]Facts, len(runs))
	for i, run := range runs {
		text, err := s.Facts(run)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &facts[i]); err != nil {
			return fmt.Errorf("%s: %s: %w", s.Dir(), run.FactsFile, err)
		}
	}
	runOf, err := s.RunOf(runs)
	if err != nil {
		return err
	}
	seen := map[string]builds{}
	for _, t := range r.Trials {
		i := r.TreatmentOf(t.Treatment)
		run, own := runOf[store.AttemptID{Trial: t.ID, Attempt: t.Attempt}]
		if i < 0 || t.State != store.Valid || !own {
			continue
		}
		f := facts[run]
		note(seen, "edgegauge", f.Edgegauge["sha256"], t.ID, i)
		setup := r.Treatments[i].setup
		for _, name := range slices.Compact([]string{setup.Client.Stack, setup.Server.Stack}) {
			note(seen, "stack "+name, digest(f.Stacks[name].Checksums), t.ID, i)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		r.warnBuilds(name, seen[name])
	}
	return nil
}

// builds are the builds of one program: the trials measured with each, by checksum.
type builds struct {
	order      []string // of the checksums, by their first trial
	trials     map[string][]int
	treatments map[int]bool // that used the program
}

func note(seen map[string]builds, program, sum string, trial, treatment int) {
	if sum == "" { // not known: a stack inside edgegauge, or results of an older lab
		return
	}
	b, ok := seen[program]
	if !ok {
		b = builds{trials: map[string][]int{}, treatments: map[int]bool{}}
	}
	if b.trials[sum] == nil {
		b.order = append(b.order, sum)
	}
	b.trials[sum] = append(b.trials[sum], trial)
	b.treatments[treatment] = true
	seen[program] = b
}

func (r *Report) warnBuilds(program string, b builds) {
	if len(b.order) < 2 {
		return
	}
	var parts []string
	for _, sum := range b.order {
		parts = append(parts, fmt.Sprintf("trials %s with %.8s…", ranges(b.trials[sum]), sum))
	}
	text := fmt.Sprintf("%s appears in %d different builds in these results (%s), so its figures are not of one program; "+
		"measure again into a new directory",
		program, len(b.order), strings.Join(parts, ", "))
	r.Warnings = append(r.Warnings, text)
	for i := range b.treatments {
		for _, side := range []measure.Side{measure.Client, measure.Server} {
			r.warnCells(i, side, nil, text)
		}
	}
}

// digest is one text for all the products of a stack.
func digest(sums map[string]string) string {
	if len(sums) == 0 {
		return ""
	}
	text, _ := json.Marshal(sums) // keys sorted
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// programDifferences say which programs of the new results are others than the old ones'.
func programDifferences(old, new *Report) []string {
	var out []string
	for _, name := range sortedKeys(old.Facts.Stacks) {
		was := old.Facts.Stacks[name]
		is, both := new.Facts.Stacks[name]
		sums := changedSums(was.Checksums, is.Checksums)
		known := was.complete() && is.complete()
		if !both || known && sums == "" {
			continue
		}
		parts := []string{sums}
		for _, x := range [][3]string{{"commit", was.Commit, is.Commit}, {"version", was.Version, is.Version}} {
			if x[1] != x[2] {
				parts = append(parts, fmt.Sprintf("%s %s before, %s now", x[0], orNone(x[1]), orNone(x[2])))
			}
		}
		if parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" }); len(parts) > 0 {
			out = append(out, "stack "+name+": "+strings.Join(parts, "; "))
		}
	}
	was, is := old.Facts.Edgegauge, new.Facts.Edgegauge
	if a, b := was["sha256"], is["sha256"]; a != "" && b != "" && a != b {
		out = append(out, fmt.Sprintf("edgegauge: %s, sha256 %.8s… before, %s, %.8s… now", orNone(was["version"]), a,
			orNone(is["version"]), b))
	}
	return out
}

// changedSums names the first file of a stack's products that is another one, and its checksums; empty: all are the
// same, or they are not known of both.
func changedSums(old, new map[string]string) string {
	if len(old) == 0 || len(new) == 0 {
		return ""
	}
	all := maps.Clone(old)
	maps.Copy(all, new)
	var names []string
	for _, name := range sortedKeys(all) {
		if old[name] != new[name] {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := fmt.Sprintf("sha256 of %s %.8s… before, %.8s… now", names[0], orNone(old[names[0]]), orNone(new[names[0]]))
	if more := len(names) - 1; more > 0 {
		text += fmt.Sprintf(", and of %s", plural.Count(more, "other file"))
	}
	return text
}

// ranges writes numbers short: 1–3, 7.
func ranges(numbers []int) string {
	numbers = slices.Sorted(slices.Values(numbers))
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] <= numbers[j]+1 {
			j++
		}
		part := fmt.Sprint(numbers[i])
		if j > i {
			part += fmt.Sprintf("–%d", numbers[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return list(parts, 8)
}
