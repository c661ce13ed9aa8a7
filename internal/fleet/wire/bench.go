package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
)

// lookEvery is how often a bench reads its order, in case it missed that it changed.
const lookEvery = 5 * time.Second

// answerWithin is how long an answer to results is waited for: then the bench asks again,
// which does no harm where they are still being fetched. Much less than a lease: a hub
// that was started again has forgotten who waits.
const answerWithin = 5 * time.Second

// An upload is given up after so long and a time for its bytes.
const (
	uploadWithin = 10 * time.Second
	uploadRate   = 100 << 10 // B/s
)

// A Bench is a worker's end.
type Bench struct {
	nc     *nats.Conn
	url    string
	js     jetstream.JetStream
	name   string
	orders chan fleet.Order
	ctx    context.Context
	end    context.CancelCauseFunc
	looked chan struct{} // closed when nobody looks any more
}

// OpenBench connects a bench. A hub that is away is waited for; one that does not know
// the key is ErrUnknownKey. It is to be closed.
func OpenBench(c Credentials) (*Bench, error) {
	if err := admit.CheckName(c.Bench); err != nil {
		return nil, err
	}
	b := &Bench{name: c.Bench, url: c.URL, orders: make(chan fleet.Order), looked: make(chan struct{})}
	b.ctx, b.end = context.WithCancelCause(context.Background())
	var err error
	if b.nc, err = connect(c, true, func(err error) { b.end(err) }); err != nil {
		return nil, err
	}
	if b.js, err = jetstream.New(b.nc); err == nil {
		_, err = b.nc.Subscribe(admit.AssignSubject(b.name), func(m *nats.Msg) { b.told(m.Data) })
	}
	if err != nil {
		b.nc.Close()
		return nil, err
	}
	go b.look()
	return b, nil
}

// Done is closed when the bench can never be reached again; Err says why.
func (b *Bench) Done() <-chan struct{} { return b.ctx.Done() }

// Err is why the connection ended for good; nil: Close did it.
func (b *Bench) Err() error {
	if err := context.Cause(b.ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Close ends the connection.
func (b *Bench) Close() {
	b.end(nil)
	within(farewell, func() error {
		b.nc.Close()
		<-b.looked
		return nil
	})
}

// Orders tells what the bench is to do, when it changes and every few seconds.
func (b *Bench) Orders() <-chan fleet.Order { return b.orders }

func (b *Bench) told(text []byte) {
	var o fleet.Order
	if json.Unmarshal(text, &o) != nil {
		return
	}
	select {
	case b.orders <- o:
	case <-b.ctx.Done():
	}
}

func (b *Bench) look() {
	defer close(b.looked)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		m, err := b.nc.Request(admit.OrderSubject(b.name), nil, connectWithin)
		if err == nil && m.Header.Get("Nats-Subject") == admit.AssignSubject(b.name) {
			b.told(m.Data)
		}
		select {
		case <-tick.C:
		case <-b.ctx.Done():
			return
		}
	}
}

// Beat says that the bench lives.
func (b *Bench) Beat(_ context.Context, beat fleet.Beat) error {
	text, err := json.Marshal(beat)
	if err != nil || !b.nc.IsConnected() { // the library would keep it, and send it when it is stale
		return err
	}
	return b.nc.Publish(admit.AlivePrefix+b.name, text)
}

// Deliver uploads what is not there yet, and asks.
func (b *Bench) Deliver(ctx context.Context, r fleet.Bundle, dir string) (fleet.Answer, error) {
	ctx, cancel := until(ctx, b.ctx)
	defer cancel()
	ctx, end := whileConnected(ctx, b.nc)
	defer end()
	var a fleet.Answer
	var objects jetstream.ObjectStore
	var err error
	parcels, enclosed := parcelsOf(r).enclose()
	if len(parcels) > 0 {
		if objects, err = b.Room(ctx); err != nil {
			return a, err
		}
	}
	for _, p := range parcels {
		if err := b.upload(ctx, objects, p, dir); err != nil {
			return a, fmt.Errorf("%s: %w", p.files[0].Name, err)
		}
	}
	ask := nats.NewMsg(admit.ResultPrefix + b.name)
	if ask.Data, err = json.Marshal(r); err != nil {
		return a, err
	}
	if enclosed != nil {
		ask.Header.Set(enclosedHeader, strconv.Itoa(len(ask.Data)))
		if ask.Data, err = enclosed.appendTo(ask.Data, dir); err != nil {
			return a, err
		}
	}
	asked, stop := context.WithTimeout(ctx, answerWithin)
	defer stop()
	m, err := b.nc.RequestMsgWithContext(asked, ask)
	if err == nil {
		err = json.Unmarshal(m.Data, &a)
	}
	if err != nil || a.Verdict != fleet.Damaged {
		return a, err
	}
	for _, p := range parcels { // all are sent again
		if err := remove(ctx, objects, p); err != nil {
			return a, err
		}
	}
	return a, nil
}

// roomHeader marks what asks for a bucket in place of a result.
const roomHeader = "Edgegauge-Room"

// Room is the bench's bucket at the hub. Where there is none, the coordinator is asked to make it: of
// most benches nothing is ever stored.
func (b *Bench) Room(ctx context.Context) (jetstream.ObjectStore, error) {
	objects, err := b.room(ctx)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return objects, err
	}
	ask := nats.NewMsg(admit.ResultPrefix + b.name)
	ask.Header.Set(roomHeader, "1")
	asked, stop := context.WithTimeout(ctx, answerWithin)
	defer stop()
	if _, err := b.nc.RequestMsgWithContext(asked, ask); err != nil {
		return nil, err
	}
	return b.room(ctx)
}

func (b *Bench) room(ctx context.Context) (jetstream.ObjectStore, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return b.js.ObjectStore(ctx, admit.ObjectPrefix+b.name)
}

func remove(ctx context.Context, objects jetstream.ObjectStore, p parcel) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := objects.Delete(ctx, p.object); !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	return nil
}

// upload sends a parcel that is not whole at the hub.
func (b *Bench) upload(ctx context.Context, objects jetstream.ObjectStore, p parcel, dir string) error {
	asked, stop := context.WithTimeout(ctx, answerWithin)
	there, err := objects.GetInfo(asked, p.object)
	stop()
	if err == nil && there.Size == uint64(p.bytes()) {
		return nil
	}
	from := &packer{dir: dir, left: p.files}
	defer from.Close()
	most := uploadWithin + time.Duration(float64(p.bytes())/uploadRate*float64(time.Second))
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	ctx, arrived, end := whileArriving(ctx, stalled)
	defer end()
	go b.watch(ctx, arrived)
	meta := jetstream.ObjectMeta{Name: p.object, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunk}}
	if _, err = objects.Put(ctx, meta, from); err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	return err
}

// watch tells when something has arrived in the bench's bucket, until ctx ends. A hub that was emptied, and hubs that
// have no leader, acknowledge nothing of what was sent to them, ever.
func (b *Bench) watch(ctx context.Context, arrived func()) {
	tick := time.NewTicker(stalled / 10)
	defer tick.Stop()
	for last := uint64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked, stop := context.WithTimeout(ctx, stalled/2)
		s, err := b.js.Stream(asked, "OBJ_"+admit.ObjectPrefix+b.name)
		stop()
		if err == nil && s.CachedInfo().State.LastSeq != last {
			last = s.CachedInfo().State.LastSeq
			arrived()
		}
	}
}
