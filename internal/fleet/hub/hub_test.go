package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/fleet/wire"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// A lab is a hub with keys for a coordinator and benches.
type lab struct {
	t       *testing.T
	options Options
	hub     *Hub
	who     map[string]wire.Credentials // by bench; "": the coordinator
}

func newLab(t *testing.T, benches ...string) *lab {
	t.Helper()
	l := &lab{t: t, who: map[string]wire.Credentials{},
		options: Options{Store: filepath.Join(t.TempDir(), "store"), Keys: filepath.Join(t.TempDir(), "keys.json")}}
	keys := admit.Keys{Benches: map[string]string{}}
	for _, name := range append([]string{""}, benches...) {
		public, seed, err := admit.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		if keys.Benches[name] = public; name == "" {
			keys.Coordinator = public
			delete(keys.Benches, name)
		}
		l.who[name] = wire.Credentials{Bench: name, Seed: seed}
	}
	l.admit(keys)
	l.start()
	t.Cleanup(func() { l.hub.Stop() })
	return l
}

func (l *lab) admit(k admit.Keys) {
	l.t.Helper()
	text, err := json.Marshal(k)
	if err == nil {
		err = os.WriteFile(l.options.Keys, text, 0o600)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// start starts the hub, where it was before if it was.
func (l *lab) start() {
	l.t.Helper()
	var err error
	if l.hub, err = Start(l.options); err != nil {
		l.t.Fatal(err)
	}
	l.options.Listen = l.hub.server.Addr().String()
	for name, c := range l.who {
		c.URL = l.hub.URL()
		l.who[name] = c
	}
}

// plan is a study of some blocks of two trials.
func plan(blocks int) store.Header {
	h := store.Header{Study: []byte("study: t\n"), Facts: []byte(`{}`), Program: "v1",
		Plan: []byte("id,block,replication,stack\n")}
	for i := range 2 * blocks {
		stack := string(rune('a' + i%2))
		h.Trials = append(h.Trials, store.PlannedTrial{ID: i + 1, Block: i/2 + 1, Replication: i/2 + 1,
			Treatment: []store.Level{{Factor: "stack", Text: stack}}})
		h.Plan = fmt.Appendf(h.Plan, "%d,%d,%d,%s\n", i+1, i/2+1, i/2+1, stack)
	}
	return h
}

// conduct is how a bench measures here: at once, with a file of some size.
func conduct(h store.Header) func(context.Context, fleet.Order, string) error {
	return func(_ context.Context, o fleet.Order, dir string) error {
		h := h
		h.Plan, h.First = o.Plan, o.Attempt
		h.Trials = slices.DeleteFunc(slices.Clone(h.Trials), func(p store.PlannedTrial) bool { return p.Block != o.Block })
		s, err := store.Create(dir, h)
		if err != nil {
			return err
		}
		for _, t := range h.Trials {
			a, err := s.Begin(t.ID)
			if err == nil {
				log := make([]byte, 3<<20)
				log[0] = byte(t.ID) // an object of its own
				err = os.WriteFile(filepath.Join(a.Dir(), "serve.log"), log, 0o644)
			}
			if err == nil {
				err = a.Commit([]store.Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 1, Mean: 1,
					Method: store.Measured}}, nil)
			}
			if err != nil {
				return err
			}
		}
		return s.Close()
	}
}

// measures conducts blocks with two benches: each counts once, and no bench needs to be
// started again. done is told how many blocks are done, after each; check looks before the
// coordinator goes.
func (l *lab) measures(blocks int, within time.Duration, done func(n int), check func(*store.Store)) {
	t := l.t
	t.Helper()
	h := plan(blocks)
	s, err := store.Create(filepath.Join(t.TempDir(), "results"), h)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	const lease = 8 * time.Second
	var benches sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		end, err := wire.OpenBench(l.who[name])
		if err != nil {
			t.Fatal(err)
		}
		defer end.Close()
		w := fleet.Worker{Name: name, Machine: name, Program: "v1", Bench: end, Dir: t.TempDir(), Lease: lease,
			Conduct: conduct(h)}
		benches.Go(func() { w.Work(ctx) })
	}
	board, err := wire.OpenBoard(l.who[""])
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	c := fleet.Coordinator{Run: fleet.NewID(), Program: "v1", Ledger: s, Board: board, Lease: lease,
		Tell: func(e fleet.Event) {
			if t.Log(e); e.Done {
				n++
				done(n)
			}
		}}
	if out, err := c.Conduct(ctx); err != nil || out.Kept != blocks {
		t.Errorf("got %+v, %v", out, err)
	}
	check(s)
	if err := board.Close(); err != nil {
		t.Error(err)
	}
	cancel()
	benches.Wait()
	if found := s.Verify(); found != nil {
		t.Error(found)
	}
	all, err := s.Trials()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		if x.State != store.Valid {
			t.Errorf("trial %d is %s", x.ID, x.State)
		}
	}
}

