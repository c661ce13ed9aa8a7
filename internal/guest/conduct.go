package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// A Job is a trial for a machine that conducts it alone, out of everybody's reach. Of two, the first is the client's.
type Job struct {
	Seed   uint64        `json:"seed"`    // of the trial
	Argv   [2][]string   `json:"argv"`    // each side's program
	Dir    [2]string     `json:"dir"`     // it runs in
	Env    [2][]string   `json:"env"`     // it gets besides
	Serve  stack.Serve   `json:"serve"`   // to the server
	Call   stack.Call    `json:"call"`    // to the client; the URL is the server's answer
	WarmUp *stack.Run    `json:"warm_up"` // nil: none
	Run    stack.Run     `json:"run"`     // that is recorded
	Ready  time.Duration `json:"ready"`   // within which a program says that it is, on the machine's clock; 0: no limit
	Limit  time.Duration `json:"limit"`   // of the whole trial, on the machine's clock; 0: none
	Keeps  bool          `json:"keeps"`   // the client is to keep its connections, so they are counted
}

// An Outcome is what the machine says of the trial, before both sides' records. Of two, the first is the client's.
type Outcome struct {
	Served  stack.Ready        `json:"served"`  // the server's answer
	Called  stack.Ready        `json:"called"`  // the client's answer
	WarmUp  stack.WarmUp       `json:"warm_up"` // on the machine's clock
	Phases  stack.Phases       `json:"phases"`  // likewise
	Usage   [2][2]device.Usage `json:"usage"`   // of each side, before and after the recorded run
	Elapsed time.Duration      `json:"elapsed"` // from the recorded run's begin until the server had reported
	Failed  string             `json:"failed"`  // why there are no records
	Logs    [2]string          `json:"logs"`    // the end of what each program wrote to stderr
	// Connections are how many a client that is to keep them had, at least; 0: nobody knows
	Connections int `json:"connections"`
}

// Indices of a pair.
const atClient, atServer = 0, 1

// Conduct conducts a job on the machine it runs on, and returns what the lab
// reads there: an outcome on the first line, then the client's and the server's
// records in the stack protocol. Exe is this binary.
func Conduct(ctx context.Context, text []byte, exe string) ([]byte, error) {
	var j Job
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, fmt.Errorf("the job: %w", err)
	}
	dir, err := os.MkdirTemp("", "trial-")
	if err != nil {
		return nil, err
	}
	c := &conducted{job: j, dir: dir}
	err = c.conduct(ctx, exe)
	if err != nil {
		c.out.Failed = err.Error()
	}
	for side, name := range []string{"call", "serve"} {
		log, _ := os.ReadFile(c.log(name))
		const most = 1 << 16
		c.out.Logs[side] = string(log[max(0, len(log)-most):])
	}
	head, err := json.Marshal(c.out)
	if err != nil {
		return nil, err
	}
	return append(append(append(head, '\n'), c.records[atClient].Bytes()...), c.records[atServer].Bytes()...), nil
}

// A Process is one side's program in the machine.
type Process interface {
	stack.Witness
	Usage() (device.Usage, error)
}

// conducted is a job at work.
type conducted struct {
	job     Job
	dir     string
	out     Outcome
	records [2]bytes.Buffer
	process [2]Process
	census  stack.Census
}

func (c *conducted) log(verb string) string { return c.dir + "/" + verb + ".log" }

func (c *conducted) conduct(ctx context.Context, exe string) error {
	if c.job.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.job.Limit, study.TooLong(c.job.Limit))
		defer cancel()
	}
	on := device.Local{Exe: exe}
	var conn [2]*stack.Conn
	for _, side := range []int{atServer, atClient} {
		p, err := on.Start(ctx, device.Command{Argv: c.job.Argv[side], Dir: c.job.Dir[side],
			Env: c.job.Env[side],
			Log: c.log([]string{"call", "serve"}[side])})
		if err != nil {
			return err
		}
		defer p.Kill()
		c.process[side], conn[side] = p, stack.NewConn(p.Stdin, p.Stdout)
	}
	return c.converse(ctx, conn)
}

// Converse has two programs that were started do the job, the client first, and says what came of it.
func (j Job) Converse(ctx context.Context, conn [2]*stack.Conn, process [2]Process) (Outcome, error) {
	c := &conducted{job: j, process: process}
	err := c.converse(ctx, conn)
	return c.out, err
}

// converse is a session without its end: the machine ends with everything in it.
func (c *conducted) converse(ctx context.Context, conn [2]*stack.Conn) (err error) {
	s := &stack.Session{Server: conn[atServer], Client: conn[atClient], ReadyWithin: c.job.Ready}
	defer func() { c.out.Phases = s.Phases }()
	c.job.Serve.Directory = c.dir
	if c.out.Served, err = s.StartServer(ctx, c.job.Serve); err != nil {
		return err
	}
	c.job.Call.URL = c.out.Served.URL
	if c.out.Called, err = s.StartClient(ctx, c.job.Call); err != nil {
		return err
	}
	if c.job.WarmUp != nil {
		if c.out.WarmUp, err = s.WarmUp(ctx, *c.job.WarmUp); err != nil {
			return err
		}
	}
	c.countConnections(stack.WhenWarm)
	if err := c.readUsage(0); err != nil {
		return err
	}
	s.RunEnded = func() error {
		err := c.readUsage(1)
		c.countConnections(stack.AfterRun)
		return err
	}
	span, err := s.Measure(ctx, c.job.Run, &written{to: &c.records[atClient]}, &written{to: &c.records[atServer]})
	c.out.Elapsed = time.Since(span.Began)
	return err
}

func (c *conducted) readUsage(when int) error {
	for side, p := range c.process {
		var err error
		if c.out.Usage[side][when], err = p.Usage(); err != nil {
			return err
		}
	}
	return nil
}

// countConnections asks the machine's kernel, which knows both ends.
func (c *conducted) countConnections(when int) {
	server, ok := stack.ServerOf(c.out.Served.URL)
	if !c.job.Keeps || !ok {
		return
	}
	c.census.Take(when, c.process[atServer], server)
	if when == stack.AfterRun {
		c.out.Connections = c.census.Had()
	}
}

// written is a stack.Sink that writes the records as their program did.
type written struct {
	to *bytes.Buffer
	n  int
}

// Record adds a line.
func (w *written) Record(x measure.Exchange) error {
	w.n++
	w.to.Write(stack.AppendExchange(w.to.AvailableBuffer(), x))
	return nil
}

// End adds the last line.
func (w *written) End(e stack.End) error {
	_, err := fmt.Fprintf(w.to, "{\"type\":\"end\",\"count\":%d,\"cpu\":%d,\"repetitions\":%d,"+
		"\"retransmissions\":%d,\"reconnects\":%d,\"surplus_answers\":%d,\"unsure_answers\":%d}\n",
		w.n, e.CPU, e.Repetitions, e.Retransmissions, e.Reconnects, e.Surplus, e.Unsure)
	return err
}
