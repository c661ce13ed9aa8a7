package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/fleet/wire"
)

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
	go func() {
		for range refused { // told late on a busy machine
		}
	}()
	last := nc.LastError()
	may := func(name string) bool { // when the hub has answered, all refusals before have arrived
		t.Helper()
		if err := nc.FlushTimeout(time.Minute); err != nil {
			t.Fatal(err)
		}
		err := nc.LastError()
		if err == last {
			return true
		}
		if last = err; !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s: got %v", name, err)
		}
		return false
	}
	publish, _ := admit.Permissions("b")
	for _, subject := range append(publish, "$KV.assign.a", "$KV.assign.b", "fleet.drain.a",
		"$JS.API.STREAM.DELETE.KV_assign",
		"$JS.API.STREAM.LIST", "$JS.API.STREAM.MSG.GET.KV_assign", admit.CoordinatorInbox+".x", "_INBOX_b.x",
		"$SYS.REQ.SERVER.PING") {
		if nc.Publish(strings.ReplaceAll(subject, ">", "x"), []byte("{}")); may(subject) {
			t.Errorf("a may publish to %s", subject)
		}
	}
	for _, subject := range []string{"$KV.assign.b", "$KV.assign.>", "fleet.>", "_INBOX_b.>",
		admit.CoordinatorInbox + ".>", ">", "$O.raw_b.>"} {
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

// A bench that is called as the coordinator is hears nothing of what the hub answers to that.
func TestABenchCalledCoordinator(t *testing.T) {
	l := newLab(t, "a", "coordinator")
	nc, refused := l.as("coordinator")
	heard, err := nc.SubscribeSync(admit.Inbox("coordinator") + ".>")
	if err == nil {
		err = nc.FlushTimeout(10 * time.Second)
	}
	if err != nil {
		t.Fatal(err)
	}
	board, err := wire.OpenBoard(l.who[""])
	if err != nil {
		t.Fatal(err)
	}
	defer board.Close()
	if err := board.Assign(t.Context(), "a", fleet.Order{Task: fleet.Task{Run: "r", Block: 1, Attempt: 1}}); err != nil {
		t.Fatal(err)
	}
	if m, err := heard.NextMsg(500 * time.Millisecond); err == nil {
		t.Errorf("it heard %s: %.200s", m.Subject, m.Data)
	}
	if _, err := nc.SubscribeSync(admit.CoordinatorInbox + ".>"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-refused:
		if !errors.Is(err, nats.ErrPermissionViolation) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it may listen where the coordinator is answered")
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
		t.Errorf("got %+v", d.Bundle)
	}
}

// A hub that listens at a name, as doc/fleet.md has it, turns a bench away that is removed.
func TestAHubAtANameTurnsAway(t *testing.T) {
	l := newLab(t, "a")
	dir := t.TempDir()
	o := Options{Listen: "localhost:0", Store: filepath.Join(dir, "store"), Keys: l.options.Keys,
		Cert: filepath.Join(dir, "hub.pem"), Key: filepath.Join(dir, "hub.key")}
	selfSigned(t, o.Cert, o.Key)
	h, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Stop()
	pair, err := nkeys.FromSeed([]byte(l.who["a"].Seed))
	if err != nil {
		t.Fatal(err)
	}
	public, _ := pair.PublicKey()
	enter := func() error {
		nc, err := nats.Connect("tls://"+h.server.Addr().String(), nats.Nkey(public, pair.Sign),
			nats.Secure(&tls.Config{InsecureSkipVerify: true}))
		if err == nil {
			nc.Close()
		}
		return err
	}
	if err := enter(); err != nil {
		t.Fatal(err)
	}
	coordinator, _, err := admit.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	read := h.server.ConfigTime()
	l.admit(admit.Keys{Coordinator: coordinator})
	// Nobody enters meanwhile: the server has a data race of its own between a CONNECT and the reading of keys.
	for end := time.Now().Add(30 * time.Second); h.server.ConfigTime().Equal(read); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the keys are not read within 30 s")
		}
	}
	if err := enter(); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("a bench that was removed: got %v", err)
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
