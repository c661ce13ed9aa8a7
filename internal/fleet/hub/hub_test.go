package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
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
				err = os.WriteFile(filepath.Join(a.Dir(), "serve.log"), make([]byte, 3<<20), 0o644)
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

// as connects with a bench's key, and collects what the hub refuses.
func (l *lab) as(name string) (*nats.Conn, chan error) {
	l.t.Helper()
	pair, err := nkeys.FromSeed([]byte(l.who[name].Seed))
	if err != nil {
		l.t.Fatal(err)
	}
	public, _ := pair.PublicKey()
	refused := make(chan error, 16)
	nc, err := nats.Connect(l.hub.URL(), nats.Nkey(public, pair.Sign), nats.CustomInboxPrefix("_INBOX_"+name),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(nc.Close)
	return nc, refused
}

// A bench's key opens what is its own and nothing else.
func TestABenchMayOnlyDoItsOwn(t *testing.T) {
	l := newLab(t, "a", "b")
	board, err := wire.OpenBoard(l.who[""])
	if err != nil {
		t.Fatal(err)
	}
	defer board.Close()
	for _, name := range []string{"a", "b"} {
		if err := board.Assign(t.Context(), name, fleet.Order{Task: fleet.Task{Run: "r", Block: 1, Attempt: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	nc, refused := l.as("a")
	may := func(name string) bool { // until the hub has answered, all refusals before have arrived
		t.Helper()
		if err := nc.FlushTimeout(10 * time.Second); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: got %v", name, err)
			}
			return false
		case <-time.After(100 * time.Millisecond):
			return true
		}
	}
	publish, _ := admit.Permissions("b")
	for _, subject := range append(publish, "$KV.assign.a", "$KV.assign.b", "fleet.drain.a", "$JS.API.STREAM.DELETE.KV_assign",
		"$JS.API.STREAM.LIST", "$JS.API.STREAM.MSG.GET.KV_assign", "_INBOX_coordinator.x", "_INBOX_b.x", "$SYS.REQ.SERVER.PING") {
		if nc.Publish(strings.ReplaceAll(subject, ">", "x"), []byte("{}")); may(subject) {
			t.Errorf("a may publish to %s", subject)
		}
	}
	for _, subject := range []string{"$KV.assign.b", "$KV.assign.>", "fleet.>", "_INBOX_b.>", "_INBOX_coordinator.>", ">",
		"$O.raw_b.>"} {
		if nc.SubscribeSync(subject); may(subject) {
			t.Errorf("a may subscribe to %s", subject)
		}
	}
	own, _ := admit.Permissions("a")
	for _, subject := range own {
		if nc.Publish(strings.ReplaceAll(subject, ">", "x"), []byte("{}")); !may(subject) {
			t.Errorf("a may not publish to %s", subject)
		}
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := js.ObjectStore(ctx, "raw_b"); err == nil {
		t.Error("a may open the objects of b")
	}
}

// An answer goes to the bench that asked, wherever it says that it wants it: with the
// coordinator's rights, it could be another's order.
func TestAnAnswerIsNoOrder(t *testing.T) {
	l := newLab(t, "a", "b")
	board, err := wire.OpenBoard(l.who[""])
	if err != nil {
		t.Fatal(err)
	}
	defer board.Close()
	nc, _ := l.as("a")
	if err := nc.Publish("fleet.result.a", []byte(`{"run":"forged"}`)); err != nil {
		t.Fatal(err)
	}
	for _, reply := range []string{"$KV.assign.b", "_INBOX_b.x", "_INBOX_ab.x"} {
		if err := nc.PublishRequest("fleet.result.a", reply, []byte(`{"run":"forged"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.PublishRequest("fleet.result.a", "_INBOX_a.x", []byte(`{"run":"right","bench":"b"}`)); err != nil {
		t.Fatal(err)
	}
	if d := <-board.Results(); d.Run != "right" || d.Bench != "a" {
		t.Errorf("got %+v", d.Result)
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

// Nobody comes in without a key that the hub knows now.
func TestWhoIsAdmitted(t *testing.T) {
	l := newLab(t, "a", "b")
	if _, err := nats.Connect(l.hub.URL()); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("without a key: got %v", err)
	}
	stranger := l.who["a"]
	_, stranger.Seed, _ = admit.NewKey()
	if _, err := wire.OpenBench(stranger); !errors.Is(err, wire.ErrUnknownKey) {
		t.Errorf("with a key of its own: got %v", err)
	}
	if _, err := wire.OpenBoard(stranger); !errors.Is(err, wire.ErrUnknownKey) {
		t.Errorf("a coordinator with a key of its own: got %v", err)
	}
	end, err := wire.OpenBench(l.who["a"])
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	k := admit.Keys{Benches: map[string]string{}}
	for name, c := range l.who {
		pair, err := nkeys.FromSeed([]byte(c.Seed))
		if err != nil {
			t.Fatal(err)
		}
		public, _ := pair.PublicKey()
		if k.Benches[name] = public; name == "" {
			k.Coordinator = public
		}
	}
	delete(k.Benches, "")
	delete(k.Benches, "a")
	l.admit(k)
	select {
	case <-end.Done():
		if !errors.Is(end.Err(), wire.ErrUnknownKey) {
			t.Errorf("a bench that was removed: got %v", end.Err())
		}
	case <-time.After(time.Minute):
		t.Error("a bench that was removed is still there after a minute")
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

// A hub whose disk was full takes writes again once there is room, without being started by hand: the server itself would
// refuse a stream's writes for ever after one that failed.
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
	assign := func(block int) error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return board.Assign(ctx, "a", fleet.Order{Task: fleet.Task{Run: "r", Block: block, Attempt: 1},
			Plan: make([]byte, 64<<10)}) // more than what is left of a page
	}
	if err := assign(1); err != nil {
		t.Fatal(err)
	}
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

// A bench's bucket that takes nothing any more is made anew, and the bench's results arrive; one in which something still
// arrives is left alone.
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
	w := fleet.Worker{Name: "a", Machine: "a", Program: "v1", Bench: end, Dir: t.TempDir(), Lease: lease, Conduct: conduct(h)}
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

// hold is that of a coordinator with results of its own.
func hold(words string) fleet.Hold { return fleet.Hold{ID: fleet.NewID(), Place: words, Words: words} }

// One coordinator conducts at a time; another is told who does, and may once that has ended.
func TestOneConducts(t *testing.T) {
	l := newLab(t, "a")
	open := func() *wire.Board {
		t.Helper()
		b, err := wire.OpenBoard(l.who[""])
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first, second := open(), open()
	defer second.Close()
	if _, err := first.Conduct(t.Context(), hold("results/x, from here"), time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	_, err := second.Conduct(t.Context(), hold("y"), time.Minute, nil)
	if !errors.Is(err, fleet.ErrAnother) || !strings.Contains(err.Error(), "results/x, from here") {
		t.Errorf("a second coordinator: got %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Conduct(t.Context(), hold("y"), time.Minute, nil); err != nil {
		t.Errorf("after the first has ended: got %v", err)
	}
	nc, _ := l.as("a")
	if err := nc.Publish("fleet.conduct", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Request("fleet.conduct", nil, 300*time.Millisecond); err == nil {
		t.Error("a bench may ask what is conducted")
	}
}

// Of coordinators that start at the same instant one conducts, and the others are refused.
func TestOneOfManyConducts(t *testing.T) {
	l := newLab(t, "a")
	for round := range 5 {
		const many = 4
		boards, errs := make([]*wire.Board, many), make([]error, many)
		for i := range boards {
			var err error
			if boards[i], err = wire.OpenBoard(l.who[""]); err != nil {
				t.Fatal(err)
			}
		}
		var all sync.WaitGroup
		for i, b := range boards {
			all.Go(func() { _, errs[i] = b.Conduct(t.Context(), hold(fmt.Sprint(i)), time.Minute, nil) })
		}
		all.Wait()
		conduct := 0
		for i, err := range errs {
			if err == nil {
				conduct++
			} else if !errors.Is(err, fleet.ErrAnother) {
				t.Errorf("round %d, board %d: %v", round, i, err)
			}
			boards[i].Close()
		}
		if conduct != 1 {
			t.Fatalf("round %d: %d coordinators conduct", round, conduct)
		}
	}
}

// A coordinator whose place was taken while it was away ends, and orders nothing any more.
func TestADisplacedCoordinatorEnds(t *testing.T) {
	l := newLab(t, "a")
	board, err := wire.OpenBoard(l.who[""])
	if err != nil {
		t.Fatal(err)
	}
	defer board.Close()
	held, err := board.Conduct(t.Context(), hold("x"), 2*time.Second, nil)
	if err != nil {
		t.Fatal(err)
	}
	nc, _ := l.as("")
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), "assign")
	if err != nil {
		t.Fatal(err)
	}
	taking, stop := context.WithCancel(t.Context())
	var other sync.WaitGroup
	other.Go(func() {
		for n := 0; taking.Err() == nil; n++ { // it renews, as a coordinator does
			kv.Put(taking, "_coordinator", fmt.Appendf(nil, `{"id":"z","place":"z","words":"z from afar"}`))
			time.Sleep(100 * time.Millisecond)
		}
	})
	defer other.Wait()
	defer stop()
	select {
	case <-held.Done():
	case <-time.After(time.Minute):
		t.Fatal("it still conducts after a minute")
	}
	if err := context.Cause(held); !errors.Is(err, fleet.ErrAnother) || !strings.Contains(err.Error(), "z from afar") {
		t.Errorf("got %v", err)
	}
	if board.Assign(t.Context(), "a", fleet.Order{}) == nil {
		t.Error("it still gives orders")
	}
}
