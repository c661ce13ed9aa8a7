package hub

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"edgegauge.example/edgegauge/internal/store"
)

// hubProgram is as what the test's program is a hub.
const hubProgram = "edgegauge-hub"

// TestMain lets the test's program be a hub, to be killed.
func TestMain(m *testing.M) {
	if os.Args[0] == hubProgram {
		os.Exit(Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// A ring is a cluster of hubs, of which each may be lost.
type ring struct {
	*lab
	hubs    []*Hub      // in this process
	killed  []*exec.Cmd // or each in its own
	options []Options
}

// freeAddresses are on addresses of their own, three in turn: a connection that is made
// meanwhile takes a port of 127.0.0.1.
func freeAddresses(t *testing.T, n int) []string {
	t.Helper()
	var all []string
	for i := range n {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", 2+i%3))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		all = append(all, l.Addr().String())
	}
	return all
}

// layRing prepares three hubs with one certificate, and gives the credentials all their addresses.
func layRing(t *testing.T, benches ...string) *ring {
	t.Helper()
	l := newLab(t, benches...) // for its keys; its hub is not used
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "hub.pem"), filepath.Join(dir, "hub.key")
	selfSigned(t, cert, key)
	pem, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	r := &ring{lab: l, hubs: make([]*Hub, 3), killed: make([]*exec.Cmd, 3)}
	all := freeAddresses(t, 6)
	var urls []string
	for i := range r.hubs {
		r.options = append(r.options, Options{Listen: all[i], Store: filepath.Join(dir, fmt.Sprint(i)), Keys: l.options.Keys,
			Cert: cert, Key: key, Cluster: all[3:], Route: all[3+i]})
		urls = append(urls, "tls://"+all[i])
	}
	for name, c := range l.who {
		c.URL, c.CA = strings.Join(urls, ","), string(pem)
		l.who[name] = c
	}
	return r
}

// newRing is three hubs in this process.
func newRing(t *testing.T, benches ...string) *ring {
	t.Helper()
	r := layRing(t, benches...)
	for i := range r.hubs {
		r.begin(i)
	}
	t.Cleanup(func() {
		for _, h := range r.hubs {
			h.Stop()
		}
	})
	return r
}

func (r *ring) begin(i int) {
	r.t.Helper()
	var err error
	if r.hubs[i], err = Start(r.options[i]); err != nil {
		r.t.Fatal(err)
	}
}

// spawn starts a hub as a process of its own.
func (r *ring) spawn(i int) {
	r.t.Helper()
	o := r.options[i]
	cmd := exec.Command("/proc/self/exe", "-listen", o.Listen, "-store", o.Store, "-keys", o.Keys, "-cert", o.Cert, "-key",
		o.Key, "-cluster", strings.Join(o.Cluster, ","), "-route", o.Route)
	cmd.Args[0], cmd.Stderr = hubProgram, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		r.killed[i] = cmd
		_, err = bufio.NewReader(out).ReadBytes('\n')
	}
	if err != nil {
		r.t.Error(err)
	}
}

// lose kills a hub, and takes its folder away.
func (r *ring) lose(i int) {
	r.t.Helper()
	if r.killed[i] == nil {
		return
	}
	r.killed[i].Process.Kill()
	r.killed[i].Wait()
	if err := os.RemoveAll(r.options[i].Store); err != nil {
		r.t.Error(err)
	}
}

// A hub of three is killed and replaced by an empty one while blocks are measured, the one that leads a stream first
// and another then: each block counts once, and what is written has three copies again.
func TestBlocksOverACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for elections")
	}
	runtime.LockOSThread() // a hub ends with the thread that started it
	r := layRing(t, "a", "b")
	for i := range r.killed {
		r.spawn(i)
		t.Cleanup(func() { r.lose(i) })
	}
	if t.Failed() {
		return
	}
	lost := 0
	r.measures(8, 3*time.Minute, func(n int) {
		if n != 2 && n != 5 {
			return
		}
		i := r.leader(lost)
		lost++
		r.lose(i)
		r.spawn(i)
	}, func(*store.Store) { r.whole() })
	if lost != 2 {
		t.Errorf("%d hubs were lost", lost)
	}
}

