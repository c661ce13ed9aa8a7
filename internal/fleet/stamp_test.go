package fleet

import (
	"fmt"
	"testing"
)

// What was written before something that was heard is older, whoever wrote it.
func TestOlder(t *testing.T) {
	var s stamps
	for i, x := range []struct {
		Stamp
		older bool
	}{
		{Stamp{"", 0}, false},
		{Stamp{"a", 2}, false},
		{Stamp{"a", 2}, false}, // told again
		{Stamp{"a", 1}, true},
		{Stamp{"a", 5}, false},
		{Stamp{"b", 1}, false}, // another coordinator
		{Stamp{"a", 5}, true},
		{Stamp{"a", 4}, true},
		{Stamp{"b", 1}, false},
		{Stamp{"a", 6}, false}, // it was only away, and conducts again
		{Stamp{"b", 1}, true},
		{Stamp{"b", 2}, false},
	} {
		if got := s.older(x.Stamp); got != x.older {
			t.Errorf("%d: %v is older: %v", i, x.Stamp, got)
		}
	}
	for i := range 10 * mostWriters {
		s.older(Stamp{fmt.Sprint("w", i), 1})
	}
	if len(s) != mostWriters {
		t.Errorf("%d writers are remembered", len(s))
	}
}
