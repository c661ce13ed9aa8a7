package reference

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stat"
)

// Connections that are dealt out at random fit each of the processes, but for one population in a million.
func TestServersHaveAProcessForEachConnection(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		limit := 300 + draw.IntN(3000)
		if draw.IntN(2) == 0 {
			limit *= 20
		}
		each, most := limit-SpareFiles, MostConnections(limit)
		if ServerProcesses(most, limit) == 0 || ServerProcesses(most+1, limit) != 0 {
			t.Fatalf("limit %d: %d connections are said to be the most", limit, most)
		}
		connections := 1 + draw.IntN(most)
		n := ServerProcesses(connections, limit)
		if n > 1 && n > ServerProcesses(connections+1, limit) && connections < most {
			t.Fatalf("limit %d: %d connections need %d processes, one more need fewer", limit, connections, n)
		}
		if (n == 1) != (connections <= each) || n > mostParts {
			t.Fatalf("limit %d: %d connections, %d processes", limit, connections, n)
		}
		if n > 1 {
			if p := float64(n) * stat.AtLeast(each+1, connections, 1/float64(n)); p > 1e-6 {
				t.Errorf("limit %d: one of %d processes has no file for one of %d connections, once in %g populations", limit,
					n, connections, 1/p)
			}
		}
	}
	if got := ServerProcesses(100_000, 20_000); got != 6 {
		t.Errorf("100,000 connections, 20,000 files each: %d processes", got)
	}
	for _, limit := range []int{0, 1, SpareFiles, SpareFiles + 1, SpareFiles + 2} {
		if most := MostConnections(limit); most < limit-SpareFiles || ServerProcesses(most+1, limit) != 0 {
			t.Errorf("limit %d: at most %d connections", limit, most)
		}
	}
}

func TestWhichServersDivide(t *testing.T) {
	for _, tt := range []struct {
		name, sensor string
		want         bool
	}{
		{"reference/mqtt", "", true}, {"mqtt", "fixed:20", true}, {"reference/rest-json", "hwmon:/x", true},
		{"reference/soap", "", true}, {"reference/floor-tcp", "", true}, {"reference/mqtt-mosquitto", "", false},
		{"reference/rest-json", "serial:/dev/ttyUSB0", false}, {"reference/rest-json", "program:x", false},
		{"reference/rest-json", "simulated", false}, {"reference/rest-json", "simulated:avr", false},
		{"reference/coap-json", "", false}, {"reference/floor-udp", "", false}, {"reference/http2", "", false},
		{"reference/phantom", "", false}, {"cxf", "", false}, {"", "", false},
	} {
		if got := Divides(tt.name, tt.sensor); got != tt.want {
			t.Errorf("%s with %q: got %t", tt.name, tt.sensor, got)
		}
	}
}

// limited starts this binary as a stack's program that may open so many files, as each of its children may.
func limited(t *testing.T, files int, name, verb string) (*stack.Conn, *exec.Cmd) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "ulimit -n "+strconv.Itoa(files)+`; exec "$0" "$@"`, exe, name, verb)
	cmd.Env, cmd.Stderr = append(os.Environ(), "REFERENCE_TEST_PROGRAM=1"), os.Stderr
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
	t.Cleanup(func() {
		in.Close()
		late := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
		defer late.Stop()
		cmd.Wait()
	})
	conn := stack.NewConn(in, out.(stack.DeadlineReader))
	conn.Devices = func(json.RawMessage) {}
	return conn, cmd
}

// ofParts are stacks whose servers are several processes.
var ofParts = []struct{ name, transport string }{{"mqtt", mqtt5}, {"rest-protobuf", "http"}, {"floor-tcp", "tcp"}}

var partMessage, partLimits = stack.Message{Seed: 5, N: 16}, stack.Limits{Body: 1 << 20}

// divided starts a server of which each process may open so many files, for so many connections.
func divided(t *testing.T, ctx context.Context, name, transport string, files, connections int) (*stack.Conn, *exec.Cmd,
	stack.Ready) {
	t.Helper()
	conn, cmd := limited(t, files, Prefix+name, "serve")
	ready, err := conn.Serve(ctx, stack.Serve{Service: "monitor", Encoding: "protobuf", Security: "none",
		Transport: transport, Host: "127.0.0.1", Message: partMessage, Limits: partLimits, Connections: connections})
	if err != nil {
		t.Fatal(err)
	}
	if want := ServerProcesses(connections, files); ready.Processes != want || want < 2 {
		t.Fatalf("the server is %d processes, want %d", ready.Processes, want)
	}
	return conn, cmd, ready
}

