// Package meant guesses what a mistyped name stands for.
package meant

import "strings"

// Nearest returns the known name that word most likely stands for, or "". One
// mistake in three letters is forgiven, and so is a missing folder
// ("rest-json" for "reference/rest-json").
func Nearest(word string, known []string) string {
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
		d := distance(strings.ToLower(word), strings.ToLower(k))
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

// Names returns what word may stand for: up to three names that begin with it ("coap" for "coap-json"), the
// nearest name, or up to three that contain it ("mqtt") or that it contains ("output" for "out").
func Names(word string, known []string) []string {
	const short, most = 3, 3 // letters; names
	near := Nearest(word, known)
	if near == "" || distance(strings.ToLower(word), strings.ToLower(near[strings.LastIndex(near, "/")+1:])) > 0 {
		var family []string
		for _, k := range known {
			if strings.HasPrefix(k[strings.LastIndex(k, "/")+1:], strings.ToLower(word)+"-") && len(word) >= short {
				family = append(family, k)
			}
		}
		if len(family) > 0 {
			return family[:min(most, len(family))]
		}
	}
	if near != "" {
		if distance(strings.ToLower(word), near[strings.LastIndex(near, "/")+1:]) >= short {
			for _, k := range known { // mqtt is what begins mqtt-json, rest-json only looks like it
				if name := k[strings.LastIndex(k, "/")+1:]; len(name) >= short &&
					strings.HasPrefix(strings.ToLower(word), name+"-") {
					return []string{k}
				}
			}
		}
		return []string{near}
	}
	if len(word) < short {
		return nil
	}
	var found []string
	for _, k := range known {
		name := k[strings.LastIndex(k, "/")+1:]
		if w := strings.ToLower(word); strings.Contains(k, w) || len(name) >= short && strings.Contains(w, name) {
			if found = append(found, k); len(found) > most {
				return found[:most]
			}
		}
	}
	return found
}

// few is how many names are worth listing in one message.
const few = 10

// Advice says what to write for a word that is not known: what it may stand for,
// or all names if they are few, else where they are listed.
func Advice(word string, known []string, listed string) string {
	if names := Names(word, known); names != nil {
		return Question(names...)
	}
	switch {
	case len(known) == 0:
		return "remove it"
	case len(known) == 1:
		return "write " + known[0]
	case len(known) > few:
		return listed
	}
	return "write one of " + strings.Join(known, ", ")
}

// Question asks whether one of the names was meant.
func Question(names ...string) string {
	last := len(names) - 1
	if last == 0 {
		return "did you mean " + names[0] + "?"
	}
	return "did you mean " + strings.Join(names[:last], ", ") + " or " + names[last] + "?"
}
