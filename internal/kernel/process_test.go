package kernel

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A name may hold spaces and brackets; fields are counted from the last one.
func TestParseStat(t *testing.T) {
	const line = "4242 (a (b) c) S 17 4242 4242 0 -1 4194560 1 2 3 4 5 6 700 80 20 0 1 0 123456 1000 200 " +
		"18446744073709551615\n"
	got, err := parseStat([]byte(line))
	want := Process{State: 'S', Parent: 17, Began: 123456, Waited: 7800 * time.Millisecond}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "1 (x", "1 (x) S 2 3", "1 (x) SS" + strings.Repeat(" 1", 30)} {
		if got, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: got %+v, want an error", bad, got)
		}
	}
}

// tree starts a shell with a child in a session of its own and says both.
func tree(t *testing.T) (shell *exec.Cmd, child int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "setsid sleep 1000 & echo $!; wait")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	child, err = strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p, err := os.FindProcess(child); err == nil {
			p.Kill()
		}
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, child
}

func TestDescendants(t *testing.T) {
	shell, child := tree(t)
	quick, all := Family(shell.Process.Pid), Descendants(shell.Process.Pid)
	slices.Sort(quick)
	slices.Sort(all)
	if !slices.Contains(all, child) || !slices.Equal(quick, all) {
		t.Errorf("Family says %v, Descendants %v, want both with %d", quick, all, child)
	}
	if p, err := ReadProcess(child); err != nil || p.Parent != shell.Process.Pid || p.Ended() || p.Began <= 0 {
		t.Errorf("got %+v, %v, want a living child of %d", p, err, shell.Process.Pid)
	}
	shell.Process.Kill() // and is not waited for: a zombie
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		p, err := ReadProcess(shell.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if p.Ended() {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("got %+v, want it ended", p)
		}
	}
	if got := Descendants(os.Getpid()); slices.Contains(got, shell.Process.Pid) {
		t.Errorf("got %v, with the zombie %d", got, shell.Process.Pid)
	}
	if _, err := ReadProcess(1 << 30); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want: does not exist", err)
	}
	if got := Family(1 << 30); len(got) != 0 {
		t.Errorf("no process has the family %v", got)
	}
}

// Two accounts of the kernel agree: the process's own clock and this one's, read
// before and after.
func TestCPUTime(t *testing.T) {
	low := OwnCPUTime()
	got, err := CPUTime(os.Getpid())
	high := OwnCPUTime()
	const step = 10 * time.Millisecond // of the account that is read around it
	if err != nil || got < low-step || got > high+step {
		t.Errorf("got %v, %v, want %v to %v", got, err, low, high)
	}
	if _, err := CPUTime(1 << 22); err == nil {
		t.Error("a process that is not there has CPU time")
	}
}

func TestWaiting(t *testing.T) {
	dir := t.TempDir()
	for thread, text := range map[string]string{"7": "100 2000 3\n", "8": "1 30000 2\n", "9": "broken"} {
		os.Mkdir(filepath.Join(dir, thread), 0o755)
		os.WriteFile(filepath.Join(dir, thread, "schedstat"), []byte(text), 0o644)
	}
	if got, ok := sumWaiting(dir + "/"); !ok || got != 32000 {
		t.Errorf("got %v %v, want 32 µs of two threads", got, ok)
	}
	if got, ok := sumWaiting(t.TempDir() + "/"); ok {
		t.Errorf("got %v of a kernel that keeps no account", got)
	}
}

// Two CPUs, 250 and 50 ticks of which were stolen: 1.5 s for each.
func TestStolen(t *testing.T) {
	const text = "cpu  10 20 30 40 50 60 70 300 0 0\ncpu0 1 2 3 4 5 6 7 250 0 0\ncpu1 1 2 3 4 5 6 7 50 0 0\nintr 5 6 7 " +
		"8 9 10 11 12 13\n"
	if got, want := stolen([]byte(text)), 1500*time.Millisecond; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := stolen([]byte("cpu  1 2 3 4\n")); got != 0 {
		t.Errorf("got %v of a kernel without that account", got)
	}
}

func TestStatusBytes(t *testing.T) {
	text := Status("Name:\tVmRSS: 7 kB\nXVmRSS:\t 9 kB\nVmRSS:\t  1234 kB\n")
	if got := text.Bytes("VmRSS"); got != 1234<<10 {
		t.Errorf("got %d, want 1234 KiB", got)
	}
	if got := StatusBytes(os.Getpid(), "VmHWM"); got < 1<<20 {
		t.Errorf("this process says its peak was %d B", got)
	}
	if got := StatusBytes(os.Getpid(), "VmNone"); got != 0 {
		t.Errorf("got %d for a line that is missing", got)
	}
}

func TestOwner(t *testing.T) {
	mine := Owner()
	unreaped := exec.Command("cat") // it ends when its input does
	in, err := unreaped.StdinPipe()
	if err == nil {
		err = unreaped.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unreaped.Wait()
	p, err := ReadProcess(unreaped.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	zombie := fmt.Sprintf("%d.%d", unreaped.Process.Pid, p.Began)
	if OwnerGone(zombie) {
		t.Error("a living process is gone")
	}
	in.Close()
	for !p.Ended() {
		if p, err = ReadProcess(unreaped.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	for owner, gone := range map[string]bool{
		mine:       false,
		zombie:     true,
		mine + "1": true, // an earlier process with this number
		fmt.Sprintf("%d.%d", dead.Process.Pid, 1): true,
		"nobody": false, "": false, "12": false, "-1.5": false,
	} {
		if got := OwnerGone(owner); got != gone {
			t.Errorf("OwnerGone(%q) = %v, want %v", owner, got, gone)
		}
	}
}
