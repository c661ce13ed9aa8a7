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
