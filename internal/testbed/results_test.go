package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"edgegauge.example/edgegauge/internal/lab"
)

// again opens a study of two trials where no directory is named.
func again(t *testing.T, b *Testbed, results, settings string) *Experiment {
	t.Helper()
	text := []byte("study: s\nservice: monitor\nstack: coap-cbor\nrequests: 5\nretries: 0\n" + settings)
	p, err := b.Read(t.Context(), "s.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.Open(t.Context(), Request{Plan: p, Text: text, Results: results})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A study that is stopped in its last cool-down is gone on with, since its end is not known: with
// precision, too, where every trial planned so far is valid. The next one begins anew.
func TestAStudyIsGoneOnWithUntilItEnds(t *testing.T) {
	b := bed(t)
	for _, design := range []string{"", ", precision: 1%, budget: 1ms"} {
		results := t.TempDir()
		settings := "design: {replications: 2, warmup: 2, cooldown: 50ms" + design + "}\n"
		e := again(t, b, results, settings)
		ctx, stop := context.WithCancel(t.Context())
		e.Lab.Progress = func(p lab.Progress) {
			if p.Step == "" && p.Done == 2 {
				stop()
			}
		}
		if _, err := e.Lab.Run(ctx); !errors.Is(err, lab.ErrStopped) {
			t.Fatalf("got %v, want it stopped", err)
		}
		stop()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"001", "002"} {
			e = again(t, b, results, settings)
			if filepath.Base(e.Dir) != want || e.Resumed != (i == 0) {
				t.Errorf("%q, run again: got %s, resumed %v, want %s", design, e.Dir, e.Resumed, want)
			}
			e.Lab.Progress = func(p lab.Progress) { t.Errorf("trial %d is measured anew", p.Trial.ID) }
			if i == 0 {
				if out, err := e.Lab.Run(t.Context()); err != nil || out.Valid+out.Invalid != 0 {
					t.Errorf("got %+v %v, want nothing measured", out, err)
				}
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A study all of whose trials that are not valid were abandoned has ended: run again, it begins anew.
func TestAStudyOfAbandonedTrialsBeginsAnew(t *testing.T) {
	b, results := bed(t), t.TempDir()
	settings := "design: {replications: 2, warmup: 2}\n"
	e := again(t, b, results, settings)
	for trial := range 2 {
		a, err := e.Lab.Store.Begin(trial + 1)
		if err == nil {
			err = a.Invalidate("it broke", "", nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Lab.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = again(t, b, results, settings)
	defer e.Close()
	if filepath.Base(e.Dir) != "002" || e.Resumed {
		t.Errorf("run again: got %s, resumed %v, want the next directory", e.Dir, e.Resumed)
	}
}

// Studies that begin at the same instant each get their latest, and one that cannot begin leaves it where it was.
func TestLatest(t *testing.T) {
	results := t.TempDir()
	errs := make([]error, 20)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = point(results, filepath.Join(results, "s", fmt.Sprintf("%03d", i))) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(results); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := point(results, filepath.Join(results, "s", "099")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/proc/self/ns", filepath.Join(results, "s")); err != nil { // not even root may write there
		t.Fatal(err)
	}
	b := bed(t)
	text := []byte("study: s\nservice: monitor\nstack: coap-cbor\nrequests: 5\n")
	p, err := b.Read(t.Context(), "s.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := b.Open(t.Context(), Request{Plan: p, Text: text, Results: results}); err == nil {
		t.Error("it began where nothing can be written")
		e.Close()
	}
	latest := func(when, want string) {
		t.Helper()
		if to, err := os.Readlink(filepath.Join(results, "latest")); to != want {
			t.Errorf("%s, latest leads to %s, %v; want %s", when, to, err, want)
		}
	}
	latest("where nothing can be written", "s/099")
	if err := os.Remove(filepath.Join(results, "s")); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("the port is taken")
	r := Request{Plan: p, Text: text, Results: results, Ready: func() error { return refused }}
	if _, err := b.Open(t.Context(), r); !errors.Is(err, refused) {
		t.Errorf("got %v, want it refused", err)
	}
	latest("refused", "s/099")
	if _, err := os.Lstat(filepath.Join(results, "s")); err == nil {
		t.Error("refused, it left a folder")
	}
	r.Ready = nil
	e, err := b.Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	latest("opened", "s/099")
	if err := e.Begin(); err != nil {
		t.Error(err)
	}
	latest("begun", "s/001")
}
