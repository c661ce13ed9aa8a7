package stat

import (
	"fmt"
	"math/bits"
	"slices"
)

// exactKruskal bounds the exact count: different rank sums kept at once, and
// values in more than two groups, of which more are never worth trying.
const (
	exactKruskal       = 300_000
	exactKruskalValues = 40
)

// KruskalWallis tests whether any of the groups tends to other values than the
// rest. Statistic is H, corrected for ties. Exact, ties included, for up to 40
// values while at most 300,000 different rank sums have to be kept (3 groups of
// 8, 4 of 3; often more); beyond that the chi-squared approximation.
func KruskalWallis(groups ...[]float64) (Test, error) {
	if len(groups) < 2 {
		return Test{}, fmt.Errorf("%w: %d groups are too few to compare; give at least 2", ErrTooFew, len(groups))
	}
	for i, g := range groups {
		if err := finite(g); err != nil {
			return Test{}, fmt.Errorf("group %d: %w", i+1, err)
		}
	}
	ranks, ties := doubledRanks(slices.Concat(groups...))
	sizes := make([]int, len(groups))
	var squares float64 // of rank sums over sizes, ranks doubled
	at := 0
	for i, g := range groups {
		sizes[i] = len(g)
		sum := 0
		for _, r := range ranks[at : at+len(g)] {
			sum += r
		}
		squares += float64(sum) * float64(sum) / float64(len(g))
		at += len(g)
	}
	t := Test{Name: "Kruskal-Wallis"}
	if len(ties) == 1 {
		t.P, t.Exact, t.Method = 1, true, "all values tie"
		return t, nil
	}
	n := float64(len(ranks))
	t.Statistic = (3*squares/(n*(n+1)) - 3*(n+1)) / (1 - tieSum(ties)/(n*n*n-n))
	if p, ok := kruskalP(ranks, sizes, squares); ok {
		t.P, t.Exact, t.Method = p, true, "exact, ties included"
		return t, nil
	}
	t.P = chi2Upper(t.Statistic, float64(len(groups)-1))
	t.Method = "chi-squared approximation, corrected for ties (too many arrangements to count)"
	return t, nil
}

// Arrangements of the ranks given so far, ascending by key. A key packs how
// many ranks each group but the last has, and their sum:
//
//	| count | sum | count | sum | ...   the first group lowest
type arrangements struct {
	key  []uint64
	ways []float64
}

// A packing says where counts and sums lie in a key.
type packing struct{ countBits, sumBits, groups int }

func (p packing) at(group int) int { return group * (p.countBits + p.sumBits) }

func (p packing) count(key uint64, group int) int {
	return int(key >> p.at(group) & (1<<p.countBits - 1))
}

func (p packing) sum(key uint64, group int) int {
	return int(key >> (p.at(group) + p.countBits) & (1<<p.sumBits - 1))
}

// kruskalP is the share of assignments of the ranks to groups of these sizes
// whose H is at least the observed one. H rises with the sum of squared rank
// sums over sizes, so that is what is compared.
func kruskalP(ranks, sizes []int, observed float64) (float64, bool) {
	total := 0
	for _, r := range ranks {
		total += r
	}
	last := len(sizes) - 1
	p := packing{bits.Len(uint(slices.Max(sizes))), bits.Len(uint(total)), last}
	if p.at(last) > 64 || last > 1 && len(ranks) > exactKruskalValues {
		return 0, false
	}
	now := arrangements{[]uint64{0}, []float64{1}}
	for given, r := range slices.Sorted(slices.Values(ranks)) {
		next := now.give(0, func(key uint64) bool {
			rest := given
			for g := range last {
				rest -= p.count(key, g)
			}
			return rest < sizes[last]
		})
		for g := range last {
			// One more rank for group g, and its value to the group's sum.
			step := (1 | uint64(r)<<p.countBits) << p.at(g)
			next = next.merge(now.give(step, func(key uint64) bool { return p.count(key, g) < sizes[g] }))
		}
		if now = next; len(now.key) > exactKruskal {
			return 0, false
		}
	}
	var far, all float64
	for i, key := range now.key {
		rest, squares := total, 0.0
		for g := range last {
			s := p.sum(key, g)
			rest -= s
			squares += float64(s) * float64(s) / float64(sizes[g])
		}
		squares += float64(rest) * float64(rest) / float64(sizes[last])
		all += now.ways[i]
		if squares >= observed*(1-1e-12) { // equal ones may differ in the last digit
			far += now.ways[i]
		}
	}
	return min(1, far/all), true
}

// give adds step to the keys that have room. Adding a constant keeps their
// order, so nothing need be sorted or hashed.
func (a arrangements) give(step uint64, room func(uint64) bool) arrangements {
	out := arrangements{make([]uint64, 0, len(a.key)), make([]float64, 0, len(a.key))}
	for i, k := range a.key {
		if room(k) {
			out.key, out.ways = append(out.key, k+step), append(out.ways, a.ways[i])
		}
	}
	return out
}

func (a arrangements) merge(b arrangements) arrangements {
	n := len(a.key) + len(b.key)
	out := arrangements{make([]uint64, 0, n), make([]float64, 0, n)}
	for i, j := 0, 0; i < len(a.key) || j < len(b.key); {
		switch {
		case j == len(b.key) || i < len(a.key) && a.key[i] < b.key[j]:
			out.key, out.ways = append(out.key, a.key[i]), append(out.ways, a.ways[i])
			i++
		case i == len(a.key) || b.key[j] < a.key[i]:
			out.key, out.ways = append(out.key, b.key[j]), append(out.ways, b.ways[j])
			j++
		default:
			out.key, out.ways = append(out.key, a.key[i]), append(out.ways, a.ways[i]+b.ways[j])
			i++
			j++
		}
	}
	return out
}
