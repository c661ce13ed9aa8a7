package reference

import (
	"errors"
	"testing"
	"time"
)

func TestFirstInvoke(t *testing.T) {
	bad := errors.New("bad")
	answer := func(f *firstInvoke, wrong error) { f.answered(); f.end(wrong) }
	for _, tt := range []struct {
		what  string
		do    func(*firstInvoke)
		timed bool
	}{
		{"nothing yet", func(f *firstInvoke) {}, false},
		{"the first is answered", func(f *firstInvoke) { f.begin(); answer(f, nil) }, true},
		{"and so is the second", func(f *firstInvoke) { f.begin(); answer(f, nil); f.begin(); answer(f, nil) }, true},
		{"the first has a wrong answer", func(f *firstInvoke) { f.begin(); answer(f, bad); f.begin(); answer(f, nil) },
			false},
		{"one of several is over before the next begins", func(f *firstInvoke) { f.none(); f.begin(); answer(f, nil) },
			false},
		{"several begin after the first", func(f *firstInvoke) { f.begin(); answer(f, nil); f.none() }, true},
		{"the first has no answer", func(f *firstInvoke) { f.begin(); f.begin(); answer(f, nil) }, false},
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

// To check the first answer is no part of its total (PROTOCOL.md).
func TestFirstInvokeEndsBeforeTheCheck(t *testing.T) {
	var f firstInvoke
	const check = 5 * time.Millisecond
	f.begin()
	f.answered()
	time.Sleep(check)
	f.end(nil)
	if most := time.Duration(now()-f.began) - check; f.phases().FirstInvoke > most {
		t.Errorf("it took more than the %v before the check", most)
	}
}
