package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/wire"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/store"
)

// A dialer dials from a network namespace.
type dialer struct{ ns *os.File }

func (d dialer) Dial(network, address string) (c net.Conn, err error) {
	err = kernel.InNetwork(d.ns, func() error {
		c, err = net.DialTimeout(network, address, 5*time.Second)
		return err
	})
	return c, err
}

// reach connects with a key, as any program that is not edgegauge could. It waits for a hub that is away.
func reach(c wire.Credentials, name string, more ...nats.Option) (*nats.Conn, error) {
	pair, err := nkeys.FromSeed([]byte(c.Seed))
	if err != nil {
		return nil, err
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	options := []nats.Option{nats.Nkey(public, pair.Sign), nats.CustomInboxPrefix("_INBOX_" + name),
		nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.ReconnectWait(200 * time.Millisecond),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})}
	return nats.Connect(c.URL, append(options, more...)...)
}

// third connects from the stranger's network.
func (f *faulty) third(c wire.Credentials, name string) *nats.Conn {
	c.URL = "tls://" + net.JoinHostPort(f.cables[faultsThird].far, hubPort)
	nc, err := reach(c, name, nats.RootCAs(filepath.Join(f.dir, "hub.pem")),
		nats.SetCustomDialer(dialer{f.ns[faultsThird]}))
	f.must(err)
	return nc
}

// repeat says again what benches have said, at once or up to two leases later: the network delivers twice, and late.
func (f *faulty) repeat(who wire.Credentials, dice *rand.Rand) (end func()) {
	nc := f.third(who, "repeater")
	var mu sync.Mutex
	said := map[string]int{}
	again := func(m *nats.Msg) {
		if m.Header.Get("Again") != "" {
			return
		}
		mu.Lock()
		yes, late := dice.IntN(3) == 0, time.Duration(dice.Int64N(int64(2*faultLease)))
		if yes {
			said["repeated "+m.Subject[:len("fleet.alive")]]++
		}
		mu.Unlock()
		if !yes {
			return
		}
		copied := &nats.Msg{Subject: m.Subject, Reply: m.Reply, Data: m.Data, Header: nats.Header{"Again": {"1"}}}
		time.AfterFunc(late, func() { nc.PublishMsg(copied) })
	}
	for _, subject := range []string{"fleet.result.*", "fleet.alive.*"} {
		_, err := nc.Subscribe(subject, again)
		f.must(err)
	}
	return func() {
		nc.Close()
		mu.Lock()
		defer mu.Unlock()
		f.say("%v", said)
	}
}

// lie has a third bench take orders, and deliver what it has not measured, until the fleet ends.
func (f *faulty) lie(dice *rand.Rand, alone string) (end func()) {
	who, err := wire.ReadCredentials(filepath.Join(f.dir, faultsLiar+".json"))
	f.must(err)
	nc := f.third(who, faultsLiar)
	js, err := jetstream.New(nc)
	f.must(err)
	orders := make(chan fleet.Order, 64)
	_, err = nc.Subscribe("$KV.assign."+faultsLiar, func(m *nats.Msg) {
		var o fleet.Order
		if json.Unmarshal(m.Data, &o) == nil {
			select {
			case orders <- o:
			default:
			}
		}
	})
	f.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	var lying sync.WaitGroup
	beat := fleet.Beat{Bench: faultsLiar, Boot: fleet.NewID(), Machine: faultsLiar, Program: version()}
	f.met["a liar"]++
	told := 0
	var order fleet.Order
	lying.Go(func() {
		tick := time.NewTicker(faultLease / 8)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if text, err := json.Marshal(beat); err == nil && nc.IsConnected() {
					nc.Publish("fleet.alive."+faultsLiar, text)
				}
				if order.Attempt > 0 { // one that only said that it measures would hold its block for ever
					told++
					tellLie(ctx, nc, js, order, dice.IntN(7), alone)
				}
			case order = <-orders:
				beat.Task = order.Task
			}
		}
	})
	return func() {
		cancel()
		lying.Wait()
		nc.Close()
		f.say("%d lies", told)
	}
}

// tellLie delivers something that was not measured under an order. Its errors are the network's.
func tellLie(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, o fleet.Order, which int, alone string) {
	ctx, cancel := context.WithTimeout(ctx, faultLease/2)
	defer cancel()
	r := fleet.Bundle{Task: o.Task, Bench: faultsLiar, Boot: o.Boot}
	objects, err := js.ObjectStore(ctx, "raw_"+faultsLiar)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		ask := nats.NewMsg("fleet.result." + faultsLiar)
		ask.Header.Set("Edgegauge-Room", "1")
		if _, err = nc.RequestMsgWithContext(ctx, ask); err == nil {
			objects, err = js.ObjectStore(ctx, "raw_"+faultsLiar)
		}
	}
	if err != nil {
		return
	}
	names, err := store.Files(alone)
	if err != nil {
		return
	}
	var all []byte // small files travel as one object
	content := sha256.New()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(alone, filepath.FromSlash(name)))
		if err != nil {
			return
		}
		if which == 1 && name == "ledger.sqlite" { // a damaged file, well described
			text = text[:len(text)/2]
		}
		sum := sha256.Sum256(text)
		file := fleet.File{Name: name, Bytes: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
		if which == 2 { // other bytes than it says
			text = append(text, 'x')
		}
		all = append(all, text...)
		fmt.Fprintf(content, "%s %d\n", file.SHA256, file.Bytes)
		r.Files = append(r.Files, file)
	}
	if which != 3 { // 3: files that are not there
		object := fmt.Sprintf("%s/%d-%d/%x", o.Run, o.Block, o.Attempt, content.Sum(nil))
		if _, err := objects.PutBytes(ctx, object, all); err != nil {
			return
		}
	}
	switch which {
	case 0: // another plan's results, whole
	case 4:
		r.Files = nil
	case 5:
		r.Attempt++
	case 6:
		r.Bench, r.Boot = faultBenches[0], fleet.NewID()
	}
	if text, err := json.Marshal(r); err == nil {
		nc.RequestWithContext(ctx, "fleet.result."+faultsLiar, text)
	}
}
