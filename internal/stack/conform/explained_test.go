package conform

import "testing"

// A check is found by its name alone, with what a stack adds, and in what Run reports.
func TestChecksAreExplained(t *testing.T) {
	for _, k := range Checks() {
		for _, name := range []string{k.Name, k.Name + " keep-alive", "json none http echo " + k.Name} {
			if Explain(name) != k.Explanation {
				t.Errorf("%q is not explained as %q", name, k.Name)
			}
		}
	}
	if Explain("no such check") != "" {
		t.Error("what is no check is explained")
	}
}
