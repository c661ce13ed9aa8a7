package stat

import (
	"encoding/json"
	"math"
	"testing"
)

// Numbers and intervals of a stranger's JSON are read or refused, and read back
// as they were printed.
func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"null", "1.5", "[1,2]", "[null,2]", "1e999", "[1]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var n, again Number
		if json.Unmarshal(b, &n) == nil {
			text, err := json.Marshal(n)
			if err == nil {
				err = json.Unmarshal(text, &again)
			}
			if err != nil || again != n && !math.IsNaN(float64(n)) {
				t.Fatalf("%q is %v, printed as %s, and then %v: %v", b, n, text, again, err)
			}
		}
		var i Interval
		if json.Unmarshal(b, &i) == nil {
			if _, err := json.Marshal(i); err != nil {
				t.Fatalf("%q is %v, which does not print: %v", b, i, err)
			}
		}
	})
}
