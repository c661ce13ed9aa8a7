package kernel

import (
	"os"
	"path/filepath"
	"testing"
)

// Whatever was there before, a secret is its owner's alone, and nothing is written through a link.
func TestReplaceSecret(t *testing.T) {
	for what, before := range map[string]func(path string) error{
		"nothing":           func(string) error { return nil },
		"a file for all":    func(path string) error { return os.WriteFile(path, []byte("old"), 0o666) },
		"a link":            func(path string) error { return os.Symlink("other", path) },
		"a new one for all": func(path string) error { return os.WriteFile(path+".new", []byte("mine"), 0o666) },
	} {
		dir := t.TempDir()
		path, other := filepath.Join(dir, "keys.json"), filepath.Join(dir, "other")
		if err := os.WriteFile(other, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := before(path); err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := ReplaceSecret(path, []byte("secret")); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		info, err := os.Lstat(path)
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: got %v, %v", what, info, err)
		}
		if text, err := os.ReadFile(path); string(text) != "secret" {
			t.Errorf("%s: got %q, %v", what, text, err)
		}
		if text, err := os.ReadFile(other); string(text) != "mine" {
			t.Errorf("%s: the other file has %q, %v", what, text, err)
		}
		if now, err := os.ReadDir(dir); err != nil || len(now) > len(files)+1 {
			t.Errorf("%s: left behind: %v, %v", what, now, err)
		}
	}
	if err := ReplaceSecret(filepath.Join(t.TempDir(), "none", "keys.json"), nil); err == nil {
		t.Error("written where there is no folder")
	}
}
