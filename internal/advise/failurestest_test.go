package advise

import (
	"strings"
	"testing"
)

// The test that is named is the one that the p is from.
func TestFailuresNameTheTestOfTheirP(t *testing.T) {
	for _, c := range []struct {
		what     string
		old, new []int
		want     string
	}{
		{"none before, the same share in each now", []int{0, 0, 0, 0, 0, 0}, []int{80, 80, 80, 80, 80, 80},
			"(p 0.00049, exact test of how many trials had failures)"},
		{"none before, in each now, hardly more than its spread", []int{0, 0, 0, 0, 0, 0}, []int{1, 90, 2, 1, 95, 1},
			"Welch's t of the trials' shares)"},
		{"of two kinds before and now", []int{8, 0, 0, 0, 0, 0, 0, 0}, []int{8, 8, 8, 0, 8, 8, 8, 0},
			"(p 0.041, permutation of trials)"},
		{"some before", []int{2, 1, 2, 1, 2}, []int{80, 81, 80, 81, 80}, "Welch's t of the trials' shares)"},
	} {
		old := []Attempts{{Name: "a", Failed: shares(100, c.old...)}}
		new := []Attempts{{Name: "a", Failed: shares(100, c.new...)}}
		all := FailuresOfTrials(old, new, 0.95)
		if len(all) == 0 || !strings.HasSuffix(all[0].String(), c.want) {
			t.Errorf("%s: got %v, want %s", c.what, all, c.want)
		}
	}
}
