// Package storebench times the store on a study's worth of exchanges. It is a
// table for people (make bench), not a test.
package storebench

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// A Measurement is what storing, reading and summarizing took.
type Measurement struct {
	Trials, Requests     int           // exchanges are Trials × Requests
	Stored, Read, Summed Cost          // Summed is of the treatments; each trial's figures are in Read
	Moving               time.Duration // part of Stored, all CPUs: to number and date exchanges made before
	Bytes                int64         // on disk
	PeakRSS              int64         // B, of the whole process so far
}

// All is what the three took together, moving included.
func (r Measurement) All() Cost {
	return Cost{r.Stored.Wall + r.Read.Wall + r.Summed.Wall, r.Stored.CPU + r.Read.CPU + r.Summed.CPU}
}

// Measure stores trials × requests exchanges in a fresh directory below dir,
// reads them back and summarizes four responses of each trial.
func Measure(dir string, trials, requests int) (Measurement, error) {
	r := Measurement{Trials: trials, Requests: requests}
	root, err := os.MkdirTemp(dir, "storebench-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(root)
	s, err := store.Create(filepath.Join(root, "results"), header(trials))
	if err != nil {
		return r, err
	}
	defer s.Close()
	b := bench{s: s, trials: trials, requests: requests, of: make([]scratch, runtime.NumCPU())}
	for i := range b.of {
		b.of[i].source = newSource(uint64(i))
	}
	for _, step := range []struct {
		cost *Cost
		do   func() error
	}{
		{&r.Stored, func() error { return b.parallel(b.storeTrial) }},
		{&r.Read, func() error { return b.parallel(b.readTrial) }},
		{&r.Summed, b.treatments},
	} {
		if *step.cost, err = timed(step.do); err != nil {
			return r, err
		}
	}
	r.Moving, r.Bytes, r.PeakRSS = b.moving, size(s.Dir()), peakRSS()
	return r, nil
}

// Run measures and prints wall clock, CPU time and the process's peak RSS.
func Run(w io.Writer, dir string, trials, requests int) error {
	r, err := Measure(dir, trials, requests)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d trials of %d exchanges, %d CPUs, %.1f MB on disk (%.1f B per exchange)\n", trials, requests,
		runtime.NumCPU(), float64(r.Bytes)/1e6, float64(r.Bytes)/float64(trials*requests))
	fmt.Fprintf(w, "%-34s %10s %10s\n", "", "wall s", "CPU s")
	for _, row := range []struct {
		name string
		Cost
	}{{"store, synced", r.Stored}, {"  of it numbering them, all CPUs", Cost{Wall: r.Moving}},
		{"read, check, summarize trials", r.Read}, {"summarize treatments", r.Summed}, {"all", r.All()}} {
		fmt.Fprintf(w, "%-34s %10.2f %10.2f\n", row.name, row.Wall.Seconds(), row.CPU.Seconds())
	}
	fmt.Fprintf(w, "%-34s %10.0f MB\n", "peak RSS", float64(r.PeakRSS)/1e6)
	return nil
}

// A Cost is wall-clock and CPU time.
type Cost struct{ Wall, CPU time.Duration }

func timed(f func() error) (Cost, error) {
	c, t := cpu(), time.Now()
	err := f()
	return Cost{time.Since(t), cpu() - c}, err
}

type bench struct {
	s                *store.Store
	trials, requests int
	mu               sync.Mutex
	of               []scratch // by CPU
	moving           time.Duration
	means            [][4]float64 // by trial
}

// parallel runs f for every trial on all CPUs.
func (b *bench) parallel(f func(trial int, scratch *scratch) error) error {
	var next = make(chan int)
	errs := make(chan error, len(b.of))
	for i := range b.of {
		go func() {
			var failed error
			for trial := range next {
				if failed == nil {
					failed = f(trial, &b.of[i])
				}
			}
			errs <- failed
		}()
	}
	for trial := range b.trials {
		next <- trial + 1
	}
	close(next)
	var first error
	for range b.of {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}

type scratch struct {
	source *source
	values []int64
}

func (b *bench) storeTrial(trial int, s *scratch) error {
	a, err := b.s.Begin(trial)
	if err != nil {
		return err
	}
	w, err := a.Exchanges(measure.Client)
	if err != nil {
		return err
	}
	var moving time.Duration
	s.source.begin()
	for left := b.requests; left > 0; {
		t := time.Now()
		batch := s.source.next(left)
		moving += time.Since(t)
		if err := w.Append(batch); err != nil {
			return err
		}
		left -= len(batch)
	}
	b.mu.Lock()
	b.moving += moving
	b.mu.Unlock()
	if err := w.Close(); err != nil {
		return err
	}
	return a.Commit(nil, nil)
}

var responses = []string{"rtt", "response", "serialization", "deserialization"}

func (b *bench) readTrial(trial int, s *scratch) error {
	c, err := b.s.Columns(trial, measure.Client)
	if err != nil {
		return err
	}
	defer c.Close()
	var means [4]float64
	for i, name := range responses {
		if s.values, err = c.Read(s.values[:0], name); err != nil {
			return err
		}
		w, err := stat.WithinTrial(s.values)
		if err != nil {
			return err
		}
		if !(w.Median > 0 && w.P95 > w.Median && w.SD > 0) {
			return fmt.Errorf("trial %d: %s: %+v is not a summary of what was stored", trial, name, w)
		}
		means[i] = w.Mean
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.means == nil {
		b.means = make([][4]float64, b.trials)
	}
	b.means[trial-1] = means
	return nil
}

// treatments stands for the report: trial means by treatment, two of them.
func (b *bench) treatments() error {
	var sums [2][4]float64
	for i, m := range b.means {
		for k, v := range m {
			sums[i%2][k] += v
		}
	}
	for _, s := range sums {
		if math.IsNaN(s[0]) {
			return fmt.Errorf("no mean RTT")
		}
	}
	return nil
}

func header(trials int) store.Header {
	h := store.Header{Study: []byte("study: bench\n"), Program: "bench"}
	plan := strings.Builder{}
	plan.WriteString("trial,block,replication,stack\n")
	for i := range trials {
		t := store.PlannedTrial{ID: i + 1, Block: i/2 + 1, Replication: i/2 + 1,
			Treatment: []store.Level{{Factor: "stack", Text: string(rune('a' + i%2))}}}
		fmt.Fprintf(&plan, "%d,%d,%d,%s\n", t.ID, t.Block, t.Replication, t.Treatment[0].Text)
		h.Trials = append(h.Trials, t)
	}
	h.Plan = []byte(plan.String())
	return h
}

func size(dir string) (n int64) {
	filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

func cpu() time.Duration {
	var u unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakRSS is in B. Note: a rusage's has what the program that started this one had in memory.
func peakRSS() int64 { return kernel.StatusBytes(os.Getpid(), "VmHWM") }
