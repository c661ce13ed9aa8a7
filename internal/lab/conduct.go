package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"edgegauge/internal/device"
	"edgegauge/internal/measure"
	"edgegauge/internal/stack"
)

// A job is a trial for a device that conducts it alone, out of everybody's reach.
type job struct {
	Seed   uint64      `json:"seed"`
	Argv   [2][]string `json:"argv"` // client, server
	Dir    [2]string   `json:"dir"`
	Env    [2][]string `json:"env"`
	Serve  stack.Serve `json:"serve"`
	Call   stack.Call  `json:"call"` // the URL is the server's answer
	WarmUp *stack.Run  `json:"warm_up"`
	Run    stack.Run   `json:"run"`
}

// An outcome is what the device says of the trial, before both sides' records.
type outcome struct {
	Served stack.Ready        `json:"served"`
	Called stack.Ready        `json:"called"`
	Warmed int                `json:"warmed"`
	Phases stack.Phases       `json:"phases"`
	Usage  [2][2]device.Usage `json:"usage"`
	Failed string             `json:"failed"` // why there are no records
	Logs   [2]string          `json:"logs"`
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
	process [2]*device.Process
	conn    [2]*stack.Conn
}

func (c *conducted) log(verb string) string { return c.dir + "/" + verb + ".log" }

func (c *conducted) conduct(ctx context.Context, exe string) error {
	on := device.Local{Exe: exe}
	for _, side := range []int{atServer, atClient} {
		var err error
		if c.process[side], err = on.Start(ctx, device.Command{Argv: c.job.Argv[side], Dir: c.job.Dir[side], Env: c.job.Env[side], Log: c.log([]string{"call", "serve"}[side])}); err != nil {
			return err
		}
		defer c.process[side].Kill()
		c.conn[side] = stack.NewConn(c.process[side].Stdin, c.process[side].Stdout)
	}
	c.job.Serve.Directory = c.dir
	var err error
	if c.out.Served, err = c.conn[atServer].Serve(ctx, c.job.Serve); err != nil {
		return fmt.Errorf(`the server did not say "ready": %w`, err)
	}
	c.job.Call.URL = c.out.Served.URL
	if c.out.Called, err = c.conn[atClient].Call(ctx, c.job.Call); err != nil {
		return fmt.Errorf(`the client did not say "ready": %w`, err)
	}
	c.out.Phases = c.out.Called.Phases
	if err := c.warmUp(ctx); err != nil {
		return err
	}
	return c.measure(ctx)
}

func (c *conducted) warmUp(ctx context.Context) error {
	if c.job.WarmUp == nil {
		return nil
	}
	end, err := c.conn[atClient].Run(ctx, *c.job.WarmUp, nil)
	if err != nil {
		return fmt.Errorf("the client did not end its warm-up: %w", err)
	}
	c.out.Warmed, c.out.Phases = end.Count, c.out.Phases.Or(end.Phases)
	if _, err := c.conn[atServer].Report(ctx, true, nil); err != nil {
		return fmt.Errorf("the server did not report on the warm-up: %w", err)
	}
	return nil
}

func (c *conducted) measure(ctx context.Context) error {
	if err := c.readUsage(0); err != nil {
		return err
	}
	after := func() error { return c.readUsage(1) }
	if err := c.keep(atClient, after, func(emit func(measure.Exchange)) (stack.End, error) {
		return c.conn[atClient].Run(ctx, c.job.Run, emit)
	}); err != nil {
		return fmt.Errorf("the client did not end its run: %w", err)
	}
	if err := c.keep(atServer, nil, func(emit func(measure.Exchange)) (stack.End, error) {
		return c.conn[atServer].Report(ctx, false, emit)
	}); err != nil {
		return fmt.Errorf("the server did not report on the run: %w", err)
	}
	return nil
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

// keep writes one side's records as its program did; first is done as soon as
// the first has come.
func (c *conducted) keep(side int, first func() error, fetch func(func(measure.Exchange)) (stack.End, error)) error {
	b := &c.records[side]
	n := 0
	var early error
	end, err := fetch(func(x measure.Exchange) {
		if n == 0 && first != nil {
			early = first()
		}
		n++
		b.Write(stack.AppendExchange(b.AvailableBuffer(), x))
	})
	if err != nil {
		return err
	}
	c.out.Phases = c.out.Phases.Or(end.Phases)
	fmt.Fprintf(b, "{\"type\":\"end\",\"count\":%d,\"cpu\":%d}\n", n, end.CPU)
	return early
}
