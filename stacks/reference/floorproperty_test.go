package reference

import (
	"strings"
	"testing"
)

// The property of the description and the names that results are known by agree.
func TestFloorsAreMarked(t *testing.T) {
	floors := 0
	for _, d := range Stacks() {
		if d.Floor != strings.HasPrefix(d.Name, Prefix+"floor-") {
			t.Errorf("%s: floor %v", d.Name, d.Floor)
		}
		if d.Floor {
			floors++
		}
	}
	if floors != 2 {
		t.Errorf("%d floors, want TCP's and UDP's", floors)
	}
}
