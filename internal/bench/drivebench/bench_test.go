package drivebench

import (
	"fmt"
	"os"
	"testing"

	"edgegauge.example/edgegauge/internal/drive"
)

func TestMain(m *testing.M) {
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == "drive":
		err = drive.Main(os.Stdin, os.Stdout)
	case len(os.Args) > 1 && os.Args[1] == "drive-floor":
		err = Floor(os.Args[2:], os.Stdin, os.Stdout)
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// BenchmarkDrive prints the table: go test -run '^$' -bench Drive -benchtime 1x.
func BenchmarkDrive(b *testing.B) {
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
