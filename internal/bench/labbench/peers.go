package labbench

import (
	"context"
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/bench/drivebench"
	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stat"
)

// The closed loops of grpc-go and paho.golang are a module of their own, so that nothing of
// this program depends on them. Its files have names that Go does not take for a module.
//
//go:embed peers
var peerFiles embed.FS

// buildPeers makes the program of the peers in the bench's scratch.
func (b *Bench) buildPeers(ctx context.Context) (string, error) {
	dir := filepath.Join(b.Dir, "peers")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	files, err := peerFiles.ReadDir("peers")
	if err != nil {
		return "", err
	}
	for _, f := range files {
		text, err := peerFiles.ReadFile(path.Join("peers", f.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, strings.TrimSuffix(f.Name(), ".txt")), text, 0o600)
		}
		if err != nil {
			return "", err
		}
	}
	program := filepath.Join(dir, "peers-program")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the peers: %w: %s", err, out)
	}
	return program, nil
}

const (
	peerRounds      = 7
	peerConnections = 32
	peerSpan        = 2 * time.Second
)

// A rival is another client for a reference stack, which the peers' program knows.
type rival struct {
	name, verb, stack, transport string
	spec                         drive.Spec // without its URL
}

func grpcRows(ctx context.Context, b *Bench) ([]Row, error) {
	return b.beside(ctx, rival{"grpc-go", "grpc", "grpc", "grpc",
		drive.Spec{Protocol: drive.GRPC, ContentType: "application/grpc+proto"}})
}

func mqttRows(ctx context.Context, b *Bench) ([]Row, error) {
	return b.beside(ctx, rival{"paho.golang", "mqtt", "mqtt", "mqtt5",
		drive.Spec{Protocol: drive.MQTT5, ContentType: codec.Protobuf.MediaType(service.Monitor, false)}})
}

