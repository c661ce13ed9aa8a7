package dpws

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// A Device can be discovered over a Network.
type Device struct {
	Target Target
	Params Params
	Counts Counts

	net     Network
	mu      sync.Mutex // guards answers
	answers *Answerer
	pending chan struct{} // one for each answer that waits, at most maxPending
}

// maxPending bounds the answers that wait for their delay or repetition.
const maxPending = 256

// NewDevice makes a device; Run lets it be found.
func NewDevice(net Network, t Target, p Params) *Device {
	d := &Device{Target: t, Params: p, net: net, pending: make(chan struct{}, maxPending)}
	d.answers = NewAnswerer(t, uint64(time.Now().Unix()), &d.Counts)
	return d
}

// Run says Hello, answers Probe and Resolve until ctx ends, then says Bye and
// closes the network.
func (d *Device) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	received := make(chan struct{})
	go func() {
		defer close(received)
		d.net.Receive(func(b []byte, from netip.AddrPort) { d.take(ctx, b, from) })
	}()
	d.later(ctx, random(d.Params.MatchDelay), d.Params.MulticastRepeat, d.announce(actionHello), d.net.Multicast)
	<-ctx.Done()
	cancel()
	d.settle()
	d.bye()
	err := d.net.Close()
	<-received
	return err
}

// settle returns when no answer waits any more, and lets none begin to. Note: a
// WaitGroup does not do: datagrams still come while it would be waited for.
func (d *Device) settle() {
	for range maxPending {
		d.pending <- struct{}{}
	}
}

func (d *Device) announce(action string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.answers.writer.announce(action, &d.Target)
}

// bye is repeated as anything else is; the longest that takes is 250 ms with
// DPWS's values.
func (d *Device) bye() {
	b := d.announce(actionBye)
	d.net.Multicast(b)
	for wait := range d.Params.waits(d.Params.MulticastRepeat) {
		time.Sleep(wait)
		d.net.Multicast(b)
	}
}

func (d *Device) take(ctx context.Context, b []byte, from netip.AddrPort) {
	d.mu.Lock()
	answer, wait := d.answers.Answer(b)
	d.mu.Unlock()
	if answer == nil {
		return
	}
	var delay time.Duration
	if wait {
		delay = random(d.Params.MatchDelay)
	}
	d.later(ctx, delay, d.Params.UnicastRepeat, answer, func(b []byte) error { return d.net.Unicast(b, from) })
}

// later sends b after a delay and repeats it. What fails is lost, as datagrams
// may be.
func (d *Device) later(ctx context.Context, delay time.Duration, repeat int, b []byte, send func([]byte) error) {
	if ctx.Err() != nil {
		return
	}
	select {
	case d.pending <- struct{}{}:
	default:
		d.Counts.Overloaded.Add(1)
		return
	}
	go func() {
		defer func() { <-d.pending }()
		if !sleep(ctx, delay) {
			return
		}
		send(b)
		for wait := range d.Params.waits(repeat) {
			if !sleep(ctx, wait) {
				return
			}
			send(b)
		}
	}()
}

// sleep says whether the time passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
