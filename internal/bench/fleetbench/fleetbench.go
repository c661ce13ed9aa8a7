// Package fleetbench measures what a fleet promises: a hub with many benches, and what it
// adds to a block that one of them measures.
package fleetbench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/fleet/wire"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/store"
)

// Many is how many benches the table has.
const Many = 1000

// hubName is the message server's program, beside edgegauge's.
const hubName = "edgegauge-hub"

// Parts are what edgegauge bench can measure here.
func Parts() []labbench.Part {
	return []labbench.Part{{Name: "fleet", Says: "a hub with 1,000 benches, and what sharing adds to a block",
		Measure: rows}}
}

func rows(ctx context.Context, b *labbench.Bench) ([]labbench.Row, error) {
	hub := filepath.Join(filepath.Dir(b.Exe), hubName)
	f, err := Crowd(ctx, hub, filepath.Join(b.Dir, "crowd"), Many)
	if err != nil {
		return nil, err
	}
	g, err := Gaps(ctx, b.Exe, filepath.Join(b.Dir, "gaps"), 3, 20)
	if err != nil {
		return nil, err
	}
	sizes, err := sizeRows(b.Exe, hub)
	return append(table(f, g), sizes...), err
}

// A Measurement is what a hub with many benches came to.
type Measurement struct {
	Benches int
	Written []time.Duration // from an order to its write being synced and acknowledged
	Reached []time.Duration // from an order to its bench; the longest last
	All     time.Duration   // for one order to each bench, the first of all
	Memory  int64           // B of the hub, resident, with what backs its program
	Stored  int64           // the same where each bench has large results, which the hub stores for a while
	Peak    int64
}

// Crowd starts a hub whose store is in dir, connects benches that beat as workers do, and
// gives each two orders, of which the second is timed. Then each has its bucket made.
func Crowd(ctx context.Context, hub, dir string, benches int) (f Measurement, err error) {
	f.Benches = benches
	c, err := startCrowd(ctx, hub, dir, benches)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	board, err := wire.OpenBoard(c.who)
	if err != nil {
		return f, err
	}
	defer board.Close()
	c.drain(board)
	began := time.Now()
	if _, _, err := c.give(ctx, board, 1); err != nil {
		return f, err
	}
	f.All = time.Since(began)
	if f.Written, f.Reached, err = c.give(ctx, board, 2); err != nil {
		return f, err
	}
	f.Memory = kernel.StatusBytes(c.hub.Process.Pid, "VmRSS")
	for _, end := range c.ends {
		if _, err := end.Room(ctx); err != nil {
			return f, err
		}
	}
	f.Stored, f.Peak = kernel.StatusBytes(c.hub.Process.Pid, "VmRSS"), kernel.StatusBytes(c.hub.Process.Pid, "VmHWM")
	return f, nil
}

// A crowd is a hub's process, and benches of this one.
type crowd struct {
	hub     *exec.Cmd
	in      io.Closer
	who     wire.Credentials // the coordinator's
	names   []string
	ends    []*wire.Bench
	stop    context.CancelFunc
	running sync.WaitGroup
	arrived chan arrival
}

type arrival struct {
	bench string
	block int
	at    time.Time
}

// startCrowd is to be ended, if it gives no error.
func startCrowd(ctx context.Context, program, dir string, benches int) (_ *crowd, err error) {
	c := &crowd{arrived: make(chan arrival, benches)}
	ctx, c.stop = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			c.end()
		}
	}()
	keys := admit.Keys{Benches: map[string]string{}}
	seeds := map[string]string{}
	for i := range benches {
		name := fmt.Sprintf("bench-%04d", i)
		if keys.Benches[name], seeds[name], err = admit.NewKey(); err != nil {
			return nil, err
		}
		c.names = append(c.names, name)
	}
	if keys.Coordinator, c.who.Seed, err = admit.NewKey(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(keys)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	file := filepath.Join(dir, "keys.json")
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return nil, err
	}
	if err := c.startHub(program, "-child", "-store", filepath.Join(dir, "store"), "-keys", file); err != nil {
		return nil, err
	}
	for _, name := range c.names {
		end, err := wire.OpenBench(wire.Credentials{URL: c.who.URL, Bench: name, Seed: seeds[name]})
		if err != nil {
			return nil, err
		}
		c.ends = append(c.ends, end)
		c.running.Go(func() { c.play(ctx, name, end) })
	}
	return c, nil
}

func (c *crowd) startHub(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return errors.Join(err, in.Close())
	}
	c.hub, c.in = cmd, in
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var said struct{ URL string }
	if err == nil {
		err = json.Unmarshal(line, &said)
	}
	c.who.URL = said.URL
	return err
}

// play is a bench that obeys at once, and beats.
func (c *crowd) play(ctx context.Context, name string, end *wire.Bench) {
	tick := time.NewTicker(fleet.Lease / 4)
	defer tick.Stop()
	last := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			end.Beat(ctx, fleet.Beat{Bench: name, Boot: name, Machine: name})
		case o := <-end.Orders():
			if o.Block != last { // an order is told again and again
				last = o.Block
				c.arrived <- arrival{name, o.Block, time.Now()}
			}
		}
	}
}

