// Package packetbench measures what the packet clock costs and whether it
// loses packets. It makes its own traffic in a network namespace of its own.
package packetbench

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/packet"

	"golang.org/x/sys/unix"
)

// Options of a run; the zero value is the project's figure: 50,000 packets a
// second for 30 s at no more than 5 % of a core.
type Options struct {
	Rate     int           // packets a second
	Duration time.Duration // of each of the three measurements
	Limit    float64       // share of a core the capture alone may take
	Reached  float64       // share of Rate that must be sent; 0: 0.95
}

// A Measurement is what one way of capturing took.
type Measurement struct {
	What    string
	Sent    uint64
	Rate    float64 // packets a second, as sent
	Quality packet.CaptureStats
	CPU     float64 // share of a core of the capturing thread
}

// mode is one way of capturing.
type mode struct {
	what          string
	keep, analyze bool
}

// Run measures three times: the capture alone, with a pcapng file, and with
// the file and the analysis. It writes a line on each and returns an error if
// a packet was lost, the rate was not reached, or the capture alone took more
// than the limit. It needs root, or CAP_SYS_ADMIN and CAP_NET_RAW.
func Run(ctx context.Context, w io.Writer, o Options) ([]Measurement, error) {
	if o.Rate == 0 {
		o.Rate = 50_000
	}
	if o.Duration == 0 {
		o.Duration = 30 * time.Second
	}
	if o.Limit == 0 {
		o.Limit = 0.05
	}
	if o.Reached == 0 {
		o.Reached = 0.95
	}
	var results []Measurement
	for _, m := range []mode{{what: "capture"}, {"capture, pcapng file", true, false},
		{"capture, pcapng file, analysis", true, true}} {
		r, err := measure(ctx, o, m)
		if err != nil {
			return results, fmt.Errorf("packet bench: %s: %w", m.what, err)
		}
		results = append(results, r)
		fmt.Fprintf(w, "%-32s %8.0f packets/s for %v: %d sent, %d captured, %d dropped, %d freezes, %.2f %% of a core\n",
			r.What, r.Rate, o.Duration, r.Sent, r.Quality.Packets, r.Quality.Drops, r.Quality.Freezes, 100*r.CPU)
		if err := r.judge(o, m); err != nil {
			return results, err
		}
	}
	return results, nil
}

func (r Measurement) judge(o Options, m mode) error {
	switch {
	case r.Quality.Err() != nil || r.Quality.Packets != r.Sent:
		return fmt.Errorf("packet bench: %s: %d of %d packets captured, %d dropped", r.What, r.Quality.Packets, r.Sent,
			r.Quality.Drops)
	case r.Rate < o.Reached*float64(o.Rate):
		return fmt.Errorf("packet bench: only %.0f packets/s could be sent, wanted %d; run it on a quiet machine",
			r.Rate, o.Rate)
	case r.CPU > o.Limit && !m.keep:
		return fmt.Errorf("packet bench: %s used %.2f %% of a core, the limit is %.2f %%", r.What, 100*r.CPU, 100*o.Limit)
	}
	return nil
}

// measure runs in threads of its own, which end with it and take the
// namespace along.
func measure(ctx context.Context, o Options, m mode) (Measurement, error) {
	r := Measurement{What: m.what}
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the namespace stays with the thread
		err = inNamespace(ctx, o, m, &r)
	}()
	<-done
	return r, err
}

func inNamespace(ctx context.Context, o Options, m mode, r *Measurement) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("a network namespace needs root (CAP_SYS_ADMIN): %w", err)
	}
	if err := loopbackUp(); err != nil {
		return err
	}
	// nobody reads it: what it cannot hold is thrown away after capture
	sink, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer sink.Close()
	port := uint16(sink.LocalAddr().(*net.UDPAddr).Port)
	tap, err := packet.Open(packet.TapOptions{Interface: "lo", Ports: []uint16{port}})
	if err != nil {
		return err
	}
	defer tap.Close()
	visit, closeFile, err := visitor(tap, m, port)
	if err != nil {
		return err
	}
	stopped, stop := context.WithCancel(context.Background())
	defer stop()
	captured := make(chan error, 1)
	go func() { captured <- onThread(&r.CPU, func() error { return tap.Run(stopped, visit) }) }()
	begin := time.Now()
	err = send(ctx, sink.LocalAddr().String(), o, &r.Sent)
	took := time.Since(begin)
	stop()
	if e := <-captured; err == nil {
		err = e
	}
	r.Rate = float64(r.Sent) / took.Seconds()
	r.CPU /= took.Seconds()
	r.Quality = tap.Stats()
	if e := closeFile(r.Quality); err == nil {
		err = e
	}
	return err
}

// visitor returns what is done with each packet, and what closes its file.
func visitor(tap *packet.Tap, m mode, port uint16) (func(packet.Packet) error, func(packet.CaptureStats) error, error) {
	if !m.keep {
		return func(packet.Packet) error { return nil }, func(packet.CaptureStats) error { return nil }, nil
	}
	f, err := os.CreateTemp("", "packetbench-*.pcapng")
	if err != nil {
		return nil, nil, err
	}
	os.Remove(f.Name()) // the file lives until it is closed
	w := packet.NewWriter(f, tap.Describe())
	a := packet.NewAnalyzer(packet.Options{Ports: []uint16{port}})
	visit := func(p packet.Packet) error {
		if m.analyze {
			a.Add(p)
		}
		return w.Write(p)
	}
	return visit, func(q packet.CaptureStats) error {
		defer f.Close()
		return w.Close(q)
	}, nil
}

// onThread runs f on a thread of its own and says how much CPU time it took, in s.
func onThread(cpu *float64, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := threadTime()
	if err != nil {
		return err
	}
	err = f()
	after, _ := threadTime()
	*cpu = (after - before).Seconds()
	return err
}

func threadTime() (time.Duration, error) {
	var u unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_THREAD, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// send sends datagrams of 100 B at the rate, a millisecond's worth at a time.
func send(ctx context.Context, to string, o Options, sent *uint64) error {
	c, err := net.Dial("udp", to)
	if err != nil {
		return err
	}
	defer c.Close()
	b := make([]byte, 100)
	begin := time.Now()
	for ctx.Err() == nil {
		elapsed := time.Since(begin)
		if elapsed >= o.Duration {
			return nil
		}
		for due := uint64(elapsed.Seconds() * float64(o.Rate)); *sent < due; *sent++ {
			b[0], b[1], b[2], b[3] = byte(*sent>>24), byte(*sent>>16), byte(*sent>>8), byte(*sent)
			if _, err := c.Write(b); err != nil {
				return fmt.Errorf("after %d packets: %w", *sent, err)
			}
		}
		time.Sleep(time.Millisecond)
	}
	return ctx.Err()
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}
