//go:build !board

package reference

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
)

// Devices that keep connections are as many processes as their descriptors need: each is
// this program again, told which part of the devices it is.

// processes is how many processes a population is: as many as it says, or as it needs.
func processes(s *population.Spec) int {
	var limit unix.Rlimit
	switch {
	case s.Stream == nil:
		return 1
	case s.Shards > 0:
		return s.Shards
	case s.Stream.PerRequest || unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil:
		return 1
	}
	each := max(population.Descriptors(limit.Cur), 1)
	return (s.Devices + each - 1) / each
}

// A shard is one of the processes.
type shard struct {
	process
	rows []measure.Exchange
	told *population.Account
	err  error
}

// share starts the processes and has them run what this one is asked, until stdin ends.
func (p *program) share(s stack.Call, spec population.Spec, n int) error {
	ctx, cancel := context.WithCancel(context.Background())
	shards := make([]*shard, n)
	defer func() {
		cancel() // kills those that have not ended
		for _, x := range shards {
			if x != nil {
				_ = x.cmd.Wait()
			}
		}
	}()
	for i := range shards {
		x, err := p.startProcess(ctx, shardVerb)
		if err != nil {
			return err
		}
		shards[i] = &shard{process: x}
		part := spec
		part.Shard, part.Shards, part.Rows = i, n, max(cmp.Or(spec.Rows, population.MostRows)/n, 1)
		call := s
		if call.Population, err = json.Marshal(part); err != nil {
			return err
		}
		if _, err = x.conn.Call(ctx, call); err != nil {
			return fmt.Errorf("part %d of the devices: %w", i, err)
		}
	}
	p.ready(s.URL, stack.Phases{}, false)
	for {
		var r stack.Run
		if err := p.read("run", &r); err != nil {
			return err
		}
		if err := p.runShards(ctx, shards, r, len(spec.Request)); err != nil {
			return err
		}
	}
}

// runShards has all run at once, and tells their accounts as one.
func (p *program) runShards(ctx context.Context, shards []*shard, r stack.Run, body int) error {
	p.tellShards(shards)
	var all sync.WaitGroup
	for i, x := range shards {
		part := r
		if r.Requests > 0 {
			part.Requests = (r.Requests + i) / len(shards) // together as many
			if part.Requests == 0 {
				x.told, x.err = &population.Account{}, nil
				continue
			}
		}
		all.Go(func() { x.run(ctx, part) })
	}
	all.Wait()
	var parts []*population.Account
	for i, x := range shards {
		if x.err != nil {
			return fmt.Errorf("part %d of the devices: %w", i, x.err)
		}
		parts = append(parts, x.told)
	}
	merged := population.Merge(parts)
	if !r.Record {
		return p.end(unrecorded(merged))
	}
	merged.Kept = 0
	var line []byte
	for i, x := range shards {
		for j, row := range x.rows {
			if !x.told.Thin(merged.Sampled, uint64(i), uint64(j)) {
				continue
			}
			merged.Kept++
			row.Seq = uint64(merged.Kept)
			line = stack.AppendExchange(line[:0], row)
			if _, err := p.out.Write(line); err != nil {
				return io.EOF // the lab is gone
			}
		}
		x.rows = nil
	}
	e, err := recorded(merged)
	if err != nil {
		return err
	}
	return p.end(e)
}

// tellShards has the first process's word of how its devices are pass on that of all.
func (p *program) tellShards(shards []*shard) {
	var mu sync.Mutex
	states := make([]population.State, len(shards))
	for i, x := range shards {
		x.conn.Devices = func(told json.RawMessage) {
			mu.Lock()
			defer mu.Unlock()
			if json.Unmarshal(told, &states[i]) == nil && i == 0 {
				p.sayDevices(population.Together(states))
			}
		}
	}
}

func (x *shard) run(ctx context.Context, r stack.Run) {
	var e stack.End
	e, x.err = x.conn.Run(ctx, r, func(row measure.Exchange) { x.rows = append(x.rows, row) })
	if x.err != nil {
		return
	}
	x.told = &population.Account{Counts: population.Counts{Requests: int64(e.Count), Failed: int64(e.Failed)}, CPU: e.CPU,
		FirstFailure: e.FirstFailure}
	if r.Record {
		x.told = new(population.Account)
		x.err = json.Unmarshal([]byte(e.Population), x.told)
	}
	if errors.Is(x.err, io.EOF) {
		x.err = io.ErrUnexpectedEOF // else it would be taken for the lab's
	}
}
