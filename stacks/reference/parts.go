package reference

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
)

// A server of more connections than a process may open files is several processes, its parts: each is this program
// again, listens at the same address (SO_REUSEPORT of socket(7)), and has the connections that the kernel gives it, by
// a hash of both addresses. None knows what another one does.

// SpareFiles are those that a server opens besides its connections.
const SpareFiles = 200

// mostParts is how many parts a server may have.
const mostParts = 64

// Divides tells whether the server of a stack is as many processes as its connections need. Mosquitto is one, and so is
// a server whose sensor has a single reader.
func Divides(name, sensor string) bool {
	k, ok := find(name)
	how, _, _ := strings.Cut(sensor, ":")
	single := how == "serial" || how == "program" || how == "simulated" // a serial line, too
	return ok && KeepsConnections(k.name) && k.needs == nil && !single
}

// ServerProcesses is how many processes such a server is for so many connections, where each may open limit files;
// 0: it cannot have so many. The kernel deals them out at random, so each has room for seven standard deviations more
// than its share.
func ServerProcesses(connections, limit int) int {
	each := limit - SpareFiles
	if connections <= each {
		return 1
	}
	for n := 2; n <= mostParts; n++ {
		if share := float64(connections) / float64(n); share+7*math.Sqrt(share) <= float64(each) {
			return n
		}
	}
	return 0
}

// MostConnections is how many such a server can have, where each of its processes may open limit files.
func MostConnections(limit int) int {
	return sort.Search(mostParts*min(max(limit, 0), 1<<24), func(n int) bool { return ServerProcesses(n+1, limit) == 0 })
}

// parts is how many processes a server is.
func (p *program) parts(s stack.Serve) (int, error) {
	var limit unix.Rlimit
	if p.part || s.Connections == 0 {
		return 1, nil
	}
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("the limit of open files: %w", err)
	}
	files := int(min(limit.Cur, math.MaxInt32))
	n, most := 1, files-SpareFiles
	if Divides(p.kind.name, s.Sensor) {
		n, most = ServerProcesses(s.Connections, files), MostConnections(files)
	}
	if s.Connections > most {
		return 0, fmt.Errorf("%d connections, and this server can have %d, where a process may open %d files; take fewer "+
			"devices, or raise the limit (ulimit -Hn)", s.Connections, max(most, 0), files)
	}
	return n, nil
}

// serveParts is served for a server of n processes.
func (p *program) serveParts(s stack.Serve, n int) ([]byte, error) {
	dir, err := os.MkdirTemp("", "edgegauge-parts-") // what parts that are killed leave behind is in it
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	var parts []process
	defer func() {
		cancel() // kills them: they have nothing to save
		for _, x := range parts {
			_ = x.cmd.Wait()
		}
	}()
	at := ""
	for i := range n {
		x, err := p.startProcess(ctx, partVerb, "TMPDIR="+dir)
		if err != nil {
			return nil, err
		}
		parts = append(parts, x)
		ready, err := x.conn.Serve(ctx, s)
		if err == nil && ready.URL != cmp.Or(at, ready.URL) {
			err = fmt.Errorf("it listens at %s, the others at %s", ready.URL, at)
		}
		if err == nil {
			at = ready.URL
			s.Port, err = portOf(at)
		}
		if err != nil {
			return nil, ofPart(i, err)
		}
	}
	p.readyAs(n, at, stack.Phases{}, p.again())
	for {
		kind, line, err := p.next(p.orAgain("report", "serve")...)
		if err != nil || kind == "serve" {
			return line, err
		}
		var r stack.Report
		if err := parse(kind, line, &r); err != nil {
			return nil, err
		}
		if err := p.reportParts(ctx, parts, r.Discard); err != nil {
			return nil, err
		}
	}
}

// reportParts tells the records of all as those of one. Whose part is gone has lost some, and tells that instead.
func (p *program) reportParts(ctx context.Context, parts []process, discard bool) error {
	count := 0
	var line []byte
	var gone error
	for i, x := range parts {
		end, err := x.conn.Report(ctx, discard, func(row measure.Exchange) {
			count++
			row.Seq = uint64(count)
			line = stack.AppendExchange(line[:0], row)
			_, err := p.out.Write(line)
			gone = cmp.Or(gone, err)
		})
		switch {
		case err != nil:
			return ofPart(i, err)
		case gone != nil:
			return io.EOF // the lab is gone
		case discard:
			count += end.Count
		}
	}
	return p.end(stack.End{Count: count})
}

// ofPart says of which part an error is. Subtle: it wraps none, since an io.EOF is the end of the lab's input.
func ofPart(i int, err error) error { return fmt.Errorf("part %d of the server: %v", i+1, err) }

func portOf(at string) (int, error) {
	u, err := url.Parse(at)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(u.Port())
}

var errFull = errors.New("a connection came for which this process had no file left, so what clients waited for is " +
	"not the server's doing; take fewer devices, or raise the limit (ulimit -Hn)")

// listen listens on TCP where a server is to; a part of one, beside the others.
func (p *program) listen(s stack.Serve) (net.Listener, error) {
	at := net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
	if !p.part {
		return net.Listen("tcp", at)
	}
	c := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		refused := raw.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		})
		return cmp.Or(refused, err)
	}}
	l, err := c.Listen(context.Background(), "tcp", at)
	if err != nil {
		return nil, err
	}
	return partListener{l, p}, nil
}

// A partListener goes on where no file is left for a connection, and notes it.
type partListener struct {
	net.Listener
	p *program
}

// noFile are the errors of a process, and of a machine, that may open no more files.
var noFile = []error{syscall.EMFILE, syscall.ENFILE}

func (l partListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if !slices.ContainsFunc(noFile, func(no error) bool { return errors.Is(err, no) }) {
			return c, err
		}
		l.p.full.Store(true)
		time.Sleep(5 * time.Millisecond)
	}
}
