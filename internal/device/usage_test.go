package device

import (
	"os"
	"testing"
)

func BenchmarkUsage(b *testing.B) {
	for b.Loop() {
		if _, err := usage(os.Getpid()); err != nil {
			b.Fatal(err)
		}
	}
}
