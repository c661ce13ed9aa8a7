package gsoap_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// The static ARM programs run on the oldest core they are for: qemu refuses an instruction that it has not (an armhf
// program dies there).
func TestARM(t *testing.T) {
	stacktest.Built(t, ".")
	c := credentials(t)
	for _, target := range []struct {
		name, compiler, qemu string
		cpus                 []string
	}{
		{"armel", "arm-linux-gnueabi-gcc", "qemu-arm-static", []string{"arm926", "arm1176"}},
		{"arm64", "aarch64-linux-gnu-gcc", "qemu-aarch64-static", []string{"cortex-a53"}},
	} {
		t.Run(target.name, func(t *testing.T) {
			for _, need := range []string{target.compiler, target.qemu} {
				if _, err := exec.LookPath(need); err != nil {
					t.Skipf("%s is missing; run: apt-get install gcc-arm-linux-gnueabi gcc-aarch64-linux-gnu qemu-user-static", need)
				}
			}
			if out, err := exec.Command("./build.sh", target.name).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, cpu := range target.cpus {
				for _, x := range []struct{ program, security string }{{"gsoap", "none"}, {"gsoap-tls", "tls"},
					{"gsoap-wss", "wss-rsa"}} {
					t.Run(cpu+" "+x.security, func(t *testing.T) {
						emulated(t, []string{target.qemu, "-cpu", cpu, "build/" + target.name + "/" + x.program, "serve"}, x.security, c)
					})
				}
			}
		})
	}
}

// emulated asks an emulated server from here, three times.
func emulated(t *testing.T, argv []string, security string, c map[string]string) {
	t.Helper()
	if _, err := os.Stat(argv[3]); err != nil {
		t.Fatal(err)
	}
	ready, err := stacktest.Start(t, "", argv...).Serve(within(t),
		stack.Serve{Service: "sum", Encoding: "soap11", Security: security, Transport: "http", Host: "127.0.0.1",
			Limits: stack.Limits{Body: 1e6}, Credentials: c})
	if err != nil {
		t.Fatal(err)
	}
	cl := stacktest.Start(t, "", "build/gsoap", "call")
	_, err = cl.Call(within(t), stack.Call{URL: ready.URL, Service: "sum", Encoding: "soap11", Security: security,
		Message:    stack.Message{Seed: 7, N: 100},
		Connection: "per-request", Timeout: int64(20 * time.Second), Credentials: c})
	if err != nil {
		t.Fatal(err)
	}
	end, err := cl.Run(within(t), stack.Run{Requests: 3, Record: true}, func(x measure.Exchange) {
		if x.Failure != "" {
			t.Errorf("request %d: %s", x.Seq, x.Failure)
		}
	})
	if err != nil || end.Count != 3 {
		t.Errorf("%d requests answered, want 3: %v", end.Count, err)
	}
}
