package wire

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/store"
)

// A Board is a coordinator's end.
type Board struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	alive   chan fleet.Beat
	results chan fleet.Delivery
	drained chan string
	ctx     context.Context
	end     context.CancelCauseFunc
	running sync.WaitGroup
	arrived map[string]uint64 // what a bench's bucket had when Mend last looked; only its caller touches it
}

// ErrAnother means that another coordinator is at work: benches would be torn between
// the two.
var ErrAnother = errors.New("another study is shared on this hub now; wait until it is done, or stop it")

// answersWithin is how long a coordinator that is there may take to say so. One that has
// ended and is not yet missed by the hub never does.
const answersWithin = 2 * time.Second

// Conduct has this board be the one that conducts: until it is closed, another gets
// ErrAnother, with the words of this one. Who only listens need not call it.
func (b *Board) Conduct(words string) error {
	m, err := b.nc.Request(conductSubject, nil, answersWithin)
	if err == nil {
		return fmt.Errorf("%w (%s)", ErrAnother, printable.Line(string(m.Data)))
	}
	if !errors.Is(err, nats.ErrNoResponders) && !errors.Is(err, nats.ErrTimeout) {
		return err
	}
	_, err = b.nc.Subscribe(conductSubject, func(m *nats.Msg) { m.Respond([]byte(words)) })
	return errors.Join(err, b.nc.Flush())
}

// OpenBoard connects a coordinator. It is to be closed.
func OpenBoard(c Credentials) (*Board, error) {
	b := &Board{alive: make(chan fleet.Beat, 64), results: make(chan fleet.Delivery, 64),
		drained: make(chan string), arrived: map[string]uint64{}}
	b.ctx, b.end = context.WithCancelCause(context.Background())
	var err error
	if b.nc, err = connect(c, false, func(err error) { b.end(err) }); err != nil {
		return nil, err
	}
	if b.js, err = jetstream.New(b.nc); err == nil {
		_, err = b.nc.Subscribe(alivePrefix+"*", b.hearBeat)
	}
	if err == nil {
		_, err = b.nc.Subscribe(resultPrefix+"*", b.hearResult)
	}
	if err == nil {
		_, err = b.nc.Subscribe(drainPrefix+"*", b.hearDrain)
	}
	if err == nil {
		err = b.nc.Flush()
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
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
	_, err = nc.RequestWithContext(ctx, drainPrefix+bench, nil)
	if errors.Is(err, nats.ErrNoResponders) {
		return ErrNobody
	}
	return err
}

// hearDrain trusts who sends it: no bench may.
func (b *Board) hearDrain(m *nats.Msg) {
	name, ok := benchOf(m.Subject, drainPrefix)
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

// Close ends the connection, once what was said has been sent.
func (b *Board) Close() error {
	b.running.Wait()
	err := b.nc.Flush()
	b.end(nil)
	b.nc.Close()
	return err
}

// Alive are the beats of all benches.
func (b *Board) Alive() <-chan fleet.Beat { return b.alive }

// Results are what benches deliver.
func (b *Board) Results() <-chan fleet.Delivery { return b.results }

// hearBeat drops what it does not understand: whoever sent it is not heard.
func (b *Board) hearBeat(m *nats.Msg) {
	var beat fleet.Beat
	name, ok := benchOf(m.Subject, alivePrefix)
	if !ok || len(m.Data) > mostBeat || json.Unmarshal(m.Data, &beat) != nil {
		return
	}
	beat.Bench = name
	select {
	case b.alive <- beat:
	case <-b.ctx.Done():
	}
}

func (b *Board) hearResult(m *nats.Msg) {
	var r fleet.Result
	name, ok := benchOf(m.Subject, resultPrefix)
	// Subtle: the answer is published with the coordinator's rights, so a bench may not
	// choose where to.
	if !ok || !strings.HasPrefix(m.Reply, inbox(name)+".") || json.Unmarshal(m.Data, &r) != nil {
		return
	}
	r.Bench = name
	d := fleet.Delivery{Result: r}
	d.Fetch = func(ctx context.Context, dir string) error { return b.fetch(ctx, r, dir) }
	d.Answer = func(a fleet.Answer) { b.answer(r, m.Reply, a) }
	select {
	case b.results <- d:
	case <-b.ctx.Done():
	}
}

// answer says it, and forgets the files that nobody needs any more.
func (b *Board) answer(r fleet.Result, reply string, a fleet.Answer) {
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
		if s, err := b.js.Stream(ctx, "OBJ_"+objectPrefix+r.Bench); err == nil {
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

// Assign writes what a bench is to do, where it is not written yet.
func (b *Board) Assign(ctx context.Context, bench string, o fleet.Order) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	kv, err := b.js.KeyValue(ctx, assignBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = b.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: assignBucket, Storage: jetstream.FileStorage,
			Replicas: b.replicas()})
	}
	if err != nil {
		return err
	}
	if _, err := b.js.ObjectStore(ctx, objectPrefix+bench); errors.Is(err, jetstream.ErrBucketNotFound) {
		if _, err := b.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: objectPrefix + bench,
			Storage: jetstream.FileStorage, Replicas: b.replicas()}); err != nil {
			return err
		}
	}
	if old, err := kv.Get(ctx, bench); err == nil && bytes.Equal(old.Value(), text) {
		return nil
	}
	_, err = kv.Put(ctx, bench, text)
	return err
}

