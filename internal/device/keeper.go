package device

import (
	"bufio"
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
)

// A keeper is a process of ours between the lab and a stack's program. It
// outlives a killed lab just long enough to end everything the program started:
// neither a process group nor a parent-death signal would reach all of it.
type keeper interface {
	kill()
}

// controlFD is the keeper's end of the socket to its lab.
const controlFD = 3

// KeepVerb is the hidden verb of the binary that runs Keep.
const KeepVerb = "keep"

// Keep runs argv as a keeper: it becomes the reaper of all that argv starts,
// tells the lab on fd 3 the process id and later how it ended, and kills
// the whole tree as soon as fd 3 closes. It returns the exit status.
func Keep(argv []string) int {
	runtime.LockOSThread() // Subtle: the child's parent-death signal follows this thread, so it must live as long as we do
	signal.Ignore(unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE)
	control := os.NewFile(controlFD, "control")
	unix.CloseOnExec(controlFD)
	say := json.NewEncoder(control)
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

	path, err := exec.LookPath(argv[0])
	if err != nil {
		say.Encode(Exit{Code: -1, Err: err.Error()})
		return 127
	}
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		say.Encode(Exit{Code: -1, Err: fmt.Sprintf("%s: %v", path, err)})
		return 126
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
	exit := reap(pid, &alone)
	say.Encode(exit)
	return 0
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
		if err != nil {
			return exit
		}
		exit.CPU += time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
		if got == pid {
			main = true
			exit.Code = ws.ExitStatus()
			if ws.Signaled() {
				exit.Code, exit.Signal = -1, unix.SignalName(ws.Signal())
			}
			exit.Orphans = killTree(os.Getpid())
		} else if main || alone.Load() {
			killTree(os.Getpid())
		}
	}
}

// killTree kills every descendant of pid until none that is not a zombie is left, and
// returns how many there were. Bounded: a fork bomb is not ours to win.
func killTree(pid int) int {
	killed := map[int]bool{} // one that takes its time to die counts once
	for range 100 {
		alive := descendants(pid)
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

// descendants lists the live descendants of pid, zombies aside.
func descendants(pid int) []int {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	zombie := map[int]bool{}
	for _, e := range names {
		p, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		state, parent, ok := stat(p)
		if !ok {
			continue
		}
		children[parent] = append(children[parent], p)
		zombie[p] = state == "Z" || state == "X"
	}
	var out []int
	for todo := children[pid]; len(todo) > 0; {
		p := todo[0]
		todo = append(todo[1:], children[p]...)
		if !zombie[p] {
			out = append(out, p)
		}
	}
	return out
}

// stat reads state and parent of a process (proc(5)). The name may hold spaces
// and brackets: fields count from the last bracket.
func stat(pid int) (state string, parent int, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, false
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) < 2 {
		return "", 0, false
	}
	parent, err = strconv.Atoi(f[1])
	return f[0], parent, err == nil
}

// handle is the lab's side of a local keeper.
type handle struct {
	control *os.File
	cmd     *exec.Cmd
}

func (h *handle) kill() { unix.Shutdown(int(h.control.Fd()), unix.SHUT_WR) }

// watch reads what the keeper says, delivers the exit and reaps the keeper.
func (h *handle) watch(in *bufio.Reader, exit chan<- Exit) {
	var e Exit
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &e)
	}
	if err != nil {
		e = Exit{Code: -1, Signal: "SIGKILL", Err: "its keeper was killed"}
	}
	h.control.Close()
	h.cmd.Wait()
	exit <- e
	close(exit)
}

var errNotStarted = errors.New("could not be started")
