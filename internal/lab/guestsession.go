package lab

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

// A job is a trial for a device that conducts it alone, out of everybody's reach.
type job struct {
	Seed   uint64        `json:"seed"`
	Argv   [2][]string   `json:"argv"` // client, server
	Dir    [2]string     `json:"dir"`
	Env    [2][]string   `json:"env"`
	Serve  stack.Serve   `json:"serve"`
	Call   stack.Call    `json:"call"` // the URL is the server's answer
	WarmUp *stack.Run    `json:"warm_up"`
	Run    stack.Run     `json:"run"`
	Ready  time.Duration `json:"ready"` // within which a program says that it is, on the device's clock; 0: no limit
	Limit  time.Duration `json:"limit"` // of the whole trial, on the device's clock; 0: none
	Keeps  bool          `json:"keeps"` // the client is to keep its connections, so they are counted
}

// An outcome is what the device says of the trial, before both sides' records.
type outcome struct {
	Served  stack.Ready        `json:"served"`
	Called  stack.Ready        `json:"called"`
	WarmUp  stack.WarmUp       `json:"warm_up"` // on the device's clock
	Phases  stack.Phases       `json:"phases"`
	Usage   [2][2]device.Usage `json:"usage"`
	Elapsed time.Duration      `json:"elapsed"` // from the recorded run's begin until the server had reported
	Failed  string             `json:"failed"`  // why there are no records
	Logs    [2]string          `json:"logs"`
	// Connections are how many a client that is to keep them had, at least; 0: nobody knows
	Connections int `json:"connections"`
}

// Conduct conducts a job on the device it runs on, and returns what the lab
// reads there: an outcome on the first line, then the client's and the server's
// records in the stack protocol. Exe is this binary.
func Conduct(ctx context.Context, text []byte, exe string) ([]byte, error) {
	var j job
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

// conducted is a job at work.
type conducted struct {
	job     job
	dir     string
	out     outcome
	records [2]bytes.Buffer
	process [2]process
	census  census
}

func (c *conducted) log(verb string) string { return c.dir + "/" + verb + ".log" }

func (c *conducted) conduct(ctx context.Context, exe string) error {
	if c.job.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.job.Limit,
			fmt.Errorf("the trial took longer than %s (timeouts.trial)", study.DurationText(c.job.Limit)))
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
	s := c.session(conn)
	err := c.converse(ctx, s)
	c.out.Phases = s.Phases
	return err
}

func (c *conducted) session(conn [2]*stack.Conn) *stack.Session {
	return &stack.Session{Server: conn[atServer], Client: conn[atClient], ReadyWithin: c.job.Ready}
}

// converse is the session, without its end: the machine ends with everything in it.
func (c *conducted) converse(ctx context.Context, s *stack.Session) (err error) {
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
	c.countConnections(whenWarm)
	if err := c.readUsage(0); err != nil {
		return err
	}
	s.RunEnded = func() error {
		err := c.readUsage(1)
		c.countConnections(afterRun)
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
	server, ok := serverOf(c.out.Served.URL)
	if !c.job.Keeps || !ok {
		return
	}
	c.census.take(when, c.process[atServer], server)
	if when == afterRun {
		c.out.Connections = c.census.had()
	}
}

// written is a stack.Sink that writes the records as their program did.
type written struct {
	to *bytes.Buffer
	n  int
}

func (w *written) Record(x measure.Exchange) error {
	w.n++
	w.to.Write(stack.AppendExchange(w.to.AvailableBuffer(), x))
	return nil
}

func (w *written) End(e stack.End) error {
	_, err := fmt.Fprintf(w.to, "{\"type\":\"end\",\"count\":%d,\"cpu\":%d,\"repetitions\":%d,"+
		"\"retransmissions\":%d,\"reconnects\":%d,\"unsure_answers\":%d}\n",
		w.n, e.CPU, e.Repetitions, e.Retransmissions, e.Reconnects, e.Unsure)
	return err
}
