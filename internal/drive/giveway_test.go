package drive

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
)

// collectBesideFloors is the child process of TestCollectorStopsAWaitingFloor: a floor of each kind waits
// for requests while the collector runs.
func collectBesideFloors() {
	for _, network := range []string{"udp", "tcp"} {
		f, err := ListenFloor(network, literal("127.0.0.1:0"), 8, 8)
		if err != nil {
			panic(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan error)
		go func() { served <- f.Serve(ctx) }()
		time.Sleep(50 * time.Millisecond) // by then it waits, or begins to
		for range 5 {
			runtime.GC()
		}
		cancel()
		<-served
	}
}

// The collector stops a thread that waits in a raw call, to scan its stack, also on one CPU that
// another program keeps busy. Without kernel.GiveWay this took from 38 s to minutes.
func TestCollectorStopsAWaitingFloor(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	one := kernel.Placement{CPUs: kernel.AllowedCPUs()[:1]}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	busy := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
	if err := one.Start(busy); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = busy.Process.Kill()
		_ = busy.Wait()
	}()
	child := exec.CommandContext(ctx, self, "collect")
	if err := one.Start(child); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err != nil || ctx.Err() != nil {
		t.Errorf("ten collections beside floors that wait: %v, after %v", err, context.Cause(ctx))
	}
}
