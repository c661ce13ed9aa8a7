package drive

import (
	"bytes"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// What a child prints is read or refused, and gives no more exchanges than it says.
func FuzzCollect(f *testing.F) {
	f.Add([]byte(`{"format":2,"exchanges":1,"reasons":[""]}` + "\n" + string(make([]byte, rowBytes))))
	f.Add([]byte(`{"format":2,"exchanges":9}` + "\n"))
	f.Add([]byte(`{"format":2,"error":"no"}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		_, err := Collect(bytes.NewReader(b), func(measure.Exchange) error { n++; return nil })
		if n > len(b)/rowBytes || err == nil && n > len(b)/rowBytes {
			t.Fatalf("%d exchanges of %d bytes", n, len(b))
		}
	})
}
