package measure

import "testing"

// What Take gives is what At points to, in every field that is kept; and in one that lies outside of the exchange.
func TestTakeGivesTheField(t *testing.T) {
	elsewhere := new(int64)
	*elsewhere = -7
	fields := append([]Field{{Name: "elsewhere", At: func(*Exchange) *int64 { return elsewhere }}}, Fields...)
	const n = 5
	xs := make([]Exchange, n)
	kept := 0
	for k := range fields {
		if f := &fields[k]; f.Kept() {
			kept++
			for i := range xs {
				if f.Name != "elsewhere" {
					*f.At(&xs[i]) = int64(100*k + i)
				}
			}
		}
	}
	for k := range fields {
		f := &fields[k]
		if !f.Kept() {
			continue
		}
		for _, from := range []int{0, 2, n} {
			to := []int64{-1, -1, -1, -1, -1, -1}
			f.Take(to, xs[from:])
			for i := range to {
				want := int64(-1)
				if from+i < n {
					want = f.Value(&xs[from+i])
				}
				if to[i] != want {
					t.Errorf("%s of exchange %d: got %d, want %d", f.Name, from+i, to[i], want)
				}
			}
		}
	}
	if kept < 10 {
		t.Errorf("only %d fields are kept", kept)
	}
}
