package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
)

// A Board is a coordinator's end.
type Board struct {
	nc      *nats.Conn
	url     string
	js      jetstream.JetStream
	beats   *turns
	offers  *turns
	alive   chan fleet.Beat
	results chan fleet.Delivery
	drained chan string
	ctx     context.Context
	end     context.CancelCauseFunc
	running sync.WaitGroup
	hearing sync.WaitGroup
	rooms   sync.WaitGroup
	making  chan struct{} // rooms, so many at once
	asked   sync.Map      // benches whose rooms are being made
	// Only who calls Assign and Mend touches these.
	arrived map[string]uint64  // what a bench's bucket had when Mend last looked
	orders  jetstream.KeyValue // nil: to be looked up
	written map[string]written // what a bench is to do, as Assign wrote it last
	last    fleet.Stamp        // of what Assign wrote
	chair   *chair             // nil: it only listens
}

// written is an order in JSON, and its stamp.
type written struct {
	text  []byte
	stamp fleet.Stamp
}

// OpenBoard connects a coordinator. It is to be closed.
func OpenBoard(c Credentials) (*Board, error) {
	b := &Board{url: c.URL, making: make(chan struct{}, 8), beats: newTurns(), offers: newTurns(),
		alive: make(chan fleet.Beat), results: make(chan fleet.Delivery),
		drained: make(chan string), arrived: map[string]uint64{}, written: map[string]written{},
		last: fleet.Stamp{Writer: fleet.NewID()}}
	b.ctx, b.end = context.WithCancelCause(context.Background())
	var err error
	if b.nc, err = connect(c, false, func(err error) { b.end(err) }); err != nil {
		return nil, err
	}
	if b.js, err = jetstream.New(b.nc); err == nil {
		_, err = b.nc.Subscribe(admit.AlivePrefix+"*", func(m *nats.Msg) {
			if name, ok := benchOf(m.Subject, admit.AlivePrefix); ok && len(m.Data) <= mostBeat {
				b.beats.say(name, m)
			}
		})
	}
	if err == nil {
		_, err = b.nc.Subscribe(admit.ResultPrefix+"*", b.hearOffer)
	}
	if err == nil {
		_, err = b.nc.Subscribe(admit.DrainPrefix+"*", b.hearDrain)
	}
	if err == nil {
		err = b.nc.Flush()
	}
	if last := b.nc.LastError(); err == nil && errors.Is(last, nats.ErrPermissionViolation) { // it is a bench's
		err = notAllowed(last)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.hearing.Go(b.hearBeats)
	b.hearing.Go(b.hearResults)
	return b, nil
}

// ErrNobody means that no coordinator is at work.
var ErrNobody = errors.New("no study is shared now")

// Drain has the coordinator that is at work give a bench no more orders. It waits until
// that has heard it.
func Drain(ctx context.Context, c Credentials, bench string) error {
	nc, err := connect(c, false, func(error) {})
	if err != nil {
		return err
	}
	defer nc.Close()
	_, err = nc.RequestWithContext(ctx, admit.DrainPrefix+bench, nil)
	if errors.Is(err, nats.ErrNoResponders) {
		return ErrNobody
	}
	return err
}

// hearDrain trusts who sends it: no bench may.
func (b *Board) hearDrain(m *nats.Msg) {
	name, ok := benchOf(m.Subject, admit.DrainPrefix)
	if !ok {
		return
	}
	select {
	case b.drained <- name:
		m.Respond(nil)
	case <-b.ctx.Done():
	}
}

// Drained are benches that are to get no more orders.
func (b *Board) Drained() <-chan string { return b.drained }

// Close ends the connection, once what was said has been sent. For a hub that takes nothing any more it waits
// twice as long as farewell, at most.
func (b *Board) Close() error {
	err := within(farewell, func() error {
		b.running.Wait()
		if b.chair != nil {
			b.chair.leave()
		}
		return b.nc.Flush()
	})
	b.end(nil)
	within(farewell, func() error {
		b.rooms.Wait()
		b.hearing.Wait()
		b.nc.Close()
		return nil
	})
	return err
}

// Alive are the beats of all benches.
func (b *Board) Alive() <-chan fleet.Beat { return b.alive }

// Results are what benches deliver.
func (b *Board) Results() <-chan fleet.Delivery { return b.results }

// hearBeats drops what it does not understand: whoever sent it is not heard.
func (b *Board) hearBeats() {
	for {
		name, m, ok := b.beats.next(b.ctx)
		if !ok {
			return
		}
		beat, ok := beatOf(name, m)
		if !ok {
			continue
		}
		select {
		case b.alive <- beat:
		case <-b.ctx.Done():
		}
	}
}

// beatOf is what a bench says of itself; false: nobody understands it.
func beatOf(bench string, m *nats.Msg) (beat fleet.Beat, ok bool) {
	err := json.Unmarshal(m.Data, &beat)
	beat.Bench = bench
	return beat, err == nil && len(beat.Boot) <= mostID && len(beat.Machine) <= mostID
}

func (b *Board) hearOffer(m *nats.Msg) {
	name, ok := benchOf(m.Subject, admit.ResultPrefix)
	// Subtle: the answer is published with the coordinator's rights, so a bench may not
	// choose where to.
	if !ok || !strings.HasPrefix(m.Reply, admit.Inbox(name)+".") {
		return
	}
	if m.Header.Get(roomHeader) != "" {
		b.makeRoom(name, m.Reply)
		return
	}
	b.offers.say(name, m)
}

func (b *Board) hearResults() {
	for {
		name, m, ok := b.offers.next(b.ctx)
		if !ok {
			return
		}
		d, ok := b.delivery(name, m)
		if !ok {
			continue
		}
		select {
		case b.results <- d:
		case <-b.ctx.Done():
		}
	}
}

// delivery is what a bench offers; false: nobody understands it.
func (b *Board) delivery(bench string, m *nats.Msg) (fleet.Delivery, bool) {
	var r fleet.Bundle
	text, files := apart(m)
	if json.Unmarshal(text, &r) != nil {
		return fleet.Delivery{}, false
	}
	r.Bench = bench
	d := fleet.Delivery{Bundle: r}
	d.Fetch = func(ctx context.Context, dir string) error { return b.fetch(ctx, r, files, dir) }
	d.Answer = func(a fleet.Answer) { b.answer(r, m.Reply, a) }
	return d, true
}

// answer says it, and forgets the files that nobody needs any more.
func (b *Board) answer(r fleet.Bundle, reply string, a fleet.Answer) {
	text, err := json.Marshal(a)
	if err != nil {
		return
	}
	b.nc.Publish(reply, text)
	if a.Verdict == fleet.Damaged || a.Verdict == fleet.Unknown {
		return
	}
	b.running.Go(func() {
		ctx, cancel := context.WithTimeout(b.ctx, connectWithin)
		defer cancel()
		if s, err := b.js.Stream(ctx, "OBJ_"+admit.ObjectPrefix+r.Bench); err == nil {
			s.Purge(ctx) // what is left takes room, and does no harm
		}
	})
}

// replicas is how many hubs keep what is written: one that is alone names no cluster.
func (b *Board) replicas() int {
	if b.nc.ConnectedClusterName() == "" {
		return 1
	}
	return 3
}

// Assign writes what a bench is to do. Where it wrote the same before, it sees to it that
// the hub has not forgotten that.
func (b *Board) Assign(ctx context.Context, bench string, o fleet.Order) error {
	if b.chair != nil && !b.chair.claim.Held() {
		return errAway
	}
	before := b.written[bench]
	o.Stamp = before.stamp
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	if b.orders == nil {
		if b.orders, err = b.bucket(ctx); err != nil {
			return err
		}
	}
	if bytes.Equal(before.text, text) {
		if old, err := b.orders.Get(ctx, bench); err == nil && bytes.Equal(old.Value(), text) {
			return nil
		}
	}
	b.last.Number++
	o.Stamp = b.last
	if text, err = json.Marshal(o); err != nil {
		return err
	}
	if _, err = b.orders.Put(ctx, bench, text); err != nil { // it was forgotten, or there is no hub
		b.orders = nil
		return err
	}
	b.written[bench] = written{text, o.Stamp}
	return nil
}

// errAway is that this coordinator has not reached the hub for so long that another may conduct.
var errAway = errors.New("the hub was not reached for a lease")

// bucket is that of the orders.
func (b *Board) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	kv, err := b.js.KeyValue(ctx, admit.AssignBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = b.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: admit.AssignBucket,
			Storage: jetstream.FileStorage, Replicas: b.replicas()})
	}
	return kv, err
}

