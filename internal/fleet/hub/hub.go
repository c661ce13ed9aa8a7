// Package hub is a fleet's message server: nats-server as a library, with the settings
// that a fleet needs and no others. It decides nothing: see package fleet.
package hub

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"edgegauge.example/edgegauge/internal/fleet/wire"
)

// Options say where a hub listens, and whom it admits.
type Options struct {
	Listen string // host:port; empty: a free port of 127.0.0.1
	Store  string // folder
	Keys   string // file of wire.Keys, read again whenever it changes
	// Cert and Key are PEM files of a certificate; without them the hub listens on
	// loopback only.
	Cert, Key string
}

// A Hub is a running server.
type Hub struct {
	server  *server.Server
	options Options
	ends    chan struct{}
	ended   chan struct{}
}

// readyWithin is how long a hub may take to open its store.
const readyWithin = 30 * time.Second

// Start starts a hub, which is to be stopped. It refuses to listen beyond loopback
// without a certificate, and to run where writes are not synced before they are
// acknowledged.
func Start(o Options) (*Hub, error) {
	settings, err := o.settings()
	if err != nil {
		return nil, err
	}
	s, err := server.NewServer(settings)
	if err != nil {
		return nil, fmt.Errorf("hub: %w", err)
	}
	h := &Hub{server: s, options: o, ends: make(chan struct{}), ended: make(chan struct{})}
	go s.Start()
	if !s.ReadyForConnections(readyWithin) {
		err = fmt.Errorf("hub: not ready within %v: is %s in use, or %s on a full disk?", readyWithin, o.Listen, o.Store)
	} else {
		err = synced(s)
	}
	if err != nil {
		s.Shutdown()
		return nil, err
	}
	go h.watch()
	return h, nil
}

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
func (h *Hub) URL() string { return h.server.ClientURL() }

// Stop ends the hub.
func (h *Hub) Stop() {
	close(h.ends)
	<-h.ended
	h.server.Shutdown()
	h.server.WaitForShutdown()
}

// watch admits and turns away as the file of keys changes.
func (h *Hub) watch() {
	defer close(h.ended)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, _ := os.Stat(h.options.Keys)
	for {
		select {
		case <-h.ends:
			return
		case <-tick.C:
		}
		now, err := os.Stat(h.options.Keys)
		if err != nil || last != nil && now.ModTime().Equal(last.ModTime()) && now.Size() == last.Size() {
			continue
		}
		o := h.options
		o.Listen = h.server.Addr().String()
		settings, err := o.settings()
		if err == nil {
			err = h.server.ReloadOptions(settings)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v; the hub continues with what it read before\n", h.options.Keys, err)
		}
		last = now
	}
}

// settings are the server's.
func (o Options) settings() (*server.Options, error) {
	listen := o.Listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
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
		SyncAlways: true, MaxPayload: wire.MostPayload, NoLog: true, NoSigs: true}
	if ip := net.ParseIP(host); o.Cert == "" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("hub: %s can be reached from elsewhere: give it a certificate with --cert and --key, "+
			"or listen on 127.0.0.1", listen)
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("hub: %w", err)
		}
		s.TLS, s.TLSConfig = true, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
	}
	s.Nkeys, err = users(o.Keys)
	return s, err
}

// users reads whom the hub admits, and to what.
func users(file string) ([]*server.NkeyUser, error) {
	var k wire.Keys
	text, err := os.ReadFile(file)
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
		if err := wire.CheckName(name); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if !nkeys.IsValidPublicUserKey(key) || key == k.Coordinator {
			return nil, fmt.Errorf("%s: bench %s has no key of its own", file, name)
		}
		publish, subscribe := wire.Permissions(name)
		all = append(all, &server.NkeyUser{Nkey: key, Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe}}})
	}
	return all, nil
}
