package device

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Constrained is this machine under a CPU quota and a memory limit. It is no
// slower CPU: a program runs at full speed until its quota is spent, then waits
// for the next period.
type Constrained struct {
	Local
	Limits Limits
}

const cgroupRoot = "/sys/fs/cgroup"

// Start runs c in a control group of its own, which ends with it.
func (d Constrained) Start(ctx context.Context, c Command) (*Process, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	if _, err := exec.LookPath(c.Argv[0]); err != nil && !strings.Contains(c.Argv[0], "/") {
		return nil, fmt.Errorf("%w: %w", errNotStarted, err) // here: Enter would find it out too late
	}
	g, err := newGroup(cgroupRoot, own, d.Limits)
	if err != nil {
		return nil, err
	}
	c.Argv = append(append(append([]string{d.Exe, EnterVerb}, g.dirs...), "--"), c.Argv...)
	p, err := d.Local.Start(ctx, c)
	if err != nil {
		g.remove()
		return nil, err
	}
	counting := []tracker{p.group}
	if g.two { // in cgroup v2 Enter has moved it there, after some ms of its own in the other
		counting = append(counting, tracker(g.dirs[0]))
	}
	p.usage = func() (Usage, error) {
		u, err := p.used(counting...)
		g.throttling(&u)
		u.Killed = g.killedForMemory()
		return u, err
	}
	p.Tell(func(e Exit) Exit {
		if e.Signal != "" && g.killedForMemory() > 0 {
			e.Signal += ": it exceeded the device's memory limit of " + d.Limits.memory()
		}
		for _, dir := range g.dirs { // what a killed supervisor left
			tracker(dir).killAll()
		}
		g.remove()
		return e
	})
	return p, nil
}

// Facts are this machine's, with the limits in place of its own.
func (d Constrained) Facts(ctx context.Context) (Facts, error) {
	f, err := d.Local.Facts(ctx)
	if err != nil {
		return f, err
	}
	if d.Limits.Memory > 0 {
		f.MemoryB = d.Limits.Memory
		if f.SwapB > 0 && d.Limits.leavesSwap(cgroupRoot) {
			f.Doubts = append(f.Doubts, fmt.Sprintf("this kernel does not limit swap, of which there are %d MiB: a program "+
				"that exceeds the memory limit is not killed, it swaps; %s", f.SwapB>>20, limitSwap))
		} else {
			f.SwapB = 0
		}
		f.Model += ", limited to " + d.Limits.memory()
	}
	if d.Limits.CPU > 0 {
		quota, period := d.Limits.quota()
		f.Model += fmt.Sprintf(", limited to %g %% of a CPU", 100*d.Limits.CPU)
		f.Doubts = append(f.Doubts,
			fmt.Sprintf("CPU quota of %v in each %v: a short request runs at full speed or waits up to %v for the next "+
				"period, so response times are bimodal; use totals and throughput, and do not read it as a slower CPU",
				quota, period.Round(time.Microsecond), period-quota))
	}
	return f, nil
}

// limitSwap is what to do where the kernel does not limit swap.
const limitSwap = "run: swapoff -a, or boot with swapaccount=1"

// Check says whether this machine can keep the limits.
func (l Limits) Check() Finding {
	f := Finding{What: "limits", Says: "this machine can enforce them"}
	swaps, err := l.try(cgroupRoot)
	switch {
	case err != nil:
		f.Says, f.Do, f.Bad = "this machine cannot enforce them", err.Error(), true
	case swaps && kib(machine{os.DirFS("/")}.text("proc/meminfo"), "SwapTotal") > 0:
		f.Says, f.Do = "this machine can enforce them, but for swap: a program that exceeds the memory limit swaps", limitSwap
	}
	return f
}

// leavesSwap says that the kernel does not limit swap.
func (l Limits) leavesSwap(root string) bool {
	swaps, err := l.try(root)
	return err == nil && swaps
}

// try makes a group and removes it. Swaps says that the kernel does not limit its swap.
func (l Limits) try(root string) (swaps bool, err error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return false, err
	}
	g, err := newGroup(root, own, l)
	if err != nil {
		return false, err
	}
	g.remove()
	return g.swap, nil
}