// Blocks are measured over a real hub, which is emptied and started again meanwhile.
func TestBlocksOverAHub(t *testing.T) {
	l := newLab(t, "a", "b")
	emptied := false
	l.measures(6, 2*time.Minute, func(n int) {
		if n == 1 {
			emptied = true
			l.hub.Stop()
			os.RemoveAll(l.options.Store)
			l.start()
		}
	}, func(s *store.Store) {
		if log, err := os.Stat(filepath.Join(s.TrialDir(1, 1), "serve.log")); err != nil || log.Size() != 3<<20 {
			t.Errorf("the log did not arrive: %v", err)
		}
	})
	if !emptied {
		t.Error("the hub was not emptied")
	}
}

// Each write of an order has a stamp of its own, also of the same order that the hub has forgotten; what the hub has is
// not written again.
func TestOrdersAreStamped(t *testing.T) {
	l := newLab(t, "a")
	board, err := wire.OpenBoard(l.who[""])
	if err != nil {
		t.Fatal(err)
	}
	defer board.Close()
	nc, _ := l.as("")
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stamp := func(block int) fleet.Stamp {
		t.Helper()
		o := fleet.Order{Task: fleet.Task{Run: "r", Block: block, Attempt: 1}}
		if err := board.Assign(t.Context(), "a", o); err != nil {
			t.Fatal(err)
		}
		kv, err := js.KeyValue(t.Context(), admit.AssignBucket)
		if err != nil {
			t.Fatal(err)
		}
		e, err := kv.Get(t.Context(), "a")
		if err == nil {
			err = json.Unmarshal(e.Value(), &o)
		}
		if err != nil || o.Block != block || o.Writer == "" {
			t.Fatalf("got %+v, %v", o, err)
		}
		return o.Stamp
	}
	first, again, second := stamp(1), stamp(1), stamp(2)
	if first != again || second.Writer != first.Writer || second.Number <= first.Number {
		t.Errorf("got %v, %v, %v", first, again, second)
	}
	kv, err := js.KeyValue(t.Context(), admit.AssignBucket)
	if err == nil {
		err = kv.Purge(t.Context(), "a")
	}
	if err != nil {
		t.Fatal(err)
	}
	if third := stamp(2); third.Writer != first.Writer || third.Number <= second.Number {
		t.Errorf("after the hub forgot it: got %v, then %v", second, third)
	}
}

// A bench is drained by whoever holds the coordinator's credentials, if there is one at
// work.
func TestDrain(t *testing.T) {
	l := newLab(t, "a")
	if err := wire.Drain(t.Context(), l.who[""], "a"); !errors.Is(err, wire.ErrNobody) {
		t.Errorf("without a coordinator: got %v", err)
	}
	board, err := wire.OpenBoard(l.who[""])
	if err != nil {
		t.Fatal(err)
	}
	defer board.Close()
	drained := make(chan string, 1)
	go func() { drained <- <-board.Drained() }()
	if err := wire.Drain(t.Context(), l.who[""], "a"); err != nil {
		t.Error(err)
	} else if got := <-drained; got != "a" {
		t.Errorf("got %q", got)
	}
}

