package device

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// linked makes a folder as stacks have them: with links to files and folders in it
// and beside it, an empty folder, and what is no file.
func linked(t *testing.T) (here string) {
	t.Helper()
	root := t.TempDir()
	here = filepath.Join(root, "here")
	for _, dir := range []string{"here/venv/lib/python3", "here/logs", "shared/lib/deep/empty"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"here/venv/lib/python3/a.py": "a", "here/run.sh": "run",
		"shared/lib/deep/b.jar": "b", "shared/c": "c"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"here/venv/lib64": "lib", "here/lib": "../shared/lib",
		"here/again": filepath.Join(root, "shared/lib/deep"), "here/c": "../shared/c", "product": "here/venv"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(here, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	return here
}

// listed is what stands below a folder: the paths of files with their text, and of folders.
func listed(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		text, _ := os.ReadFile(path)
		rel, err := filepath.Rel(dir, path)
		all = append(all, e.Type().String()+" "+rel+" "+string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What stands on a board is what cp -rL makes of the same, but for what is no file.
func TestLinksAndEmptyFoldersReachABoard(t *testing.T) {
	here := linked(t)
	b := startBoard(t, 0)
	var at string
	var err error
	within(t, func() { at, err = b.PutAll(t.Context(), here, []string{".", "../product"}, "stacks/x") })
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(t.TempDir(), "want")
	os.Remove(filepath.Join(here, "fifo"))
	for _, names := range [][]string{{here, want + "/x"}, {filepath.Join(here, "../product"), want + "/product"}} {
		os.MkdirAll(want, 0o755)
		if out, err := exec.Command("cp", "-rL", names[0], names[1]).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if got, want := listed(t, filepath.Dir(at)), listed(t, want); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestALinkWithoutEndIsRefused(t *testing.T) {
	dir := t.TempDir()
	os.Mkdir(filepath.Join(dir, "modules"), 0o755)
	os.Symlink("..", filepath.Join(dir, "modules", "self"))
	if _, err := Files(dir, "x"); err == nil || !strings.Contains(err.Error(), "modules/self is a link to a folder") {
		t.Errorf("got %v", err)
	}
}
