package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
)

// A pipe is a byte stream between two benches of one order, over the hub. A message that is lost ends
// it: both then know that what they did together is no measurement. Who writes must not be far ahead
// of who reads, as the credit of package rpc sees to it.
type pipe struct {
	bench *Bench
	to    string
	task  string
	sub   *nats.Subscription
	in    *io.PipeReader
	fill  *io.PipeWriter
	end   func() // of the watch over the connection

	mu    sync.Mutex
	sent  uint64
	took  uint64
	there chan struct{} // closed when the other end is heard
	once  sync.Once
	said  time.Time     // when the other end was last told that this one is there
	gone  chan struct{} // closed by Close
}

// Headers of the messages of a pipe. A number counts those with bytes, from 1.
const (
	taskHeader  = "Edgegauge-Task"
	seqHeader   = "Edgegauge-Seq"
	pipeAsks    = "?" // in place of a number: is anybody there?
	pipeAnswers = "!"
	pipeEnds    = "."
)

// joinEvery is how often the other end of a pipe is asked whether it is there.
const joinEvery = 200 * time.Millisecond

// What of a pipe may wait to be heard. Its ends keep to much less; a message beyond is lost, and ends it.
const (
	mostUnheard      = 4096
	mostUnheardBytes = 2 * admit.MostPayload
)

// Join opens a byte stream to another bench, which does the same, for the order of a task. It waits
// for it until ctx ends.
func (b *Bench) Join(ctx context.Context, other string, t fleet.Task) (io.ReadWriteCloser, error) {
	if err := admit.CheckName(other); err != nil {
		return nil, err
	}
	p := &pipe{bench: b, to: other, task: fmt.Sprintf("%s-%d-%d", t.Run, t.Block, t.Attempt), there: make(chan struct{}),
		gone: make(chan struct{})}
	p.in, p.fill = io.Pipe()
	var err error
	if p.sub, err = b.nc.Subscribe(admit.JoinSubject(b.name, other), p.hear); err != nil {
		return nil, err
	}
	if err := p.sub.SetPendingLimits(mostUnheard, mostUnheardBytes); err != nil {
		p.sub.Unsubscribe()
		return nil, err
	}
	connected, end := whileConnected(b.ctx, b.nc)
	p.end = end
	context.AfterFunc(connected, func() { p.fill.CloseWithError(fleet.ErrCut) })
	slow := p.sub.StatusChanged(nats.SubscriptionSlowConsumer)
	go func() { // what is lost last shows by nothing else
		select {
		case <-slow:
			p.fill.CloseWithError(fmt.Errorf("%w: bench %s said more than was read", fleet.ErrCut, other))
		case <-connected.Done():
		}
	}()
	tick := time.NewTicker(joinEvery)
	defer tick.Stop()
	for {
		if err := p.say(pipeAsks, nil); err != nil {
			p.shut(err)
			return nil, fmt.Errorf("%w: bench %s: %w", fleet.ErrCut, other, err)
		}
		select {
		case <-p.there:
			return p, nil
		case <-tick.C:
		case <-b.ctx.Done():
			p.shut(fleet.ErrCut)
			return nil, fmt.Errorf("%w: the hub is gone", fleet.ErrCut)
		case <-ctx.Done():
			p.shut(ctx.Err())
			return nil, fmt.Errorf("%w: bench %s was not there: %w", fleet.ErrCut, other, context.Cause(ctx))
		}
	}
}

func (p *pipe) say(seq string, b []byte) error {
	if !p.bench.nc.IsConnected() { // the library would keep it, and send it when it is stale
		return nats.ErrDisconnected
	}
	m := nats.NewMsg(admit.JoinSubject(p.to, p.bench.name))
	m.Header.Set(taskHeader, p.task)
	m.Header.Set(seqHeader, seq)
	m.Data = b
	return p.bench.nc.PublishMsg(m)
}

// hear takes what the other end says. The hub vouches for who it is; what belongs to another order
// is of before.
func (p *pipe) hear(m *nats.Msg) {
	if m.Header.Get(taskHeader) != p.task {
		return
	}
	p.once.Do(func() { close(p.there) })
	switch seq := m.Header.Get(seqHeader); seq {
	case pipeAsks:
		if time.Since(p.said) >= joinEvery/2 { // whoever asks more often does not want to know
			p.said = time.Now()
			p.say(pipeAnswers, nil)
		}
	case pipeAnswers:
	case pipeEnds:
		p.fill.CloseWithError(io.EOF)
	default:
		n, err := strconv.ParseUint(seq, 10, 64)
		if p.took++; err != nil || n != p.took {
			p.fill.CloseWithError(fmt.Errorf("%w: message %d came in place of %d", fleet.ErrCut, n, p.took))
			return
		}
		p.fill.Write(m.Data)
	}
}

// Read reads what the other end has written.
func (p *pipe) Read(b []byte) (int, error) { return p.in.Read(b) }

// Write sends bytes as one message.
func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gone:
		return 0, net.ErrClosed
	default:
	}
	p.sent++
	if err := p.say(strconv.FormatUint(p.sent, 10), b); err != nil {
		return 0, fmt.Errorf("%w: %w", fleet.ErrCut, err)
	}
	return len(b), nil
}

// Close ends both directions.
func (p *pipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gone:
		return nil
	default:
	}
	close(p.gone)
	err := p.say(pipeEnds, nil)
	p.shut(net.ErrClosed)
	if errors.Is(err, nats.ErrDisconnected) {
		return nil
	}
	return err
}

func (p *pipe) shut(err error) {
	p.fill.CloseWithError(err)
	p.sub.Unsubscribe()
	p.end()
}

// Address is where this machine's connection to the hub begins: other benches reach it there as a
// rule. Empty: there is no connection.
func (b *Bench) Address() string {
	host, _, err := net.SplitHostPort(b.nc.LocalAddr())
	if err != nil {
		return ""
	}
	return host
}
