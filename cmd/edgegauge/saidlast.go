package main

import (
	"fmt"
	"strings"

	"edgegauge.example/edgegauge/internal/lazy"
)

// Where interpreters say the file and the line of an error: Python above it, for each call, the innermost last; Node
// first of all.
var (
	pythonPlace = lazy.Regexp(`(?m)^ *File "(.+)", line ([0-9]+)`)
	nodePlace   = lazy.Regexp(`(?m)^(?:file://)?(/.+):([0-9]+)$`)
	anError     = lazy.Regexp(`^[A-Za-z0-9_.]*(Error|Exception|Exit|Interrupt)\b`)
	nodeError   = lazy.Regexp(`(?m)^(?:Uncaught )?[A-Za-z]*Error\b.*$`)
)

// saidLast is the last line of a log, with the file and the line of an error that ends it.
func saidLast(text string) string {
	text = strings.TrimSpace(text)
	last, place := text[strings.LastIndex(text, "\n")+1:], pythonPlace
	if strings.HasPrefix(last, "Node.js v") { // it says its version below the error
		place = nodePlace
		if all := nodeError().FindAllString(text, -1); len(all) > 0 {
			last = all[len(all)-1]
		}
	}
	all := place().FindAllStringSubmatch(text, -1)
	if len(all) == 0 || !anError().MatchString(last) { // an earlier error is not what the program ended with
		return last
	}
	return fmt.Sprintf("%s (%s, line %s)", last, all[len(all)-1][1], all[len(all)-1][2])
}
