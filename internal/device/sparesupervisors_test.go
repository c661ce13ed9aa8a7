package device

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// sparing has n supervisors wait whose programs have ended, and returns their process ids.
func sparing(t *testing.T, n int) (l Local, pids []int) {
	t.Helper()
	l = local(t)
	l.Spares = new(Spares)
	t.Cleanup(func() { l.Spares.Close() })
	var programs []*Process
	for range n {
		p, err := l.Start(t.Context(), Command{Argv: []string{"sh", "-c", "cd /; read x; exit 3"},
			Env: []string{"COLOUR=green"}, Log: filepath.Join(t.TempDir(), "log")})
		if err != nil {
			t.Fatal(err)
		}
		programs, pids = append(programs, p), append(pids, parent(t, p.PID))
	}
	for _, p := range programs {
		if e, killed := p.Stop(t.Context(), time.Minute); e.Code != 3 || killed {
			t.Fatalf("got %+v, %v", e, killed)
		}
	}
	return l, pids
}

// parent is the process that supervises a program.
func parent(t *testing.T, pid int) int {
	t.Helper()
	p, err := kernel.ReadProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	return p.Parent
}

// A supervisor that has had a program gives the next one all that a new one gives it.
func TestSpareSupervisorServes(t *testing.T) {
	l, pids := sparing(t, 2)
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	var open [2]int // files of each supervisor
	for i := range 4 {
		script := `pwd; echo $COLOUR >&2; read x; echo got $x; exit 7`
		p, err := l.Start(t.Context(), Command{Argv: []string{"sh", "-c", script}, Dir: dir,
			Env: []string{"COLOUR=red", "COLOUR=blue"}, CPUs: []int{0}, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		by := parent(t, p.PID)
		switch {
		case by != pids[i%2]:
			t.Errorf("program %d is supervised by %d, want %d, which waited", i, by, pids[i%2])
		case descriptors(t, by) != open[i%2] && open[i%2] > 0:
			t.Errorf("program %d: its supervisor has %d files open, %d with the program before", i, descriptors(t, by), open[i%2])
		}
		open[i%2] = descriptors(t, by)
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(p.PID, &set); err != nil || set.Count() != 1 || !set.IsSet(0) {
			t.Errorf("got %v %v, want CPU 0 only", set, err)
		}
		fmt.Fprintln(p.Stdin, "hello")
		out := bufio.NewReader(p.Stdout)
		where, _ := out.ReadString('\n')
		said, _ := out.ReadString('\n')
		if where != dir+"\n" || said != "got hello\n" {
			t.Errorf("it is in %q and said %q", where, said)
		}
		if e := p.Wait(); e.Code != 7 || e.Err != "" {
			t.Errorf("got %+v, want code 7", e)
		}
	}
	if b, _ := os.ReadFile(log); string(b) != "blue\nblue\nblue\nblue\n" {
		t.Errorf("the log has %q", b)
	}
	// Without a folder, a log and CPUs: none of those of the program before.
	p, err := l.Start(t.Context(), Command{Argv: []string{"sh", "-c", "pwd; echo lost >&2; echo ${COLOUR-none}; read x"}})
	if err != nil {
		t.Fatal(err)
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(p.PID, &set); err != nil || set.Count() != len(kernel.AllowedCPUs()) {
		t.Errorf("got %v %v, want all CPUs", set, err)
	}
	p.Stdin.Close()
	out, _ := io.ReadAll(p.Stdout)
	here, _ := os.Getwd()
	if want := here + "\nnone\n"; string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
	p.Wait()
	if b, _ := os.ReadFile(log); strings.Contains(string(b), "lost") {
		t.Error("it writes to the log of the program before")
	}
}

func descriptors(t *testing.T, pid int) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// Whoever still holds a program that has ended cannot end the next one of its supervisor.
func TestEndedProgramIsNotKilledAgain(t *testing.T) {
	l := local(t)
	l.Spares = new(Spares)
	t.Cleanup(func() { l.Spares.Close() })
	first, err := l.Start(t.Context(), Command{Argv: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	first.Wait()
	second, err := l.Start(t.Context(), Command{Argv: []string{"cat"}})
	if err != nil {
		t.Fatal(err)
	}
	first.Kill()
	fmt.Fprintln(second.Stdin, "still here")
	if line, err := bufio.NewReader(second.Stdout).ReadString('\n'); line != "still here\n" {
		t.Errorf("got %q, %v", line, err)
	}
	if e, killed := second.Stop(t.Context(), time.Minute); killed || e != (Exit{CPU: e.CPU}) {
		t.Errorf("got %+v, %v", e, killed)
	}
}

// A supervisor whose program was killed ends with it, and is not kept.
func TestKilledProgramsSupervisorEnds(t *testing.T) {
	l := local(t)
	l.Spares = new(Spares)
	t.Cleanup(func() { l.Spares.Close() })
	p, grandchild := family(t, l)
	supervisor := parent(t, p.PID)
	p.Kill()
	gone(t, p.PID, grandchild, supervisor)
	if len(l.Spares.waiting) != 0 {
		t.Error("a supervisor that was told to end is kept")
	}
}

// One that died while it waited is replaced.
func TestDeadSpareIsReplaced(t *testing.T) {
	l, pids := sparing(t, 2)
	for _, pid := range pids {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	p, err := l.Start(t.Context(), Command{Argv: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Wait(); e.Code != 0 || e.Err != "" {
		t.Errorf("got %+v", e)
	}
}

// What cannot be started is said in the same words.
func TestSpareRefusals(t *testing.T) {
	l, _ := sparing(t, 2)
	for i, c := range []Command{{Argv: []string{"no-such-program-at-all"}}, {Argv: []string{"true"}, Dir: "/no/such"}} {
		_, got := l.Start(t.Context(), c)
		_, want := local(t).Start(t.Context(), c)
		if got == nil || want == nil || got.Error() != want.Error() {
			t.Errorf("%d: got %v, want %v", i, got, want)
		}
	}
}

// Those that wait are gone when Close returns, and no more are kept.
func TestSparesEnd(t *testing.T) {
	l, pids := sparing(t, 2)
	late, err := l.Start(t.Context(), Command{Argv: []string{"cat"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Spares.Close(); err != nil {
		t.Fatal(err)
	}
	if alive(pids[1]) {
		t.Errorf("%d is still there", pids[1])
	}
	late.Stop(t.Context(), time.Minute)
	gone(t, pids...)
	if len(l.Spares.waiting) > 0 {
		t.Error("one was kept after the end")
	}
}
