package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// doubtBenchPrograms warns, for the whole and beside the figures, where one bench measured
// with two builds of a program; and, for the whole, where benches of one architecture have
// different builds, which is then part of the difference between benches.
func (r *Report) doubtBenchPrograms(s *store.Store) error {
	seen, err := s.BenchFactsSeen()
	if err != nil {
		return err
	}
	type program struct{ name, arch string }
	byName := func(a, b program) int { return strings.Compare(a.name+" "+a.arch, b.name+" "+b.arch) }
	across := map[program]map[string][]string{} // benches by checksum
	for _, bench := range slices.Sorted(maps.Keys(seen)) {
		within := map[program][]string{} // checksums
		for _, text := range seen[bench] {
			var f Facts
			if json.Unmarshal(text, &f) != nil {
				continue // a bench's facts are whatever JSON it brings
			}
			arch := f.Devices["local"].Arch
			sums := map[string]string{"edgegauge": f.Edgegauge["sha256"]}
			for name, stack := range f.Stacks {
				sums["stack "+name] = digest(stack.Checksums)
			}
			for name, sum := range sums {
				p := program{name, arch}
				if sum != "" && !slices.Contains(within[p], sum) {
					within[p] = append(within[p], sum)
				}
			}
		}
		for _, p := range slices.SortedFunc(maps.Keys(within), byName) {
			sums := within[p]
			if len(sums) > 1 {
				r.warnOfBench(bench, p.name, sums)
			}
			if across[p] == nil {
				across[p] = map[string][]string{}
			}
			for _, sum := range sums {
				across[p][sum] = append(across[p][sum], bench)
			}
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(across), byName) {
		if len(across[p]) < 2 || severalOf(across[p]) < 2 {
			continue
		}
		var parts []string
		for _, sum := range slices.Sorted(maps.Keys(across[p])) {
			parts = append(parts, fmt.Sprintf("%s with %.8s…", list(across[p][sum], mostNames), sum))
		}
		r.Warnings = append(r.Warnings, fmt.Sprintf("benches have different builds of %s (%s), so differences between "+
			"benches contain those of builds; give all benches the same build", p.name, strings.Join(parts, ", ")))
	}
	return nil
}

// severalOf is how many benches there are.
func severalOf(bySum map[string][]string) int {
	all := map[string]bool{}
	for _, benches := range bySum {
		for _, b := range benches {
			all[b] = true
		}
	}
	return len(all)
}

func (r *Report) warnOfBench(bench, name string, sums []string) {
	short := make([]string, len(sums))
	for i, s := range sums {
		short[i] = fmt.Sprintf("%.8s…", s)
	}
	text := fmt.Sprintf("bench %s measured with %d different builds of %s (%s), so its figures are not of one program; "+
		"measure again into a new directory", bench, len(sums), name, strings.Join(short, ", "))
	r.Warnings = append(r.Warnings, text)
	for i, t := range r.Treatments {
		if t.setup == nil || name != "edgegauge" && name != "stack "+t.setup.Client.Stack &&
			name != "stack "+t.setup.Server.Stack {
			continue
		}
		for _, side := range []measure.Side{measure.Client, measure.Server} {
			r.warnCells(i, side, nil, text)
		}
	}
}
