package study

import "strings"

// nearest returns the known name that word most likely meant, or "". One
// mistake in three letters is forgiven, and so is a missing folder
// ("rest-json" for "reference/rest-json").
func nearest(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	best, least := "", max(1, len(word)/3)+1
	for _, k := range known {
		if strings.EqualFold(k, word) || strings.HasSuffix(k, "/"+word) {
			return k
		}
		if len(k) > 2*64 {
			continue
		}
		d := distance(strings.ToLower(word), k)
		if _, short, in := strings.Cut(k, "/"); in {
			d = min(d, distance(strings.ToLower(word), short))
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to insert, drop, change or swap with a neighbour
// (optimal string alignment; Damerau 1964).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// few is how many names are worth listing in one message.
const few = 10

// unknownAdvice says what may have been meant: the nearest name, or all of
// them where they are few.
func unknownAdvice(word string, known []string) string {
	if n := nearest(word, known); n != "" {
		return "did you mean " + n + "?"
	}
	switch {
	case len(known) == 0:
		return "remove it"
	case len(known) == 1:
		return "write " + known[0]
	case len(known) > few:
		return "see doc/write-a-study.md for those there are"
	}
	return "write one of " + strings.Join(known, ", ")
}
