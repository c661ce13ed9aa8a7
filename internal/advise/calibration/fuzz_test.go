package calibration

import (
	"slices"
	"testing"
)

// A calibration is read or refused, and what is read can be looked up.
func FuzzRead(f *testing.F) {
	f.Add([]byte("format: 1\nname: x\nemulated: raspberry-pi-1\nentries:\n- side: client\n  response: cpu\n  points:\n " +
		" - {size: 1, real_s: 1, emulated_s: 2, overhead: 2}\n"))
	f.Add([]byte("format: 2\n"))
	f.Add([]byte("entries: [{points: [{size: 2}, {size: 1}]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Read(text)
		if err != nil {
			return
		}
		for _, e := range c.Entries {
			if len(e.Points) == 0 || slices.ContainsFunc(e.Points[1:], func(p Point) bool { return p.Size < e.Points[0].Size }) {
				t.Fatalf("took points %v", e.Points)
			}
		}
	})
}
