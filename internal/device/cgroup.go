package device

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// Limits are what a constrained device may use. Zero means no limit.
type Limits struct {
	CPU    float64 // CPUs: 0.1 is a tenth of one
	Memory int64   // B
}

// A quota is so much CPU time in each period. Both are as short as the kernel
// takes them, 1 ms, so that bursts are as short as can be.
func (l Limits) quota() (quota, period time.Duration) {
	const least, most = time.Millisecond, time.Second
	if l.CPU >= 1 {
		return time.Duration(l.CPU * float64(least)), least
	}
	period = min(time.Duration(float64(least)/l.CPU).Round(time.Microsecond), most)
	return max(least, time.Duration(l.CPU*float64(period))), period
}

func (l Limits) check() error {
	switch {
	case l.CPU < 0 || l.CPU > 0 && l.CPU < 0.001:
		return fmt.Errorf("a CPU share of %g %% is too small; write 0.1 %% or more", 100*l.CPU)
	case l.Memory < 0 || l.Memory > 0 && l.Memory < 1<<20:
		return fmt.Errorf("%d B of memory are too little for any program; write 1MiB or more", l.Memory)
	}
	return nil
}

// memory is the limit as a profile has it.
func (l Limits) memory() string {
	if l.Memory%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", l.Memory>>20)
	}
	return fmt.Sprintf("%d KiB", l.Memory>>10)
}

// A group is a control group of one process and its descendants, in each
// hierarchy that its limits need (cgroups(7)).
type group struct {
	dirs []string
	two  bool // cgroup v2
	l    Limits
	swap bool // the kernel does not limit swap
}

var groups atomic.Int64 // made by this process

// groupPrefix begins the name of each of our groups: see groupName.
const groupPrefix = "edgegauge-"

// newGroup makes a group below this process's own. Root is the mount point of
// the hierarchies, own the text of /proc/self/cgroup.
func newGroup(root string, own []byte, l Limits) (*group, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	name := groupName(groupPrefix)
	g := &group{l: l}
	if at := groupInTwo(root, own); at != "" {
		defer alone(at)()
	}
	bases, two, err := findBases(root, own, l)
	if err != nil {
		return nil, err
	}
	g.two = two
	for _, base := range bases {
		sweep(base)
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			g.remove()
			return nil, fmt.Errorf("create a control group: %w; %s", err, advice(two, err))
		}
		g.dirs = append(g.dirs, dir)
	}
	if err := g.limit(); err != nil {
		g.remove()
		return nil, err
	}
	return g, nil
}

// delegated is how an ordinary user has groups, where systemd passes the controllers on to users.
const delegated = "systemd-run --user --scope -p Delegate=yes edgegauge …"

// advice is what to do where the kernel refused a group.
func advice(two bool, err error) string {
	switch {
	case errors.Is(err, unix.EROFS):
		return "control groups can only be read here; a container must be started with: --privileged"
	case two:
		return "run as root, or with: " + delegated
	}
	return "run as root: cgroup v1 does not let ordinary users create groups"
}

// findBases finds the groups of this process below which limits can be set: one
// in cgroup v2, or one for each controller in v1.
func findBases(root string, own []byte, l Limits) (bases []string, two bool, err error) {
	at := map[string]string{} // path of this process's group by controller, "" is v2
	for line := range strings.Lines(string(own)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		for _, c := range strings.Split(f[1], ",") {
			at[c] = f[2]
		}
	}
	var wanted []string
	if l.CPU > 0 {
		wanted = append(wanted, "cpu")
	}
	if l.Memory > 0 {
		wanted = append(wanted, "memory")
	}
	mine, inTwo := at[""]
	if filepath.Base(mine) == labGroup { // moved by an earlier trial: it has what that one wanted
		mine = filepath.Dir(mine)
	}
	if inTwo {
		for _, mount := range []string{root, filepath.Join(root, "unified")} {
			base := filepath.Join(mount, mine)
			if has(base, "cgroup.controllers", wanted) {
				base, err := delegate(base, wanted)
				return []string{base}, true, err
			}
		}
	}
	for _, c := range wanted {
		path, ok := at[c]
		base := filepath.Join(root, c, path)
		if _, err := os.Stat(base); !ok || err != nil {
			if inTwo && exists(filepath.Join(root, "cgroup.controllers")) {
				return nil, true, lacking(root, mine, wanted)
			}
			return nil, false, fmt.Errorf("no control group has the controller %s: neither %s nor cgroup v2; the kernel needs "+
				"CONFIG_CFS_BANDWIDTH and CONFIG_MEMCG", c, base)
		}
		bases = append(bases, base)
	}
	return bases, false, nil
}

// lacking says which controllers a group of cgroup v2 does not have, and what gives them to it.
func lacking(root, own string, wanted []string) error {
	base := filepath.Join(root, own)
	var nowhere, kept []string
	for _, c := range wanted {
		switch one := []string{c}; {
		case !has(root, "cgroup.controllers", one):
			nowhere = append(nowhere, c)
		case !has(base, "cgroup.controllers", one):
			kept = append(kept, c)
		}
	}
	switch and := strings.Join(kept, " and "); {
	case len(nowhere) > 0:
		return fmt.Errorf("%s has no %s: the kernel needs CONFIG_CFS_BANDWIDTH and CONFIG_MEMCG, and a Raspberry Pi needs "+
			"cgroup_enable=memory behind the other words of /boot/firmware/cmdline.txt, and a reboot",
			filepath.Join(root, "cgroup.controllers"), strings.Join(nowhere, " and "))
	case strings.Contains(own, "/user@"): // the user's own systemd has no more than it was given (before 252: no cpu)
		return fmt.Errorf("%s has no %s: systemd does not pass it on to users; run as root, or once, as root, write the "+
			"lines [Service] and Delegate=cpu memory pids into /etc/systemd/system/user@.service.d/delegate.conf, "+
			"run systemctl daemon-reload, and log in anew", base, and)
	default:
		return fmt.Errorf("%s has no %s: start edgegauge in a group that has, with: %s, or as root with: %s", base, and,
			delegated, strings.Replace(delegated, "--user ", "", 1))
	}
}

