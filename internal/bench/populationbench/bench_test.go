package populationbench

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/stacks/reference"
)

// TestMain lets the test binary be the stack's programs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == stack.ProgramVerb {
		os.Exit(reference.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// The benchmark in small: what it counts agrees with the server, and what it says of
// memory grows by a device's 40 B, for each of 200,000. It runs long enough for the devices to tell how they are.
func TestSmallPopulations(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var got []Measurement
	for _, n := range []int{1000, 201_000} {
		f, err := Measure(t.Context(), exe, Case{Devices: n, Period: 1000 * time.Second, For: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if f.Answered != f.Requests || int64(f.Served) != f.Answered || f.Devices != n || f.CPU <= 0 {
			t.Errorf("got %+v", f)
		}
		// Each is due in these 2 s with a probability of 1/500: five standard deviations.
		if d := float64(f.Requests) - float64(n)/500; d*d > 25*float64(n)/500 {
			t.Errorf("%d of %d devices were due, want about %d", f.Requests, n, n/500)
		}
		got = append(got, f)
	}
	if b := float64(got[1].Anonymous-got[0].Anonymous) / 200_000; b < 30 || b > 60 {
		t.Errorf("%.1f B a device, want about 40", b)
	}
	dense := got[1]
	dense.LatenessP50, dense.LatenessP99 = 12*time.Microsecond, 345*time.Microsecond
	rows := table(got[0], got[0], got[0], dense)
	if len(rows) != 8 || rows[0].Verdict == "" || !strings.Contains(rows[4].How, "the server served") ||
		!strings.Contains(rows[5].How, fmt.Sprintf("the server served %d;", dense.Served)) ||
		rows[7].Measured != "12 and 345" || rows[7].Verdict != "" {
		t.Errorf("got %+v", rows)
	}
}
