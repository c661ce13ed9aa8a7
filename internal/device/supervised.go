package device

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A supervisor is a process of ours between the lab and a program: Supervise on
// this machine, the agent on another.
type supervisor interface {
	// kill has the program and all it started killed, and makes sure that the
	// process's exit is then known within a time, whatever becomes of the supervisor.
	kill()
}

const (
	// firstWord is how long a supervisor may take to say that the program runs.
	firstWord = 20 * time.Second
	// obedience is how long a supervisor may take to end after it was told to.
	obedience = 5 * time.Second
)

// localSupervisor is the lab's side of Supervise, while that has one program.
type localSupervisor struct {
	control *os.File
	said    *bufio.Reader // of control
	cmd     *exec.Cmd
	group   tracker
	before  time.Duration // CPU time of all that it had waited for before this program
	ended   chan struct{} // closed when the supervisor was waited for

	mu     sync.Mutex
	killed bool // the supervisor was told to end
	over   bool // the program has ended, and the supervisor may have another
}

// kill tells the supervisor, and does its work if that is not done in time: it may
// be stopped, or starved.
func (s *localSupervisor) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.killed || s.over {
		return
	}
	s.killed = true
	s.shut()
	go func() {
		select {
		case <-s.ended:
		case <-time.After(obedience):
			s.force()
		}
	}()
}

// shut ends the supervisor's read. Subtle: not by Fd, whose number may be another
// file's by the time it is used.
func (s *localSupervisor) shut() {
	if c, err := s.control.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
}

// force kills the program's processes and then the supervisor; in that order,
// since without it they are no longer its descendants.
func (s *localSupervisor) force() {
	killTree(s.cmd.Process.Pid)
	s.group.killAll()
	s.cmd.Process.Kill()
}

// begin gives the order and reads the first word: the process id, or why there is none. It ends with
// ctx, and after firstWord.
func (s *localSupervisor) begin(ctx context.Context, o order, theirs ends) (pid int, err error) {
	s.control.SetDeadline(time.Now().Add(firstWord))
	release := kernel.BreakOff(ctx, s.control.SetDeadline) // until the first word, lest it end the wait for the last
	_ = o.send(s.control, theirs.files()...)               // who cannot take it says nothing
	line, err := s.said.ReadBytes('\n')
	release()
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, fmt.Errorf("%w: its supervisor did not answer within %v", errNotStarted, firstWord)
	case err != nil:
		return 0, errSpeechless
	}
	var first struct {
		PID int    `json:"pid"`
		Err string `json:"err"`
	}
	if err := json.Unmarshal(line, &first); err != nil {
		return 0, fmt.Errorf("%w: its supervisor said %q", errNotStarted, line)
	}
	if first.Err != "" {
		return 0, fmt.Errorf("%w: %s", errNotStarted, first.Err)
	}
	return first.PID, s.control.SetDeadline(time.Time{})
}

// errSpeechless is the end of a supervisor that said nothing.
var errSpeechless = fmt.Errorf("%w: its supervisor exited without an answer", errNotStarted)

// watch reads how the program ended, has the supervisor kept for another or reaps it, and delivers the exit.
func (s *localSupervisor) watch(exit chan<- Exit, spares *Spares) {
	var e Exit
	line, err := s.said.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &e)
	}
	if err != nil {
		e = Exit{Code: -1, Signal: "SIGKILL", Err: "its supervisor was killed"}
	}
	if err != nil || e.Err != "" || !s.handOver(spares) {
		s.reap()
	}
	exit <- e
	close(exit)
}

// handOver leaves nothing of the program and has its supervisor kept for another, unless that was told to end.
func (s *localSupervisor) handOver(spares *Spares) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.killed || spares == nil {
		return false
	}
	s.group.killAll()
	s.group.remove()
	s.over = spares.keep(&localSupervisor{control: s.control, said: s.said, cmd: s.cmd, ended: make(chan struct{})})
	return s.over
}

// reap waits for a supervisor that has said its last word, and leaves nothing of
// its program.
func (s *localSupervisor) reap() {
	s.control.Close() // it waits for another order otherwise
	late := time.AfterFunc(obedience, s.force)
	s.cmd.Wait()
	late.Stop()
	close(s.ended)
	s.group.killAll()
	s.group.remove()
}