// Mend makes a bench's bucket anew where nothing has arrived in it since the last call: a
// stream that failed once may refuse everything, and a hub of a cluster that was lost may
// have taken with it what the others count on.
func (b *Board) Mend(ctx context.Context, bench string) error {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	bucket := objectPrefix + bench
	s, err := b.js.Stream(ctx, "OBJ_"+bucket)
	if err == nil {
		before, seen := b.arrived[bench]
		b.arrived[bench] = s.CachedInfo().State.LastSeq
		if !seen || before != b.arrived[bench] {
			return nil
		}
	}
	delete(b.arrived, bench)
	return b.js.DeleteObjectStore(ctx, bucket) // the next Assign makes it
}

// fetch writes the files of a result into dir.
func (b *Board) fetch(ctx context.Context, r fleet.Result, dir string) error {
	ctx, cancel := until(ctx, b.ctx)
	defer cancel()
	ctx, end := whileConnected(ctx, b.nc)
	defer end()
	objects, err := b.js.ObjectStore(ctx, objectPrefix+r.Bench)
	if err != nil {
		return err
	}
	for _, f := range r.Files {
		if !store.Portable(f.Name) {
			return fmt.Errorf("%w: %.200q is not a results file", fleet.ErrDamaged, f.Name)
		}
		if err := fetchFile(ctx, objects, objectName(r.Task, f), f, dir); err != nil {
			return err
		}
	}
	return nil
}

func fetchFile(ctx context.Context, objects jetstream.ObjectStore, object string, f fleet.File, dir string) error {
	from, err := objects.Get(ctx, object)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("%w: %s is missing", fleet.ErrDamaged, f.Name)
	}
	if err != nil {
		return err
	}
	body := reader(ctx, from)
	defer body.Close()
	path := filepath.Join(dir, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(body, f.Bytes+1))
	if errors.Is(err, jetstream.ErrDigestMismatch) {
		err = fmt.Errorf("%w: %s: %w", fleet.ErrDamaged, f.Name, err)
	}
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	if n != f.Bytes || hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
		return fmt.Errorf("%w: %s does not match its checksum", fleet.ErrDamaged, f.Name)
	}
	return nil
}

// reader reads an object until ctx ends. The library's own waits for the deadline of ctx even when it is cancelled, and
// cannot be closed meanwhile; that goes on unseen.
func reader(ctx context.Context, from io.ReadCloser) io.ReadCloser {
	r, w := io.Pipe()
	stop := context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer stop()
		_, err := io.Copy(w, from)
		w.CloseWithError(err)
		from.Close()
	}()
	return r
}
