// Package libcoap_test tests the C programs of this folder on ARM, and what the conformance kit does not see of them.
package libcoap_test

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// The static ARM programs serve and call on the oldest core they are for, over UDP and over DTLS with a pre-shared key.
func TestARM(t *testing.T) {
	stacktest.Built(t, ".")
	credentials, err := stack.NewCredentials(t.TempDir(), []string{})
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []struct {
		name, compiler, qemu string
		cpus                 []string
	}{
		{"armel", "arm-linux-gnueabi-gcc", "qemu-arm-static", []string{"arm926", "arm1176"}},
		{"arm64", "aarch64-linux-gnu-gcc", "qemu-aarch64-static", []string{"cortex-a53"}},
	} {
		for _, need := range []string{target.compiler, target.qemu} {
			if _, err := exec.LookPath(need); err != nil {
				t.Skipf("%s is missing; run: apt-get install gcc-arm-linux-gnueabi gcc-aarch64-linux-gnu qemu-user-static", need)
			}
		}
		if out, err := exec.Command("./build.sh", target.name).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, cpu := range target.cpus {
			for _, security := range []string{"none", "dtls-psk"} {
				t.Run(cpu+" "+security, func(t *testing.T) {
					arm := []string{target.qemu, "-cpu", cpu, "build/" + target.name + "/libcoap"}
					ask(t, append(arm, "serve"), []string{"build/libcoap", "call"}, security, credentials)
					ask(t, []string{"build/libcoap", "serve"}, append(arm, "call"), security, credentials)
				})
			}
		}
	}
}

// ask has one program ask the other three times.
func ask(t *testing.T, server, client []string, security string, credentials map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ready, err := stacktest.Start(t, "", server...).Serve(ctx,
		stack.Serve{Service: "sum", Encoding: "protobuf", Security: security, Transport: "coap", Host: "127.0.0.1",
			Limits: stack.Limits{Body: 1e6}, Credentials: credentials})
	if err != nil {
		t.Fatal(err)
	}
	c := stacktest.Start(t, "", client...)
	_, err = c.Call(ctx, stack.Call{URL: ready.URL, Service: "sum", Encoding: "protobuf", Security: security,
		Transport: "coap", Message: stack.Message{Seed: 7, N: 100},
		Connection: "keep-alive", Timeout: int64(20 * time.Second), Credentials: credentials})
	if err != nil {
		t.Fatal(err)
	}
	end, err := c.Run(ctx, stack.Run{Requests: 3, Record: true}, func(x measure.Exchange) {
		if x.Failure != "" {
			t.Errorf("%v: request %d: %s", client, x.Seq, x.Failure)
		}
	})
	if err != nil || end.Count != 3 {
		t.Errorf("%d requests answered, want 3: %v", end.Count, err)
	}
}
