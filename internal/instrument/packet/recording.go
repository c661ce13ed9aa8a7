package packet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"edgegauge.example/edgegauge/internal/measure"
)

// RecordOptions say what a Recording captures, keeps and analyzes.
type RecordOptions struct {
	Tap         TapOptions
	Keep        io.Writer   // takes a pcapng file; nil: packets are not kept
	Application Application // how UDP is read
	Sizes       bool        // keep the size of every packet of the ports, for Capture.Between
}

// A Recording captures from Start to Stop and analyzes as it goes.
type Recording struct {
	tap    *Tap
	a      *Analyzer
	w      *Writer
	cancel context.CancelFunc
	done   chan error
	mu     sync.Mutex // guards a while packets come
}

// Start opens the tap in the network namespace of the calling thread (see
// Open). When it returns, packets are being captured.
func Start(o RecordOptions) (*Recording, error) {
	tap, err := Open(o.Tap)
	if err != nil {
		return nil, err
	}
	r := &Recording{tap: tap, done: make(chan error, 1)}
	r.a = NewAnalyzer(Options{Ports: o.Tap.Ports, MTU: tap.q.MTU, Application: o.Application, Sizes: o.Sizes})
	if o.Keep != nil {
		r.w = NewWriter(o.Keep, tap.Describe())
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() { r.done <- tap.Run(ctx, r.visit) }()
	return r, nil
}

func (r *Recording) visit(p Packet) error {
	r.mu.Lock()
	r.a.Add(p)
	r.mu.Unlock()
	if r.w == nil {
		return nil
	}
	return r.w.Write(p)
}

// Open is how many TCP connections are not closed yet, as far as packets tell.
func (r *Recording) Open() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.a.order {
		if !c.ended() {
			n++
		}
	}
	return n
}

// Stop ends the capture once everything sent before was delivered and the ring
// has been quiet, and returns what was found. A Recording stops once.
func (r *Recording) Stop() (Capture, CaptureStats, error) {
	r.cancel()
	err := <-r.done
	q := r.tap.Stats()
	if r.w != nil {
		err = errors.Join(err, r.w.Close(q))
	}
	r.tap.Close()
	r.a.Lost(q.Drops)
	return r.a.Capture(), q, errors.Join(err, q.Err())
}

// Describe returns what a capture file says of the tap.
func (t *Tap) Describe() Description {
	d := Description{Interface: t.o.Interface, Link: t.link, Snaplen: t.o.Snaplen,
		Comment: fmt.Sprintf("MTU %d, CLOCK_REALTIME-CLOCK_MONOTONIC %d ns", t.q.MTU, t.q.Offset.Nanoseconds())}
	for i, p := range t.o.Ports {
		if i > 0 {
			d.Filter += " or "
		}
		d.Filter += fmt.Sprintf("port %d", p)
	}
	return d
}

// A Clock is the packet clock as an instrument: it captures while it observes
// and emits the samples of Selection at the end.
type Clock struct {
	RecordOptions
	Selection
	Ready func() // called when packets are being captured; may be nil
	// Done takes what was found, whether it can be trusted or not, before any
	// sample is emitted; may be nil.
	Done func(Capture, CaptureStats)
}

// Describe says what the clock reads: stamps have a resolution of 1 ns.
func (c *Clock) Describe() measure.Description {
	return measure.Description{Name: "packet", Quantities: Quantities(), Resolution: 1e-9, Overhead: 0.04}
}

// Observe captures in the network namespace of the calling thread until ctx
// ends. A capture that does not match the Selection, or lost a packet, is an
// error and emits nothing.
func (c *Clock) Observe(ctx context.Context, emit func(measure.Sample)) error {
	r, err := Start(c.RecordOptions)
	if err != nil {
		return fmt.Errorf("instrument packet: %w", err)
	}
	if c.Ready != nil {
		c.Ready()
	}
	<-ctx.Done()
	found, q, err := r.Stop()
	if c.Done != nil {
		c.Done(found, q)
	}
	if err != nil {
		return fmt.Errorf("instrument packet: %w", err)
	}
	samples, err := found.Samples(c.Selection)
	if err != nil {
		return fmt.Errorf("instrument packet: %w", err)
	}
	for _, s := range samples {
		emit(s)
	}
	return nil
}
