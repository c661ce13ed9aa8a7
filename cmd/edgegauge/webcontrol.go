package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/web"
)

// This process keeps its own CPUs and priority, listens, and starts others: the page, which
// gets only time that nothing else wants, lest it disturb a trial, and, where it may start
// studies, each of these in a session of its own, so that it outlives both. The page starts
// none itself: they would inherit its priority.

// pageVerb is the hidden verb of the page. Its listener is file 3; file 4 is a socket over
// which its setting comes, then answers to its orders.
const pageVerb = "web-page"

// A pageSetting is what the page is told once. It has the token, which is why it is no argument.
type pageSetting struct {
	Folders, Hosts, Stacks      []string
	Token, Cert, Key, StudiesIn string
	Control                     bool // it may start studies
}

// An orderLine is an order of the page, by a number of its own.
type orderLine struct {
	ID    int       `json:"id"`
	Order web.Order `json:"order"`
}

// A doneLine answers an order: that its study began or why not, then that it ended.
type doneLine struct {
	ID    int    `json:"id"`
	Fault string `json:"fault,omitempty"`
	Ended bool   `json:"ended,omitempty"`
	Code  int    `json:"code,omitempty"`
}

// servePages has the page's process serve, and starts what that orders, until ctx ends.
func (a *app) servePages(ctx context.Context, l net.Listener, p pageSetting) error {
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	defer socket.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "page"), os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	line, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	defer line.Close()
	page := exec.Command("/proc/self/exe", pageVerb)
	page.Stderr, page.ExtraFiles = os.Stderr, []*os.File{socket, theirs}
	where := kernel.Placement{Idle: true}
	if cpus := kernel.AllowedCPUs(); len(cpus) > 1 {
		where.CPUs = cpus[len(cpus)-1:]
	}
	if err := where.Start(page); err != nil {
		return exit{exitUnmeasured, err}
	}
	theirs.Close()
	stop := context.AfterFunc(ctx, func() { line.Close() })
	defer stop()
	out := &lines{to: json.NewEncoder(line)}
	out.send(p)
	in := json.NewDecoder(line)
	for {
		var x orderLine
		if err := in.Decode(&x); err != nil {
			break
		}
		if !p.Control {
			out.send(doneLine{ID: x.ID, Fault: "this page only reads"})
			continue
		}
		a.order(x, p.Stacks, out)
	}
	line.Close()
	err = endOf(page)
	if ctx.Err() != nil {
		return nil
	}
	return exit{exitUnmeasured, fmt.Errorf("the page has ended (%w); studies that it started go on, and edgegauge web "+
		"shows them", errors.Join(err, io.ErrUnexpectedEOF))}
}

// pageEnds is how long a page may take to end once it is told to.
const pageEnds = 10 * time.Second

// endOf waits for the end of a page that was told to. One that is stopped, or gets no time, is killed: it writes
// nothing that could be lost.
func endOf(page *exec.Cmd) error {
	late := time.AfterFunc(pageEnds, func() { _ = page.Process.Kill() }) // it has ended
	defer late.Stop()
	return page.Wait()
}

// lines are JSON objects that several goroutines send.
type lines struct {
	mu sync.Mutex
	to *json.Encoder
}

func (l *lines) send(x any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.to.Encode(x) // the other has ended
}

// order starts a study in a session of its own, as edgegauge run would be at a terminal
// that nobody sits at.
func (a *app) order(x orderLine, stacks []string, out *lines) {
	log, err := os.OpenFile(x.Order.Log, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o666)
	if err != nil {
		out.send(doneLine{ID: x.ID, Fault: err.Error()})
		return
	}
	defer log.Close()
	var args []string
	for _, dir := range stacks {
		args = append(args, "--stacks="+dir)
	}
	args = append(args, argumentsOf(x.Order)...)
	c := exec.Command("/proc/self/exe", args...)
	c.Args[0] = os.Args[0]
	c.Stdout, c.Stderr, c.SysProcAttr = log, log, &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		out.send(doneLine{ID: x.ID, Fault: err.Error()})
		return
	}
	out.send(doneLine{ID: x.ID})
	go func() {
		_ = c.Wait() // the code says it
		out.send(doneLine{ID: x.ID, Ended: true, Code: c.ProcessState.ExitCode()})
	}()
}

// argumentsOf are those of the command that an order stands for.
func argumentsOf(o web.Order) []string {
	args := []string{"run", "--out=" + o.Out}
	for _, set := range o.Sets {
		args = append(args, "--set="+set)
	}
	rest := []string{o.Study}
	if c := o.Confirm; c != nil {
		args = []string{"confirm", "--out=" + o.Out, "--base=" + c.Base, "--response=" + c.Response, "--detect=" + c.Detect,
			"--max-time=" + c.Most.String()}
		if c.Another {
			args = append(args, "--any-version")
		}
		rest = []string{c.Old, c.New}
	}
	if o.Trust {
		args = append(args, "--trust")
	}
	return append(append(args, "--"), rest...)
}

// pageMain serves the page until the process that started it ends.
func pageMain([]string) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // who started it gets them, too, and ends it
	if err := servePage(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitUnmeasured
	}
	return exitDone
}

func servePage() error {
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	line, err := net.FileConn(os.NewFile(4, "control"))
	if err != nil {
		return err
	}
	defer line.Close()
	in := json.NewDecoder(line)
	var p pageSetting
	if err := in.Decode(&p); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := caller{out: lines{to: json.NewEncoder(line)}, waiting: map[int]*awaited{}}
	go func() {
		c.listen(in)
		cancel()
	}()
	a := &app{quiet: true, stackFolders: p.Stacks}
	o, err := a.pageOptions(p)
	if err != nil {
		return err
	}
	if p.Control {
		o.Control = &web.Control{Start: c.start, Studies: p.StudiesIn}
	}
	s, err := web.New(o)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Serve(l, p.Cert, p.Key, endsWith(ctx))
}

// A caller gives orders and waits for their answers.
type caller struct {
	out     lines
	mu      sync.Mutex
	last    int
	gone    bool
	waiting map[int]*awaited
}

// An awaited order is one whose study has not ended.
type awaited struct {
	began chan error // buffered, one value
	ended chan int   // buffered, one value, or closed
}

var errNobody = errors.New("the process that starts studies has ended")

func (c *caller) start(o web.Order) (<-chan int, error) {
	b := &awaited{make(chan error, 1), make(chan int, 1)}
	c.mu.Lock()
	if c.gone {
		c.mu.Unlock()
		return nil, errNobody
	}
	c.last++
	id := c.last
	c.waiting[id] = b
	c.mu.Unlock()
	c.out.send(orderLine{id, o})
	return b.ended, <-b.began
}

func (c *caller) listen(in *json.Decoder) {
	for {
		var x doneLine
		err := in.Decode(&x)
		c.mu.Lock()
		if err != nil {
			c.gone = true
			for _, b := range c.waiting {
				select {
				case b.began <- errNobody: // it waits still
				default:
				}
				close(b.ended)
			}
			c.waiting = nil
			c.mu.Unlock()
			return
		}
		if b := c.waiting[x.ID]; b != nil {
			switch {
			case x.Ended:
				b.ended <- x.Code
				delete(c.waiting, x.ID)
			case x.Fault != "":
				b.began <- errors.New(x.Fault)
				delete(c.waiting, x.ID)
			default:
				b.began <- nil
			}
		}
		c.mu.Unlock()
	}
}
