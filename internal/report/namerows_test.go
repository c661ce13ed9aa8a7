package report

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Names stand in the order of their points, each in a row of its own, and where there is
// room, beside its point; none is below the last row.
func TestNameRows(t *testing.T) {
	if got := nameRows([]int{100, 19 * nameHeight}, 20); got[0] != 100/nameHeight || got[1] != 19 {
		t.Errorf("with room: got rows %v", got)
	}
	if got := nameRows([]int{8 * nameHeight, 8*nameHeight + 2, 8*nameHeight + 1}, 20); !slices.Equal(got, []int{7, 9, 8}) {
		t.Errorf("three in a row: got %v", got)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		heights := make([]int, 1+random.IntN(20))
		for i := range heights {
			heights[i] = paretoTop + random.IntN(paretoHigh)
		}
		rows := nameRows(heights, 20)
		for i := range rows {
			for j := range rows {
				if rows[i] < 1 || rows[i] > 20 || heights[i] < heights[j] && rows[i] >= rows[j] || i != j && rows[i] == rows[j] {
					t.Fatalf("heights %v: rows %v", heights, rows)
				}
			}
		}
	}
}