// js is a connection with the coordinator's rights.
func (r *ring) js() jetstream.JetStream {
	r.t.Helper()
	who := r.who[""]
	pair, err := nkeys.FromSeed([]byte(who.Seed))
	if err != nil {
		r.t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		r.t.Fatal(err)
	}
	nc, err := nats.Connect(who.URL, nats.Nkey(public, pair.Sign), nats.RootCAs(r.options[0].Cert))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		r.t.Fatal(err)
	}
	return js
}

// leader is the hub that leads the orders, once one is elected, or one that does not.
func (r *ring) leader(other int) int {
	r.t.Helper()
	js := r.js()
	name := ""
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Second)
		var stream jetstream.Stream
		if stream, err = js.Stream(ctx, "KV_assign"); err == nil {
			name = stream.CachedInfo().Cluster.Leader
		}
		cancel()
		for i, o := range r.options {
			if strings.HasSuffix(name, "-"+o.Route) {
				return (i + other) % len(r.options)
			}
		}
	}
	r.t.Errorf("%q leads the orders: %v", name, err)
	return 0
}

// whole waits until the orders have three copies that are all up to date.
func (r *ring) whole() {
	r.t.Helper()
	js := r.js()
	var last string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Second)
		stream, err := js.Stream(ctx, "KV_assign")
		cancel()
		if err != nil {
			last = err.Error()
			continue
		}
		info := stream.CachedInfo()
		last = fmt.Sprintf("%+v", info.Cluster)
		if info.Config.Replicas != 3 {
			r.t.Fatalf("%d copies of the orders are kept", info.Config.Replicas)
		}
		current := 0
		for _, p := range info.Cluster.Replicas {
			if p.Current && !p.Offline {
				current++
			}
		}
		if info.Cluster.Leader != "" && current == 2 {
			return
		}
	}
	r.t.Errorf("not all copies are up to date after a minute: %s", last)
}

// Who has no certificate is no hub, and a cluster is whole or none.
func TestAClusterRefuses(t *testing.T) {
	r := newRing(t, "a")
	conn, err := tls.Dial("tcp", r.options[0].Route, &tls.Config{InsecureSkipVerify: true})
	if err == nil { // TLS 1.3: what the other end says to the client's certificate is heard at the first read
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, err = conn.Read(make([]byte, 1))
	}
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a route without a certificate: got %v", err)
	}
	good := r.options[0]
	good.Listen, good.Store = "127.0.0.1:0", t.TempDir()
	for what, change := range map[string]func(*Options){
		"two hubs":             func(o *Options) { o.Cluster = o.Cluster[:2] },
		"four hubs":            func(o *Options) { o.Cluster = append(o.Cluster, "127.0.0.1:1") },
		"no address of ours":   func(o *Options) { o.Route = "127.0.0.1:1" },
		"a route and no other": func(o *Options) { o.Cluster = nil },
		"no certificate":       func(o *Options) { o.Cert, o.Key = "", "" },
		"no CA":                func(o *Options) { o.CA = o.Key },
	} {
		o := good
		o.Cluster = append([]string(nil), good.Cluster...)
		change(&o)
		if h, err := Start(o); err == nil {
			h.Stop()
			t.Errorf("it starts with %s", what)
		}
	}
}

// selfSigned writes a certificate of loopback, which vouches for itself, and its key.
func selfSigned(t *testing.T, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hub"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(127, 0, 0, 2), net.IPv4(127, 0, 0, 3),
			net.IPv4(127, 0, 0, 4)}}
	der, err := x509.CreateCertificate(rand.Reader, &c, &c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der},
		keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