func has(dir, file string, wanted []string) bool {
	b, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return false
	}
	there := map[string]bool{}
	for _, c := range strings.Fields(string(b)) {
		there[c] = true
	}
	for _, c := range wanted {
		if !there[c] {
			return false
		}
	}
	return true
}

// sweep removes groups of labs that are gone. One with processes cannot be
// removed, so nothing alive is touched.
func sweep(base string) {
	for _, dir := range kernel.Matching(base, groupPrefix+"[0-9]*-*") {
		if isLeft(dir, groupPrefix) {
			os.Remove(dir)
		}
	}
}

// limit writes the limits.
func (g *group) limit() error {
	quota, period := g.l.quotaOrNone()
	type setting struct{ file, value string }
	var all []setting
	us := func(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }
	switch {
	case g.two:
		if g.l.CPU > 0 {
			all = append(all, setting{"cpu.max", us(quota) + " " + us(period)})
		}
		if g.l.Memory > 0 {
			all = append(all, setting{"memory.max", strconv.FormatInt(g.l.Memory, 10)}, setting{"memory.swap.max", "0"})
		}
	default:
		if g.l.CPU > 0 {
			all = append(all, setting{"cpu.cfs_period_us", us(period)}, setting{"cpu.cfs_quota_us", us(quota)})
		}
		if g.l.Memory > 0 { // in this order: memory and swap together may not be limited below memory
			all = append(all, setting{"memory.limit_in_bytes", strconv.FormatInt(g.l.Memory, 10)},
				setting{"memory.memsw.limit_in_bytes", strconv.FormatInt(g.l.Memory, 10)})
		}
	}
	for _, s := range all {
		err := os.WriteFile(filepath.Join(g.dirOf(s.file), s.file), []byte(s.value), 0)
		swap := strings.Contains(s.file, "swap") || strings.Contains(s.file, "memsw")
		refused := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
		switch {
		case err == nil:
		case swap && refused: // kernels may have no swap accounting
			g.swap = true
		case strings.HasPrefix(s.file, "cpu.") && refused && !exists(filepath.Join(g.dirOf(s.file), s.file)):
			return fmt.Errorf("limit the control group: %w; the kernel needs CONFIG_CFS_BANDWIDTH", err)
		default:
			return fmt.Errorf("limit the control group: %w; %s", err, advice(g.two, err))
		}
	}
	return nil
}

func exists(file string) bool { _, err := os.Stat(file); return err == nil }

func (l Limits) quotaOrNone() (quota, period time.Duration) {
	if l.CPU == 0 {
		return 0, 0
	}
	return l.quota()
}

// dirOf is the group's folder in the hierarchy that has the file.
func (g *group) dirOf(file string) string {
	if !g.two && strings.HasPrefix(file, "memory.") {
		return g.dirs[len(g.dirs)-1]
	}
	return g.dirs[0]
}

// killedForMemory is how many of its processes the kernel killed at the limit.
func (g *group) killedForMemory() int64 {
	if g.l.Memory == 0 {
		return 0
	}
	file, key := "memory.oom_control", "oom_kill"
	if g.two {
		file = "memory.events"
	}
	b, _ := os.ReadFile(filepath.Join(g.dirOf("memory."), file))
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == key {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}

// throttling reads how often the quota was spent (cpu.stat: v1 counts the wait
// in ns, v2 in µs).
func (g *group) throttling(u *Usage) {
	if g.l.CPU == 0 {
		return
	}
	b, _ := os.ReadFile(filepath.Join(g.dirOf("cpu."), "cpu.stat"))
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch key {
		case "nr_periods":
			u.Periods = n
		case "nr_throttled":
			u.Throttled = n
		case "throttled_time":
			u.ThrottledFor = time.Duration(n)
		case "throttled_usec":
			u.ThrottledFor = time.Duration(n) * time.Microsecond
		}
	}
}

// remove removes the group once its processes are gone: their end may take the
// kernel a moment longer than their parent is told.
func (g *group) remove() {
	for _, dir := range g.dirs {
		for range 100 {
			if err := os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// EnterVerb is the hidden verb of the binary that runs Enter.
const EnterVerb = "enter"

// Enter moves this process into the control groups named before "--" and
// becomes the program named after it: enter DIR… -- argv.
func Enter(args []string) int {
	for i, dir := range args {
		if dir == "--" && i+1 < len(args) {
			path, err := exec.LookPath(args[i+1])
			if err == nil {
				err = syscall.Exec(path, args[i+1:], os.Environ())
			}
			fmt.Fprintln(os.Stderr, err)
			return 127
		}
		// 0 is the process that writes it (cgroups(7)).
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
			fmt.Fprintln(os.Stderr, "enter a control group:", err)
			return 126
		}
	}
	return 2
}
