package device

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// controlFD is the supervisor's end of the socket to its lab.
const controlFD = 3

// SuperviseVerb is the hidden verb of the binary that runs Supervise.
const SuperviseVerb = "supervise"

// Supervise runs a program, supervise CPUS GROUP -- argv, and outlives a killed lab
// just long enough to end everything the program started: neither a process group
// nor a parent-death signal would reach all of it. It becomes the reaper of all
// that argv starts, tells the lab on fd 3 the process id and later how it ended,
// and kills the whole tree as soon as fd 3 closes. CPUS are those that the program
// may run on, as in "0,2"; empty: all. It may run on others itself: two programs that
// share a CPU do not wait for their supervisors to begin. GROUP is a control group in
// which the program is put, so that the lab finds its processes even if this one
// is killed; empty: none. It returns the exit status.
func Supervise(args []string) int {
	if len(args) < 4 || args[2] != "--" {
		fmt.Fprintln(os.Stderr, "edgegauge supervise is started by a lab, not by hand")
		return 2
	}
	runtime.LockOSThread() // Subtle: the child's parent-death signal follows this thread, so it must live as long as we do
	signal.Ignore(unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE)
	control := os.NewFile(controlFD, "control")
	unix.CloseOnExec(controlFD)
	say := json.NewEncoder(control)
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

	pid, exit := launch(args[0], args[1], args[3:])
	if pid == 0 {
		say.Encode(exit)
		return 127
	}
	say.Encode(started{PID: pid})
	os.Stdin.Close() // the child's end of stdin must be the last one
	os.Stdout.Close()

	var alone atomic.Bool
	go func() { // nothing is ever sent to us: any end of this read means the lab is gone or wants the tree dead
		io.Copy(io.Discard, control)
		alone.Store(true)
		killTree(os.Getpid())
	}()
	exit = reap(pid, &alone)
	say.Encode(exit)
	return 0
}

// launch starts argv on some CPUs and in a group, if there is one; pid 0 says that it could not.
func launch(cpus, group string, argv []string) (pid int, why Exit) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return 0, Exit{Code: -1, Err: err.Error()}
	}
	unpin, err := pin(cpus)
	if err != nil {
		return 0, Exit{Code: -1, Err: err.Error()}
	}
	defer unpin()
	pid, err = bear(group, path, argv, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		return 0, Exit{Code: -1, Err: fmt.Sprintf("%s: %v", path, err)}
	}
	return pid, Exit{}
}

// cpuList is CPUs as Supervise takes them.
func cpuList(cpus []int) string {
	texts := make([]string, len(cpus))
	for i, cpu := range cpus {
		texts[i] = strconv.Itoa(cpu)
	}
	return strings.Join(texts, ",")
}

// pin pins this thread, whose children begin their lives there, until unpin is called.
func pin(list string) (unpin func(), err error) {
	if list == "" {
		return func() {}, nil
	}
	var cpus []int
	for text := range strings.SplitSeq(list, ",") {
		cpu, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("CPUs %q: %w", list, err)
		}
		cpus = append(cpus, cpu)
	}
	return kernel.PinThread(cpus)
}

type started struct {
	PID int `json:"pid"`
}

// reap waits for pid, then for whatever it left behind, killing that.
func reap(pid int, alone *atomic.Bool) Exit {
	var exit Exit
	main := false
	for {
		var ws unix.WaitStatus
		var ru unix.Rusage
		got, err := unix.Wait4(-1, &ws, 0, &ru)
		if err == unix.EINTR {
			continue
		}
		if err != nil { // ECHILD: nothing is left
			return exit
		}
		// Of each child, with what that had waited for itself (getrusage(2)).
		exit.CPU += time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
		if got == pid {
			main = true
			exit.Code = ws.ExitStatus()
			if ws.Signaled() {
				exit.Code, exit.Signal = -1, unix.SignalName(ws.Signal())
			}
			if !childless() {
				exit.Orphans = killTree(os.Getpid())
			}
		} else if main || alone.Load() {
			killTree(os.Getpid())
		}
	}
}

// childless says that this process has no child left, not even a zombie. To a subreaper that means no
// descendant: those whose parent ended would be its children. It spares a look at all of /proc, some milliseconds.
func childless() bool {
	return unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD
}

// EndDescendants kills all that this process and its supervisors have started,
// stopped ones included: for an end that waits for nothing.
func EndDescendants() { killTree(os.Getpid()) }

// killTree kills every descendant of pid until none that is not a zombie is left, and
// returns how many there were. Bounded: a fork bomb is not ours to win.
func killTree(pid int) int {
	killed := map[int]bool{} // one that takes its time to die counts once
	for range 100 {
		alive := kernel.Descendants(pid)
		if len(alive) == 0 {
			break
		}
		for _, p := range alive {
			if unix.Kill(p, unix.SIGKILL) == nil {
				killed[p] = true
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
	return len(killed)
}

var errNotStarted = errors.New("could not be started")
