package device

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// sparing keeps n supervisors ready, and returns their process ids.
func sparing(t *testing.T, n int) (l Local, pids []int) {
	t.Helper()
	l = local(t)
	l.Spares = new(Spares)
	t.Cleanup(func() { l.Spares.Close() })
	l.Ready(n)
	l.Ready(n) // for the second side of a trial
	l.Spares.starting.Wait()
	for _, s := range l.Spares.waiting {
		pids = append(pids, s.cmd.Process.Pid)
	}
	if len(pids) != n {
		t.Fatalf("%d supervisors wait, want %d", len(pids), n)
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

// A supervisor that was kept ready gives a program all that a new one gives it.
func TestSpareSupervisorServes(t *testing.T) {
	l, pids := sparing(t, 2)
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	for i := range 3 {
		script := `pwd; echo $COLOUR >&2; read x; echo got $x; exit 7`
		p, err := l.Start(t.Context(), Command{Argv: []string{"sh", "-c", script}, Dir: dir,
			Env: []string{"COLOUR=red", "COLOUR=blue"}, CPUs: []int{0}, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		switch by := parent(t, p.PID); {
		case i < 2 && by != pids[i]:
			t.Errorf("program %d is supervised by %d, want %d, which was ready", i, by, pids[i])
		case i == 2 && (by == pids[0] || by == pids[1]):
			t.Error("one supervisor was given two programs")
		}
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
	if b, _ := os.ReadFile(log); string(b) != "blue\nblue\nblue\n" {
		t.Errorf("the log has %q", b)
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

// Those that nobody needed are gone when Close returns, and no more are made.
func TestSparesEnd(t *testing.T) {
	l, pids := sparing(t, 2)
	if err := l.Spares.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("%d is still there", pid)
		}
	}
	l.Ready(1)
	l.Spares.starting.Wait()
	if len(l.Spares.waiting) > 0 {
		t.Error("one was started after the end")
	}
}
