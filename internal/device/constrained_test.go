package device

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// constrained skips where groups cannot be made, except in CI.
func constrained(t *testing.T, l Limits) Constrained {
	t.Helper()
	if os.Geteuid() != 0 && os.Getenv("CI") == "" {
		t.Skip("needs root, or a delegated control group")
	}
	return Constrained{Local: local(t), Limits: l}
}

func begin(t *testing.T, d Device, argv ...string) *Process {
	t.Helper()
	p, err := d.Start(t.Context(), Command{Argv: argv, Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// leftGroups are the groups of this process that still exist.
func leftGroups(t *testing.T) []string {
	t.Helper()
	out, _ := exec.Command("find", cgroupRoot, "-type", "d", "-name",
		fmt.Sprintf("%s%s-*", groupPrefix, kernel.Owner())).Output()
	return strings.Fields(string(out))
}

// A shell that counts for ever gets a tenth of a CPU, with a child of its own
// beside it: the quota is the tree's.
func TestQuotaHoldsForTheTree(t *testing.T) {
	p := begin(t, constrained(t, Limits{CPU: 0.1}), "sh", "-c", "(while :; do :; done) & while :; do :; done")
	time.Sleep(300 * time.Millisecond)
	began := time.Now() // the share is that of a longer time, if this test waits for a CPU
	before, err := p.Usage()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	after, err := p.Usage()
	if err != nil {
		t.Fatal(err)
	}
	used := after.CPU - before.CPU
	share := used.Seconds() / time.Since(began).Seconds()
	spent := after.Throttled - before.Throttled
	if spent < 5 || after.Periods-before.Periods < spent || after.ThrottledFor <= before.ThrottledFor {
		t.Errorf("a busy tree spent its quota in %d of %d periods and waited %v", spent, after.Periods-before.Periods,
			after.ThrottledFor-before.ThrottledFor)
	}
	p.Kill()
	// Other work on the machine may leave less than the quota, but not of the periods in which it was spent.
	quota, _ := Limits{CPU: 0.1}.quota()
	if least := time.Duration(spent) * quota * 7 / 10; share > 0.13 || used < least {
		t.Errorf("got %.3f of a CPU, want 0.1; in %v, with a quota of %v spent %d times", share, used, quota, spent)
	}
	if left := leftGroups(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestMemoryLimitKillsAndSaysSo(t *testing.T) {
	d := constrained(t, Limits{Memory: 32 << 20})
	p := begin(t, d, "sh", "-c", `x=$(head -c 200000000 /dev/zero | tr '\0' x); echo ${#x}`)
	e := p.Wait()
	if e.Code != -1 || !strings.Contains(e.Signal, "memory limit of 32 MiB") {
		t.Errorf("got %+v, want killed at the limit", e)
	}
	p = begin(t, d, "sh", "-c", "echo fine")
	if line, _ := bufio.NewReader(p.Stdout).ReadString('\n'); line != "fine\n" {
		t.Errorf("got %q from a program that needs little", line)
	}
	p.Wait()
	if left := leftGroups(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestConstrainedRefuses(t *testing.T) {
	for _, tt := range []struct {
		l    Limits
		argv string
		want string
	}{
		{Limits{CPU: 0.0001}, "true", "0.1 % or more"},
		{Limits{Memory: 1000}, "true", "1MiB or more"},
		{Limits{CPU: 0.5}, "no-such-program-at-all", "executable file not found"},
	} {
		_, err := constrained(t, tt.l).Start(t.Context(), Command{Argv: []string{tt.argv}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v %s: got %v, want %q", tt.l, tt.argv, err, tt.want)
		}
	}
}

func TestConstrainedFactsNameTheBursts(t *testing.T) {
	f, err := Constrained{Local: local(t), Limits: Limits{CPU: 0.1, Memory: 64 << 20}}.Facts(t.Context())
	if err != nil || f.MemoryB != 64<<20 || f.SwapB != 0 || !strings.Contains(f.Model, "10 % of a CPU") {
		t.Errorf("got %+v, %v", f, err)
	}
	for memory, want := range map[int64]string{64 << 20: "limited to 64 MiB", 1536 << 10: "limited to 1536 KiB"} {
		f, err := Constrained{Local: local(t), Limits: Limits{Memory: memory}}.Facts(t.Context())
		if err != nil || !strings.HasSuffix(f.Model, want) {
			t.Errorf("%d B: got %q, %v, want %s", memory, f.Model, err, want)
		}
	}
	if d := strings.Join(f.Doubts, "\n"); !strings.Contains(d, "1ms in each 10ms") ||
		!strings.Contains(d, "waits up to 9ms") {
		t.Errorf("got doubts %q", d)
	}
}

func TestQuotaIsShort(t *testing.T) {
	for _, tt := range []struct {
		cpu           float64
		quota, period time.Duration
	}{
		{0.1, time.Millisecond, 10 * time.Millisecond},
		{0.5, time.Millisecond, 2 * time.Millisecond},
		{1, time.Millisecond, time.Millisecond},
		{1.5, 1500 * time.Microsecond, time.Millisecond},
		{0.001, time.Millisecond, time.Second},
		{0.3, time.Millisecond, 3333 * time.Microsecond},
	} {
		q, p := Limits{CPU: tt.cpu}.quota()
		if q != tt.quota || p != tt.period {
			t.Errorf("%g: got %v in %v, want %v in %v", tt.cpu, q, p, tt.quota, tt.period)
		}
	}
}

// tree writes a fake hierarchy: names end in / for folders.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func text(t *testing.T, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// cgroup v2 as systemd mounts it, in a delegated scope of a user.
func TestGroupInVersion2(t *testing.T) {
	const scope = "user.slice/run-1.scope"
	root := tree(t, map[string]string{
		scope + "/cgroup.controllers":     "cpu memory pids\n",
		scope + "/cgroup.subtree_control": "",
		scope + "/cgroup.procs":           "",
	})
	g, err := newGroup(root, []byte("0::/"+scope+"\n"), Limits{CPU: 0.25, Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, root, scope, "cgroup.subtree_control"); got != "+cpu +memory" {
		t.Errorf("subtree_control got %q", got)
	}
	if got := text(t, g.dirs[0], "cpu.max"); got != "1000 4000" {
		t.Errorf("cpu.max got %q", got)
	}
	if got := text(t, g.dirs[0], "memory.max"); got != "67108864" {
		t.Errorf("memory.max got %q", got)
	}
	if got := text(t, g.dirs[0], "memory.swap.max"); got != "0" {
		t.Errorf("memory.swap.max got %q", got)
	}
	os.WriteFile(filepath.Join(g.dirs[0], "cpu.stat"),
		[]byte("usage_usec 9\nnr_periods 40\nnr_throttled 7\nthrottled_usec 1500\nnr_bursts 0\n"), 0o644)
	var u Usage
	if g.throttling(&u); u.Periods != 40 || u.Throttled != 7 || u.ThrottledFor != 1500*time.Microsecond {
		t.Errorf("got %+v of cpu.stat", u)
	}
	os.WriteFile(filepath.Join(g.dirs[0], "memory.events"), []byte("low 0\noom 1\noom_kill 1\n"), 0o644)
	if g.killedForMemory() == 0 {
		t.Error("an OOM kill is not seen")
	}
	if len(g.dirs) != 1 || !g.two {
		t.Errorf("got %+v, want one group in version 2", g)
	}
}

// A group that still holds the lab has it moved, and the lab in its own group
// finds the way back up.
func TestDelegationMovesTheLab(t *testing.T) {
	root := tree(t, map[string]string{"s/cgroup.procs": "11\n12\n"})
	base := filepath.Join(root, "s")
	if err := move(base, filepath.Join(base, labGroup)); err != nil {
		t.Fatal(err)
	}
	if got := text(t, base, labGroup, "cgroup.procs"); got != "12" { // a plain file keeps the last; a real one takes both
		t.Errorf("got %q", got)
	}
	os.WriteFile(filepath.Join(base, "cgroup.controllers"), []byte("cpu memory pids\n"), 0o644)
	os.WriteFile(filepath.Join(base, "cgroup.subtree_control"), []byte("cpu\n"), 0o644)
	// what the group above passes on
	os.WriteFile(filepath.Join(base, labGroup, "cgroup.controllers"), []byte("cpu\n"), 0o644)
	for _, tt := range []struct {
		l     Limits
		given string
	}{{Limits{CPU: 0.1}, "cpu\n"}, {Limits{Memory: 1 << 20}, "+memory"}} {
		got, two, err := findBases(root, []byte("0::/s/"+labGroup+"\n"), tt.l)
		if err != nil || !two || len(got) != 1 || got[0] != base {
			t.Errorf("%+v: got %s, %v, want %s", tt.l, got, err, base)
		}
		if given := text(t, base, "cgroup.subtree_control"); given != tt.given {
			t.Errorf("%+v: subtree_control got %q, want %q", tt.l, given, tt.given)
		}
	}
}

// At its end the lab goes back to where it was, unless another lab has groups there.
func TestTheLabLeavesItsGroup(t *testing.T) {
	for what, other := range map[string]string{"": "", "another's limits": "s/edgegauge-1.2-3-4/cgroup.procs",
		"another's programs": "s/edgegauge-lab/edgegauge-tracker-1.2-3-4/cgroup.procs"} {
		files := map[string]string{"s/cgroup.procs": "", "s/cgroup.subtree_control": "cpu memory\n",
			"s/edgegauge-lab/cgroup.procs": "11\n"}
		procs, given := "11", "-cpu -memory"
		if other != "" {
			files[other] = "12\n"
			procs, given = "", "cpu memory\n"
		}
		root := tree(t, files)
		leaveGroup(root, []byte("1:cpu:/x\n0::/s/edgegauge-lab\n"))
		if got := text(t, root, "s/cgroup.procs"); got != procs {
			t.Errorf("beside %q: in its group are %q, want %q", what, got, procs)
		}
		if got := text(t, root, "s/cgroup.subtree_control"); got != given {
			t.Errorf("beside %q: subtree_control got %q, want %q", what, got, given)
		}
	}
	root := tree(t, map[string]string{"s/cgroup.procs": "11\n", "s/cgroup.subtree_control": ""})
	if leaveGroup(root, []byte("0::/s\n")); text(t, root, "s/cgroup.procs") != "11\n" {
		t.Error("a lab that was not moved changed something")
	}
}

// The hybrid of older systems: v2 mounted without controllers, v1 has them.
func TestGroupInVersion1(t *testing.T) {
	root := tree(t, map[string]string{
		"unified/a/cgroup.controllers": "\n",
		"cpu/a/cgroup.procs":           "",
		"memory/b/c/cgroup.procs":      "",
	})
	g, err := newGroup(root, []byte("5:cpu,cpuacct:/a\n4:memory:/b/c\n0::/a\n"), Limits{CPU: 0.1, Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, g.dirs[0], "cpu.cfs_quota_us") + " " + text(t, g.dirs[0], "cpu.cfs_period_us"); got != "1000 10000" {
		t.Errorf("quota and period got %q", got)
	}
	if got := text(t, g.dirs[1], "memory.limit_in_bytes"); got != "67108864" ||
		!strings.Contains(g.dirs[1], "memory/b/c") {
		t.Errorf("got %q in %s", got, g.dirs[1])
	}
}

// What is missing is named, and nothing else, with what helps there: on a Raspberry Pi, which boots without the
// controller of memory; in a session; and where the user's own systemd has no more than that gives it.
func TestNoGroupSaysWhatToDo(t *testing.T) {
	const manager = "user.slice/user-7.slice/user@7.service/app.slice/run-1.scope"
	for _, tt := range []struct {
		root, own, group string
		want, not        string
	}{
		{"cpu memory pids", "s/session-1.scope", "pids", "has no cpu and memory: .*with: systemd-run --user --scope -p " +
			"Delegate=yes edgegauge …, or as root with: systemd-run --scope -p", "cmdline"},
		{"cpu memory pids", "s/session-1.scope", "memory pids", "has no cpu: .*with: systemd-run --user", "no.* memory: "},
		{"cpu pids", "s/session-1.scope", "cpu pids", "cgroup.controllers has no memory: .*cgroup_enable=memory",
			"systemd-run"},
		{"cpu memory pids", manager, "memory pids", `has no cpu: .*Delegate=cpu memory pids`, "systemd-run"},
	} {
		root := tree(t, map[string]string{"cgroup.controllers": tt.root + "\n",
			tt.own + "/cgroup.controllers": tt.group + "\n"})
		_, err := newGroup(root, []byte("0::/"+tt.own+"\n"), Limits{CPU: 0.1, Memory: 64 << 20})
		if err == nil || !regexp.MustCompile(tt.want).MatchString(err.Error()) ||
			regexp.MustCompile(tt.not).MatchString(err.Error()) {
			t.Errorf("a group with %s of %s: got %v, want %s", tt.group, tt.root, err, tt.want)
		}
	}
	for _, two := range []bool{true, false} { // as in a container
		got := advice(two, &fs.PathError{Op: "mkdir", Path: "/sys/fs/cgroup/x", Err: unix.EROFS})
		if !strings.Contains(got, "--privileged") || strings.Contains(got, "root") {
			t.Errorf("where nothing can be written: got %s", got)
		}
	}
}

func TestGroupsOfDeadLabsAreSwept(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	group := func(owner string) string {
		return filepath.Join(root, groupPrefix+owner+"-"+kernel.OwnNamespace()+"-1")
	}
	dead1 := fmt.Sprintf("%d.1", dead.Process.Pid)
	elsewhere := filepath.Join(root, groupPrefix+dead1+"-7-1") // in a container, where it may live
	gone, alive, other := group(dead1), group(kernel.Owner()),
		filepath.Join(root, "edgegauge-mine-1")
	reused := group(fmt.Sprintf("%d.1", os.Getpid())) // began at another time
	for _, dir := range []string{gone, alive, other, reused, elsewhere} {
		os.Mkdir(dir, 0o755)
	}
	sweep(root)
	for dir, want := range map[string]bool{gone: false, alive: true, other: true, reused: false, elsewhere: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: there: %v, want %v", dir, err == nil, want)
		}
	}
}

// Where the kernel does not limit swap a limit of memory is none, and that is known.
func TestSwapThatIsNotLimited(t *testing.T) {
	for _, two := range []bool{true, false} {
		dir := t.TempDir()
		g := &group{dirs: []string{dir}, two: two, l: Limits{Memory: 64 << 20}}
		if err := g.limit(); err != nil || g.swap {
			t.Errorf("v2 %v: got %v, leaves swap %v", two, err, g.swap)
		}
		for _, file := range []string{"memory.swap.max", "memory.memsw.limit_in_bytes"} { // absent, and not to be made
			os.Remove(filepath.Join(dir, file))
			os.Symlink("no/such/file", filepath.Join(dir, file))
		}
		if err := g.limit(); err != nil || !g.swap {
			t.Errorf("v2 %v without swap accounting: got %v, leaves swap %v", two, err, g.swap)
		}
	}
}

func TestAKernelWithoutQuotas(t *testing.T) {
	dir := t.TempDir()
	os.Symlink("no/such/file", filepath.Join(dir, "cpu.max")) // absent, and not to be made
	g := &group{dirs: []string{dir}, two: true, l: Limits{CPU: 0.1}}
	if err := g.limit(); err == nil || !strings.Contains(err.Error(), "the kernel needs CONFIG_CFS_BANDWIDTH") {
		t.Errorf("got %v", err)
	}
}
