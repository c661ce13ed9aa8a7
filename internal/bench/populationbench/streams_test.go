package populationbench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/stack"
)

// The benchmark in small: devices in one process and in three, with one server and with
// two, are as many as were asked for, and what they count agrees with the servers.
func TestSmallStreams(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		StreamCase
		needs string
	}{
		{StreamCase{Stack: "reference/floor-tcp", Transport: "tcp", Servers: 2, Shards: 3}, ""},
		{StreamCase{Stack: "reference/rest-protobuf", Transport: "http", Servers: 1, Shards: 2}, ""},
		{StreamCase{Stack: "reference/mqtt", Transport: "mqtt5", Servers: 1}, ""},
		{StreamCase{Stack: "reference/mqtt-mosquitto", Transport: "mqtt311", Servers: 1, QoS: "1"}, "/usr/sbin/mosquitto"},
	} {
		c := tt.StreamCase
		if tt.needs != "" {
			if _, err := exec.LookPath(tt.needs); err != nil && os.Getenv("CI") == "" {
				t.Logf("%s is left out: install mosquitto", c.Stack)
				continue
			}
		}
		c.Encoding, c.Devices, c.Period, c.For = "protobuf", 301, time.Second, 2*time.Second // they tell how they are
		f, err := MeasureStreams(t.Context(), exe, c)
		if err != nil {
			t.Errorf("%s: %v", c.Stack, err)
			continue
		}
		// On a busy machine a device may still wait when it is due again, or be cut by the end.
		if f.Requests+f.Skipped != 2*int64(c.Devices) || f.Requests != f.Answered+f.Failed || int64(f.Served) < f.Answered ||
			int64(f.Served) > f.Requests || f.Devices != c.Devices || f.Connects < int64(c.Devices) ||
			int64(f.OpenMost) != f.Connects-f.Broken || max(f.Shards, 1) != max(c.Shards, 1) || f.CPU <= 0 || f.Anonymous <= 0 {
			t.Errorf("%s: got %+v", c.Stack, f)
		}
	}
}

// Several processes tell at their end what the kernel sent again for all of them, as one does. The queue of the
// server's connections is full.
func TestPartsTellWhatWasSentAgain(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	err = errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 1))
	at, nameErr := unix.Getsockname(fd)
	if err = errors.Join(err, nameErr); err != nil {
		t.Fatal(err)
	}
	client, err := startStack(t.Context(), exe, "reference/floor-tcp", "call")
	if err != nil {
		t.Fatal(err)
	}
	defer client.end()
	call := stack.Call{URL: fmt.Sprintf("tcp://127.0.0.1:%d/monitor", at.(*unix.SockaddrInet4).Port), Service: "monitor",
		Encoding: "protobuf", Security: "none", Transport: "tcp", Message: stack.Message{Seed: 1, N: 16},
		Connection: "keep-alive", Timeout: int64(4 * time.Second), Limits: stack.Limits{Body: 1 << 20}}
	call.Population, _ = json.Marshal(population.Spec{Devices: 20, Phase: population.Random, Seed: 1, Shards: 2,
		Classes: []population.Class{{Share: 1, Period: time.Second}}})
	if _, err = client.conn.Call(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	end, err := client.conn.Run(t.Context(), stack.Run{Duration: int64(2 * time.Second), Record: true, Concurrency: 1},
		nil)
	if err != nil {
		t.Fatal(err)
	}
	var r population.Account
	if err := json.Unmarshal([]byte(end.Population), &r); err != nil {
		t.Fatal(err)
	}
	if r.Shards != 2 || r.Retransmissions == 0 || int64(end.Retransmissions) != r.Retransmissions {
		t.Errorf("%d processes sent %d segments again, and say %d at their end", r.Shards, r.Retransmissions,
			end.Retransmissions)
	}
}
