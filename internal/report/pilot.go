package report

import (
	"fmt"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/store"
)

// pilot is how many blocks a pilot had whose spread may have said how many there are: of two versions, those that were
// planned first; of other studies, if more were added. 0: there was none. A precision looks at the width of intervals
// only, each time it adds a block.
func (r *Report) pilot(s *store.Store) (int, error) {
	if r.Study.Design.Precision > 0 {
		return 0, nil
	}
	blocks, grew, err := s.FirstPlan()
	if err != nil || !grew && !r.Study.OfVersions() {
		return 0, err
	}
	return blocks, nil
}

// leastPilot is the smaller number of blocks of two pilots, of which 0 is none.
func leastPilot(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// ofPilot says that intervals are wider than those of a t test, and why.
func (c Compared) ofPilot() string {
	if c.Pilot == 0 {
		return ""
	}
	return fmt.Sprintf(" that allow for a pilot of %s", plural.Count(c.Pilot, "block"))
}
