package kernel

import (
	"bytes"
	"errors"
	"maps"
	"os/exec"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// lastWords is how long a command that is told to end may take to.
const lastWords = 2 * time.Second

// Run runs a command of exec.CommandContext to its end, and waits for nobody else: what a command starts may hold its
// output open for ever. When the context ends, the command is ended with all that it started, by SIGTERM first.
//
// Subtle: it is no process group of its own, or it could ask nothing of who sits at the terminal.
func Run(cmd *exec.Cmd) error {
	var all family
	var late *time.Timer
	cmd.WaitDelay = lastWords + time.Second
	cmd.Cancel = func() error {
		all.end(cmd.Process.Pid, unix.SIGTERM)
		late = time.AfterFunc(lastWords, func() { all.end(cmd.Process.Pid, unix.SIGKILL) })
		return nil
	}
	err := cmd.Run()
	if late != nil {
		late.Stop()
		all.end(cmd.Process.Pid, unix.SIGKILL) // of those that lost their parent
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// A family is a command and what it has started, as far as that was seen.
type family struct {
	mu   sync.Mutex
	seen map[int]int64 // when each began, by its process id
}

// end signals a command and its descendants, of now and of before. None that is to be killed starts another meanwhile:
// all stand still first.
func (f *family) end(command int, s unix.Signal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen = map[int]int64{}
		f.see(command)
	}
	f.grow()
	if s == unix.SIGKILL {
		for known := 0; known < len(f.seen) && known < mostSeen; {
			known = len(f.seen)
			f.signal(unix.SIGSTOP)
			f.grow()
		}
	}
	f.signal(s)
}

// mostSeen bounds the wait for all to stand still: a fork bomb is not ours to win.
const mostSeen = 10_000

// grow sees the descendants of those that live.
func (f *family) grow() {
	below := map[int]bool{} // another that was looked at
	for _, pid := range slices.Collect(maps.Keys(f.seen)) {
		if below[pid] || !f.lives(pid) {
			continue
		}
		for _, d := range Descendants(pid) {
			below[d] = true
			f.see(d)
		}
	}
}

func (f *family) signal(s unix.Signal) {
	for pid := range f.seen {
		if f.lives(pid) {
			unix.Kill(pid, s)
		}
	}
}

func (f *family) see(pid int) {
	if p, err := ReadProcess(pid); err == nil {
		f.seen[pid] = p.Began
	}
}

// lives says whether a process is there: its number may be another's by now.
func (f *family) lives(pid int) bool {
	p, err := ReadProcess(pid)
	began, seen := f.seen[pid]
	return err == nil && seen && p.Began == began
}

// Output is Run that returns what the command and its children wrote to standard output.
func Output(cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout = &out
	err := Run(cmd)
	return out.Bytes(), err
}

// CombinedOutput is Output with standard error.
func CombinedOutput(cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := Run(cmd)
	return out.Bytes(), err
}
