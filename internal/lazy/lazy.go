// Package lazy puts off what most processes never need: each program of a stack inside this binary, each supervisor and
// each agent would pay for it before its main function begins.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp compiles a pattern when it is first asked for. A wrong one panics then; a test compiles all there are.
func Regexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
