package reasons

import (
	"fmt"
	"strings"
	"testing"
)

// However many texts there are, the table is bounded, and what it knows keeps its number.
func TestTableIsBounded(t *testing.T) {
	x := New()
	if x.Of("") != 0 || x.Of("refused") != 2 || x.Of("refused") != 2 {
		t.Errorf("%v", x.Texts)
	}
	for i := range 2 * Most {
		x.Of(fmt.Sprint("failure ", i))
	}
	if len(x.Texts) != Most || x.Of("refused") != 2 || x.Of("failure 5") != 8 || x.Of("another") != 1 {
		t.Errorf("%d texts; a known one is %d, a new one %d", len(x.Texts), x.Of("failure 5"), x.Of("another"))
	}
	long := New()
	if a, b := long.Of(strings.Repeat("x", 200)+"a"), long.Of(strings.Repeat("x", 200)+"b"); a != 2 || b != a {
		t.Errorf("two texts that begin alike are %d and %d", a, b)
	}
	if got := long.Texts[long.Of(strings.Repeat("x", 199)+"é")]; got != strings.Repeat("x", 199) {
		t.Errorf("cut to %q", got)
	}
}
