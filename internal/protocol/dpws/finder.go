package dpws

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
)

// A Finder looks for devices over a Network.
type Finder struct {
	Params Params
	Counts Counts

	net      Network
	received chan struct{}

	mu       sync.Mutex // guards what follows
	writer   writer
	seen     ring
	m        message
	searches map[string]*search // by message ID
}

// A search is one Probe or Resolve that waits for matches.
type search struct {
	action string // of its answers
	found  chan Target
}

// NewFinder listens for answers until Close, which closes the network too.
func NewFinder(net Network, p Params) *Finder {
	f := &Finder{Params: p, net: net, received: make(chan struct{}), writer: writer{namer: NewNamer()},
		searches: map[string]*search{}}
	go func() {
		defer close(f.received)
		net.Receive(f.take)
	}()
	return f
}

// Close ends listening.
func (f *Finder) Close() error {
	err := f.net.Close()
	<-f.received
	return err
}

// take hands matches to the search that they answer. Everything else a
// multicast group carries passes by.
func (f *Finder) take(b []byte, _ netip.AddrPort) {
	if len(b) > MaxUDPEnvelope {
		f.Counts.Oversized.Add(1)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.m.decode(b) != nil {
		f.Counts.Malformed.Add(1)
		return
	}
	action := string(f.m.header.Action)
	if action != actionProbeMatches && action != actionResolveMatches {
		return
	}
	s := f.searches[string(f.m.header.RelatesTo)]
	switch {
	case s == nil || s.action != action:
		f.Counts.Unasked.Add(1)
	case !f.seen.add(f.m.header.MessageID):
		f.Counts.Duplicate.Add(1)
	default:
		for _, t := range f.m.targets {
			s.offer(t, &f.Counts)
		}
	}
}

func (s *search) offer(t Target, counts *Counts) {
	select {
	case s.found <- t:
	default:
		counts.Overloaded.Add(1)
	}
}

// maxFound bounds what a search keeps.
const maxFound = 4096

// Find probes for devices and calls each with every new one, until that says
// enough or ctx ends. After MatchTimeout it probes anew: a datagram may get
// lost with all its repetitions. A target without XAddrs has to be resolved.
func (f *Finder) Find(ctx context.Context, w Wanted, each func(Target) (enough bool)) error {
	known := map[string]bool{}
	return f.search(ctx, actionProbeMatches, func() (b, id []byte) { return f.writer.probe(&w) }, func(t Target) bool {
		if known[t.EPR] || len(known) == maxFound || !matchesWhatItSays(&w, &t) {
			return false
		}
		known[t.EPR] = true
		return each(t)
	})
}

// matchesWhatItSays: a match that names types must name those asked for; it
// may leave them out (WS-Discovery 1.1, section 5.3).
func matchesWhatItSays(w *Wanted, t *Target) bool {
	return t.EPR != "" && (len(t.Types) == 0 || (&Wanted{Types: w.Types}).Matches(t))
}

// Resolve asks where a device is.
func (f *Finder) Resolve(ctx context.Context, epr string) (found Target, err error) {
	err = f.search(ctx, actionResolveMatches, func() (b, id []byte) { return f.writer.resolve(epr) }, func(t Target) bool {
		found = t
		return t.EPR == epr && len(t.XAddrs) > 0
	})
	return found, err
}

// Locate finds the device of that endpoint reference by a Probe for types, and
// resolves it if its match does not say where it is.
func (f *Finder) Locate(ctx context.Context, epr string, types ...QName) (found Target, err error) {
	err = f.Find(ctx, Wanted{Types: types}, func(t Target) bool {
		found = t
		return t.EPR == epr
	})
	if err == nil && len(found.XAddrs) == 0 {
		return f.Resolve(ctx, epr)
	}
	if err != nil {
		return Target{}, fmt.Errorf("device %s: %w", epr, err)
	}
	return found, nil
}

// ErrNotFound means that nobody answered before the context ended.
var ErrNotFound = errors.New("no match")

// search sends what ask makes, again and again, and hands on the answers.
func (f *Finder) search(ctx context.Context, answers string, ask func() (b, id []byte), each func(Target) bool) error {
	s := &search{action: answers, found: make(chan Target, 256)}
	var ids []string
	defer func() { f.forget(ids...) }()
	ctx, cancel := context.WithCancel(ctx)
	var sending sync.WaitGroup
	defer sending.Wait()
	defer cancel()
	for {
		f.mu.Lock()
		b, id := ask()
		f.searches[string(id)] = s
		f.mu.Unlock()
		if ids = append(ids, string(id)); len(ids) > 8 { // nobody answers that late
			f.forget(ids[0])
			ids = ids[1:]
		}
		if err := f.net.Multicast(b); err != nil {
			return err
		}
		sending.Go(func() {
			for wait := range f.Params.waits(f.Params.MulticastRepeat) {
				if !sleep(ctx, wait) {
					return
				}
				f.net.Multicast(b)
			}
		})
		if enough, err := f.await(ctx, s, each); enough || err != nil {
			return err
		}
	}
}

func (f *Finder) forget(ids ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		delete(f.searches, id)
	}
}

// await hands on answers for MatchTimeout.
func (f *Finder) await(ctx context.Context, s *search, each func(Target) bool) (enough bool, err error) {
	round, cancel := context.WithTimeout(ctx, f.Params.MatchTimeout)
	defer cancel()
	for {
		select {
		case t := <-s.found:
			if each(t) {
				return true, nil
			}
		case <-round.Done():
			if ctx.Err() != nil {
				return false, fmt.Errorf("%w: %w", ErrNotFound, context.Cause(ctx))
			}
			return false, nil
		}
	}
}
