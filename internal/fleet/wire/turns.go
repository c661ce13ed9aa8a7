package wire

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"
)

// turns hands on what benches say, one message of each in turn. Of a bench that says more
// than is taken only the newest is kept: a key that was stolen crowds out nobody, and takes
// the room of one message.
type turns struct {
	mu     sync.Mutex
	newest map[string]*nats.Msg // by bench, of those in line
	line   []string
	ready  chan struct{} // has one element while somebody is in line, or was just now
}

func newTurns() *turns { return &turns{newest: map[string]*nats.Msg{}, ready: make(chan struct{}, 1)} }

// say takes what a bench said.
func (t *turns) say(bench string, m *nats.Msg) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, waits := t.newest[bench]; !waits {
		t.line = append(t.line, bench)
	}
	t.newest[bench] = m
	t.wake()
}

func (t *turns) wake() {
	select {
	case t.ready <- struct{}{}:
	default:
	}
}

// next waits for whose turn it is; false: ctx has ended.
func (t *turns) next(ctx context.Context) (bench string, m *nats.Msg, ok bool) {
	for {
		select {
		case <-t.ready:
		case <-ctx.Done():
			return "", nil, false
		}
		if bench, m, ok = t.take(); ok {
			return bench, m, true
		}
	}
}

func (t *turns) take() (bench string, m *nats.Msg, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.line) == 0 { // who spoke once more meanwhile was in line already
		return "", nil, false
	}
	bench = t.line[0]
	if t.line = t.line[1:]; len(t.line) > 0 {
		t.wake()
	}
	m = t.newest[bench]
	delete(t.newest, bench)
	return bench, m, true
}
