package admit

import (
	"strings"
	"testing"
)

func TestNamesOfBenches(t *testing.T) {
	long := strings.Repeat("x", 63)
	for name, good := range map[string]bool{"a": true, "Pi-4_b": true, long: true, long + "x": false, "": false,
		"-a": false, "a.b": false, "a/b": false, "a b": false, "a\n": false} {
		if err := CheckName(name); (err == nil) != good {
			t.Errorf("%q: got %v", name, err)
		}
	}
}
