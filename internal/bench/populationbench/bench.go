// Package populationbench measures what it costs to be many devices: the client of a
// reference stack, in a process of its own, against that stack's server in another.
package populationbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
)

// stackName is the stack whose client is the devices.
const stackName = "reference/coap-protobuf"

// A Case is a population and how long it runs.
type Case struct {
	Devices int
	Period  time.Duration
	For     time.Duration
	NON     bool
}

// A Measurement is what a Case came to.
type Measurement struct {
	population.Account
	Served    int   // requests that the server says it had
	Anonymous int64 // B of the client's memory at the end of the run that no file backs
	Peak      int64 // B, the most that was resident, program included
}

// Parts are what edgegauge bench can measure here.
func Parts() []labbench.Part {
	return []labbench.Part{{Name: "population", Says: "many CoAP devices in one process", Measure: rows},
		{Name: "streams", Says: "many devices with connections: MQTT in one process, TCP in several", Measure: streamRows}}
}

func rows(ctx context.Context, b *labbench.Bench) ([]labbench.Row, error) {
	many, err := Measure(ctx, b.Exe, Case{Devices: 100_000, Period: time.Minute, For: time.Minute})
	if err != nil {
		return nil, err
	}
	million, err := Measure(ctx, b.Exe, Case{Devices: 1_000_000, Period: time.Hour, For: time.Minute})
	if err != nil {
		return nil, err
	}
	quick, err := Measure(ctx, b.Exe, Case{Devices: 20_000, Period: time.Second, For: 10 * time.Second, NON: true})
	if err != nil {
		return nil, err
	}
	dense, err := Measure(ctx, b.Exe, Case{Devices: 80_000, Period: time.Second, For: 10 * time.Second, NON: true})
	if err != nil {
		return nil, err
	}
	return table(many, million, quick, dense), nil
}

// promise compares a figure with what is promised.
func promise(figure string, v, bound float64, atMost bool, format string) labbench.Row {
	sign, met := "≥", v >= bound
	if atMost {
		sign, met = "≤", v <= bound
	}
	r := labbench.Row{Figure: figure, Wanted: fmt.Sprintf("%s %.4g", sign, bound), Measured: fmt.Sprintf(format, v),
		Verdict: "not met"}
	if met {
		r.Verdict = "met"
	}
	return r
}

// table compares the figures with what is promised. At 20,000 requests a second, most go out alone; at 80,000, several
// are due by the time the driver is back from sending.
func table(many, million, quick, dense Measurement) []labbench.Row {
	share := func(f Measurement) float64 { return 100 * f.CPU.Seconds() / f.Elapsed.Seconds() }
	perCPU := func(f Measurement) float64 { return float64(f.Answered) / f.CPU.Seconds() }
	all := []labbench.Row{
		promise("MB of 100,000 devices, one request a minute each", float64(many.Anonymous)/1e6, 20, true, "%.1f"),
		promise("% of a core, the same", share(many), 10, true, "%.2f"),
		promise("MB of 1,000,000 devices, one request an hour each", float64(million.Anonymous)/1e6, 80, true, "%.1f"),
		promise("% of a core, the same", share(million), 10, true, "%.2f"),
		promise("exchanges per CPU second of the client, 20,000 a second", perCPU(quick), 60_000, false, "%.0f"),
		promise("exchanges per CPU second of the client, 80,000 a second", perCPU(dense), 60_000, false, "%.0f"),
		{Figure: "% of a core, the same", Measured: fmt.Sprintf("%.1f", share(dense))},
		{Figure: "µs that its requests are late, median and p99", Measured: fmt.Sprintf("%.0f and %.0f",
			float64(dense.LatenessP50)/1e3, float64(dense.LatenessP99)/1e3)},
	}
	all[0].How = "client and server of " + stackName + " in a process each, on any CPU; memory is the client's " +
		"at the end of the run, without what the program's file backs (RssAnon of /proc/PID/status); CPU time is " +
		"the client's, system calls included. Confirmable, 60 s: " + many.account()
	all[2].How = "likewise, 60 s: " + million.account()
	all[4].How = "non-confirmable, 10 s: " + quick.account()
	all[5].How = "likewise, 10 s: " + dense.account()
	return all
}

