package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Pos is a place in a study file, or a --set of the command line. Line and
// Col count from 1, Col in characters; Line is 0 where File says it all.
type Pos struct {
	File      string
	Line, Col int
}

func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// A Word is a value that remembers where it stood in the file.
type Word struct {
	Text string
	Pos  Pos
}

func (w Word) String() string { return w.Text }

// An Error is one fault of a study: where, what, and what to write instead.
type Error struct {
	Pos    Pos
	What   string
	Advice string
	// Here says that the study is right and this machine lacks something.
	Here bool
	// Aside says that all else of the study can be judged: it is a name in the list of responses.
	Aside bool
}

func fault(pos Pos, what, advice string) Error { return Error{Pos: pos, What: what, Advice: advice} }

func (e *Error) Error() string { return e.text() }

// MostShown is how many faults are shown to a person: more would help nobody.
const MostShown = 200

// Errors are all the faults of a study, in the order of their positions, those
// of the command line last.
type Errors []*Error

// Error has a line for each, but of very many the first ones only, and how many more there are.
func (e Errors) Error() string {
	first := e[:min(len(e), MostShown)]
	lines := make([]string, len(first))
	for i, x := range first {
		lines[i] = x.Error()
	}
	if more := len(e) - len(first); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Here says whether the study is right and only this machine lacks something.
func (e Errors) Here() bool {
	return !slices.ContainsFunc(e, func(x *Error) bool { return !x.Here })
}

// Aside says whether all else of the study can be judged, and is in what Parse returned.
func (e Errors) Aside() bool {
	return len(e) < MostShown && !slices.ContainsFunc(e, func(x *Error) bool { return !x.Aside })
}

// Unwrap lets errors.As find each Error.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, x := range e {
		errs[i] = x
	}
	return errs
}

// faults gathers errors, each once: treatments that share a fault share its report.
type faults struct {
	list Errors
	seen map[Error]bool
}

func (f *faults) add(x Error) {
	x.What, x.Advice = shortened(x.What), shortened(x.Advice)
	if f.seen[x] {
		return
	}
	if f.seen == nil {
		f.seen = map[Error]bool{}
	}
	f.seen[x] = true
	f.list = append(f.list, &x)
}

// mostWords is how long a text of a fault may be, in B: it has what stands in the study, which may be of any length.
const mostWords = 2000

// shortened is a text without its middle, if it is longer.
func shortened(text string) string {
	if len(text) <= mostWords {
		return text
	}
	return strings.ToValidUTF8(text[:mostWords/2]+" … "+text[len(text)-mostWords/2:], "")
}

func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(
			cmp.Compare(min(1, b.Pos.Line), min(1, a.Pos.Line)), // a file's before --set's
			cmp.Compare(len(a.Pos.File), len(b.Pos.File)),       // --set 9 before --set 10
			cmp.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
}
