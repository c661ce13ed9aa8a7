package fleet

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/store"
)

// A hub keeps what is assigned, and carries the rest.
type hub struct {
	down    bool
	assign  map[string][]written // by bench, the newest last
	lag     time.Duration        // by how much one of its replicas is behind; 0: none is
	objects map[string]string    // of a delivery: a folder
	board   *boardEnd            // nil: no coordinator
}

// written is an order, and when it was written.
type written struct {
	at time.Time
	Order
}

// newest is a bench's order as it was before some time; false: there was none.
func (h *hub) newest(bench string, before time.Duration) (Order, bool) {
	for _, w := range slices.Backward(h.assign[bench]) {
		if time.Since(w.at) >= before {
			return w.Order, true
		}
	}
	return Order{}, false
}

// write makes o the newest, and forgets what no replica is so far behind as to have.
func (h *hub) write(bench string, o Order) {
	all := append(h.assign[bench], written{time.Now(), o})
	for len(all) > 1 && time.Since(all[1].at) > mostLag {
		all = all[1:]
	}
	h.assign[bench] = all
}

// A boardEnd is a life of the coordinator: once dead, nothing that it does has effect.
type boardEnd struct {
	w       *world
	alive   chan Beat
	results chan Delivery
	mu      sync.Mutex
	dead    bool
	dies    int // with that many operations of the ledger to go; 0: not there
	dice    *dice
	last    Stamp
	*store.Store
}

func (b *boardEnd) isDead() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dead
}

func (b *boardEnd) kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dead = true
}

func (b *boardEnd) Alive() <-chan Beat       { return b.alive }
func (b *boardEnd) Results() <-chan Delivery { return b.results }
func (b *boardEnd) Drained() <-chan string   { return nil }

// Mend forgets what a bench has left with the hub.
func (b *boardEnd) Mend(_ context.Context, name string) error {
	if b.isDead() {
		return errKilled
	}
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	if b.w.hub.down {
		return errors.New("no hub")
	}
	for key, at := range b.w.hub.objects {
		if strings.HasPrefix(filepath.Base(at), name+"-") {
			delete(b.w.hub.objects, key)
		}
	}
	b.w.faults["mended"]++
	return nil
}

func (b *boardEnd) Assign(_ context.Context, name string, o Order) error {
	if b.isDead() {
		return errKilled
	}
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	if b.w.hub.down {
		return errors.New("no hub")
	}
	b.last.Number++
	o.Stamp = b.last
	b.w.hub.write(name, o)
	return nil
}

// op is an operation of the ledger: the coordinator may die right before or right after.
func op[T any](b *boardEnd, do func() (T, error)) (T, error) {
	var none T
	after := false
	b.mu.Lock()
	if b.dies > 0 && !b.dead {
		if b.dies--; b.dies == 0 {
			if after = b.dice.chance(0.5); !after {
				b.dead = true
			}
		}
	}
	dead := b.dead
	b.mu.Unlock()
	if dead {
		return none, errKilled
	}
	v, err := do()
	if after {
		b.kill()
		return none, errKilled
	}
	return v, err
}

func (b *boardEnd) Order(block int, on store.Bench, retries int) (store.Order, error) {
	return op(b, func() (store.Order, error) { return b.Store.Order(block, on, retries) })
}

func (b *boardEnd) Withdraw(o store.Order, reason string) error {
	_, err := op(b, func() (int, error) { return 0, b.Store.Withdraw(o, reason) })
	return err
}

func (b *boardEnd) Fate(o store.Order) (store.State, error) {
	return op(b, func() (store.State, error) { return b.Store.Fate(o) })
}

func (b *boardEnd) Examine(o store.Order, retries int, dir string) (store.Examined, error) {
	return op(b, func() (store.Examined, error) {
		return b.Store.Examine(o, retries, filepath.Join(dir, "results"))
	})
}

func (b *boardEnd) Accept(x store.Examined) (store.State, error) {
	return op(b, func() (store.State, error) { return b.Store.Accept(x) })
}
