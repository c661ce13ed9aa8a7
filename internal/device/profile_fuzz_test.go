package device

import (
	"math"
	"testing"
)

// A device's profile that is taken has limits that a kernel can keep.
func FuzzProfile(f *testing.F) {
	for _, limits := range []string{"{cpu: 10%, memory: 64MiB}", "{cpu: nan%}", "{cpu: 1e300%}", "{memory: 2147483647GiB}",
		"{cpu: 0x1p-1074%}", "{}"} {
		f.Add([]byte("title: t\nconstrained: " + limits + "\n"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := readProfile("x", text)
		if err != nil || p.Limits == nil {
			return
		}
		if l := p.Limits; !(l.CPU >= 0) || math.IsInf(l.CPU, 0) || l.Memory < 0 || l.CPU == 0 && l.Memory == 0 {
			t.Fatalf("%s became %+v", text, *l)
		}
	})
}
