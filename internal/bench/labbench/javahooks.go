package labbench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stat"
)

// ratios are of pairs of alternating runs, by the wall clock and by the
// processor's.
type ratios struct{ wall, cpu []float64 }

func (r *ratios) add(p [2]float64) { r.wall, r.cpu = append(r.wall, p[0]), append(r.cpu, p[1]) }

// Each JVM compiles in its own way, so a pair of them is one replication, its turns
// are not. How they compile differs by a fifth after 30,000 requests and by some
// percent after 100,000, hence the long warm-up, by turns, so that none is measured
// earlier in its life than the other. Four connections keep the server at work,
// where one would be timing how a sleeping thread is woken.
const hookPairs, hookWarmUps, hookWarmUp, hookBlocks, hookRequests, hookConnections = 6, 16, 8000, 3, 4000, 4

// hooks are ratios of requests a second, with hooks over without, a pair each.
func (j java) hooks(ctx context.Context) (ratios, error) {
	var all ratios
	for pair := range hookPairs {
		one, err := j.pair(ctx, pair)
		if err != nil {
			return all, err
		}
		all.add(one)
	}
	return all, nil
}

// A served is a server under our client.
type served struct {
	server  *child
	session *stack.Session
}

// pair starts a server with hooks and one without, and lets them take turns; it
// returns the medians of the blocks' ratios, by the wall clock and by the server's
// CPU time. A block is two turns of each, the outer two the one's, the inner two
// the other's; which is which alternates from pair to pair.
func (j java) pair(ctx context.Context, number int) ([2]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var both [2]served // with, without
	for i := range both {
		i = (i + number) % 2
		hooks := []string{"on", "off"}[i]
		s, end, err := j.served(ctx, hooks)
		if err != nil {
			return [2]float64{}, fmt.Errorf("hooks %s: %w", hooks, err)
		}
		defer end()
		both[i] = s
	}
	for range hookWarmUps {
		for i := range both {
			if _, _, err := both[i].turn(ctx, hookWarmUp); err != nil {
				return [2]float64{}, err
			}
		}
	}
	var walls, cpus []float64
	for range hookBlocks {
		var wall, cpu [2]time.Duration
		for _, i := range [...]int{number % 2, 1 - number%2, 1 - number%2, number % 2} {
			w, c, err := both[i].turn(ctx, hookRequests)
			if err != nil {
				return [2]float64{}, err
			}
			wall[i] += w
			cpu[i] += c
		}
		walls, cpus = append(walls, wall[1].Seconds()/wall[0].Seconds()), append(cpus, cpu[1].Seconds()/cpu[0].Seconds())
	}
	for i := range both {
		if err := both[i].right(ctx); err != nil {
			return [2]float64{}, err
		}
	}
	return [2]float64{stat.Middle(walls), stat.Middle(cpus)}, nil
}

// served starts a server, and a client of ours that calls it.
func (j java) served(ctx context.Context, hooks string) (served, func(), error) {
	server, ready, err := j.serve(ctx, map[string]string{"hooks": hooks})
	if err != nil {
		return served{}, nil, err
	}
	client, endClient, err := j.program(ctx, nil, j.client, "call")
	if err != nil {
		server.end()
		return served{}, nil, err
	}
	end := func() { endClient(); server.end() }
	session := server.session
	session.Client = client
	if _, err := session.StartClient(ctx, stack.Call{URL: ready.URL, Service: "monitor", Encoding: j.encoding,
		Security: "none", Transport: "http",
		Message: stack.Message{Seed: 1}, Connection: "keep-alive", Concurrency: hookConnections,
		Timeout: int64(30 * time.Second),
		Limits:  stack.Limits{Body: 1 << 20}}); err != nil {
		end()
		return served{}, nil, err
	}
	return served{server: server, session: session}, end, nil
}