// makeRoom makes the bucket of a bench's objects where there is none, and says so. It is limited, so
// that no bench fills the hub's disk.
func (b *Board) makeRoom(bench, reply string) {
	if _, busy := b.asked.LoadOrStore(bench, true); busy {
		return // it asks again
	}
	b.rooms.Go(func() {
		defer b.asked.Delete(bench)
		select {
		case b.making <- struct{}{}:
		case <-b.ctx.Done():
			return
		}
		defer func() { <-b.making }()
		ctx, cancel := context.WithTimeout(b.ctx, connectWithin)
		defer cancel()
		_, err := b.js.ObjectStore(ctx, admit.ObjectPrefix+bench)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			_, err = b.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: admit.ObjectPrefix + bench,
				Storage: jetstream.FileStorage, Replicas: b.replicas(), MaxBytes: fleet.MostResults + fleet.MostResults/8})
		}
		if err == nil {
			b.nc.Publish(reply, nil)
		}
	})
}

// Mend makes a bench's bucket anew where nothing has arrived in it since the last call: a
// stream that failed once may refuse everything, and a hub of a cluster that was lost may
// have taken with it what the others count on.
func (b *Board) Mend(ctx context.Context, bench string) error {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	bucket := admit.ObjectPrefix + bench
	s, err := b.js.Stream(ctx, "OBJ_"+bucket)
	if err == nil {
		before, seen := b.arrived[bench]
		b.arrived[bench] = s.CachedInfo().State.LastSeq
		if !seen || before != b.arrived[bench] {
			return nil
		}
	}
	delete(b.arrived, bench)
	return b.js.DeleteObjectStore(ctx, bucket) // the bench asks for another
}

