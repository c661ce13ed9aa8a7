package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
)

// oneBlock is a lab of five trials in one block, of which 1, 3 and 5 run two at once.
func oneBlock(t *testing.T) (*Lab, *sync.WaitGroup) {
	t.Helper()
	const n = 5
	l, alive := fakeLab(t, soundStack(), n)
	l.Store.Close()
	pair := *l.Plan.Trials[0].Setup
	pair.AtOnce = 2
	h := fakeHeader(n)
	h.Plan = []byte("trial,block,replication,stack\n")
	for i := range n {
		l.Plan.Trials[i].Block, h.Trials[i].Block = 1, 1
		if i%2 == 0 {
			l.Plan.Trials[i].Setup = &pair
		}
		h.Plan = fmt.Appendf(h.Plan, "%d,1,%d,fake\n", i+1, i+1)
	}
	var err error
	if l.Store, err = store.Create(filepath.Join(memory(t), "results"), h); err != nil {
		t.Fatal(err)
	}
	l.Plan.Study.Retries = 1
	return l, alive
}

// Trials that run at the same time take every step together: none begins one before all have
// ended the one before. The others have the lab for themselves.
func TestTrialsAtOnceKeepStep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l, alive := oneBlock(t)
		defer l.Store.Close()
		var mu sync.Mutex
		var order, launched, readyWith = "", 0, 0
		sound := l.launch
		l.launch = func(ctx context.Context, d device.Device, c device.Command) (process, *stack.Conn, error) {
			mu.Lock()
			launched++
			slow := launched == 1
			mu.Unlock()
			if slow {
				time.Sleep(time.Second) // of the bubble: the other trial's programs run long before
			}
			return sound(ctx, d, c)
		}
		l.Progress = func(p Progress) {
			mu.Lock()
			defer mu.Unlock()
			if p.Step == "start the server" && readyWith == 0 {
				readyWith = launched
			}
			if id := fmt.Sprint(p.Trial.ID); !strings.HasSuffix(order, id) {
				order += id
			}
		}
		o, err := l.Run(t.Context())
		alive.Wait()
		if err != nil || o.Valid != 5 || o.Invalid != 0 || len(o.Missing) > 0 {
			t.Fatalf("got %+v, %v", o, err)
		}
		if readyWith != 4 {
			t.Errorf("a server was spoken to when %d programs of 4 ran", readyWith)
		}
		pairs, alone := strings.CutSuffix(order, "245")
		if !alone || strings.Trim(pairs, "13") != "" || len(pairs) < 20 {
			t.Errorf("trials took steps in the order %s, want 1 and 3 side by side, then 2, 4 and 5", order)
		}
	})
}

// A trial that fails leaves those beside it whole, and is run again.
func TestTrialAtOnceFailsAlone(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l, alive := oneBlock(t)
		defer l.Store.Close()
		var broke atomic.Bool
		broken, sound := soundStack(), l.launch
		broken.acts[running] = act{say: "nonsense\n"}
		l.launch = func(ctx context.Context, d device.Device, c device.Command) (process, *stack.Conn, error) {
			if c.Argv[len(c.Argv)-1] == "call" && broke.CompareAndSwap(false, true) {
				return broken.launch(alive)(ctx, d, c)
			}
			return sound(ctx, d, c)
		}
		o, err := l.Run(t.Context())
		alive.Wait()
		if err != nil || o.Valid != 5 || o.Invalid != 1 || len(o.Missing) > 0 {
			t.Errorf("got %+v, %v", o, err)
		}
		if left := leftovers(t); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

// A notedEnd is a process that says when it is made to end.
type notedEnd struct {
	process
	ends func()
}

func (p notedEnd) Kill() device.Exit {
	p.ends()
	return p.process.Kill()
}

func (p notedEnd) Stop(ctx context.Context, grace time.Duration) (device.Exit, bool) {
	p.ends()
	return p.process.Stop(ctx, grace)
}

// A trial that fails while another measures is cleaned up when that has measured: to end programs takes
// CPU time, and links and captures are the machine's.
func TestATrialThatFailsEndsBehindItsNeighbours(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l, alive := oneBlock(t)
		defer l.Store.Close()
		l.Plan.Trials, l.Plan.Study.Retries = l.Plan.Trials[:3], 0
		began := time.Now()
		var mu sync.Mutex
		var ended, measured time.Duration // of the one that fails, of the other
		note := func(d *time.Duration) func() {
			return func() {
				mu.Lock()
				defer mu.Unlock()
				if *d == 0 {
					*d = time.Since(began)
				}
			}
		}
		broken, slow, sound := soundStack(), soundStack(), l.launch
		broken.acts[running] = act{say: "nonsense\n"}
		usage := slow.usage
		slow.usage = func(side int) (device.Usage, error) {
			time.Sleep(5 * time.Second) // within the step that measures
			return usage(side)
		}
		clients := 0
		l.launch = func(ctx context.Context, d device.Device, c device.Command) (process, *stack.Conn, error) {
			if c.Argv[len(c.Argv)-1] != "call" {
				return sound(ctx, d, c)
			}
			mu.Lock()
			clients++
			n := clients
			mu.Unlock()
			one, when := broken, &ended
			if n == 2 {
				one, when = slow, &measured
			}
			if n > 2 {
				return sound(ctx, d, c)
			}
			p, conn, err := one.launch(alive)(ctx, d, c)
			return notedEnd{p, note(when)}, conn, err
		}
		o, err := l.Run(t.Context())
		alive.Wait()
		if err != nil || o.Invalid != 1 {
			t.Fatalf("got %+v, %v", o, err)
		}
		if ended < 10*time.Second {
			t.Errorf("its programs were ended after %v, while the other measured until it was ended after %v", ended, measured)
		}
	})
}