// beside compares requests per second of client CPU, in turn, to one server of a reference stack.
func (b *Bench) beside(ctx context.Context, r rival) ([]Row, error) {
	limit := bound{value: 1.0}
	figure := fmt.Sprintf("requests per client CPU second, %s, c=%d, over %s", r.stack, peerConnections, r.name)
	if none := lacking("go", "taskset"); none != "" {
		return []Row{missing(figure, limit.String(), none+" is missing")}, nil
	}
	program, err := b.buildPeers(ctx)
	if err != nil {
		return nil, err
	}
	server, end, err := b.program(ctx, nil, r.stack, "serve")
	if err != nil {
		return nil, err
	}
	defer end()
	message := stack.Message{Seed: 1, N: 16}
	served, err := (&stack.Session{Server: server}).StartServer(ctx, stack.Serve{Service: "monitor", Encoding: "protobuf",
		Security: "none", Transport: r.transport, Host: "127.0.0.1", Message: message, Limits: stack.Limits{Body: 1 << 20}})
	if err != nil {
		return nil, err
	}
	var m service.Message
	service.Make(service.Monitor, message.Seed, message.N, service.Width{}, &m)
	body := codec.Append(codec.Protobuf, nil, service.Monitor, false, &m)
	cpu := 0
	if q := kernel.AllowedCPUs(); len(q) > 0 {
		cpu = q[0]
	}
	job := drive.Job{Spec: r.spec, Body: body, Duration: peerSpan, WarmUp: 1000}
	job.URL, job.Concurrency = served.URL, peerConnections
	var ours, theirs, system []float64 // of the last: µs of system calls in a request of ours
	answer := int64(0)
	for range peerRounds {
		result, err := drive.Exec(ctx, []string{b.Exe, "drive"}, job, cpu, func(x measure.Exchange) error {
			if answer = x.In; x.Failure != "" {
				return fmt.Errorf("request %d: %s", x.Seq, x.Failure)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		ours = append(ours, float64(result.Exchanges)/result.Quality.CPU.Seconds())
		system = append(system, 1e6*result.Quality.System.Seconds()/float64(result.Exchanges))
		rate, err := askPeers(ctx, cpu, program, r.verb, served.URL, body, answer)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		theirs = append(theirs, rate)
	}
	bare := make([]float64, len(system))
	for i := range bare {
		bare[i] = 1e6 / system[i]
	}
	return driveTable([]drivebench.Measurement{{What: figure, Ours: ours, Theirs: theirs, Limit: limit.String()},
		{What: "the same, if a client made our system calls and did nothing else", Ours: bare, Theirs: theirs}}, limit,
		fmt.Sprintf("%d alternating runs of %v to one server of the reference stack, a monitor's record in protobuf, %d "+
			"connections with one request each, clients on one CPU; medians %.0f and %.0f per second; %.2f µs of CPU a "+
			"request of ours, %.2f of them in system calls, and %.2f of %s; ratio of medians", peerRounds, peerSpan,
			peerConnections, stat.Middle(ours), stat.Middle(theirs), 1e6/stat.Middle(ours), stat.Middle(system),
			1e6/stat.Middle(theirs), r.name)), nil
}

// askPeers is one run of the peers' program: requests per second of its CPU.
func askPeers(ctx context.Context, cpu int, program, verb, url string, body []byte, answer int64) (float64, error) {
	out, err := exec.CommandContext(ctx, "taskset", "-c", strconv.Itoa(cpu), program, verb, url,
		strconv.Itoa(peerConnections), peerSpan.String(), hex.EncodeToString(body), strconv.FormatInt(answer, 10)).Output()
	if err != nil {
		if e, ok := err.(*exec.ExitError); ok {
			err = fmt.Errorf("%w: %s", err, e.Stderr)
		}
		return 0, err
	}
	var requests, used, wall, system float64
	if _, err := fmt.Sscan(string(out), &requests, &used, &wall, &system); err != nil || used <= 0 {
		return 0, fmt.Errorf("it printed %q", out)
	}
	return requests / used, nil
}

// flightRows compare what a request costs the driver where a thousand are under way on one
// connection with what it costs where there is one.
func flightRows(ctx context.Context, b *Bench) ([]Row, error) {
	limit := bound{atMost: true, value: 1.10}
	const figure = "client CPU per request, 1,000 in flight on a connection, over 1"
	server, end, err := b.program(ctx, nil, "http2", "serve")
	if err != nil {
		return nil, err
	}
	defer end()
	message := stack.Message{Seed: 1, N: 16}
	served, err := (&stack.Session{Server: server}).StartServer(ctx, stack.Serve{Service: "monitor", Encoding: "protobuf",
		Security: "none", Transport: "http2", Host: "127.0.0.1", Message: message, Limits: stack.Limits{Body: 1 << 20}})
	if err != nil {
		return nil, err
	}
	var m service.Message
	service.Make(service.Monitor, message.Seed, message.N, service.Width{}, &m)
	var cost [2][]float64 // s: of many, of one
	for range peerRounds {
		for i, n := range []int{1000, 1} {
			job := drive.Job{Spec: drive.Spec{URL: served.URL, Protocol: drive.HTTP2, Connection: drive.Multiplexed,
				Concurrency: n, ContentType: codec.Protobuf.MediaType(service.Monitor, false)},
				Body: codec.Append(codec.Protobuf, nil, service.Monitor, false, &m), Requests: 20_000, WarmUp: 2000}
			r, err := drive.Exec(ctx, []string{b.Exe, "drive"}, job, -1, func(x measure.Exchange) error {
				if x.Failure != "" {
					return fmt.Errorf("request %d: %s", x.Seq, x.Failure)
				}
				return nil
			})
			if err != nil {
				return nil, fmt.Errorf("%d in flight: %w", n, err)
			}
			cost[i] = append(cost[i], (r.Quality.CPU-r.Quality.Spin).Seconds()/float64(r.Exchanges))
		}
	}
	figures := []drivebench.Measurement{{What: figure, Ours: cost[0], Theirs: cost[1], Limit: limit.String()}}
	return driveTable(figures, limit, fmt.Sprintf("%d alternating runs of 20,000 requests, HTTP/2 to the reference; "+
		"%.2f and %.2f µs; ratio of medians", peerRounds, 1e6*stat.Middle(cost[0]), 1e6*stat.Middle(cost[1]))), nil
}
