package reference

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

const (
	sensorLimit   = 2 * time.Second       // of one reading
	sensorSilence = 30 * time.Millisecond // after which a line is taken to be silent: some 30 byte times at 9600 Bd
)

// A sensorLine is asked "T\n" and answers "21.50\n". What is not such a line
// within the limit is an error: the line is closed, and the next reading opens
// it anew and waits until it is silent, so that a late or endless answer is
// never taken for the next one.
type sensorLine struct {
	what string
	dial func(what string) (*os.File, func(), error) // the line, unblocking, and what ends it

	mu   sync.Mutex // one reader at a time; among processes the file's lock
	port *os.File
	drop func()
	over bool // who still waits to read may not open it again
}

var (
	errSilent  = errors.New("did not answer for 2 s")
	errBabbles = errors.New("babbles")
	errNumber  = errors.New("did not answer with a temperature")
	errGone    = errors.New("was disconnected")
	errHeld    = errors.New("is in use by another reader")
	errOver    = errors.New("was closed: the server ends")
)

func (l *sensorLine) read() (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return 0, fmt.Errorf("sensor %s %w", l.what, errOver)
	}
	until, kept := time.Now().Add(sensorLimit), l.port != nil
	celsius, err := l.ask(until)
	if kept && errors.Is(err, errGone) { // unplugged since the last reading, and perhaps plugged in again
		l.close()
		celsius, err = l.ask(until)
	}
	if err != nil {
		l.close()
		return 0, fmt.Errorf("sensor %s %w", l.what, err)
	}
	return celsius, nil
}

// end closes the line for good, once nobody reads it.
func (l *sensorLine) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close()
	l.over = true
}

func (l *sensorLine) close() {
	if l.port != nil {
		l.port.Close()
		l.drop()
	}
	l.port = nil
}

func (l *sensorLine) ask(until time.Time) (int64, error) {
	opened := l.port == nil
	if opened {
		var err error
		if l.port, l.drop, err = l.dial(l.what); err != nil {
			l.port = nil
			return 0, fmt.Errorf("cannot be opened: %w", err)
		}
	}
	fd, err := l.port.SyscallConn()
	if err != nil {
		return 0, err
	}
	release, err := hold(l.port, until)
	if err != nil {
		return 0, err
	}
	defer release()
	if opened || unasked(fd) {
		if err := l.silent(until); err != nil {
			return 0, err
		}
	}
	l.port.SetDeadline(until)
	if _, err := io.WriteString(l.port, "T\n"); err != nil {
		return 0, said(err)
	}
	celsius, err := l.answer()
	if err == nil && unasked(fd) { // so was what we took for the answer
		return 0, errBabbles
	}
	return celsius, err
}

// unasked says whether bytes wait that nobody asked for.
func unasked(fd syscall.RawConn) bool {
	waiting := 0
	err := fd.Control(func(fd uintptr) { waiting, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return err == nil && waiting > 0
}

// answer reads byte by byte: nothing after the line's end may be lost.
func (l *sensorLine) answer() (int64, error) {
	var b [32]byte
	for n := range b {
		if _, err := l.port.Read(b[n : n+1]); err != nil {
			return 0, said(err)
		}
		if b[n] == '\n' {
			return celsius(b[:n])
		}
	}
	return 0, errBabbles
}

// silent reads until nothing comes.
func (l *sensorLine) silent(until time.Time) error {
	var b [256]byte
	for {
		l.port.SetReadDeadline(time.Now().Add(sensorSilence))
		switch _, err := l.port.Read(b[:]); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil
		case err != nil:
			return said(err)
		case time.Now().After(until):
			return errBabbles
		}
	}
}

// said says what an error of the line means.
func said(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errSilent
	}
	return fmt.Errorf("%w: %w", errGone, err)
}

// celsius reads "-5.25", with a fraction and in the range of thermometers: half
// a line may look like a number, but seldom like this.
func celsius(b []byte) (int64, error) {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	v, err := strconv.ParseFloat(string(b), 64)
	n := len(b)
	if err != nil || n < 4 || b[n-3] != '.' || !(v >= -273.15 && v <= 1000) {
		return 0, fmt.Errorf("%w: %q", errNumber, b)
	}
	return fromMilli(v * 1000), nil
}

// hold takes the lock of the line against other processes, such as those of a CGI.
func hold(port *os.File, until time.Time) (release func(), err error) {
	for {
		switch err := kernel.Lock(port); {
		case err == nil:
			return func() { kernel.Unlock(port) }, nil
		case !errors.Is(err, kernel.ErrLocked):
			return func() {}, nil // a pipe, which is nobody else's
		case time.Now().After(until):
			return nil, errHeld
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// openSerial opens a serial port, raw, at 9600 Bd.
func openSerial(path string) (*os.File, func(), error) {
	f, err := kernel.OpenSerial(path, 9600)
	if errors.Is(err, unix.ENOTTY) {
		err = fmt.Errorf("%s is not a serial port", path)
	}
	return f, func() {}, err
}

// runProgram runs a command of the shell whose standard input and output are the line.
func runProgram(command string) (*os.File, func(), error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.SetNonblock(pair[0], true); err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), command), os.NewFile(uintptr(pair[1]), command)
	defer theirs.Close()
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Stdin, cmd.Stdout = theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, nil, err
	}
	return ours, func() { endGroup(cmd) }, nil
}

// endGroup ends a shell and what it has started: the command is its child, and would be left behind.
func endGroup(cmd *exec.Cmd) {
	group := -cmd.Process.Pid
	unix.Kill(group, unix.SIGKILL)
	cmd.Wait()
	for range 500 { // whoever adopts the others waits for them soon
		if unix.Kill(group, 0) != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
