package kernel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Whoever asks runs; and so do threads that spin, whatever else the machine does.
func TestRunnable(t *testing.T) {
	if n, ok := Runnable(); !ok || n < 1 {
		t.Fatalf("got %d, %v", n, ok)
	}
	const threads = 4
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads + 1))
	var stop atomic.Bool
	var spinning sync.WaitGroup
	for range threads {
		spinning.Go(func() {
			for !stop.Load() {
			}
		})
	}
	defer spinning.Wait()
	defer stop.Store(true)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if n, _ := Runnable(); n > threads {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("got %d, want more than %d", n, threads)
		}
	}
}