// fetch writes the files of a result into dir.
func (b *Board) fetch(ctx context.Context, r fleet.Bundle, files []byte, dir string) error {
	ctx, cancel := until(ctx, b.ctx)
	defer cancel()
	ctx, end := whileConnected(ctx, b.nc)
	defer end()
	ctx, arrived, stop := whileArriving(ctx, stalled)
	defer stop()
	to := newUnpacker(dir)
	stored, err := to.enclosed(r, files)
	if err != nil || len(stored) == 0 {
		return errors.Join(err, to.sync())
	}
	asked, got := context.WithTimeout(ctx, connectWithin)
	objects, err := b.js.ObjectStore(asked, admit.ObjectPrefix+r.Bench)
	got()
	for _, p := range stored {
		if err == nil {
			err = fetchParcel(ctx, objects, p, to, arrived)
		}
	}
	return errors.Join(err, to.sync())
}

func fetchParcel(ctx context.Context, objects jetstream.ObjectStore, p parcel, to *unpacker, arrived func()) error {
	from, err := objects.Get(ctx, p.object)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("%w: %s is missing", fleet.ErrDamaged, p.files[0].Name)
	}
	if err != nil {
		return err
	}
	body := reader(ctx, from, arrived)
	defer body.Close()
	return to.all(body, p)
}

// reader reads an object until ctx ends, and tells of all that arrives. The library's own waits for the deadline of ctx
// even when it is cancelled, and cannot be closed meanwhile; that goes on unseen.
func reader(ctx context.Context, from io.ReadCloser, arrived func()) io.ReadCloser {
	r, w := io.Pipe()
	stop := context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer stop()
		_, err := io.Copy(w, io.TeeReader(from, told(arrived)))
		w.CloseWithError(err)
		from.Close()
	}()
	return r
}

// told is a writer that keeps nothing but calls itself.
type told func()

func (t told) Write(b []byte) (int, error) {
	t()
	return len(b), nil
}
