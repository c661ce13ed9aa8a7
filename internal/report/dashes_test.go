package report

import "testing"

// Commands that are proposed take a folder whose name begins as a flag does for a folder.
func TestProposedFoldersAreNoFlags(t *testing.T) {
	r := &Report{}
	for dir, want := range map[string]string{"-y": "./-y/study.yaml", "./-y": "./-y/study.yaml", "y": "y/study.yaml",
		"/-y": "/-y/study.yaml", "-a b": "'./-a b/study.yaml'"} {
		if got := r.StudyIn(dir); got != want {
			t.Errorf("%s: got %s, want %s", dir, got, want)
		}
	}
}
