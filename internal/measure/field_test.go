package measure

import "testing"

// What Take gives is what At points to, in every field that is kept; and in one that lies outside of the exchanges.
func TestTakeGivesTheField(t *testing.T) {
	const n = 5
	var all struct {
		before int64
		xs     [n]Exchange
		after  int64
	}
	all.before, all.after = -7, -8
	fields := []Field{{Name: "before", At: func(*Exchange) *int64 { return &all.before }},
		{Name: "after", At: func(*Exchange) *int64 { return &all.after }}}
	for _, f := range Fields {
		if f.Kept() {
			fields = append(fields, f)
			for i := range all.xs {
				*f.At(&all.xs[i]) = int64(100*len(fields) + i)
			}
		}
	}
	if len(fields) < 12 {
		t.Fatalf("only %d fields are kept", len(fields)-2)
	}
	for _, f := range fields {
		for _, from := range []int{0, 2, n} {
			to := []int64{-1, -1, -1, -1, -1, -1}
			f.Take(to, all.xs[from:])
			for i := range to {
				want := int64(-1)
				if from+i < n {
					want = f.Value(&all.xs[from+i])
				}
				if to[i] != want {
					t.Errorf("%s of exchange %d: got %d, want %d", f.Name, from+i, to[i], want)
				}
			}
		}
	}
}
