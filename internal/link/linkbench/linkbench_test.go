package linkbench

import (
	"os"
	"testing"

	"edgegauge/internal/link"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == link.Verb {
		os.Exit(link.Main())
	}
	os.Exit(m.Run())
}

// BenchmarkLink prints the table: go test -run '^$' -bench Link -benchtime 1x.
func BenchmarkLink(b *testing.B) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		if err := Bench(b.Context(), os.Stdout, exe); err != nil {
			b.Fatal(err)
		}
	}
}
