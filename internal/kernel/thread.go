package kernel

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// OnThread runs f on a thread of its own, which ends with f, so that whatever f
// does to its thread is undone. What f starts inherits it.
//
// Subtle: the main thread never ends and would keep what f did, so f never runs
// there.
func OnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			OnThread(f) // it cannot get this thread, which we hold
			runtime.UnlockOSThread()
			return
		}
		f() // locked for good: the thread ends with this goroutine
	}()
	<-done
}

// GiveWay lets the runtime stop this goroutine in a loop of raw system calls. Within one that cannot be, and a loop of
// nothing else offers no other place: the whole process would wait for it for ever. So every such loop gives way after
// EINTR, which is SIGURG, with which Go asks a thread to stop for a moment, and after an empty wait.
//
// Subtle: it must be a call with a prologue of its own. There the collector stops a
// goroutine whose stack it scans. Gosched has none, and takes the request back when the
// goroutine goes on. The collector then has to catch it between two calls: on one CPU
// that other programs also want, that took a minute and more.
//
//go:noinline
func GiveWay() { runtime.Gosched() }

// A Placement is where a child process runs. The zero value is wherever its
// parent may run, in the parent's network namespace.
type Placement struct {
	CPUs    []int    // those it may run on; nil: all of its parent's
	Network *os.File // the network namespace it is in; nil: its parent's
	Idle    bool     // it gets only the time that nothing else wants (SCHED_IDLE, sched(7))
}

// Start starts cmd where p says: the child inherits both from the thread that
// forks it; this process keeps its own.
//
// Subtle: cmd must not have a parent-death signal, which would be sent as soon as
// that thread ends.
func (p Placement) Start(cmd *exec.Cmd) (err error) {
	if len(p.CPUs) == 0 && p.Network == nil && !p.Idle {
		return cmd.Start()
	}
	OnThread(func() {
		if err = p.enter(); err == nil {
			err = cmd.Start()
		}
	})
	return err
}

// enter puts the calling thread there.
func (p Placement) enter() error {
	if len(p.CPUs) > 0 {
		if _, err := PinThread(p.CPUs); err != nil {
			return err
		}
	}
	if p.Idle {
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
		if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
			return fmt.Errorf("run when idle: %w", err)
		}
	}
	if p.Network != nil {
		return enterNetwork(p.Network)
	}
	return nil
}

// PinThread lets the calling thread run on these CPUs only, and what it starts from now on, until
// back is called on that thread.
func PinThread(cpus []int) (back func(), err error) {
	var before, set unix.CPUSet
	allowed := AllowedCPUs()
	if err = unix.SchedGetaffinity(0, &before); err == nil {
		err = unix.EINVAL
	}
	for _, cpu := range cpus {
		set.Set(cpu)
		if !slices.Contains(allowed, cpu) { // the kernel would silently leave it out
			return nil, fmt.Errorf("pin to CPU %d: %w; this process may use %v", cpu, err, allowed)
		}
	}
	if err = unix.SchedSetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("pin to CPU %v: %w; this process may use %v", cpus, err, allowed)
	}
	return func() { _ = unix.SchedSetaffinity(0, &before) }, nil
}

// AllowedCPUs lists the CPUs that the calling thread may run on; nil if the
// kernel does not say.
func AllowedCPUs() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	var cpus []int
	for i := range len(set) * bits.UintSize {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus
}

// PinProcess lets all threads of this process, and those it makes from now on, run on these
// CPUs only, until back is called.
func PinProcess(cpus []int) (back func(), err error) {
	before := AllowedCPUs()
	if err := pinThreads(cpus); err != nil {
		return nil, err
	}
	return func() { _ = pinThreads(before) }, nil // they could run there before
}

func pinThreads(cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	const dir = "/proc/self/task"
	// Subtle: a thread that is made meanwhile may have the CPUs of one not yet pinned.
	for range 2 {
		threads, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, t := range threads {
			id, _ := strconv.Atoi(t.Name()) // it is digits
			if err := unix.SchedSetaffinity(id, &set); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("pin thread %d to CPU %v: %w", id, cpus, err)
			}
		}
	}
	return nil
}
