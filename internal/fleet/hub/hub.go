// Package hub is a fleet's message server: nats-server as a library, with the settings
// that a fleet needs and no others. It decides nothing: see package fleet.
package hub

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/kernel"
)

// Options say where a hub listens, and whom it admits.
type Options struct {
	Listen string // host:port; empty: a free port of 127.0.0.1
	Store  string // folder
	Keys   string // file of admit.Keys, read again whenever it changes
	// Cert and Key are PEM files of a certificate; without them the hub listens on
	// loopback only.
	Cert, Key string
	// Cluster are the addresses, host:port, at which three or five hubs reach each other;
	// empty: this hub is alone. Route is this one's.
	Cluster []string
	Route   string
	CA      string // PEM file of who signed the certificates of the others; empty: Cert
}

// A Hub is a running server.
type Hub struct {
	server  *server.Server // watch replaces it
	url     string
	options Options
	broken  log // of the server
	ends    chan struct{}
	ended   chan struct{}
}

// readyWithin is how long a hub may take to open its store.
const readyWithin = 30 * time.Second

// Start starts a hub, which is to be stopped. It refuses to listen beyond loopback
// without a certificate, and to run where writes are not synced before they are
// acknowledged. Where its store cannot be written any more it starts anew by itself,
// once it can.
func Start(o Options) (*Hub, error) {
	h := &Hub{options: o, broken: make(log, 1), ends: make(chan struct{}), ended: make(chan struct{})}
	if err := h.open(); err != nil {
		return nil, err
	}
	h.url = h.server.ClientURL()
	if err := h.stay(); err != nil {
		h.server.Shutdown()
		return nil, err
	}
	go h.watch()
	return h, nil
}

// stay has the server listen where it does now whenever it reads its settings again. The host stays as it was written:
// of one that has changed, be it to its own address, the server refuses all settings, and so the keys.
func (h *Hub) stay() error {
	host, _, err := net.SplitHostPort(cmp.Or(h.options.Listen, anyPort))
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(h.server.Addr().String())
	if err == nil {
		h.options.Listen = net.JoinHostPort(host, port)
	}
	return err
}

// anyPort is where a hub listens that is not told where.
const anyPort = "127.0.0.1:0"

// open starts the server.
func (h *Hub) open() error {
	settings, err := h.options.settings()
	if err != nil {
		return err
	}
	if err := writable(h.options.Store); err != nil { // the server would begin, and carry nothing
		return fmt.Errorf("hub: its folder cannot be written: %w", err)
	}
	s, err := server.NewServer(settings)
	if err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	s.SetLogger(h.broken, false, false)
	go s.Start()
	if !s.ReadyForConnections(readyWithin) {
		err = fmt.Errorf("hub: not ready within %v: is %s in use, or %s on a full disk?", readyWithin, h.options.Listen,
			h.options.Store)
	} else {
		err = synced(s)
	}
	if err != nil {
		s.Shutdown()
		return err
	}
	h.server = s
	return nil
}

// A log hears that the server's store is broken. The server goes on without it, and says
// so nowhere else: of a write that failed it never answers another, until it is started
// again (filestore.go, werr, of v2.15.2).
type log chan string

// hear keeps the first of what it is to hear.
func (l log) hear(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if !strings.Contains(text, "failed to store a msg") && !strings.Contains(strings.ToLower(text), "disabl") {
		return
	}
	select {
	case l <- text:
	default:
	}
}

// Errorf, Warnf and the others are server.Logger.
func (l log) Errorf(format string, v ...any) { l.hear(format, v...) }

// Warnf hears a warning.
func (l log) Warnf(format string, v ...any) { l.hear(format, v...) }

// Fatalf hears why the server ends.
func (l log) Fatalf(format string, v ...any) { l.hear(format, v...) }

// Noticef hears nothing.
func (l log) Noticef(string, ...any) {}

// Debugf hears nothing.
func (l log) Debugf(string, ...any) {}

// Tracef hears nothing.
func (l log) Tracef(string, ...any) {}

// synced reads back whether the store syncs each write.
func synced(s *server.Server) error {
	info, err := s.Jsz(&server.JSzOptions{})
	if err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	if info.Disabled || !info.Config.SyncAlways {
		return errors.New("hub: its store does not sync each write (SyncAlways)")
	}
	return nil
}

// URL is where clients reach the hub.
func (h *Hub) URL() string { return h.url }

// Stop ends the hub.
func (h *Hub) Stop() {
	close(h.ends)
	<-h.ended
	h.server.Shutdown()
	h.server.WaitForShutdown()
}

// watch admits and turns away as the file of keys changes, and starts the server again
// where its store is broken.
func (h *Hub) watch() {
	defer close(h.ended)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, _ := os.Stat(h.options.Keys)
	for {
		select {
		case <-h.ends:
			return
		case why := <-h.broken:
			h.reopen(why, tick.C)
		case <-tick.C:
			if !h.server.JetStreamEnabled() {
				h.reopen("it has given its store up", tick.C)
			}
		}
		now, err := os.Stat(h.options.Keys)
		if err != nil || last != nil && now.ModTime().Equal(last.ModTime()) && now.Size() == last.Size() {
			continue
		}
		settings, err := h.options.settings()
		if err == nil {
			err = h.server.ReloadOptions(settings)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v; the hub continues with what it read before\n", h.options.Keys, err)
		}
		last = now
	}
}

