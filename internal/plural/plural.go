// Package plural counts things in English, and times.
package plural

import (
	"fmt"
	"strings"
	"time"
)

// Count is a number with its noun: "1 trial", "2 trials", "3 queries".
func Count[N int | int64 | uint64](n N, noun string) string {
	if n != 1 {
		noun = of(noun)
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// of is the plural of a noun that follows the rules.
func of(noun string) string {
	stem, y := strings.CutSuffix(noun, "y")
	switch {
	case y && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e") && !strings.HasSuffix(stem, "o"):
		return stem + "ies"
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "ch"),
		strings.HasSuffix(noun, "sh"):
		return noun + "es"
	}
	return noun + "s"
}

// Verb is the form of a verb after a count: Verb(1, "was", "were") is "was".
func Verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Duration is d.String() without its empty parts: 10m, not 10m0s.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
