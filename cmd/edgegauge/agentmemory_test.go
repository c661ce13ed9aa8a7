package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/qemu"
	"edgegauge.example/edgegauge/internal/lab"
)

// The agent in a machine with an ARM core takes at most 5 MB of memory while a
// program runs: anonymous pages, its heap, stacks and variables, which are nobody
// else's and stay until it ends. Pages of its file are shared with every other
// process of this program, there as long as the kernel has no better use for them,
// and so depend on how busy the machine is: they are logged, not judged. EDGEGAUGE_MACHINES names other machines that
// are built here.
func TestAgentIsSmallOnARM(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	needTUN(t)
	machine(t)
	names := []string{machineInCI}
	if more := os.Getenv("EDGEGAUGE_MACHINES"); more != "" {
		names = strings.Split(more, ",")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			all, own := agentMemory(t, name)
			t.Logf("%d KiB resident, %d KiB of them its own", all, own)
			if own > 5_000_000/1024 || own < 500 || own > all {
				t.Errorf("got %d KiB of its own (%d KiB resident with its file), want at most 5 MB", own, all)
			}
		})
	}
}

func agentMemory(t *testing.T, name string) (all, own int) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	b, ok := qemu.Find(name)
	if !ok {
		t.Fatalf("no machine %q", name)
	}
	d, err := localBed(t).OpenDevice(ctx, b.Name)
	if err != nil {
		t.Fatal(err)
	}
	on := d.(*qemu.Interactive)
	on.Cache = "" // it boots, so that what a boot leaves is measured
	defer on.Close()
	r, err := on.Remote(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Start(ctx, device.Command{Argv: []string{qemu.GuestExe, lab.StackVerb, "reference/rest-json", "serve"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	io.WriteString(p.Stdin,
		`{"type":"serve","service":"echo","encoding":"json","security":"none","transport":"http","host":"127.0.0.1","port":0}`+"\n")
	if line, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil || !strings.Contains(line, "ready") {
		t.Fatalf("got %q, %v", line, err)
	}
	if _, err := p.Usage(); err != nil {
		t.Fatal(err)
	}
	// Started, not run: an agent that runs a program answers a call meanwhile, and is not at rest.
	looks, err := r.Start(ctx, device.Command{Argv: []string{qemu.GuestExe, qemu.MemoryVerb}})
	if err != nil {
		t.Fatal(err)
	}
	defer looks.Kill()
	out, err := bufio.NewReader(looks.Stdout).ReadString('\n')
	if _, bad := fmt.Sscan(out, &all, &own); err != nil || bad != nil {
		t.Fatalf("got %q, %v", out, err)
	}
	return all, own
}
