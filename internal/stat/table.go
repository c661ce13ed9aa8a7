package stat

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Row is one observation: a level of each factor, the block it was run in
// ("" for none), and the response.
type Row struct {
	Levels []string
	Block  string
	Y      float64
}

// A Table is tidy data. Rows stand in the order they were measured, where that
// is known: the checks for drift and order effects rely on it.
type Table struct {
	Response string
	Factors  []string
	Rows     []Row
}

// Blocked reports whether the rows name blocks.
func (t Table) Blocked() bool { return len(t.Rows) > 0 && t.Rows[0].Block != "" }

func (t Table) check() error {
	if len(t.Rows) == 0 {
		return fmt.Errorf("%w: the table has no rows; run at least one valid trial of each treatment", ErrNoData)
	}
	if len(t.Factors) == 0 {
		return fmt.Errorf("%w: no factors are named; name the columns that distinguish the treatments", ErrNoData)
	}
	for i, f := range t.Factors {
		if slices.Contains(t.Factors[:i], f) || f == "" || f == blockTerm && t.Blocked() {
			return fmt.Errorf("factor %q appears twice or uses a reserved name; rename it", f)
		}
	}
	most := 0.0
	for i, r := range t.Rows {
		most = max(most, math.Abs(r.Y))
		switch {
		case len(r.Levels) != len(t.Factors):
			return fmt.Errorf("row %d has %d levels, but the factors are %s; give one level of each", i+1, len(r.Levels),
				strings.Join(t.Factors, ", "))
		case !isFinite(r.Y):
			return fmt.Errorf("row %d: %w: the response is %v; omit the row and say why, or repeat that trial", i+1,
				ErrNotFinite, r.Y)
		case (r.Block != "") != t.Blocked():
			return fmt.Errorf("row %d: some rows name a block and others do not; name the block in all rows or in none", i+1)
		}
	}
	if most > 0 && most < 1e-140 {
		return fmt.Errorf("%w: the values are too small for their spread to be told; use a smaller unit", ErrTooSmall)
	}
	return nil
}

// replicates averages the rows of one treatment and block, which are not
// replicates of each other. Without blocks each row is a replicate.
func (t Table) replicates() Table {
	if !t.Blocked() {
		return t
	}
	first := map[string]int{}
	var ys [][]float64
	out := Table{Response: t.Response, Factors: t.Factors}
	for _, r := range t.Rows {
		key := pack(append(slices.Clone(r.Levels), r.Block))
		at, ok := first[key]
		if !ok {
			at = len(ys)
			first[key] = at
			ys = append(ys, nil)
			out.Rows = append(out.Rows, r)
		}
		ys[at] = append(ys[at], r.Y)
	}
	for i := range ys {
		out.Rows[i].Y = meanOf(ys[i])
	}
	return out
}

func meanOf(xs []float64) float64 {
	if allEqual(xs) {
		return xs[0]
	}
	m, _ := moments(xs)
	return m
}

// pack makes one key of several strings, without ambiguity.
func pack(words []string) string {
	var b []byte
	for _, w := range words {
		b = binary.AppendUvarint(b, uint64(len(w)))
		b = append(b, w...)
	}
	return string(b)
}

// A treatment is one level of every factor, with its replicates in row order.
type treatment struct {
	levels []string
	blocks []string
	ys     []float64
}

// treatments groups the rows; the order is that of the levels, so that it does
// not depend on the order of the rows.
func (t Table) treatments() []treatment {
	at := map[string]int{}
	var out []treatment
	for _, r := range t.Rows {
		key := pack(r.Levels)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, treatment{levels: r.Levels})
		}
		out[i].ys = append(out[i].ys, r.Y)
		out[i].blocks = append(out[i].blocks, r.Block)
	}
	rank := make([]map[string]int, len(t.Factors))
	for f := range t.Factors {
		rank[f] = positions(t.levels(f))
	}
	slices.SortFunc(out, func(a, b treatment) int {
		for f := range t.Factors {
			if d := rank[f][a.levels[f]] - rank[f][b.levels[f]]; d != 0 {
				return d
			}
		}
		return 0
	})
	return out
}

// levels lists a factor's levels: by value if all are numbers, else by letter.
func (t Table) levels(factor int) []string {
	seen := map[string]bool{}
	for _, r := range t.Rows {
		seen[r.Levels[factor]] = true
	}
	return ordered(seen)
}

func (t Table) blocks() []string {
	seen := map[string]bool{}
	for _, r := range t.Rows {
		seen[r.Block] = true
	}
	return ordered(seen)
}

func ordered(seen map[string]bool) []string {
	var out []string
	number := map[string]float64{}
	for s := range seen {
		out = append(out, s)
		if x, err := strconv.ParseFloat(s, 64); err == nil && isFinite(x) {
			number[s] = x
		}
	}
	slices.Sort(out)
	if len(number) == len(out) {
		slices.SortStableFunc(out, func(a, b string) int {
			if number[a] < number[b] {
				return -1
			}
			if number[a] > number[b] {
				return 1
			}
			return 0
		})
	}
	return out
}

func positions(words []string) map[string]int {
	at := map[string]int{}
	for i, w := range words {
		at[w] = i
	}
	return at
}
