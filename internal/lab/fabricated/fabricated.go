// Package fabricated writes results directories as a lab leaves them, with exchanges
// drawn at random: for benches and tests of what reads results. It measures nothing.
package fabricated

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// responses are the six of the promise; three of them both sides see.
const responses = "[rtt, serialization, deserialization, processing, total_time, message_size]"

// Study is a study with that many treatments, replications and requests.
func Study(treatments, replications, requests int) []byte {
	levels := make([]string, treatments)
	for i := range levels {
		levels[i] = fmt.Sprintf("%dB", 100*(i+1))
	}
	return fmt.Appendf(nil,
		"study: report-bench\nquestion: What does a report of many requests cost?\nservice: echo\nstack: "+
			"rest-json\nfactors: {size: [%s]}\nrequests: %d\ndesign: {replications: %d, seed: 1}\nresponses: %s\n",
		strings.Join(levels, ", "), requests, replications, responses)
}

// Create begins a results directory of a study, as a lab does, without a trial.
func Create(dir string, text []byte) (*store.Store, study.Plan, error) {
	return CreateOn(dir, text, []byte(`{"edgegauge":{"version":"bench"}}`))
}

// CreateOn is Create with the facts that the lab is said to have found.
func CreateOn(dir string, text, facts []byte) (*store.Store, study.Plan, error) {
	return begin(store.Create, dir, text, facts)
}

// Resume goes on with a results directory, perhaps with overrides ("path=value").
func Resume(dir string, text []byte, overrides ...string) (*store.Store, study.Plan, error) {
	return begin(store.Open, dir, text, []byte(`{"edgegauge":{"version":"bench"}}`), overrides...)
}

func begin(open func(string, store.Header) (*store.Store, error), dir string, text, facts []byte,
	overrides ...string) (*store.Store, study.Plan, error) {
	s, err := study.Parse("study.yaml", text, study.Vocabulary{}, overrides...)
	if err != nil {
		return nil, study.Plan{}, err
	}
	p, err := study.Expand(s)
	if err != nil {
		return nil, p, err
	}
	var csv bytes.Buffer
	if err := p.WriteCSV(&csv); err != nil {
		return nil, p, err
	}
	kept, err := open(dir, store.Header{Study: text, Overrides: overrides, Plan: csv.Bytes(), Trials: lab.Records(p),
		Incomplete: s.Design.Incomplete, Facts: facts, Program: "bench"})
	return kept, p, err
}

// Make writes a results directory as a lab leaves it, with exchanges of both
// sides drawn at random, on all CPUs.
func Make(dir string, treatments, replications, requests int) error {
	kept, p, err := Create(dir, Study(treatments, replications, requests))
	if err != nil {
		return err
	}
	defer kept.Close()
	next, errs := make(chan study.Trial), make(chan error, runtime.NumCPU())
	var group sync.WaitGroup
	for range runtime.NumCPU() {
		group.Go(func() {
			var failed error
			for t := range next {
				if failed == nil {
					failed = Trial(kept, t, requests, nil)
				}
			}
			errs <- failed
		})
	}
	for _, t := range p.Trials {
		next <- t
	}
	close(next)
	group.Wait()
	for range runtime.NumCPU() {
		if failed := <-errs; err == nil {
			err = failed
		}
	}
	return err
}

// Trial conducts a trial of that many requests. Besides writes what else the attempt
// left; nil: nothing.
func Trial(s *store.Store, t study.Trial, requests int, besides func(*store.Attempt) error) error {
	return conduct(s, t, requests, store.Bench{}, nil, besides)
}

// TrialOn conducts a trial on one of several benches.
func TrialOn(s *store.Store, t study.Trial, requests int, on store.Bench) error {
	return conduct(s, t, requests, on, nil, nil)
}

// Deliver conducts the trials of an order in a directory of their own, as a bench does, and hands
// them over: noted is the quality of each. It returns what became of them.
func Deliver(s *store.Store, p study.Plan, o store.Order, retries, requests int, noted []store.Quality,
	besides func(*store.Attempt) error) (store.State, error) {
	text, _, err := s.Study()
	if err != nil {
		return "", err
	}
	h := store.Header{Study: text, Facts: []byte(`{"edgegauge":{"version":"bench"}}`), Program: "bench", First: o.Attempt}
	if h.Plan, err = s.BlockPlan(o.Block); err != nil {
		return "", err
	}
	p.Trials = slices.DeleteFunc(slices.Clone(p.Trials), func(t study.Trial) bool { return t.Block != o.Block })
	h.Trials = lab.Records(p)
	dir, err := s.Incoming(o.Bench.Name)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, fmt.Sprintf("%d-%d", o.Block, o.Attempt))
	own, err := store.Create(dir, h)
	if err != nil {
		return "", err
	}
	for _, t := range p.Trials {
		err = errors.Join(err, conduct(own, t, requests, store.Bench{}, noted, besides))
	}
	if err = errors.Join(err, own.Close()); err != nil {
		return "", err
	}
	found, err := s.Examine(o, retries, dir)
	if err != nil {
		return "", err
	}
	return s.Accept(found)
}

func conduct(s *store.Store, t study.Trial, requests int, on store.Bench, noted []store.Quality,
	besides func(*store.Attempt) error) error {
	a, err := s.BeginOn(t.ID, on)
	if err != nil {
		return err
	}
	var results []store.Result
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		xs := drawn(rand.New(rand.NewPCG(uint64(t.ID), 9)), side, t.Cell, requests)
		w, err := a.Exchanges(side)
		if err != nil {
			return err
		}
		if err := w.Append(xs); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		more, err := summarized(side, xs)
		if err != nil {
			return err
		}
		results = append(results, more...)
	}
	if besides != nil {
		if err := besides(a); err != nil {
			return err
		}
	}
	return a.Commit(results, noted)
}

// drawn makes exchanges of a closed loop: skewed latencies, 2 % slower a treatment.
func drawn(r *rand.Rand, side measure.Side, treatment, n int) []measure.Exchange {
	slower := 1 + 0.02*float64(treatment)
	skewed := func(scale float64) time.Duration { return time.Duration(scale * slower * (1 + 0.2*r.ExpFloat64())) }
	xs := make([]measure.Exchange, n)
	var at time.Duration
	for i := range xs {
		x := measure.Exchange{Seq: uint64(i + 1), Serialization: skewed(2000), Deserialization: skewed(3000),
			Out: int64(100*(treatment+1) + i%3), In: 64}
		if side == measure.Client {
			x.Due = at
			x.Sent = at + x.Serialization
			x.Done = x.Sent + skewed(20000)
			x.Total = x.Done - at + x.Deserialization
		} else {
			x.Processing = skewed(5000)
			x.Total = x.Serialization + x.Processing + x.Deserialization
		}
		at += x.Total + 900
		xs[i] = x
	}
	return xs
}

func summarized(side measure.Side, xs []measure.Exchange) ([]store.Result, error) {
	var out []store.Result
	values := make([]int64, len(xs))
	for _, f := range measure.Summaries(side) {
		for i := range xs {
			values[i] = f.Value(&xs[i])
		}
		w, err := stat.WithinTrial(values)
		if err != nil {
			return nil, err
		}
		if w.Max == 0 { // not seen
			continue
		}
		m, scale := f.Response, f.Scale()
		out = append(out, store.Result{Side: side, Response: m.Name, Unit: m.Unit, N: int64(w.N), Method: store.Measured,
			Mean: w.Mean * scale, SD: w.SD * scale, Median: w.Median * scale, P95: w.P95 * scale, Min: w.Min * scale,
			Max: w.Max * scale})
	}
	return out, nil
}