// reopen starts the server again, once its store can be written; who was connected comes
// back.
func (h *Hub) reopen(why string, tick <-chan time.Time) {
	fmt.Fprintf(os.Stderr, "hub: its store is broken (%s); it starts again once %s can be written\n", why,
		h.options.Store)
	h.server.Shutdown()
	h.server.WaitForShutdown()
	for {
		select {
		case <-h.ends:
			return
		case <-tick:
		}
		select {
		case <-h.broken: // the server's last words
		default:
		}
		if h.open() == nil {
			fmt.Fprintln(os.Stderr, "hub: it is there again")
			return
		}
	}
}

// writable tries whether a folder takes the largest message.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "room")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, admit.MostPayload))
	return errors.Join(err, f.Close())
}

// settings are the server's.
func (o Options) settings() (*server.Options, error) {
	listen := cmp.Or(o.Listen, anyPort)
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("hub: %s: %w; write an address such as 127.0.0.1:4222", listen, err)
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		return nil, fmt.Errorf("hub: %s: no port", listen)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	s := &server.Options{ServerName: "edgegauge-hub", Host: host, Port: port, JetStream: true, StoreDir: o.Store,
		// Each bench has a limit of its own, which would be taken off what a limit of all leaves.
		JetStreamMaxStore: mostStore, SyncAlways: true, MaxPayload: admit.MostPayload, NoLog: true, NoSigs: true}
	if ip := net.ParseIP(host); o.Cert == "" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("hub: %s can be reached from elsewhere: give it a certificate with --cert and --key, "+
			"or listen on 127.0.0.1", listen)
	}
	if o.Cert != "" {
		pair, err := admit.KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("hub: %w", err)
		}
		s.TLS, s.TLSConfig = true, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
	}
	if err := o.join(s); err != nil {
		return nil, err
	}
	s.Nkeys, err = users(o.Keys)
	return s, err
}

// mostStore is more than any disk has.
const mostStore = 1 << 60

// clusterName is what clients hear of a hub that is not alone.
const clusterName = "edgegauge"

// join makes a server one of a cluster. Both ends of a route show a certificate: who has
// none is no hub.
func (o Options) join(s *server.Options) error {
	switch n := len(o.Cluster); {
	case n == 0 && o.Route == "":
		return nil
	case n != 3 && n != 5:
		return fmt.Errorf("hub: a cluster of %d; write the addresses of three hubs, or of five", n)
	case !slices.Contains(o.Cluster, o.Route):
		return fmt.Errorf("hub: %q is not one of the cluster's addresses, %s; name this hub's with -route", o.Route,
			strings.Join(o.Cluster, ","))
	case o.Cert == "":
		return errors.New("hub: a cluster needs a certificate: -cert and -key")
	}
	host, text, err := net.SplitHostPort(o.Route)
	if err != nil {
		return fmt.Errorf("hub: %s: %w; write an address such as 192.0.2.1:6222", o.Route, err)
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return fmt.Errorf("hub: %s: no port", o.Route)
	}
	ca, err := kernel.ReadFile(cmp.Or(o.CA, o.Cert), 1<<20)
	if err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return fmt.Errorf("hub: %s: no certificate", cmp.Or(o.CA, o.Cert))
	}
	// Subtle: a node that is replaced is known by the name that was there before.
	s.ServerName = "edgegauge-hub-" + o.Route
	s.Cluster = server.ClusterOpts{Name: clusterName, Host: host, Port: port, TLSTimeout: routeWithin.Seconds(),
		TLSConfig: &tls.Config{Certificates: s.TLSConfig.Certificates, MinVersion: tls.VersionTLS13, RootCAs: pool,
			ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}}
	for _, other := range o.Cluster {
		if other != o.Route {
			s.Routes = append(s.Routes, &url.URL{Scheme: "nats-route", Host: other})
		}
	}
	return nil
}

// routeWithin is how long two hubs may take to show each other their certificates.
const routeWithin = 10 * time.Second

// users reads whom the hub admits, and to what.
func users(file string) ([]*server.NkeyUser, error) {
	var k admit.Keys
	text, err := kernel.ReadFile(file, admit.MostKeys)
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err == nil && !nkeys.IsValidPublicUserKey(k.Coordinator) {
		err = errors.New("no coordinator key")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; make it with edgegauge benches add", file, err)
	}
	all := []*server.NkeyUser{{Nkey: k.Coordinator}}
	for name, key := range k.Benches {
		if err := admit.CheckName(name); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if !nkeys.IsValidPublicUserKey(key) || key == k.Coordinator {
			return nil, fmt.Errorf("%s: bench %s has no key of its own", file, name)
		}
		publish, subscribe := admit.Permissions(name)
		all = append(all, &server.NkeyUser{Nkey: key, Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe}}})
	}
	return all, nil
}
