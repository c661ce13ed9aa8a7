package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A copy may be named with a slash at its end, and takes nothing away that lies beside it.
func TestKeepBesideOthers(t *testing.T) {
	s := create(t, 4)
	ok(t, write(t, s, 1, 10).Commit(results, quality))
	above := t.TempDir()
	mine := filepath.Join(above, "kept"+partialSuffix, "mine")
	ok(t, os.Mkdir(filepath.Dir(mine), 0o755))
	ok(t, os.WriteFile(mine, nil, 0o644))
	ok(t, s.Keep(t.Context(), filepath.Join(above, "kept")+"/"))
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

// What killed copies have left is removed by the next one; a copy that is being made is not.
func TestKeepSweepsWhatIsLeft(t *testing.T) {
	s := create(t, 4)
	ok(t, write(t, s, 1, 10).Commit(results, quality))
	above := t.TempDir()
	for name, stays := range map[string]bool{"killed": false, "young": true, "alive": true} {
		dir := filepath.Join(above, apartPrefix+name+partialSuffix)
		ok(t, os.MkdirAll(filepath.Join(dir, "results"), 0o755))
		if name != "young" {
			ok(t, os.Chtimes(dir, time.Time{}, time.Now().Add(-2*time.Hour)))
		}
		if name == "alive" {
			lock := must[*os.File](t)(kernel.LockFolder(dir))
			defer lock.Close()
		}
		defer func() {
			if _, err := os.Stat(dir); (err == nil) != stays {
				t.Errorf("%s: %v", name, err)
			}
		}()
	}
	ok(t, s.Keep(t.Context(), filepath.Join(above, "kept")))
}
