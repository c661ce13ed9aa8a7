package study

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// FuzzParse: no input panics or hangs, an error always says where and what to
// do, and what is accepted has a plan that keeps its promises.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/good/*.yaml", "testdata/bad/*.yaml"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			if len(data) < 4096 {
				f.Add(data, "requests=100")
			}
		}
	}
	f.Add([]byte(overridden), "factors.stack=[soap, rest-json]")
	f.Add([]byte(overridden), "client={device: pi}")
	f.Add([]byte(overridden), "link.up.delay=3ms")
	v := vocabulary()
	f.Fuzz(func(t *testing.T, data []byte, set string) {
		for _, sets := range [][]string{nil, {set}} {
			s, err := Parse("f", data, v, sets...)
			if err != nil {
				complaints(t, err)
				continue
			}
			promises(t, s)
		}
	})
}

func complaints(t *testing.T, err error) {
	var errs Errors
	if !errors.As(err, &errs) || len(errs) == 0 {
		t.Fatalf("got %T %v, want Errors", err, err)
	}
	for _, e := range errs {
		set := strings.HasPrefix(e.Pos.File, "--set ") && e.Pos.Line == 0
		if !set && (e.Pos.File != "f" || e.Pos.Line < 1 || e.Pos.Col < 1) || e.What == "" || e.Advice == "" {
			t.Fatalf("got %#v, want where, what and what to do", e)
		}
		if strings.Contains(e.Error(), "\n") {
			t.Fatalf("got %q, want one line", e)
		}
	}
	if !slices.IsSortedFunc(errs, func(a, b *Error) int {
		if a.Pos.File != b.Pos.File || a.Pos.Line == b.Pos.Line {
			return 0
		}
		return a.Pos.Line - b.Pos.Line
	}) {
		t.Fatalf("got %v, want them in the order of the file", errs)
	}
}

func promises(t *testing.T, s Study) {
	s.Design.Replications = min(s.Design.Replications, 2)
	p, err := Expand(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Trials) != s.Treatments()*s.Design.Replications || s.Treatments() == 0 {
		t.Fatalf("got %d trials of %d treatments", len(p.Trials), s.Treatments())
	}
	for _, tr := range p.Trials[:s.Treatments()] {
		x := tr.Setup
		if x.Service == "" || x.Client.Stack == "" || x.Server.Stack == "" || x.N > 0 && x.Size > 0 ||
			(x.Requests > 0) == (x.Duration > 0) || x.Concurrency < 1 {
			t.Fatalf("got %+v", *x)
		}
	}
}
