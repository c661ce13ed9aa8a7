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

	"edgegauge/internal/device"
	"edgegauge/internal/device/qemu"
	"edgegauge/internal/lab"
	"edgegauge/internal/study"
)

// The agent in a machine with an ARM core has at most 5 MB in memory while a
// program runs. EDGEGAUGE_MACHINES names other machines that are built here.
func TestAgentIsSmallOnARM(t *testing.T) {
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
			if all > 5_000_000/1024 || own < 500 || own > all {
				t.Errorf("got %d KiB resident, %d KiB of them its own, want at most 5 MB", all, own)
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
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d, err := emulatedDevice(ctx, b, false, study.Clock, false, exe, 0)
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
	io.WriteString(p.Stdin, `{"type":"serve","service":"echo","encoding":"json","security":"none","transport":"http","host":"127.0.0.1","port":0}`+"\n")
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
