package store

import (
	"os"
	"path/filepath"
	"testing"
)

// A copy may be named with a slash at its end, and takes nothing away that lies beside it.
func TestKeepBesideOthers(t *testing.T) {
	s := create(t, 4)
	ok(t, write(t, s, 1, 10).Commit(results, quality))
	above := t.TempDir()
	mine := filepath.Join(above, "kept"+partialSuffix, "mine")
	ok(t, os.Mkdir(filepath.Dir(mine), 0o755))
	ok(t, os.WriteFile(mine, nil, 0o644))
	ok(t, s.Keep(filepath.Join(above, "kept")+"/"))
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	info := must[os.FileInfo](t)(os.Stat(filepath.Join(above, "kept")))
	if usual := must[os.FileInfo](t)(os.Stat(filepath.Dir(mine))); info.Mode() != usual.Mode() {
		t.Errorf("it has the permissions %v, and others %v", info.Mode(), usual.Mode())
	}
	if _, err := os.Stat(filepath.Join(above, "kept", ledgerFile)); err != nil {
		t.Error(err)
	}
	if entries := must[[]os.DirEntry](t)(os.ReadDir(above)); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}
