package populationbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/stack"
)

// A StreamCase is devices that keep connections, and how long they run.
type StreamCase struct {
	Stack     string // such as reference/mqtt
	Transport string
	Encoding  string
	Devices   int
	Servers   int // processes
	Shards    int // processes of the driver; 0: as many as it needs
	Ramp      float64
	Period    time.Duration
	For       time.Duration
	QoS       string // empty: not said
}

// streamRows are what is promised of devices with connections.
func streamRows(ctx context.Context, b *labbench.Bench) ([]labbench.Row, error) {
	mqtt, err := MeasureStreams(ctx, b.Exe, StreamCase{Stack: "reference/mqtt", Transport: "mqtt5", Encoding: "protobuf",
		Devices: 19_500, Servers: 1, Ramp: 500, Period: time.Minute, For: 100 * time.Second})
	if err != nil {
		return nil, err
	}
	many, err := MeasureStreams(ctx, b.Exe, StreamCase{Stack: "reference/floor-tcp", Transport: "tcp",
		Encoding: "protobuf", Devices: 100_000, Servers: 6, Ramp: 2000, Period: time.Minute, For: 110 * time.Second})
	if err != nil {
		return nil, err
	}
	return streamTable(mqtt, many), nil
}

func streamTable(mqtt, many Measurement) []labbench.Row {
	rows := []labbench.Row{
		promise("MQTT connections of one process at once", float64(mqtt.OpenMost), 19_500, false, "%.0f"),
		promise("B of the driver's memory for each", float64(mqtt.Anonymous)/float64(mqtt.Devices), 1000, true, "%.0f"),
		promise("TCP connections of six processes and more at once", float64(many.OpenMost), 100_000, false, "%.0f"),
		promise("B of the drivers' memory for each", float64(many.Anonymous)/float64(many.Devices), 1000, true, "%.0f"),
	}
	rows[0].How = "MQTT 5, QoS 0, one request a minute each to mochi's broker and a service in one process; ramp " +
		"included: " + mqtt.streamAccount()
	rows[2].How = "bare TCP, six servers, " + fmt.Sprint(many.Shards) + " driver processes, one request a minute each: " +
		many.streamAccount()
	return rows
}

func (f *Measurement) streamAccount() string {
	return fmt.Sprintf("%d requests, %d answered, %d failed, %d reports skipped; %d connections opened, %d failed, "+
		"%d broken; the server served %d; lateness p50 %v, p99 %v, max %v; %.2f s of the driver's CPU time in %.0f s; "+
		"%.0f MB resident with the program", f.Requests, f.Answered, f.Failed, f.Skipped, f.Connects, f.ConnectFailed,
		f.Broken, f.Served, f.LatenessP50, f.LatenessP99, f.LatenessMax, f.CPU.Seconds(), f.Elapsed.Seconds(),
		float64(f.Peak)/1e6)
}

// MeasureStreams runs a case. exe is this program, with its verb stack-program.
func MeasureStreams(ctx context.Context, exe string, c StreamCase) (f Measurement, err error) {
	const service = "monitor"
	message := stack.Message{Seed: 1, N: 16}
	limits := stack.Limits{Body: 1 << 20}
	options := map[string]string{}
	if c.QoS != "" {
		options["qos"] = c.QoS
	}
	spec := population.Spec{Devices: c.Devices, Phase: population.Random, Seed: 1, Ramp: c.Ramp, Shards: c.Shards,
		Classes: []population.Class{{Share: 1, Period: c.Period}}}
	var servers []*program
	var at string
	for range c.Servers {
		p, err := startStack(ctx, exe, c.Stack, "serve")
		if err != nil {
			return f, err
		}
		defer p.end()
		servers = append(servers, p)
		ready, err := p.conn.Serve(ctx, stack.Serve{Service: service, Encoding: c.Encoding, Security: "none",
			Transport: c.Transport, Host: "127.0.0.1", Limits: limits, Message: message, Options: options})
		if err != nil {
			return f, err
		}
		u, err := url.Parse(ready.URL)
		if err != nil {
			return f, err
		}
		where, err := netip.ParseAddrPort(u.Host)
		if err != nil {
			return f, err
		}
		at = ready.URL
		spec.Servers = append(spec.Servers, where)
	}
	client, err := startStack(ctx, exe, c.Stack, "call")
	if err != nil {
		return f, err
	}
	defer client.end()
	call := stack.Call{URL: at, Service: service, Encoding: c.Encoding, Security: "none", Transport: c.Transport,
		Message: message, Connection: "keep-alive", Timeout: int64(20 * time.Second), Limits: limits, Options: options}
	if call.Population, err = json.Marshal(spec); err != nil {
		return f, err
	}
	if _, err = client.conn.Call(ctx, call); err != nil {
		return f, err
	}
	end, err := client.conn.Run(ctx, stack.Run{Duration: int64(c.For), Record: true, Concurrency: 1}, nil)
	if err != nil {
		return f, err
	}
	if err = json.Unmarshal([]byte(end.Population), &f.Account); err != nil {
		return f, err
	}
	for _, pid := range family(client.cmd.Process.Pid) {
		f.Anonymous += kernel.StatusBytes(pid, "RssAnon")
		f.Peak += kernel.StatusBytes(pid, "VmHWM")
	}
	for _, p := range servers {
		served, err := p.conn.Report(ctx, true, nil)
		if err != nil {
			return f, err
		}
		f.Served += served.Count
	}
	ending, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, p := range append(servers, client) { // a broker beside its server ends with it
		err = errors.Join(err, p.conn.End(ending))
	}
	return f, err
}

// family is a process and its children, of all its threads.
func family(pid int) []int {
	all := []int{pid}
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, thread := range threads {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name()))
		for _, word := range strings.Fields(string(b)) {
			var child int
			if _, err := fmt.Sscan(word, &child); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}
