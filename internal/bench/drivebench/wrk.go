package drivebench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

var loopback = netip.MustParseAddrPort("127.0.0.1:0")

const (
	connections = 32
	span        = 2 * time.Second // of each run
)

// wrk compares with wrk, over HTTP/1.1.
func (b *bench) wrk(ctx context.Context) error {
	return b.beside(ctx, peer{name: "wrk -t1", protocol: drive.HTTP1, run: b.runWrk})
}

// h2load compares with h2load, over HTTP/2 with prior knowledge: one stream at a time on each connection.
func (b *bench) h2load(ctx context.Context) error {
	return b.beside(ctx, peer{name: "h2load -t1 -m1", protocol: drive.HTTP2, run: b.runH2load})
}

// A peer is another load generator for nginx.
type peer struct {
	name, protocol string
	run            func(ctx context.Context, url string) (effort, error)
}

// An effort is what a client did, and for how many seconds of its CPU, of system calls, and of the clock.
type effort struct{ requests, cpu, system, wall float64 }

func effortOf(requests float64, p *os.ProcessState, wall float64) effort {
	return effort{requests, (p.UserTime() + p.SystemTime()).Seconds(), p.SystemTime().Seconds(), wall}
}

// each is a figure of each effort.
func each(all []effort, of func(effort) float64) (v []float64) {
	for _, e := range all {
		v = append(v, of(e))
	}
	return v
}

func perCPU(e effort) float64    { return e.requests / e.cpu }
func perSystem(e effort) float64 { return e.requests / max(e.system, 1e-9) }
func perSecond(e effort) float64 { return e.requests / e.wall }

// cost is µs of CPU a request, and of system calls.
func cost(all []effort) string {
	return fmt.Sprintf("%.2f µs of CPU a request, %.2f of them in system calls", 1e6/stat.Middle(each(all, perCPU)),
		1e6/stat.Middle(each(all, perSystem)))
}

// beside compares requests per second of client CPU, both clients in turn on the same
// nginx with one worker and a 100 B file.
func (b *bench) beside(ctx context.Context, p peer) error {
	url, stop, err := b.nginx(ctx, p.protocol)
	if err != nil {
		return fmt.Errorf("nginx: %w; apt-get install nginx-light", err)
	}
	defer stop()
	var ours, theirs []effort
	for range rounds {
		e, err := p.run(ctx, url)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		theirs = append(theirs, e)
		if e, err = b.runDrive(ctx, url, p.protocol); err != nil {
			return err
		}
		ours = append(ours, e)
	}
	b.row("requests per client CPU second, nginx, c=32, vs "+p.name, "1/s", each(ours, perCPU), each(theirs, perCPU),
		">= 1.0")
	b.figures[len(b.figures)-1].Note = fmt.Sprintf("ours: %s; %s: %s", cost(ours), p.name, cost(theirs))
	b.row("the same, if a client made our system calls and did nothing else", "1/s", each(ours, perSystem),
		each(theirs, perCPU), "")
	b.row("requests per second, nginx, c=32, vs "+p.name, "1/s", each(ours, perSecond), each(theirs, perSecond), "")
	return nil
}

// nginx serves 100 B with one worker from a private directory and port.
func (b *bench) nginx(ctx context.Context, protocol string) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", loopback.String())
	if err != nil {
		return "", nil, err
	}
	at := l.Addr().String()
	l.Close()
	if err := os.WriteFile(filepath.Join(b.dir, "index.html"), make([]byte, bytes), 0o644); err != nil {
		return "", nil, err
	}
	_ = os.Chmod(b.dir, 0o755) // its worker may be another user
	d, listen := b.dir, at
	if protocol == drive.HTTP2 {
		listen += " http2"
	}
	conf := fmt.Sprintf(`worker_processes 1; daemon off; pid %s/pid; error_log %s/error.log;
events { worker_connections 256; }
http { access_log off; keepalive_requests 1000000000;
client_body_temp_path %s; proxy_temp_path %s; fastcgi_temp_path %s;
uwsgi_temp_path %s; scgi_temp_path %s; server { listen %s; root %s; } }`, d, d, d, d, d, d, d, listen, d)
	if err := os.WriteFile(filepath.Join(d, "nginx.conf"), []byte(conf), 0o600); err != nil {
		return "", nil, err
	}
	cmd := pinned(ctx, b.other, "nginx", "-p", d, "-e", filepath.Join(d, "error.log"), "-c",
		filepath.Join(d, "nginx.conf"))
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin")
	cmd.Stderr = os.Stderr
	if _, err := exec.LookPath("nginx"); err != nil && exists("/usr/sbin/nginx") {
		cmd.Args[3] = "/usr/sbin/nginx"
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() }
	for range 100 {
		if c, err := net.Dial("tcp", at); err == nil {
			c.Close()
			return "http://" + at + "/index.html", stop, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	return "", nil, fmt.Errorf("does not listen on %s", at)
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

var summary = lazy.Regexp(`(\d+) requests in ([\d.]+)s`)

func (b *bench) runWrk(ctx context.Context, url string) (effort, error) {
	cmd := pinned(ctx, b.cpu, "wrk", "-t1", "-c"+strconv.Itoa(connections),
		"-d"+strconv.Itoa(int(span/time.Second))+"s", url)
	out, err := cmd.Output()
	if err != nil {
		return effort{}, err
	}
	m := summary().FindSubmatch(out)
	if m == nil || strings.Contains(string(out), "Non-2xx") || strings.Contains(string(out), "Socket errors") {
		return effort{}, fmt.Errorf("it printed: %s", out)
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	wall, err2 := strconv.ParseFloat(string(m[2]), 64)
	return effortOf(n, cmd.ProcessState, wall), errors.Join(err, err2)
}

var loaded = lazy.Regexp(
	`requests: \d+ total, \d+ started, \d+ done, (\d+) succeeded, 0 failed, 0 errored, 0 timeout`)

func (b *bench) runH2load(ctx context.Context, url string) (effort, error) {
	cmd := pinned(ctx, b.cpu, "h2load", "-t1", "-m1", "-c"+strconv.Itoa(connections),
		"-D"+strconv.Itoa(int(span/time.Second)), url)
	out, err := cmd.Output()
	if err != nil {
		return effort{}, err
	}
	m := loaded().FindSubmatch(out)
	if m == nil || !strings.Contains(string(out), "Application protocol: h2c") {
		return effort{}, fmt.Errorf("it printed: %s", out)
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	return effortOf(n, cmd.ProcessState, span.Seconds()), err
}

func (b *bench) runDrive(ctx context.Context, url, protocol string) (effort, error) {
	job := drive.Job{Duration: span,
		Spec: drive.Spec{URL: url, Protocol: protocol, Method: "GET", Concurrency: connections}}
	r, err := drive.Exec(ctx, []string{b.exe, "drive"}, job, b.cpu, func(x measure.Exchange) error {
		if x.Failure != "" || x.In != bytes {
			return fmt.Errorf("request %d: %d bytes, %s", x.Seq, x.In, x.Failure)
		}
		return nil
	})
	q := r.Quality
	return effort{float64(r.Exchanges), q.CPU.Seconds(), q.System.Seconds(), q.Elapsed.Seconds()}, err
}
