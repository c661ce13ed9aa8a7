package study

import (
	"maps"
	"slices"
)

// A Vocabulary is what this room learns of the outside, handed in by main: it
// imports no service, stack or link. Nil fields accept any name, so the zero
// Vocabulary judges a file alone.
type Vocabulary struct {
	Services  map[string]ServiceFacts
	Responses []string
	Sided     []string            // responses after the side that has them: server.cpu
	Synonyms  map[string][]string // what other tools call responses, and the responses they may mean
	Links     []string            // profiles; "none" is always known
	Devices   []string
	// Broken is why a link or a device of that name is not among them: its file is wrong; empty: there is none.
	Broken   func(what, name string) string
	Emulated []string // those of Devices that can count instructions
	// Board says what is wrong with the name of a device that is a URL; nil: the
	// study may name none.
	Board           func(name string) error
	MostConnections int   // of a driver; 0: no limit
	MostRate        int64 // requests a second of a driver; 0: no limit but 1e9

	Published map[string][]string // tables to compare with, and their columns
	// Stacks finds a stack by its full or short name. It is asked only for the
	// stacks a study names, so it may look for their runtimes.
	Stacks     func(name string) (StackFacts, bool)
	StackNames []string // to suggest from
	// Earlier: the study was run by a version without min_duration and placement,
	// which have no default then.
	Earlier bool
	// Kept is how many of the overrides, the first, were kept with results or came with an
	// order to a bench. The user of this machine knows no --set of their numbers.
	Kept int
}

// ServiceFacts is what a study must know of a service.
type ServiceFacts struct {
	Sized    bool // its message has n elements, so a study gives n or size
	Sizeable bool // a study may give n or size
}

// fixed says that its messages have one size.
func (f ServiceFacts) fixed() bool { return !f.Sized && !f.Sizeable }

// StackFacts is what a study must know of a stack.
type StackFacts struct {
	Name    string // its full name; empty: as asked for
	Missing string // why it cannot run here and the command that mends it; empty: it can
	Serves  []Cell // nil: not known, everything is accepted
	Options []string
	// Populations says that its client can be many devices.
	Populations bool
	// Java says that it runs on a JVM, which takes a while to start.
	Java bool
	// Streams says that each of them has a connection over TCP.
	Streams bool
}

// A Cell is one row of the table of what a stack serves: every combination of
// its lists. An empty list accepts anything; the first of a list is what the
// stack takes where a study leaves it open.
type Cell struct {
	Services, Encodings, Securities, Transports, Connections []string

	Client, Server bool // the side the stack has for it
	Concurrency    int  // the most requests that its client has in flight; 0: any number
	// Options are what the study's options must be for this row; one that the
	// study does not give is empty.
	Options map[string]string
}

func serviceNames(v Vocabulary) []string {
	if v.Services == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(v.Services))
}

func deviceNames(v Vocabulary) []string { return v.Devices }
