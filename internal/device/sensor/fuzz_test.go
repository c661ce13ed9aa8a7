package sensor

import (
	"bytes"
	"testing"
)

// The first line of a simulated sensor is read or refused.
func FuzzReadReady(f *testing.F) {
	f.Add([]byte(`{"device":"/dev/pts/3"}`))
	f.Add([]byte(`{"device":""}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := ReadReady(bytes.NewReader(b)); err == nil && r.Device == "" {
			t.Fatalf("took %q", b)
		}
	})
}