// More devices than a process may open files have a connection each, all at once, and each request is counted once. Had
// one process of the server had them all, no more than 300 would have been open.
func TestServersOfSeveralProcesses(t *testing.T) {
	const files, devices = 300, 400
	for _, tt := range ofParts {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			server, _, ready := divided(t, ctx, tt.name, tt.transport, files, devices)
			client, _ := limited(t, files, Prefix+tt.name, "call")
			call := stack.Call{URL: ready.URL, Service: "monitor", Encoding: "protobuf", Security: "none",
				Transport: tt.transport, Connection: "keep-alive", Message: partMessage, Limits: partLimits,
				Timeout: int64(time.Minute)}
			call.Population, _ = json.Marshal(population.Spec{Devices: devices, Phase: population.Aligned, Seed: 1,
				Classes: []population.Class{{Share: 1, Period: 2 * time.Minute}}})
			if _, err := client.Call(ctx, call); err != nil {
				t.Fatal(err)
			}
			if end, err := client.Run(ctx, stack.Run{Requests: devices}, nil); err != nil || end.Failed > 0 {
				t.Fatalf("warm-up: %+v, %v", end, err)
			}
			if end, err := server.Report(ctx, true, nil); err != nil || end.Count != devices {
				t.Fatalf("the server counted %d requests of the warm-up, %v; want %d", end.Count, err, devices)
			}
			end, err := client.Run(ctx, stack.Run{Requests: devices, Record: true}, func(measure.Exchange) {})
			var r population.Account
			if err == nil {
				err = json.Unmarshal([]byte(end.Population), &r)
			}
			if err != nil || r.Answered != devices || r.Failed+r.Broken > 0 || r.OpenMost != devices || r.Shards != 2 {
				t.Errorf("the devices: %+v, %d processes, %v", r.Counts, r.Shards, err)
			}
			next := uint64(1)
			end, err = server.Report(ctx, false, func(x measure.Exchange) {
				if x.Seq != next || x.In == 0 || x.Out == 0 {
					t.Errorf("record %d: %+v", next, x)
				}
				next++
			})
			if err != nil || end.Count != devices || next != devices+1 {
				t.Errorf("the server counted %d requests, %v; want %d", end.Count, err, devices)
			}
		})
	}
}

// A server one of whose processes is gone, and with it what that has counted, says so instead of the rest.
func TestServersThatLackAProcessSaySo(t *testing.T) {
	for _, tt := range ofParts {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			server, cmd, ready := divided(t, ctx, tt.name, tt.transport, 300, 400)
			all := kernel.Family(cmd.Process.Pid)
			if len(all) != ready.Processes {
				t.Fatalf("%d processes, of %d", len(all), ready.Processes)
			}
			if err := unix.Kill(all[len(all)/2], unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_, err := server.Report(ctx, true, nil)
			if err == nil || !strings.Contains(err.Error(), "of the server: "+stack.ErrSilent.Error()) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// So does one that has no file left for a connection: what its client waits for is not the server's doing.
func TestServersWithoutAFileSaySo(t *testing.T) {
	const files, connections = 310, 111
	for _, tt := range ofParts {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			server, _, ready := divided(t, ctx, tt.name, tt.transport, files, connections)
			u, err := url.Parse(ready.URL)
			if err != nil {
				t.Fatal(err)
			}
			for range ready.Processes*files + 20 { // one of them has as many as it may open
				c, err := net.Dial("tcp", u.Host)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
			}
			for err = nil; err == nil && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
				_, err = server.Report(ctx, true, nil)
			}
			if err == nil || !strings.Contains(err.Error(), "no file left") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A server that needs no second process has none, and says nothing of it.
func TestServersOfOneProcess(t *testing.T) {
	for _, tt := range []struct {
		name, transport string
		connections     int
	}{{"rest-protobuf", "http", 0}, {"rest-protobuf", "http", 100}} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		server, cmd := limited(t, 300, Prefix+tt.name, "serve")
		ready, err := server.Serve(ctx, stack.Serve{Service: "monitor", Encoding: "protobuf", Security: "none",
			Transport: tt.transport, Host: "127.0.0.1", Limits: partLimits, Connections: tt.connections})
		if all := kernel.Family(cmd.Process.Pid); err != nil || ready.Processes != 0 || len(all) > 0 {
			t.Errorf("%s, %d connections: %+v, %d other processes, %v", tt.name, tt.connections, ready, len(all), err)
		}
		cancel()
	}
	for _, tt := range []struct {
		sensor      string
		connections int
		want        string
	}{{"", 3222, "this server can have 3221, where a process may open 300 files"},
		{"program:echo 20", 101, "this server can have 100, where a process may open 300 files"}} {
		server, _ := limited(t, 300, Prefix+"rest-protobuf", "serve")
		_, err := server.Serve(t.Context(), stack.Serve{Service: "temperature", Encoding: "protobuf", Security: "none",
			Transport: "http", Host: "127.0.0.1", Limits: partLimits, Connections: tt.connections, Sensor: tt.sensor})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d connections, sensor %q: got %v, want %q", tt.connections, tt.sensor, err, tt.want)
		}
	}
}
