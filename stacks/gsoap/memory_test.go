package gsoap_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// What a C program keeps of its requests is small beside the program itself, whose memory is measured.
func TestRecordsAreSmall(t *testing.T) {
	stacktest.Built(t, ".")
	const requests, most = 30_000, 160 // B each
	cmd := exec.Command("build/gsoap", "serve")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	server := stack.NewConn(in, out.(*os.File))
	limits := stack.Limits{Body: 1e6}
	ready, err := server.Serve(within(t), stack.Serve{Service: "echo", Encoding: "soap11", Security: "none",
		Transport: "http", Host: "127.0.0.1", Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	client := stacktest.Start(t, "", "build/gsoap", "call")
	_, err = client.Call(within(t), stack.Call{URL: ready.URL, Service: "echo", Encoding: "soap11", Security: "none",
		Transport: "http", Message: stack.Message{Seed: 7, N: 10}, Connection: "keep-alive", Timeout: 5e9, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	var resident [2]int64
	for i, n := range []int{1000, requests} { // to warm up, and to be kept
		if _, err := client.Run(within(t), stack.Run{Requests: n}, nil); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if _, err := server.Report(within(t), true, nil); err != nil {
				t.Fatal(err)
			}
		}
		statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		var size int64
		if _, err := fmt.Sscan(string(statm), &size, &resident[i]); err != nil {
			t.Fatal(err)
		}
	}
	grown := (resident[1] - resident[0]) * int64(os.Getpagesize()) / requests
	if grown > most {
		t.Errorf("the server grows by %d B with each request, want at most %d", grown, most)
	}
	t.Logf("%d B a request", grown)
}
