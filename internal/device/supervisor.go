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
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/printable"
)

// controlFD is the supervisor's end of the socket to its lab.
const controlFD = 3

// SuperviseVerb is the hidden verb of the binary that runs Supervise.
const SuperviseVerb = "supervise"

// Supervise runs the programs of the orders that come on fd 3, one after the other, and outlives a killed lab
// just long enough to end everything they started: neither a process group
// nor a parent-death signal would reach all of it. It becomes the reaper of all
// that a program starts, tells the lab on fd 3 the process id and later how it ended,
// and kills the whole tree as soon as fd 3 closes. It may run on other CPUs than the
// program: two programs that share a CPU do not wait for their supervisors to begin.
// It returns the exit status.
func Supervise([]string) int {
	control := os.NewFile(controlFD, "control")
	runtime.LockOSThread() // Subtle: a child's parent-death signal follows this thread, so it must live as long as we do
	withstand(unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE)
	unix.CloseOnExec(controlFD)
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	s := supervision{say: json.NewEncoder(control), orders: make(chan received)}
	if err := s.keepPlace(); err != nil {
		s.say.Encode(Exit{Code: -1, Err: err.Error()})
		return 127
	}
	go s.listen(control)
	for r := range s.orders {
		switch {
		case errors.Is(r.err, unix.ENOTSOCK) || errors.Is(r.err, unix.EBADF):
			fmt.Fprintln(os.Stderr, "edgegauge supervise is started by a lab, not by hand")
			return 2
		case r.err == nil:
			r.err = s.serve(r.order)
		}
		if r.err != nil {
			s.say.Encode(Exit{Code: -1, Err: r.err.Error()})
			return 127
		}
	}
	return 0 // the lab is gone, or has nothing more to start
}

// withstand makes signals end nothing here. Subtle: they are caught, since what a process
// ignores its programs ignore, too, and one that writes to a closed pipe would not end.
func withstand(signals ...os.Signal) { signal.Notify(make(chan os.Signal, 1), signals...) }

// A supervision is the process that supervises.
type supervision struct {
	say    *json.Encoder // to the lab
	orders chan received // closed when the lab is gone or wants the tree dead
	alone  atomic.Bool   // it is closed
	busy   atomic.Bool   // there is a program

	home, null, stderr int // its folder, /dev/null and its stderr, which a program's take the places of
}

// received is an order, or why it is none.
type received struct {
	order order
	err   error
}

// keepPlace keeps what each program's order replaces.
func (s *supervision) keepPlace() (err error) {
	if s.home, err = unix.Open(".", unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	if s.null, err = unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	s.stderr, err = unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	return err
}

// listen receives orders until the lab's end of the socket is closed, and then kills the tree.
func (s *supervision) listen(control *os.File) {
	defer close(s.orders)
	for {
		o, err := receiveOrder(control)
		if errors.Is(err, io.EOF) {
			break
		}
		s.orders <- received{o, err}
		if err != nil {
			return
		}
	}
	s.alone.Store(true)
	if s.busy.Load() {
		killTree(os.Getpid())
	}
}

// serve runs a program to its end. Its error says why it could not be started.
func (s *supervision) serve(o order) error {
	s.busy.Store(true)
	pid, err := launch(o)
	if err != nil {
		return err
	}
	s.say.Encode(started{PID: pid})
	// The child's end of stdin must be the last one.
	err = errors.Join(unix.Dup3(s.null, 0, 0), unix.Dup3(s.null, 1, 0))
	if s.alone.Load() { // before the child was there
		killTree(os.Getpid())
	}
	exit := reap(pid, &s.alone)
	s.busy.Store(false)
	// The next order comes when this has been told, and finds all as this one did.
	if err = errors.Join(err, unix.Dup3(s.stderr, 2, 0), unix.Fchdir(s.home)); err != nil {
		exit.Err = err.Error()
	}
	s.say.Encode(exit)
	return nil
}

// launch starts an order's program on its CPUs and in its group, if there are any.
func launch(o order) (pid int, err error) {
	if o.Dir != "" {
		if err := os.Chdir(o.Dir); err != nil {
			return 0, err
		}
	}
	os.Clearenv()
	for _, entry := range o.Env {
		name, value, _ := strings.Cut(entry, "=")
		os.Setenv(name, value)
	}
	path, err := exec.LookPath(o.Argv[0])
	if err != nil {
		return 0, err
	}
	if len(o.CPUs) > 0 {
		unpin, err := kernel.PinThread(o.CPUs)
		if err != nil {
			return 0, err
		}
		defer unpin()
	}
	pid, err = bear(o.Group, path, o.Argv, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return pid, nil
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
				left := killTree(os.Getpid())
				exit.Orphans, exit.Left = len(left), strings.Join(left[:min(len(left), mostLeft)], ", ")
				if more := len(left) - mostLeft; more > 0 {
					exit.Left += fmt.Sprintf(" and %d more", more)
				}
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

// mostLeft is how many of the processes that a program left behind are named.
const mostLeft = 3

// killTree kills every descendant of pid until none that is not a zombie is left, and
// names them. Bounded: a fork bomb is not ours to win.
func killTree(pid int) (left []string) {
	killed := map[int]bool{} // one that takes its time to die counts once
	for range 100 {
		alive := kernel.Descendants(pid)
		if len(alive) == 0 {
			break
		}
		for _, p := range alive {
			command := commandOf(p)
			if unix.Kill(p, unix.SIGKILL) == nil && !killed[p] {
				killed[p] = true
				left = append(left, fmt.Sprintf("%d (%s)", p, command))
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
	return left
}

// commandOf is what a process was started as, in one line of at most 100 bytes; in the midst of its exec, its program;
// empty: it is gone.
func commandOf(pid int) string {
	b, _ := kernel.ReadProc(fmt.Sprintf("/proc/%d/cmdline", pid))
	if len(b) == 0 {
		b, _ = kernel.ReadProc(fmt.Sprintf("/proc/%d/comm", pid))
	}
	text := strings.Join(strings.Fields(strings.ReplaceAll(string(b), "\x00", " ")), " ")
	if text = printable.Line(printable.Redact(text)); len(text) > 100 {
		text = strings.ToValidUTF8(text[:97], "") + "..."
	}
	return text
}

var errNotStarted = errors.New("could not be started")
