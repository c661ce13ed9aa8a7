package kernel

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The name of a folder is no pattern.
func TestMatching(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*")
	for _, name := range []string{"2.yaml", "1.yaml", "1.yml"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{filepath.Join(dir, "1.yaml"), filepath.Join(dir, "2.yaml")}
	if got := Matching(dir, "*.yaml"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Matching(filepath.Join(dir, "absent"), "*"); got != nil {
		t.Errorf("got %q of a folder that is not there", got)
	}
}
