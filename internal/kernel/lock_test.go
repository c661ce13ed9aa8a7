package kernel

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// holdLock is a process that holds a lock until it is killed.
func holdLock(f *os.File, err error) {
	fmt.Println(err)
	if err == nil {
		time.Sleep(time.Hour)
	}
	f.Close()
	os.Exit(0)
}

// holder is a child that holds a lock of a file.
func holder(t *testing.T, how, file string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "KERNEL_TEST="+how, "KERNEL_TEST_FILE="+file)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "<nil>\n" {
		t.Fatalf("the child says %q", line)
	}
	return cmd
}

// Those that share the lock of a file, or of the namespace of their processes, see each other as long as they hold
// it: not themselves, not one that was killed, and none of another file.
func TestSharersSeeEachOther(t *testing.T) {
	dir := t.TempDir()
	var last *exec.Cmd
	for _, file := range []string{PIDNamespace, dir} {
		alone, err := LockShared(filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		one, other := holder(t, "share lock", file), holder(t, "share lock", file)
		own, err := LockShared(file)
		if err != nil {
			t.Fatal(err)
		}
		if !SharedByOthers(own) || SharedByOthers(alone) {
			t.Errorf("%s: shared %v, another file %v", file, SharedByOthers(own), SharedByOthers(alone))
		}
		alone.Close()
		got := Sharers(file)
		for _, pid := range []int{one.Process.Pid, other.Process.Pid} {
			if !slices.Contains(got, pid) || slices.Contains(Sharers(filepath.Join(dir, "..")), pid) {
				t.Errorf("%s: got %v, want %d, and not of another file", file, got, pid)
			}
		}
		if slices.Contains(got, os.Getpid()) {
			t.Errorf("%s: got %v, this process itself", file, got)
		}
		other.Process.Kill()
		other.Wait()
		if got := Sharers(file); slices.Contains(got, other.Process.Pid) {
			t.Errorf("%s: got %v, though %d was killed", file, got, other.Process.Pid)
		}
		last = one
		own.Close()
	}
	f, err := LockFolder(dir)
	if !errors.Is(err, ErrLocked) {
		t.Errorf("got %v, though others share it", err)
	}
	f.Close()
	if f, err = LockShared(dir); err != nil || !SharedByOthers(f) {
		t.Errorf("got %v, and not shared, though one other has it", err)
	}
	last.Process.Kill()
	last.Wait()
	if SharedByOthers(f) {
		t.Error("shared, though all others were killed")
	}
	f.Close()
	none := filepath.Join(dir, "none")
	if _, err := LockShared(none); err == nil || Sharers(none) != nil {
		t.Errorf("got %v, %v of no file", err, Sharers(none))
	}
}

// The lock of a killed process is free.
func TestLockEndsWithItsProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	cmd := holder(t, "hold lock", file)
	if f, err := LockFile(file, 0o600); !errors.Is(err, ErrLocked) {
		f.Close()
		t.Fatalf("got %v while another process holds it", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	f, err := LockFile(file, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestLockFolder(t *testing.T) {
	dir := t.TempDir()
	first, err := LockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := LockFolder(dir); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		f.Close()
		t.Fatalf("got %v, want it locked, and which", err)
	}
	got := make(chan error, 1)
	go func() {
		f, err := WaitLockFolder(t.Context(), dir)
		f.Close()
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ends(t, "a lock that nobody gives back", func() {
		if _, err := WaitLockFolder(ctx, dir); !errors.Is(err, ErrLocked) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that it is locked, and that nobody waits any more", err)
		}
	})
	first.Close()
	if err := <-got; err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	os.WriteFile(file, nil, 0o600)
	for _, bad := range []string{filepath.Join(dir, "none"), file} {
		if f, err := LockFolder(bad); err == nil {
			f.Close()
			t.Errorf("%s was locked as a folder", bad)
		}
	}
}

// What others put in a lock file's place is refused at once.
func TestLockFileIsNothingElse(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	victim := in("victim")
	os.WriteFile(victim, []byte("precious"), 0o600)
	if err := errors.Join(unix.Mkfifo(in("pipe"), 0o666), os.Symlink(victim, in("link")), os.Mkdir(in("folder"), 0o755),
		os.Symlink(in("nowhere"), in("dangling"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"pipe": "regular", "link": "link", "dangling": "link",
		"folder": "directory"} {
		done := make(chan error, 1)
		go func() {
			f, err := LockFile(in(name), 0o600)
			f.Close()
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it waits", name)
		}
	}
	if _, err := os.Lstat(in("nowhere")); err == nil {
		t.Error("a file was made where a link led")
	}
}

func TestIsOwnFolder(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	os.Symlink(dir, link)
	if !IsOwnFolder(dir) || IsOwnFolder(link) || IsOwnFolder(filepath.Join(dir, "none")) {
		t.Errorf("folder %v, link to it %v, none %v", IsOwnFolder(dir), IsOwnFolder(link),
			IsOwnFolder(filepath.Join(dir, "none")))
	}
	if os.Geteuid() == 0 {
		if os.Chown(dir, 12345, 12345); IsOwnFolder(dir) {
			t.Error("another user's folder is ours")
		}
	}
}

// Who holds a lock is named, with the results that it writes: the labs of two results folders know each other so.
func TestHolderIsNamed(t *testing.T) {
	dir, results := t.TempDir(), t.TempDir()
	f, err := LockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	own := fmt.Sprintf(": pid %d (", os.Getpid())
	if got := Holder(dir); !strings.HasPrefix(got, own) || strings.Contains(got, "measures") {
		t.Errorf("got %q, want %s", got, own)
	}
	ledger, err := os.Create(filepath.Join(results, resultsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	if got := Holder(dir); !strings.HasPrefix(got, own) || !strings.HasSuffix(got, "), which measures into "+results) {
		t.Errorf("got %q, want the results in %s", got, results)
	}
	f.Close()
	if got := Holder(dir); got != "" {
		t.Errorf("nobody holds it, but %q", got)
	}
	if got := Holder(filepath.Join(dir, "nothere")); got != "" {
		t.Errorf("of no file: %q", got)
	}
}
