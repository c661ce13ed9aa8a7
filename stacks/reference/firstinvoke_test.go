package reference

import (
	"errors"
	"testing"
)

func TestFirstInvoke(t *testing.T) {
	bad := errors.New("bad")
	for _, tt := range []struct {
		what  string
		do    func(*firstInvoke)
		timed bool
	}{
		{"nothing yet", func(f *firstInvoke) {}, false},
		{"the first is answered", func(f *firstInvoke) { f.begin(); f.end(nil) }, true},
		{"and so is the second", func(f *firstInvoke) { f.begin(); f.end(nil); f.begin(); f.end(nil) }, true},
		{"the first has a wrong answer", func(f *firstInvoke) { f.begin(); f.end(bad); f.begin(); f.end(nil) }, false},
		{"the first has no answer", func(f *firstInvoke) { f.begin(); f.begin(); f.end(nil) }, false},
	} {
		var f firstInvoke
		tt.do(&f)
		if got := f.phases().FirstInvoke > 0; got != tt.timed {
			t.Errorf("%s: timed %v", tt.what, got)
		}
		if f.phases().FirstInvoke != 0 {
			t.Errorf("%s: told twice", tt.what)
		}
	}
}
