package stat

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The tables are made by testdata/oracle.py with scipy and statsmodels.

type row map[string]string

func oracle(t *testing.T, name string) []row {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	r.FieldsPerRecord = -1
	lines, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) < 2 {
		t.Fatalf("%s is empty", name)
	}
	var rows []row
	for _, l := range lines[1:] {
		m := row{}
		for i, v := range l {
			m[lines[0][i]] = v
		}
		rows = append(rows, m)
	}
	return rows
}

func (r row) f(t *testing.T, key string) float64 {
	t.Helper()
	s, ok := r[key]
	if !ok {
		t.Fatalf("no column %q", key)
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func (r row) n(t *testing.T, key string) int { t.Helper(); return int(r.f(t, key)) }

func (r row) fs(t *testing.T, key string) []float64 {
	t.Helper()
	var out []float64
	for _, w := range strings.Fields(r[key]) {
		x, err := strconv.ParseFloat(w, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

// near reports agreement to 1e-9 relative; NaN agrees with NaN.
func near(got, want float64) bool { return within(got, want, 1e-9) }

func within(got, want, tolerance float64) bool {
	if math.IsNaN(want) {
		return math.IsNaN(got)
	}
	return got == want || math.Abs(got-want) <= tolerance*math.Abs(want)
}

func check(t *testing.T, words, figure string, got, want float64) {
	t.Helper()
	if !near(got, want) {
		t.Errorf("%s: %s: got %.15g, want %.15g (relative %.2g)", words, figure, got, want, math.Abs(got/want-1))
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
