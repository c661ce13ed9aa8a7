package kernel

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
)

// The end of one wait does not end a later one.
func TestBreakOffBreaksNothingLater(t *testing.T) {
	for range 2000 {
		var mu sync.Mutex
		var last time.Time
		set := func(t time.Time) error {
			mu.Lock()
			defer mu.Unlock()
			last = t
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		release := BreakOff(ctx, set)
		cancel()
		if !release() {
			t.Fatal("nothing was set, though the context has ended")
		}
		later := time.Now().Add(time.Hour)
		set(later)
		runtime.Gosched()
		mu.Lock()
		if last != later {
			t.Fatal("a later wait was broken off")
		}
		mu.Unlock()
	}
	ctx, cancel := context.WithCancel(t.Context())
	release := BreakOff(ctx, func(time.Time) error { t.Error("set, though nothing had ended"); return nil })
	if release() {
		t.Error("it says that one was set")
	}
	cancel()
	runtime.Gosched()
}