// account says what became of a case.
func (f *Measurement) account() string {
	return fmt.Sprintf("%d requests, %d answered, %d failed, %d reports skipped, %d messages sent again; "+
		"the server served %d; %d answers dropped; lateness p50 %v, p99 %v, max %v; %.0f MB resident with the program",
		f.Requests, f.Answered, f.Failed, f.Skipped, f.Retransmissions, f.Served, f.Dropped, f.LatenessP50,
		f.LatenessP99, f.LatenessMax, float64(f.Peak)/1e6)
}

// Measure runs a case. exe is this program, with its verb stack-program.
func Measure(ctx context.Context, exe string, c Case) (f Measurement, err error) {
	server, err := start(ctx, exe, "serve")
	if err != nil {
		return f, err
	}
	defer server.end()
	client, err := start(ctx, exe, "call")
	if err != nil {
		return f, err
	}
	defer client.end()
	s := stack.Session{Server: server.conn, Client: client.conn, ReadyWithin: time.Minute, EndWithin: 10 * time.Second,
		Sampled: true}
	const service, encoding = "monitor", "protobuf"
	message := stack.Message{Seed: 1, N: 16}
	limits := stack.Limits{Body: 1 << 20}
	ready, err := s.StartServer(ctx, stack.Serve{Service: service, Encoding: encoding, Security: "none", Transport: "coap",
		Host: "127.0.0.1", Limits: limits, Message: message})
	if err != nil {
		return f, err
	}
	spec := population.Spec{Devices: c.Devices, Phase: population.Random, Seed: 1,
		Classes: []population.Class{{Share: 1, Period: c.Period}}}
	call := stack.Call{URL: ready.URL, Service: service, Encoding: encoding, Security: "none", Transport: "coap",
		Message: message, Connection: "keep-alive", Timeout: int64(20 * time.Second), Limits: limits}
	if c.NON {
		call.Options = map[string]string{"confirmable": "off"}
	}
	if call.Population, err = json.Marshal(spec); err != nil {
		return f, err
	}
	if _, err = s.StartClient(ctx, call); err != nil {
		return f, err
	}
	s.RunEnded = func() error {
		pid := client.cmd.Process.Pid
		f.Anonymous, f.Peak = kernel.StatusBytes(pid, "RssAnon"), kernel.StatusBytes(pid, "VmHWM")
		return nil
	}
	var told, served sink
	if _, err = s.Measure(ctx, stack.Run{Duration: int64(c.For), Concurrency: 1}, &told, &served); err != nil {
		return f, err
	}
	f.Served = served.end.Count
	err = json.Unmarshal([]byte(told.end.Population), &f.Account)
	return f, errors.Join(err, s.End(ctx))
}

// A sink keeps nothing but the end.
type sink struct{ end stack.End }

func (*sink) Record(measure.Exchange) error { return nil }
func (s *sink) End(e stack.End) error       { s.end = e; return nil }

// A program is one side's process.
type program struct {
	cmd  *exec.Cmd
	in   io.Closer // its standard input: at its end the program ends, and all that it started
	conn *stack.Conn
}

func start(ctx context.Context, exe, verb string) (*program, error) {
	return startStack(ctx, exe, stackName, verb)
}

func startStack(ctx context.Context, exe, name, verb string) (*program, error) {
	cmd := exec.CommandContext(ctx, exe, stack.ProgramVerb, name, verb)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r, ok := out.(stack.DeadlineReader)
	if !ok {
		return nil, fmt.Errorf("a pipe of type %T has no deadline", out)
	}
	conn := stack.NewConn(in, r)
	conn.Devices = func(json.RawMessage) {} // how devices are; the end tells it, too
	return &program{cmd, in, conn}, cmd.Start()
}

// end ends the program in order, or kills it if it takes longer than 5 s. One that was
// killed could not stop what it has started, such as Mosquitto.
func (p *program) end() {
	if p.cmd.Process == nil {
		return
	}
	p.in.Close()
	late := time.AfterFunc(5*time.Second, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	p.cmd.Wait()
}
