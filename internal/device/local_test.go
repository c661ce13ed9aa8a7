package device

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// TestMain makes the test binary its own supervisor, and a lab that can be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == SuperviseVerb {
		os.Exit(Supervise(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == EnterVerb {
		os.Exit(Enter(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == AgentVerb {
		os.Exit(AgentMain(os.Args[2:], "test", openCounter))
	}
	if part := os.Getenv(cgroup2Part); part != "" {
		playCgroup2(part)
	}
	if part := os.Getenv(negligentPart); part != "" {
		playNegligent(part)
	}
	if os.Getenv("DEVICE_TEST_LAB") != "" {
		playLab()
	}
	os.Exit(m.Run())
}

func local(t *testing.T) Local {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Local{Exe: exe}
}

func start(t *testing.T, script string) *Process {
	t.Helper()
	p, err := local(t).Start(t.Context(), Command{Argv: []string{"sh", "-c", script},
		Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	return p
}

func TestProcessEndsWhenStdinCloses(t *testing.T) {
	p := start(t, "while read x; do echo got $x; done; exit 7")
	fmt.Fprintln(p.Stdin, "hello")
	if line, _ := bufio.NewReader(p.Stdout).ReadString('\n'); line != "got hello\n" {
		t.Errorf("got %q, want the echo", line)
	}
	if e, killed := p.Stop(t.Context(), time.Minute); e.Code != 7 || killed {
		t.Errorf("got %+v killed %v, want code 7 by itself", e, killed)
	}
}

func TestStubbornTreeIsKilled(t *testing.T) {
	// a shell that ignores TERM, with a grandchild in a session of its own
	p := start(t, "trap '' TERM INT HUP; setsid sleep 1000 & echo $!; sleep 1000")
	line, _ := bufio.NewReader(p.Stdout).ReadString('\n')
	grandchild, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Kill(grandchild, unix.SIGKILL) })
	e, killed := p.Stop(t.Context(), 50*time.Millisecond)
	if !killed || e.Signal != "SIGKILL" {
		t.Errorf("got %+v killed %v, want killed", e, killed)
	}
	if alive(grandchild) {
		t.Errorf("grandchild %d outlived its supervisor", grandchild)
	}
}

// Whoever is told to stop does not wait for the patience of others.
func TestStopEndsWithItsContext(t *testing.T) {
	p := start(t, "trap '' TERM INT HUP; echo up; sleep 1000")
	bufio.NewReader(p.Stdout).ReadString('\n')
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, killed := p.Stop(ctx, time.Minute); !killed || time.Since(began) > 10*time.Second {
		t.Errorf("killed %v after %v, want killed at once", killed, time.Since(began))
	}
}

func TestOrphansAreCounted(t *testing.T) {
	p := start(t, "setsid sleep 1000 & echo $!; exit 0")
	line, _ := bufio.NewReader(p.Stdout).ReadString('\n')
	orphan, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Kill(orphan, unix.SIGKILL) })
	e := p.Wait()
	want := fmt.Sprintf("1 process behind: %d (", orphan) // which a busy machine may see before its exec
	named := regexp.MustCompile(`sleep 1000|\((sh|setsid|sleep)\)`)
	if said := e.LeftBehind(); e.Orphans != 1 || !strings.HasPrefix(said, want) || !named.MatchString(said) {
		t.Errorf("got %+v, want one orphan found, named and killed: %s", e, want)
	}
	p = start(t, "for n in 1 2 3 4 5; do setsid sleep 1000 & done; exit 0")
	e = p.Wait()
	if said := e.LeftBehind(); e.Orphans != 5 || strings.Count(said, " (") != 3 || strings.Contains(said, "()") ||
		!strings.HasSuffix(said, " and 2 more") {
		t.Errorf("got %+v: %s", e, said)
	}
}

func TestKilledLabLeavesNothing(t *testing.T) {
	exe, _ := os.Executable()
	lab := exec.Command(exe)
	lab.Env = append(os.Environ(), "DEVICE_TEST_LAB=1")
	out, err := lab.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	var child, spare int
	if _, err := fmt.Sscan(line, &child, &spare); err != nil || !alive(child) || !alive(spare) {
		t.Fatalf("lab said %q: %v", line, err)
	}
	lab.Process.Kill()
	lab.Wait()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if !alive(child) && !alive(spare) {
			return
		}
	}
	t.Errorf("process %d (%v) or %d (%v) outlived its killed lab", child, alive(child), spare, alive(spare))
	unix.Kill(child, unix.SIGKILL)
	unix.Kill(spare, unix.SIGKILL)
}

// playLab starts a process that ignores its stdin, names it and a supervisor that waits for another, and waits to
// be killed.
func playLab() {
	exe, _ := os.Executable()
	l := Local{Exe: exe, Spares: new(Spares)}
	ended, err := l.Start(context.Background(), Command{Argv: []string{"true"}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	ended.Wait()
	spare := l.Spares.waiting[0].cmd.Process.Pid
	p, err := Local{Exe: exe}.Start(context.Background(), Command{Argv: []string{"sleep", "1000"}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.PID, spare)
	select {}
}

func alive(pid int) bool {
	p, err := kernel.ReadProcess(pid)
	return err == nil && !p.Ended()
}

func TestStartFailures(t *testing.T) {
	for _, tt := range []struct {
		what string
		c    Command
		want string
	}{
		{"no such program", Command{Argv: []string{"no-such-program-at-all"}}, "executable file not found"},
		{"no such CPU", Command{Argv: []string{"true"}, CPUs: []int{4000}}, "pin to CPU 4000"},
		{"no such folder", Command{Argv: []string{"true"}, Dir: "/no/such"}, "no such file"},
	} {
		_, err := local(t).Start(t.Context(), tt.c)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.what, err, tt.want)
		}
	}
}

func TestUsageSeesTheWholeTree(t *testing.T) {
	p := start(t, "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done; sleep 1000' & wait")
	defer p.Kill()
	if line, _ := bufio.NewReader(p.Stdout).ReadString('\n'); line != "done\n" {
		t.Fatalf("shell said %q", line)
	}
	u, err := p.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if u.CPU < 10*time.Millisecond || u.PeakRSS < 100_000 {
		t.Errorf("got %+v, want the child's burnt CPU and both peaks", u)
	}
}

// A process that a signal has stopped is told, a child too.
func TestStoppedProcessesAreNamed(t *testing.T) {
	p := start(t, "sleep 1000 & echo $!; wait")
	defer p.Kill()
	p.usage = func() (Usage, error) { return p.used() } // as that of a device with limits
	child := 0
	if _, err := fmt.Fscan(p.Stdout, &child); err != nil || len(p.Stopped()) > 0 {
		t.Fatalf("%v; %v are stopped", err, p.Stopped())
	}
	for _, pid := range []int{child, p.PID} {
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(20 * time.Second); len(p.Stopped()) < 2 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if got := p.Stopped(); !slices.Equal(got, []int{p.PID, child}) {
		t.Errorf("got %v, want %d and %d", got, p.PID, child)
	}
}

func TestPinnedProcessStaysOnItsCPU(t *testing.T) {
	p, err := local(t).Start(t.Context(), Command{Argv: []string{"sleep", "1000"}, CPUs: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(p.PID, &set); err != nil || set.Count() != 1 || !set.IsSet(0) {
		t.Errorf("got %v %v, want CPU 0 only", set, err)
	}
}

func TestFactsOfAnotherMachine(t *testing.T) {
	root := fstest.MapFS{
		"proc/device-tree/model": {Data: []byte("Raspberry Pi Model B Rev 2\x00")},
		"proc/meminfo":           {Data: []byte("MemTotal:         448564 kB\nSwapTotal:        102396 kB\n")},
		"proc/loadavg":           {Data: []byte("9.50 0.10 0.05 1/123 4567\n")},
		"etc/os-release":         {Data: []byte("PRETTY_NAME=\"Raspbian GNU/Linux 12\"\nID=raspbian\n")},
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":            {Data: []byte("ondemand\n")},
		"sys/devices/system/clocksource/clocksource0/current_clocksource": {Data: []byte("timer\n")},
	}
	f, err := readFacts(root)
	if err != nil {
		t.Fatal(err)
	}
	got := []any{f.Model, f.MemoryB, f.SwapB, f.OS, f.Governor, f.ClockSource, f.Load, len(f.Doubts)}
	want := []any{"Raspberry Pi Model B Rev 2", int64(448564 * 1024), int64(102396 * 1024), "Raspbian GNU/Linux 12",
		"ondemand", "timer", 9.5, 2}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestProcessRunsInItsNamespace(t *testing.T) {
	if os.Geteuid() != 0 && os.Getenv("CI") == "" {
		t.Skip("needs root, for network namespaces")
	}
	ns, err := kernel.NewNetwork()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	p, err := local(t).Start(t.Context(), Command{Argv: []string{"sh", "-c", "readlink /proc/self/ns/net; sleep 1000"},
		Namespace: ns, CPUs: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	got, _ := bufio.NewReader(p.Stdout).ReadString('\n')
	want, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", ns.Fd()))
	here, _ := os.Readlink("/proc/self/ns/net")
	if strings.TrimSpace(got) != want || want == here {
		t.Errorf("got %q, want %q, and not the lab's %q", got, want, here)
	}
}
