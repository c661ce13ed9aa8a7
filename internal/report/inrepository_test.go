package report

import (
	"strings"
	"testing"
	"time"
)

// Runs of commits stand as the repository has them, whenever each was measured; what it lacks stands behind the one
// measured before it, and a commit that is measured again beside its first run.
func TestCommitsStandAsTheRepositoryHasThem(t *testing.T) {
	for _, tt := range []struct{ measured, want string }{
		{"a1 b2 c3 g7 h8 d4 e5", "a1 b2 c3 d4 e5 g7 h8"},
		{"a1 g7 a1 d4", "a1 a1 d4 g7"},
		{"g7 x0 a1 y0", "a1 y0 g7 x0"},
		{"x0 g7 a1", "x0 a1 g7"},
		{"x0 y0 x0", "x0 x0 y0"},
	} {
		h := History{By: ByCommit}
		for i, name := range strings.Fields(tt.measured) {
			h.Runs = append(h.Runs, Past{Commits: []string{name}, Place: int(name[1] - '0'), Began: time.Unix(int64(i), 0)})
		}
		if err := h.label(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(h.Labels, " "); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.measured, got, tt.want)
		}
	}
}
