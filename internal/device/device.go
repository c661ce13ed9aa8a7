// Package device reaches a machine: this one, or one behind its agent. It
// starts, watches and ends processes there and says what the machine is. It
// does not know what the processes do.
package device

import (
	"context"
	"io"
	"io/fs"
	"os"
	"time"

	"edgegauge/internal/measure"
)

// A Device is a machine on which stacks can run.
type Device interface {
	// Facts are kept with every result.
	Facts(ctx context.Context) (Facts, error)
	Start(ctx context.Context, c Command) (*Process, error)
	// Observe emits the named instrument's samples until ctx ends.
	Observe(ctx context.Context, instrument string, emit func(measure.Sample)) error
}

// A Command is a program to start.
type Command struct {
	Argv []string
	Dir  string   // working directory; empty: the lab's
	Env  []string // added to the lab's environment
	CPU  *int     // pinned to this CPU; nil: to none
	Log  string   // file that receives stderr, appended; empty: discarded
	// Namespace is the network namespace the program runs in; nil: the lab's.
	Namespace *os.File
}

// A Process is a started program and everything it starts. Its owner calls
// Stop or Kill, and Wait, once each.
type Process struct {
	Stdin  io.WriteCloser
	Stdout Reader
	PID    int

	keeper keeper
	exit   chan Exit
	usage  func() (Usage, error) // of a process on another machine; nil: on this one
}

// Reader is the process's standard output; a deadline ends a pending read.
type Reader interface {
	io.Reader
	SetReadDeadline(t time.Time) error
}

// Exit says how a process ended.
type Exit struct {
	Code    int           `json:"code"`   // -1 if ended by a signal
	Signal  string        `json:"signal"` // empty if it ended by itself
	CPU     time.Duration `json:"cpu"`    // of all its processes that were waited for
	Orphans int           `json:"orphans"`
	Err     string        `json:"err"` // why it could not be started or watched
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
	Name   string
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
