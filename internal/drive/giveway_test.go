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
// another program keeps busy. Without kernel.GiveWay this took from 38 s to minutes, in which that program has the CPU:
// its CPU time tells, whoever else is busy here.
func TestCollectorStopsAWaitingFloor(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	one := kernel.Placement{CPUs: kernel.AllowedCPUs()[:1]}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	busy := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
	if err := one.Start(busy); err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(ctx, self, "collect")
	err = one.Start(child)
	if err == nil {
		err = child.Wait()
	}
	_ = busy.Process.Kill()
	_ = busy.Wait()
	took := busy.ProcessState.UserTime() + busy.ProcessState.SystemTime()
	if err != nil || ctx.Err() != nil || took > 15*time.Second {
		t.Errorf("ten collections beside floors that wait: %v, %v; the program beside them had %v of CPU time", err,
			context.Cause(ctx), took)
	}
}