// turn has the client send requests, of which nothing is kept but how long they
// took, and what they took of the server's threads.
func (s *served) turn(ctx context.Context, requests int) (wall, cpu time.Duration, err error) {
	before, err := s.server.workCPU()
	if err != nil {
		return 0, 0, err
	}
	var after time.Duration
	s.session.RunEnded = func() (err error) { after, err = s.server.workCPU(); return err }
	warmUp, err := s.session.WarmUp(ctx, stack.Run{Requests: requests, Concurrency: hookConnections})
	return warmUp.Length(), after - before, err
}

// right tells whether answers are, which a turn does not.
func (s *served) right(ctx context.Context) error {
	s.session.RunEnded = nil
	var client, server failures
	_, err := s.session.Measure(ctx, stack.Run{Requests: 100, Concurrency: 1}, &client, &server)
	if err == nil && client.last != "" {
		err = fmt.Errorf("a request failed: %s", client.last)
	}
	return err
}

// failures is a stack.Sink that keeps the last failure.
type failures struct{ last string }

func (f *failures) Record(x measure.Exchange) error {
	if x.Failure != "" {
		f.last = x.Failure
	}
	return nil
}

func (f *failures) End(stack.End) error { return nil }

// starts are ratios of the time from exec to ready, the adapter's over the bare
// program's, one for each pair of starts.
func (j java) starts(ctx context.Context) (ratios, error) {
	const pairs = 6
	var all ratios
	classes := filepath.Join(j.Dir, "bare-"+j.stack)
	if _, err := j.run(ctx, filepath.Join("..", "java-test", "bare", "build.sh"), j.stack, classes); err != nil {
		return all, err
	}
	begin := [2]func() (wall, cpu time.Duration, err error){
		func() (wall, cpu time.Duration, err error) { return j.adapter(ctx) },
		func() (wall, cpu time.Duration, err error) { return j.bare(ctx, classes) },
	}
	for i := range pairs + 1 { // the first pair brings the jars into memory
		var wall, cpu [2]time.Duration
		for k := range begin {
			k = (k + i) % 2
			var err error
			if wall[k], cpu[k], err = begin[k](); err != nil {
				return all, err
			}
		}
		if i > 0 {
			all.add([2]float64{wall[0].Seconds() / wall[1].Seconds(), cpu[0].Seconds() / cpu[1].Seconds()})
		}
	}
	return all, nil
}

func (j java) adapter(ctx context.Context) (wall, cpu time.Duration, err error) {
	began := time.Now()
	c, _, err := j.serve(ctx, nil)
	wall = time.Since(began)
	if err != nil {
		return 0, 0, err
	}
	defer c.end()
	cpu, err = c.cpu()
	return wall, cpu, err
}

func (j java) bare(ctx context.Context, classes string) (wall, cpu time.Duration, err error) {
	folder, err := os.MkdirTemp(j.Dir, "bare-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(folder)
	began := time.Now()
	c, err := start(ctx, kernel.Placement{}, j.dir, instead(j.argv, classes, "Bare", folder)...)
	if err != nil {
		return 0, 0, err
	}
	defer c.end()
	line, err := bufio.NewReader(c.out).ReadString('\n')
	wall = time.Since(began)
	if !strings.HasPrefix(line, "http") {
		return 0, 0, fmt.Errorf("the bare program printed %q: %w", line, err)
	}
	cpu, err = c.cpu()
	return wall, cpu, err
}

// workCPU is the processor time of a JVM's threads but for its compilers', whose
// work is done when it is done, not by the request.
func (c *child) workCPU() (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", c.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, task := range tasks {
		name, _ := os.ReadFile(filepath.Join(task, "comm"))
		if strings.HasPrefix(string(name), "C1 ") || strings.HasPrefix(string(name), "C2 ") {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join(task, "schedstat")) // proc(5): ns on a CPU, first
		first, _, _ := strings.Cut(string(stat), " ")
		ns, _ := strconv.ParseInt(first, 10, 64) // 0: it has just ended
		sum += time.Duration(ns)
	}
	if sum == 0 {
		return 0, fmt.Errorf("no CPU time of process %d in /proc", c.cmd.Process.Pid)
	}
	return sum, nil
}