// A hub does not begin where it would be open to others, or keep what it has not synced.
func TestAHubRefuses(t *testing.T) {
	l := newLab(t, "a")
	for _, listen := range []string{"0.0.0.0:0", "[::]:0", "192.0.2.1:0", "localhost:0", ":0", "127.0.0.1"} {
		o := Options{Listen: listen, Store: t.TempDir(), Keys: l.options.Keys}
		if h, err := Start(o); err == nil {
			h.Stop()
			t.Errorf("it listens on %s without a certificate", listen)
		}
	}
	for name, keys := range map[string]string{"none": "", "no coordinator": `{"benches":{}}`, "no JSON": "x"} {
		file := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(file, []byte(keys), 0o600); err != nil {
			t.Fatal(err)
		}
		if h, err := Start(Options{Store: t.TempDir(), Keys: file}); err == nil {
			h.Stop()
			t.Errorf("it starts with keys: %s", name)
		}
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true,
		StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(readyWithin) {
		t.Fatal("the other server did not start")
	}
	if err := synced(s); err == nil {
		t.Error("a store that does not sync each write is taken")
	}
	if err := synced(l.hub.server); err != nil {
		t.Error(err)
	}
}

// A hub whose disk was full takes writes again once there is room, without being started by hand: the server itself
// would refuse a stream's writes for ever after one that failed.
func TestAHubWhoseDiskWasFull(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the hub to start again")
	}
	disk := t.TempDir()
	if err := unix.Mount("hub", disk, "tmpfs", 0, "size=40m"); errors.Is(err, unix.EPERM) && os.Getenv("CI") != "true" {
		t.Skip("needs root, for a small file system")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(disk, unix.MNT_DETACH) })
	l := newLab(t, "a")
	l.hub.Stop()
	l.options.Store = filepath.Join(disk, "store")
	l.start()
	board, err := wire.OpenBoard(l.who[""])
	if err != nil {
		t.Fatal(err)
	}
	defer board.Close()
	patience := time.Minute
	assign := func(block int) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return board.Assign(ctx, "a", fleet.Order{Task: fleet.Task{Run: "r", Block: block, Attempt: 1},
			Plan: make([]byte, 64<<10)}) // more than what is left of a page
	}
	if err := assign(1); err != nil {
		t.Fatal(err)
	}
	patience = 2 * time.Second // of what fails
	filler, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	filler.Close()
	failed := 0
	for end := time.Now().Add(30 * time.Second); failed < 2 && time.Now().Before(end); {
		if assign(2+failed) != nil {
			failed++
		}
	}
	if failed < 2 {
		t.Fatal("a full disk took all writes")
	}
	if err := os.Remove(filler.Name()); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); assign(9) != nil; {
		if time.Now().After(end) {
			t.Fatal("it takes no write a minute after there is room")
		}
	}
}

// A bench's bucket that takes nothing any more is made anew, and the bench's results arrive; one in which something
// still arrives is left alone.
func TestABucketIsMended(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the hub to start again")
	}
	l := newLab(t, "a")
	const lease = time.Second
	h := plan(1)
	s, err := store.Create(filepath.Join(t.TempDir(), "results"), h)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	board, err := wire.OpenBoard(l.who[""])
	if err != nil {
		t.Fatal(err)
	}
	defer board.Close()
	end, err := wire.OpenBench(l.who["a"])
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	if _, err := end.Room(ctx); err != nil {
		t.Fatal(err)
	}
	nc, _ := l.as("")
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(ctx, "OBJ_raw_a")
	if err != nil {
		t.Fatal(err)
	}
	broken := stream.CachedInfo().Config
	if broken.MaxBytes < fleet.MostResults || broken.MaxBytes > 2*fleet.MostResults {
		t.Errorf("a bench may store %d B, want little more than the %d of a block", broken.MaxBytes, int64(fleet.MostResults))
	}
	broken.MaxBytes, broken.Discard = 1, jetstream.DiscardNew
	if _, err := js.UpdateStream(ctx, broken); err != nil {
		t.Fatal(err)
	}
	w := fleet.Worker{Name: "a", Machine: "a", Program: "v1", Bench: end, Dir: t.TempDir(),
		Lease: lease, Conduct: conduct(h)}
	var bench sync.WaitGroup
	bench.Go(func() { w.Work(ctx) })
	defer bench.Wait()
	defer cancel()
	c := fleet.Coordinator{Run: fleet.NewID(), Program: "v1", Ledger: s, Board: board, Lease: lease,
		Tell: func(e fleet.Event) { t.Log(e) }}
	if out, err := c.Conduct(ctx); err != nil || out.Kept != 1 {
		t.Errorf("got %+v, %v", out, err)
	}
}

// Help is no mistake of the command line; a flag that there is not is one.
func TestExitCodesOfTheCommandLine(t *testing.T) {
	for arg, want := range map[string]int{"-h": 0, "--help": 0, "-nonsense": 2, "word": 2} {
		if got := Main([]string{arg}); got != want {
			t.Errorf("%s: exit code %d, want %d", arg, got, want)
		}
	}
}
