// Package device reaches a machine: this one, or one behind its agent. It
// starts, watches and ends processes there and says what the machine is. It
// does not know what the processes do.
package device

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
)

// A Device is a machine on which stacks can run.
type Device interface {
	// Facts are kept with every result.
	Facts(ctx context.Context) (Facts, error)
	// Start starts c. ctx bounds the start only: the process runs on until its owner
	// stops it.
	Start(ctx context.Context, c Command) (*Process, error)
	// Observe emits the named instrument's samples until ctx ends.
	Observe(ctx context.Context, instrument string, emit func(measure.Sample)) error
}

// A Command is a program to start.
type Command struct {
	Argv []string // the program, found as exec.LookPath does, and its arguments
	Dir  string   // working directory; empty: the lab's
	Env  []string // added to the short list that is inherited (environment.go)
	CPUs []int    // pinned to these CPUs; nil: to none
	Log  string   // file that receives stderr, appended; empty: discarded
	// Namespace is the network namespace the program runs in; nil: the lab's.
	Namespace *os.File
}

// A Process is a started program and everything it starts. Its owner calls
// Stop or Kill, and Wait, once each.
type Process struct {
	Stdin  DeadlineWriter
	Stdout DeadlineReader
	PID    int

	supervisor supervisor
	group      tracker // of its processes; empty: none, or on another machine
	exit       chan Exit
	usage      func() (Usage, error) // where it is more than used with that group; nil: it is not

	read atomic.Bool // what it uses was read before

	// connections asks another machine's kernel; nil: it runs on this one.
	connections func(server netip.AddrPort) ([]kernel.Connection, error)

	adopter       int           // PID of its supervisor, whose child becomes what leaves its parent; 0: on another machine
	adoptedBefore time.Duration // CPU time of all that the supervisor had waited for before this program
}

// DeadlineReader is the process's standard output; a deadline ends a pending read.
type DeadlineReader interface {
	io.Reader
	SetReadDeadline(t time.Time) error
}

// DeadlineWriter is the process's standard input; a deadline ends a write that waits because
// the process does not read.
type DeadlineWriter interface {
	io.WriteCloser
	SetWriteDeadline(t time.Time) error
}

// Exit says how a process ended.
type Exit struct {
	Code    int           `json:"code"`           // -1 if ended by a signal
	Signal  string        `json:"signal"`         // empty if it ended by itself
	CPU     time.Duration `json:"cpu"`            // of all its processes that were waited for
	Orphans int           `json:"orphans"`        // processes that it left behind, which were killed
	Left    string        `json:"left,omitempty"` // which, in words: process ids and commands
	Err     string        `json:"err"`            // why it could not be started or watched
}

// Reason is how it ended in words: why it could not be watched, the signal, or the
// status.
func (e Exit) Reason() string {
	switch {
	case e.Err != "":
		return e.Err
	case e.Signal != "":
		return e.Signal
	}
	return fmt.Sprintf("status %d", e.Code)
}

// LeftBehind names what it left behind, in words: "1 process behind: 4711 (sleep 10)".
func (e Exit) LeftBehind() string {
	text := plural.Count(e.Orphans, "process") + " behind"
	if e.Left != "" {
		text += ": " + e.Left
	}
	return text
}

// An Encloser is a device that does whole jobs by itself, out of everybody's
// reach: what a trial in counted instructions needs.
type Encloser interface {
	// Enclose does the job and returns what it wrote.
	Enclose(ctx context.Context, j Job) ([]byte, error)
}

// A Job is for an Encloser.
type Job struct {
	Text  []byte // what to do, for whoever does it there
	Files []File
	Seed  uint64 // of everything random on the device
	Log   string // file that receives what the device said; empty: discarded
}

// A File is put on a device: Data, or the content of Source, a file of the lab.
type File struct {
	Name   string // its path on the device
	Mode   fs.FileMode
	Data   []byte
	Source string
}

// A Program is what stands behind a command: files below a folder of the lab,
// or, without a folder, the binary itself.
type Program struct {
	Name     string
	Dir      string
	Products []string // files and folders below Dir
}
