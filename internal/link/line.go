package link

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A Line is a link at work in a process of its own. Its ends are network
// namespaces without names, which end with it and the processes in them.
type Line struct {
	Link           Link
	Client, Server *os.File // network namespaces

	cmd     *exec.Cmd
	control *net.UnixConn
	said    bytes.Buffer
	unheard int // words whose answers were not waited for
}

// TUN is the device that interfaces are made with.
const TUN = "/dev/net/tun"

// patience is how long the link's process may take to answer.
const patience = 10 * time.Second

// Ends are namespaces that a link joins; nil: it makes one of its own. What lies
// in a given one besides, such as a machine's network, is reached through the link
// too: its kernel passes packets on. Multicast it does not pass on.
type Ends struct{ Client, Server *os.File }

// Open makes a link. Exe is the edgegauge binary, of which the link is a hidden verb.
func Open(ctx context.Context, exe string, l Link) (*Line, error) {
	return openWith(ctx, exe, l, Ends{}, TUN)
}

// Join makes a link between namespaces. The given ones stay the caller's.
func Join(ctx context.Context, exe string, l Link, ends Ends) (*Line, error) {
	return openWith(ctx, exe, l, ends, TUN)
}

func openWith(ctx context.Context, exe string, l Link, ends Ends, tun string) (*Line, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	defer ours.Close()
	defer theirs.Close()
	c, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	n := &Line{Link: l, control: c.(*net.UnixConn)}
	n.cmd = exec.Command(exe, Verb)
	n.cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1") // no signals into the forwarders' raw calls
	n.cmd.Stderr, n.cmd.ExtraFiles = &n.said, []*os.File{theirs}
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C in a terminal reaches the lab only
	if err := n.cmd.Start(); err != nil {
		n.control.Close()
		return nil, fmt.Errorf("link %s: %w", l.Name, err)
	}
	theirs.Close()
	hello := word{Link: &l, TUN: tun, Given: [2]bool{ends.Client != nil, ends.Server != nil}}
	_, files, err := n.talk(ctx, hello, slices.DeleteFunc([]*os.File{ends.Client, ends.Server},
		func(f *os.File) bool { return f == nil })...)
	if err == nil && len(files) != 2 {
		err = errors.New("its process did not create namespaces")
	}
	if err != nil {
		n.Close()
		return nil, err
	}
	n.Client, n.Server = files[0], files[1] // of their own, given or not
	return n, nil
}

// Report asks the link what became of the packets so far.
func (n *Line) Report(ctx context.Context) (Report, error) {
	w, _, err := n.talk(ctx, word{Report: true})
	if err != nil {
		return Report{}, err
	}
	if w.Quality == nil {
		return Report{}, fmt.Errorf("link %s: its process did not report", n.Link.Name)
	}
	return *w.Quality, nil
}

// talk sends one word and returns the answer.
func (n *Line) talk(ctx context.Context, w word, with ...*os.File) (word, []*os.File, error) {
	// Subtle: not until ctx's deadline, where ctx may not have ended yet and the process would be said to hang.
	n.control.SetDeadline(time.Now().Add(patience))
	defer kernel.BreakOff(ctx, n.control.SetDeadline)()
	stale := n.unheard
	err := say(n.control, w, with...)
	if err == nil {
		n.unheard++
	}
	for err == nil || errors.Is(err, unix.EPIPE) { // it may have said why it ended
		var files []*os.File
		if w, files, err = hear(n.control); err != nil {
			break
		}
		n.unheard--
		switch {
		case w.Error != "":
			return w, files, fmt.Errorf("link %s: %s", n.Link.Name, w.Error)
		case stale <= 0:
			return w, files, nil
		}
		stale-- // it answers a word of which ctx had ended
	}
	if ctx.Err() != nil {
		return w, nil, ctx.Err()
	}
	return w, nil, fmt.Errorf("link %s: its process exited or hangs: %w%s", n.Link.Name, err, n.lastWords())
}

// lastWords ends the process and returns what it wrote: before its end, the
// goroutine that copies its standard error may still write to said.
func (n *Line) lastWords() string {
	n.end()
	if text := strings.TrimSpace(n.said.String()); text != "" {
		return "; it said: " + text
	}
	return ""
}

func (n *Line) end() {
	if n.cmd == nil {
		return
	}
	n.control.Close()
	process := n.cmd.Process // n.cmd is none any more where the timer fires at the very end
	t := time.AfterFunc(time.Second, func() { process.Kill() })
	n.cmd.Wait()
	t.Stop()
	n.cmd = nil
}

// Close ends the link. Processes still in its namespaces keep those, and reach
// nobody any more.
func (n *Line) Close() error {
	n.end()
	for _, f := range []*os.File{n.Client, n.Server} {
		if f != nil {
			f.Close()
		}
	}
	return nil
}
