package kernel

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	switch os.Getenv("KERNEL_TEST") {
	case "main thread":
		pinFromMainThread()
	case "hold lock":
		holdLock(LockFile(os.Getenv("KERNEL_TEST_FILE"), 0o600))
	case "share lock":
		holdLock(LockShared(os.Getenv("KERNEL_TEST_FILE")))
	}
	os.Exit(m.Run())
}

func skipWithoutNamespaces(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if os.Getenv("CI") == "" {
		t.Skip(err)
	}
	t.Fatal(err)
}

// Pinned and in another network inside, neither outside.
func TestPlacementIsTheChildsAlone(t *testing.T) {
	ns, err := NewNetwork()
	skipWithoutNamespaces(t, err)
	defer ns.Close()
	allowed := AllowedCPUs()
	last := allowed[len(allowed)-1]
	cmd := exec.Command("sh", "-c", "readlink /proc/self/ns/net; grep Cpus_allowed_list /proc/self/status")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := (Placement{CPUs: []int{last}, Network: ns}).Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var want string
	if err := InNetwork(ns, func() (err error) {
		want,
			err = os.Readlink("/proc/thread-self/ns/net")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(out.String())
	if len(f) != 3 || f[0] != want || f[2] != itoa(last) {
		t.Errorf("the child says %q, want %s and CPU %d", f, want, last)
	}
	if here, _ := os.Readlink("/proc/self/ns/net"); here == want {
		t.Errorf("this process is in the child's network, %s", here)
	}
	if got := AllowedCPUs(); len(got) != len(allowed) {
		t.Errorf("this thread may use CPUs %v, want %v as before", got, allowed)
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

func TestPlacementRefused(t *testing.T) {
	cpu := 1000
	err := (Placement{CPUs: []int{cpu}}).Start(exec.Command("true"))
	if err == nil || !strings.Contains(err.Error(), "pin to CPU 1000") || !strings.Contains(err.Error(), "may use [0") {
		t.Errorf("got %v, want the CPU and those there are", err)
	}
	file, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := InNetwork(file, func() error { t.Error("it ran"); return nil }); err == nil ||
		!strings.Contains(err.Error(), "enter a network namespace") {
		t.Errorf("got %v, want refused", err)
	}
}

// The main thread never ends: what is done to it stays done. A goroutine that is
// free to run anywhere may be on it, here with GOMAXPROCS 1 in a process of its
// own, whose main thread says at the end which CPUs it may use.
func TestOnThreadLeavesTheMainThreadAlone(t *testing.T) {
	if len(AllowedCPUs()) < 2 {
		t.Skip("needs two CPUs: on one, being pinned changes nothing")
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "KERNEL_TEST=main thread", "GOMAXPROCS=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func pinFromMainThread() {
	before := len(AllowedCPUs())
	onMain := 0
	for range 200 {
		done := make(chan struct{})
		go func() { // as a caller's goroutine would be
			defer close(done)
			if unix.Gettid() == unix.Getpid() {
				onMain++
			}
			OnThread(func() {
				if unix.Gettid() == unix.Getpid() {
					println("f runs on the main thread")
					os.Exit(1)
				}
				if _, err := PinThread(AllowedCPUs()[:1]); err != nil {
					println(err.Error())
					os.Exit(1)
				}
			})
		}()
		<-done
		runtime.Gosched()
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &set); err != nil || set.Count() != before {
		println("the main thread was pinned, it may use", set.Count(), "CPUs, before", before)
		os.Exit(1)
	}
	if onMain == 0 {
		println("no goroutine was on the main thread: nothing was tested")
		os.Exit(1)
	}
	os.Exit(0)
}

// A child that may only idle has that policy, and this process keeps its own.
func TestIdleIsTheChildsAlone(t *testing.T) {
	cmd := exec.Command("sh", "-c", "cut -d' ' -f41 /proc/$$/stat") // policy, proc_pid_stat(5)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := (Placement{Idle: true}).Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || strings.TrimSpace(out.String()) != "5" { // SCHED_IDLE, sched.h
		t.Errorf("got policy %q, want 5 (%v)", out.String(), err)
	}
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Policy == unix.SCHED_IDLE {
		t.Errorf("this thread has policy %d (%v)", attr.Policy, err)
	}
}

func TestPinProcess(t *testing.T) {
	allowed := AllowedCPUs()
	if len(allowed) < 2 {
		t.Skip("needs two CPUs")
	}
	back, err := PinProcess(allowed[1:2])
	if err != nil {
		t.Fatal(err)
	}
	on := func() []int { // of a thread that is new
		var got []int
		OnThread(func() { got = AllowedCPUs() })
		return got
	}
	if got := on(); !slices.Equal(got, allowed[1:2]) {
		t.Errorf("pinned to %v, a new thread may use %v", allowed[1:2], got)
	}
	back()
	if got := on(); !slices.Equal(got, allowed) {
		t.Errorf("afterwards a new thread may use %v, want %v", got, allowed)
	}
}
