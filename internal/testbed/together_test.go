package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// A rendezvous has two labs take every step of their trials at the same time.
type rendezvous struct {
	ctx     context.Context
	arrived [2]chan struct{}
	met     int // of lab 0
}

// at is lab number i's Progress: it waits until the other is there.
func (r *rendezvous) at(i int) func(lab.Progress) {
	return func(lab.Progress) {
		select {
		case r.arrived[i] <- struct{}{}:
		case <-r.arrived[1-i]:
		case <-r.ctx.Done(): // the other has gone before
			return
		}
		if i == 0 {
			r.met++
		}
	}
}

// Two experiments of one testbed run at once in one process, step beside step, and
// neither sees the other: each has its own trials, records, keys and temporary files.
func TestTwoExperimentsRunAtOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	b := bed(t)
	const trials, requests = 3, 40
	both, leave := context.WithCancel(ctx)
	defer leave()
	meet := &rendezvous{ctx: both, arrived: [2]chan struct{}{make(chan struct{}), make(chan struct{})}}
	var experiments [2]*Experiment
	for i, settings := range []string{"stack: rest-json\nsecurity: tls\n", "stack: coap-cbor\nsecurity: dtls-psk\n"} {
		experiments[i] = opened(t, b, settings, trials, requests)
		experiments[i].Lab.Progress = meet.at(i)
	}
	if one, two := experiments[0].Lab.Credentials["key"], experiments[1].Lab.Credentials["key"]; one == two {
		t.Errorf("both have the private key %s", one)
	}
	var running sync.WaitGroup
	for i, e := range experiments {
		running.Go(func() {
			defer leave()
			out, err := e.Lab.Run(ctx)
			if err != nil || out.Valid != trials || out.Invalid != 0 {
				t.Errorf("experiment %d: got %+v %v, want %d valid trials", i, out, err, trials)
			}
		})
	}
	running.Wait()
	if meet.met < trials*10 {
		t.Errorf("they met at %d steps: nothing was tried", meet.met)
	}
	for i, e := range experiments {
		hasRecords(t, e, trials, requests)
		if err := e.Close(); err != nil {
			t.Errorf("experiment %d: %v", i, err)
		}
	}
	if left, _ := os.ReadDir(b.Temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Stopping and closing an experiment leaves one that runs beside it alone.
func TestClosingAnExperimentLeavesAnotherAlone(t *testing.T) {
	b := bed(t)
	const trials, requests = 3, 40
	stays := opened(t, b, "stack: rest-json\nsecurity: tls\n", trials, requests)
	defer stays.Close()
	goes := opened(t, b, "stack: coap-cbor\nsecurity: dtls-psk\n", trials, requests)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped := false
	stays.Lab.Progress = func(p lab.Progress) {
		if p.Step != "measure" || stopped { // its programs run, and are about to send
			return
		}
		stopped = true
		goes.Lab.Progress = func(p lab.Progress) {
			if p.Step == "measure" {
				stop() // its own are about to, too
			}
		}
		if _, err := goes.Lab.Run(ctx); !errors.Is(err, lab.ErrStopped) {
			t.Errorf("the one that was stopped: got %v", err)
		}
		if err := goes.Close(); err != nil {
			t.Error(err)
		}
	}
	out, err := stays.Lab.Run(t.Context())
	if err != nil || out.Valid != trials || out.Invalid != 0 || !stopped {
		t.Errorf("the other: got %+v %v, want %d valid trials", out, err, trials)
	}
	hasRecords(t, stays, trials, requests)
}

// opened opens an experiment of one treatment.
func opened(t *testing.T, b *Testbed, settings string, trials, requests int) *Experiment {
	t.Helper()
	text := []byte("study: s\nservice: monitor\n" + settings +
		"retries: 0\ntimeouts: {ready: 60s, request: 10s, trial: 2m}\n")
	sets := []string{fmt.Sprintf("requests=%d", requests), fmt.Sprintf("design={replications: %d, warmup: 5}", trials)}
	p, err := b.Read(t.Context(), "s.yaml", text, sets...)
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.Open(t.Context(), Request{Plan: p, Text: text, Out: filepath.Join(t.TempDir(), "out")})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// hasRecords checks that both sides of every trial kept exactly the requests of the
// recorded run.
func hasRecords(t *testing.T, e *Experiment, trials, requests int) {
	t.Helper()
	all, err := e.Lab.Store.Trials()
	if err != nil || len(all) != trials {
		t.Fatalf("got %d trials, want %d: %v", len(all), trials, err)
	}
	for _, x := range all {
		if x.State != store.Valid {
			t.Errorf("trial %d is %s: %s", x.ID, x.State, x.Reason)
			continue
		}
		for _, side := range []measure.Side{measure.Client, measure.Server} {
			n := 0
			for chunk, err := range e.Lab.Store.Exchanges(x.ID, side) {
				if err != nil {
					t.Fatal(err)
				}
				n += len(chunk)
			}
			if n != requests {
				t.Errorf("trial %d has %d records of the %s, want %d", x.ID, n, side, requests)
			}
		}
	}
}
