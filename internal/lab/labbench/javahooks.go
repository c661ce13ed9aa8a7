package labbench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"edgegauge/internal/measure"
	"edgegauge/internal/stack"
)

// hooks are ratios of requests a second, with hooks over without, one for each
// pair of JVMs: each compiles in its own way, so a pair, not a turn, is a repeat.
func (j java) hooks(ctx context.Context) ([]float64, error) {
	const pairs = 6
	var ratios []float64
	for range pairs {
		r, err := j.pair(ctx)
		if err != nil {
			return nil, err
		}
		ratios = append(ratios, r)
	}
	return ratios, nil
}

// pair starts a server with hooks and one without, and lets them take turns.
func (j java) pair(ctx context.Context) (float64, error) {
	const warmup, turns, requests = 8000, 6, 1000
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var clients [2]*stack.Conn // with, without
	for i, hooks := range []string{"on", "off"} {
		ready, end, err := j.serve(ctx, map[string]string{"hooks": hooks})
		if err != nil {
			return 0, err
		}
		defer end()
		client, endClient, err := j.program(ctx, j.client, "call")
		if err != nil {
			return 0, err
		}
		defer endClient()
		if _, err := client.Call(ctx, stack.Call{URL: ready.URL, Service: "monitor", Encoding: j.encoding, Security: "none", Transport: "http",
			Message: stack.Message{Seed: 1}, Connection: "keep-alive", Timeout: int64(30 * time.Second), Limits: stack.Limits{Body: 1 << 20}}); err != nil {
			return 0, err
		}
		if _, err := timed(ctx, client, warmup); err != nil {
			return 0, fmt.Errorf("hooks %s: %w", hooks, err)
		}
		clients[i] = client
	}
	if err := right(ctx, clients[:]); err != nil {
		return 0, err
	}
	var took [2][]float64
	for turn := range turns {
		for i := range clients {
			i = (i + turn) % 2
			d, err := timed(ctx, clients[i], requests)
			if err != nil {
				return 0, err
			}
			took[i] = append(took[i], d.Seconds())
		}
	}
	if err := right(ctx, clients[:]); err != nil {
		return 0, err
	}
	return middle(took[1]) / middle(took[0]), nil
}

// right tells whether answers are, which the turns, kept free of records, do not.
func right(ctx context.Context, clients []*stack.Conn) error {
	for _, c := range clients {
		var failure string
		_, err := c.Run(ctx, stack.Run{Requests: 100, Concurrency: 1, Record: true}, func(x measure.Exchange) {
			if x.Failure != "" {
				failure = x.Failure
			}
		})
		if err != nil {
			return err
		}
		if failure != "" {
			return fmt.Errorf("a request failed: %s", failure)
		}
	}
	return nil
}

// timed has a client send requests.
func timed(ctx context.Context, c *stack.Conn, requests int) (time.Duration, error) {
	began := time.Now()
	_, err := c.Run(ctx, stack.Run{Requests: requests, Concurrency: 1}, nil)
	return time.Since(began), err
}

// starts are ratios of the time from exec to ready, the adapter's over the bare
// program's, one for each pair of starts.
func (j java) starts(ctx context.Context) ([]float64, error) {
	const pairs = 6
	classes := filepath.Join(j.Dir, "bare-"+j.stack)
	if _, err := j.run(ctx, filepath.Join("..", "java-test", "bare", "build.sh"), j.stack, classes); err != nil {
		return nil, err
	}
	var ratios []float64
	for i := -1; i < pairs; i++ { // the first pair brings the jars into memory
		var took [2]time.Duration
		for k := range took {
			k = (k + i + 2) % 2
			begin := []func(context.Context) (time.Duration, error){j.adapter, func(ctx context.Context) (time.Duration, error) { return j.bare(ctx, classes) }}[k]
			var err error
			if took[k], err = begin(ctx); err != nil {
				return nil, err
			}
		}
		if i >= 0 {
			ratios = append(ratios, took[0].Seconds()/took[1].Seconds())
		}
	}
	return ratios, nil
}

func (j java) adapter(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	_, end, err := j.serve(ctx, nil)
	took := time.Since(began)
	if err == nil {
		end()
	}
	return took, err
}

func (j java) bare(ctx context.Context, classes string) (time.Duration, error) {
	folder, err := os.MkdirTemp(j.Dir, "bare-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	began := time.Now()
	_, out, end, err := start(ctx, j.dir, instead(j.argv, classes, "Bare", folder)...)
	if err != nil {
		return 0, err
	}
	defer end()
	line, err := bufio.NewReader(out).ReadString('\n')
	if !strings.HasPrefix(line, "http") {
		return 0, fmt.Errorf("the bare program said %q: %w", line, err)
	}
	return time.Since(began), nil
}
