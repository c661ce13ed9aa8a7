package link

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// Verb is the hidden verb of the binary that runs Main.
const Verb = "link-child"

// A word is one message between the child and its lab: they talk over a socket that
// keeps packets apart (SOCK_SEQPACKET), one JSON object a packet.
//
//	lab   > {"link": {…}, "tun": "/dev/net/tun", "given": [true, false]} and the namespaces that are given, as file
//
// descriptors
//
//	child > {"ready": true} and the two namespaces, client's and server's, as file descriptors; or {"error": "…"}
//	lab   > {"report": true}
//	child > {"quality": {"up": {…}, "down": {…}}}; or {"error": "…"}
//
// The end of the socket ends the child, and with it interfaces and namespaces.
type word struct {
	Link    *Link   `json:"link,omitempty"`
	TUN     string  `json:"tun,omitempty"`
	Given   [2]bool `json:"given,omitzero"`
	Report  bool    `json:"report,omitempty"`
	Ready   bool    `json:"ready,omitempty"`
	Quality *Report `json:"quality,omitempty"`
	Error   string  `json:"error,omitempty"`
}

const (
	controlFD   = 3
	largestWord = 64 << 10
)

// Main is the link's process: it makes the link that its lab asks for on fd 3
// and carries packets until that socket ends.
func Main() int {
	// Subtle: the forwarders' blocked raw calls hold their Ps and stop the
	// collector, so there are more Ps than threads, and no collector.
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(max(6, runtime.NumCPU()))
	goAhead()
	signal.Ignore(unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE)
	unix.CloseOnExec(controlFD)
	c, err := net.FileConn(os.NewFile(controlFD, "control"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "edgegauge link-child is started by a lab, not by hand:", err)
		return 2
	}
	control := c.(*net.UnixConn)
	if err := serve(control); err != nil {
		say(control, word{Error: err.Error()})
		return 1
	}
	return 0
}

// goAhead puts this process ahead of all that is measured, where the kernel lets
// it (not without root). Twelve runnable processes a CPU make a sleeping thread
// 3.4 ms late at its p99 and 22 ms at most, ahead of them 30 µs and 0.6 ms; on a
// quiet host nothing is gained.
//
// Subtle: all threads, since Go's scheduler hands a forwarder from one to another
// each 10 ms; threads made later inherit it.
func goAhead() {
	schedule(unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1})
}

// schedule sets how all threads of this process are scheduled.
func schedule(a unix.SchedAttr) (err error) {
	a.Size = unix.SizeofSchedAttr
	for range 2 { // the second for threads made during the first
		threads, _ := os.ReadDir("/proc/self/task")
		for _, t := range threads {
			if tid, bad := strconv.Atoi(t.Name()); bad == nil {
				if e := unix.SchedSetAttr(tid, &a, 0); !errors.Is(e, unix.ESRCH) {
					err = errors.Join(err, e)
				}
			}
		}
	}
	return err
}

// Ahead runs f with this process ahead of all others, as if it had idle CPUs, so
// that a measurement sees the link and not the wait of its own programs. False: the
// kernel does not let it, and f ran as usual. Children made meanwhile are ahead as well.
func Ahead(f func() error) (bool, error) {
	denied := schedule(unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1})
	defer schedule(unix.SchedAttr{Policy: unix.SCHED_NORMAL})
	return denied == nil, f()
}

func serve(control *net.UnixConn) error {
	w, files, err := hear(control)
	if err != nil || w.Link == nil {
		return fmt.Errorf("no link was requested: %w", err)
	}
	ends, err := w.ends(files)
	if err != nil {
		return err
	}
	defer ends.clear()
	l, err := open(*w.Link, ends, w.TUN)
	if err != nil {
		return err
	}
	if err := say(control, word{Ready: true}, l.client, l.server); err != nil {
		return err
	}
	for {
		w, _, err := hear(control)
		if err != nil {
			return nil // the lab is gone
		}
		if !w.Report {
			return errors.New("this link does not know the lab's request; is the lab of another version?")
		}
		r, err := l.report()
		if err != nil {
			return err
		}
		if err := say(control, word{Quality: &r}); err != nil {
			return err
		}
	}
}

// line is a link at work, in its own process.
type line struct {
	client, server *os.File
	report         func() (Report, error)
}

// open makes an interface in each namespace, and what lies between.
func open(l Link, ends *ends, tun string) (*line, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	if err := ends.make(); err != nil {
		return nil, err
	}
	client, server := ends.ns[0], ends.ns[1]
	if l.Shaper != Userspace {
		return openByKernel(l, client, server)
	}
	var fds [2]int
	for i, end := range []struct {
		ns          *os.File
		mine, other Address
	}{{client, ClientAddress, ServerAddress}, {server, ServerAddress, ClientAddress}} {
		if err := kernel.InNetwork(end.ns, func() (err error) { fds[i], err = openTUN(tun); return err }); err != nil {
			return nil, err
		}
		if err := configure(end.ns, end.mine, end.other, l.mtu()); err != nil {
			return nil, err
		}
	}
	base := time.Now()
	// Each direction draws from a random stream of its own: how much goes one way
	// does not change which packets are lost the other way.
	up, err := newForwarder(newPipe(l.Up, l.Seed, 1), fds[0], fds[1], l.mtu(), base)
	if err != nil {
		return nil, err
	}
	down, err := newForwarder(newPipe(l.Down, l.Seed, 2), fds[1], fds[0], l.mtu(), base)
	if err != nil {
		return nil, err
	}
	go up.run()
	go down.run()
	return &line{client, server, func() (Report, error) {
		r := Report{Up: up.Ask(), Down: down.Ask()}
		var err, err2 error
		r.Up.Unread, err = unread(client)
		r.Down.Unread, err2 = unread(server)
		return r, errors.Join(err, err2)
	}}, nil
}

func say(c *net.UnixConn, w word, files ...*os.File) error {
	b, err := json.Marshal(w)
	if err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	_, _, err = c.WriteMsgUnix(b, rights, nil)
	return err
}

func hear(c *net.UnixConn) (word, []*os.File, error) {
	var w word
	b, oob := make([]byte, largestWord), make([]byte, 64)
	n, oobn, _, _, err := c.ReadMsgUnix(b, oob)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return w, nil, err
	}
	var files []*os.File
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return w, nil, err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return w, nil, err
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "namespace"))
		}
	}
	return w, files, json.Unmarshal(b[:n], &w)
}
