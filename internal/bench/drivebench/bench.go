// Package drivebench measures drive against what a client can cost at best: a
// ping-pong in C, wrk and h2load. It is not part of the product's hot path; it needs
// cc, taskset, nginx, wrk and h2load.
package drivebench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

//go:embed testdata/pingpong.c
var pingpong []byte

const (
	rounds   = 7      // of each kind, alternating; medians of them are compared
	bytes    = 100    // of each request and answer
	requests = 20_000 // a round
)

// A Measurement sets drive beside something else: a value a round, alternating.
type Measurement struct {
	What, Unit   string
	Ours, Theirs []float64
	Limit        string // of the ratio of medians; empty: none, for comparison only
	Note         string // what else was seen
}

// Ratio is the median of ours over the median of theirs.
func (f Measurement) Ratio() float64 { return stat.Middle(f.Ours) / stat.Middle(f.Theirs) }

// Bench prints a table of drive's figures beside their limits. exe is this
// program: `exe drive` must be drive.Main, `exe drive-floor …` Floor. An error
// means that something could not be measured, not that a limit was missed.
func Bench(ctx context.Context, w io.Writer, exe string) error {
	fmt.Fprintf(w, "%-52s %10s %10s %7s %7s\n", "drive, medians of alternating runs", "drive", "other", "ratio", "limit")
	var errs []error
	for _, measure := range []func(context.Context, string) ([]Measurement, error){Floors, Wrk} {
		figures, err := measure(ctx, exe)
		for _, f := range figures {
			fmt.Fprintf(w, "%-52s %10.4g %10.4g %7.3f %7s\n", f.What+", "+f.Unit, stat.Middle(f.Ours), stat.Middle(f.Theirs),
				f.Ratio(), f.Limit)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Floors compares closed loops with a ping-pong in C.
func Floors(ctx context.Context, exe string) ([]Measurement, error) {
	return measured(exe, func(b *bench) error { return b.floors(ctx) })
}

// Wrk compares with wrk on nginx.
func Wrk(ctx context.Context, exe string) ([]Measurement, error) {
	return measured(exe, func(b *bench) error { return b.wrk(ctx) })
}

// H2load compares with h2load on nginx, over HTTP/2.
func H2load(ctx context.Context, exe string) ([]Measurement, error) {
	return measured(exe, func(b *bench) error { return b.h2load(ctx) })
}

func measured(exe string, measure func(*bench) error) ([]Measurement, error) {
	dir, err := os.MkdirTemp("", "drivebench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b := &bench{exe: exe, dir: dir}
	if q := kernel.AllowedCPUs(); len(q) > 0 {
		b.cpu, b.other = q[0], q[len(q)-1]
	}
	err = measure(b)
	return b.figures, err
}

type bench struct {
	figures    []Measurement
	exe, dir   string
	cpu, other int
}

func (b *bench) row(what, unit string, ours, theirs []float64, limit string) {
	b.figures = append(b.figures, Measurement{What: what, Unit: unit, Ours: ours, Theirs: theirs, Limit: limit})
}

// pinned is a command that runs on one CPU.
func pinned(ctx context.Context, cpu int, argv ...string) *exec.Cmd {
	argv = append([]string{"-c", strconv.Itoa(cpu)}, argv...)
	return exec.CommandContext(ctx, "taskset", argv...)
}

// floors compares closed loops with a C server: a C client, drive, and drive
// with its own floor server, on one CPU and on two.
func (b *bench) floors(ctx context.Context) error {
	source, program := filepath.Join(b.dir, "pingpong.c"), filepath.Join(b.dir, "pingpong")
	if err := os.WriteFile(source, pingpong, 0o600); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "cc", "-O2", "-pthread", "-o", program, source).CombinedOutput(); err != nil {
		return fmt.Errorf("compile the C ping-pong: %w: %s; apt-get install gcc libc6-dev", err, out)
	}
	for _, network := range []string{"tcp", "udp"} {
		for _, server := range slices.Compact([]int{b.cpu, b.other}) {
			if err := b.floor(ctx, program, network, server); err != nil {
				return fmt.Errorf("%s ping-pong: %w", network, err)
			}
		}
	}
	return nil
}

func (b *bench) floor(ctx context.Context, program, network string, serverCPU int) error {
	size := strconv.Itoa(bytes)
	port, stop, err := started(pinned(ctx, serverCPU, program, "serve", network, size))
	if err != nil {
		return err
	}
	defer stop()
	own, stopOwn, err := started(pinned(ctx, serverCPU, b.exe, "drive-floor", network, size, size))
	if err != nil {
		return err
	}
	defer stopOwn()
	var ours, floor, theirs []float64
	for range rounds {
		c, err := pinned(ctx, b.cpu, program, "call", network, size, port, strconv.Itoa(requests)).Output()
		if err != nil {
			return fmt.Errorf("the C client: %w", err)
		}
		ns, err := strconv.ParseFloat(strings.TrimSpace(string(c)), 64)
		if err != nil {
			return err
		}
		theirs = append(theirs, ns/1e3)
		for _, to := range []struct {
			port string
			rtt  *[]float64
		}{{port, &ours}, {own, &floor}} {
			us, err := b.rtt(ctx, network+"://127.0.0.1:"+to.port)
			if err != nil {
				return err
			}
			*to.rtt = append(*to.rtt, us)
		}
	}
	where := "one CPU"
	if serverCPU != b.cpu {
		where = "two CPUs"
	}
	b.row(fmt.Sprintf("RTT p50, %s 100 B, %s, C server", network, where), "us", ours, theirs, "<= 1")
	b.row(fmt.Sprintf("RTT p50, %s 100 B, %s, each its own server", network, where), "us", floor, theirs, "")
	return nil
}

// rtt is the median RTT of one run of drive, in us.
func (b *bench) rtt(ctx context.Context, url string) (float64, error) {
	job := drive.Job{Spec: drive.Spec{URL: url, Answer: bytes}, Body: make([]byte, bytes), Requests: requests}
	rtts := make([]float64, 0, requests)
	_, err := drive.Exec(ctx, []string{b.exe, "drive"}, job, b.cpu, func(x measure.Exchange) error {
		if x.Failure != "" {
			return fmt.Errorf("request %d: %s", x.Seq, x.Failure)
		}
		rtts = append(rtts, float64(x.RTT().Nanoseconds())/1e3)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return stat.Middle(rtts), nil
}

// started starts a server that prints its port; stop ends it and waits.
func started(cmd *exec.Cmd) (port string, stop func(), err error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { stdin.Close(); _ = cmd.Wait() }
	if _, err := fmt.Fscanln(stdout, &port); err != nil {
		stop()
		return "", nil, fmt.Errorf("%s did not print a port: %w", strings.Join(cmd.Args, " "), err)
	}
	return port, stop, nil
}

// Floor is the hidden verb `edgegauge drive-floor NETWORK IN OUT`: it serves the
// bare exchange, prints its port, and ends with stdin.
func Floor(args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) != 3 {
		return errors.New("drive-floor: needs a network and two sizes")
	}
	in, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	out, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	f, err := drive.ListenFloor(args[0], loopback, in, out)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _, _ = io.Copy(io.Discard, stdin); cancel() }()
	fmt.Fprintln(stdout, f.Addr().Port())
	return f.Serve(ctx)
}
