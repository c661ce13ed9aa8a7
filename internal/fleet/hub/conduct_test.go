package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/wire"
)

// hold is that of a coordinator with results of its own.
func hold(words string) fleet.Hold { return fleet.Hold{ID: fleet.NewID(), Place: words, Words: words} }

// One coordinator conducts at a time; another is told who does, and may once that has ended.
func TestOneConducts(t *testing.T) {
	l := newLab(t, "a")
	open := func() *wire.Board {
		t.Helper()
		b, err := wire.OpenBoard(l.who[""])
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first, second := open(), open()
	defer second.Close()
	if _, err := first.Conduct(t.Context(), hold("results/x, from here"), time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	_, err := second.Conduct(t.Context(), hold("y"), time.Minute, nil)
	if !errors.Is(err, fleet.ErrAnother) || !strings.Contains(err.Error(), "results/x, from here") {
		t.Errorf("a second coordinator: got %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Conduct(t.Context(), hold("y"), time.Minute, nil); err != nil {
		t.Errorf("after the first has ended: got %v", err)
	}
	nc, _ := l.as("a")
	if err := nc.Publish("fleet.conduct", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Request("fleet.conduct", nil, 300*time.Millisecond); err == nil {
		t.Error("a bench may ask what is conducted")
	}
}

// Of coordinators that start at the same instant one conducts, and the others are refused.
func TestOneOfManyConducts(t *testing.T) {
	l := newLab(t, "a")
	for round := range 5 {
		const many = 4
		boards, errs := make([]*wire.Board, many), make([]error, many)
		for i := range boards {
			var err error
			if boards[i], err = wire.OpenBoard(l.who[""]); err != nil {
				t.Fatal(err)
			}
		}
		var all sync.WaitGroup
		for i, b := range boards {
			all.Go(func() { _, errs[i] = b.Conduct(t.Context(), hold(fmt.Sprint(i)), time.Minute, nil) })
		}
		all.Wait()
		conduct := 0
		for i, err := range errs {
			if err == nil {
				conduct++
			} else if !errors.Is(err, fleet.ErrAnother) {
				t.Errorf("round %d, board %d: %v", round, i, err)
			}
			boards[i].Close()
		}
		if conduct != 1 {
			t.Fatalf("round %d: %d coordinators conduct", round, conduct)
		}
	}
}

// A coordinator whose place was taken while it was away ends, and orders nothing any more.
func TestADisplacedCoordinatorEnds(t *testing.T) {
	l := newLab(t, "a")
	board, err := wire.OpenBoard(l.who[""])
	if err != nil {
		t.Fatal(err)
	}
	defer board.Close()
	held, err := board.Conduct(t.Context(), hold("x"), 2*time.Second, nil)
	if err != nil {
		t.Fatal(err)
	}
	nc, _ := l.as("")
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), "assign")
	if err != nil {
		t.Fatal(err)
	}
	taking, stop := context.WithCancel(t.Context())
	var other sync.WaitGroup
	other.Go(func() {
		for n := 0; taking.Err() == nil; n++ { // it renews, as a coordinator does
			kv.Put(taking, "_coordinator", fmt.Appendf(nil, `{"id":"z","place":"z","words":"z from afar"}`))
			time.Sleep(100 * time.Millisecond)
		}
	})
	defer other.Wait()
	defer stop()
	select {
	case <-held.Done():
	case <-time.After(time.Minute):
		t.Fatal("it still conducts after a minute")
	}
	if err := context.Cause(held); !errors.Is(err, fleet.ErrAnother) || !strings.Contains(err.Error(), "z from afar") {
		t.Errorf("got %v", err)
	}
	if board.Assign(t.Context(), "a", fleet.Order{}) == nil {
		t.Error("it still gives orders")
	}
}