// drain takes the beats, as a coordinator does.
func (c *crowd) drain(board *wire.Board) {
	gone := make(chan struct{})
	c.running.Go(func() {
		for {
			select {
			case <-board.Alive():
			case <-gone:
				return
			}
		}
	})
	stop := c.stop
	c.stop = func() { close(gone); stop() }
}

// reachedWithin is how long all orders may take to arrive.
const reachedWithin = time.Minute

// give orders a block from each bench, one after the other, and waits for all to have it.
func (c *crowd) give(ctx context.Context, board *wire.Board, block int) (written, reached []time.Duration, err error) {
	began := map[string]time.Time{}
	for _, name := range c.names {
		began[name] = time.Now()
		o := fleet.Order{Task: fleet.Task{Run: "r", Block: block, Attempt: 1}, Boot: name, Plan: make([]byte, 300)}
		if err := board.Assign(ctx, name, o); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		written = append(written, time.Since(began[name]))
	}
	late := time.After(reachedWithin)
	for len(reached) < len(c.names) {
		select {
		case a := <-c.arrived:
			if a.block == block {
				reached = append(reached, a.at.Sub(began[a.bench]))
			}
		case <-late:
			return nil, nil, fmt.Errorf("%d of %d orders arrived within %v", len(reached), len(c.names), reachedWithin)
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	slices.Sort(written)
	slices.Sort(reached)
	return written, reached, nil
}

func (c *crowd) end() error {
	c.stop()
	for _, end := range c.ends {
		end.Close()
	}
	c.running.Wait()
	if c.hub == nil {
		return nil
	}
	c.in.Close()
	return c.hub.Wait()
}

// A Gap is what lies between the blocks of a study: from the end of the last trial of one
// to the begin of the first of the next.
type Gap struct {
	Alone, Shared []time.Duration // sorted
	Block         time.Duration   // median, alone
	Blocks        int             // that were to be measured, of each
	Overhead      time.Duration   // median of shared less that of alone
}

// gapStudy has a block of two short trials: what lies between blocks does not depend on
// how long they are.
const gapStudy = `study: gaps
service: monitor
factors:
  stack: [phantom, reference/rest-json]
min_duration: 200ms
responses: [rtt]
retries: 5
design: {replications: %d, warmup: 5}
`

// Gaps runs a study alone and with one bench of this machine, in turn, so many rounds.
func Gaps(ctx context.Context, exe, dir string, rounds, blocks int) (g Gap, err error) {
	g.Blocks = rounds * (blocks - 1)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return g, err
	}
	text := fmt.Sprintf(gapStudy, blocks)
	if err := os.WriteFile(filepath.Join(dir, "gaps.yaml"), []byte(text), 0o644); err != nil {
		return g, err
	}
	var lengths []time.Duration
	for round := range rounds {
		for _, shared := range []bool{false, true} {
			out := fmt.Sprintf("%d-%t", round, shared)
			args := []string{"run", "gaps.yaml", "--out", out, "--quiet"}
			if shared {
				args = append(args, "--benches", "1")
			}
			cmd := exec.CommandContext(ctx, exe, args...)
			cmd.Dir = dir
			if said, err := cmd.CombinedOutput(); err != nil {
				return g, fmt.Errorf("%w: %s", err, said)
			}
			between, long, err := between(filepath.Join(dir, out))
			if err != nil {
				return g, err
			}
			if shared {
				g.Shared = append(g.Shared, between...)
			} else {
				g.Alone, lengths = append(g.Alone, between...), append(lengths, long...)
			}
		}
	}
	slices.Sort(g.Alone)
	slices.Sort(g.Shared)
	slices.Sort(lengths)
	g.Block = quantile(lengths, 0.5)
	g.Overhead = quantile(g.Shared, 0.5) - quantile(g.Alone, 0.5)
	return g, nil
}

// between reads the times between the blocks of a results directory, and the blocks' lengths.
func between(dir string) (gaps, lengths []time.Duration, err error) {
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	trials, err := s.Trials()
	if err != nil {
		return nil, nil, err
	}
	attempts, err := s.Attempts(0)
	if err != nil {
		return nil, nil, err
	}
	block := map[int]int{}
	for _, t := range trials {
		block[t.ID] = t.Block
	}
	type span struct{ from, to time.Time }
	var all []span
	last := 0
	for _, a := range attempts { // in the order they began
		if b := block[a.Trial]; b != last {
			all, last = append(all, span{from: a.Began}), b
		}
		if end := &all[len(all)-1].to; a.Ended.After(*end) {
			*end = a.Ended
		}
	}
	for i, x := range all {
		lengths = append(lengths, x.to.Sub(x.from))
		if i > 0 {
			gaps = append(gaps, x.from.Sub(all[i-1].to))
		}
	}
	return gaps, lengths, nil
}

// quantile is the smallest of sorted values that share p of all do not exceed.
func quantile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}
