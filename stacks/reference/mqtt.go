package reference

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/protocol/mqtt"
	"edgegauge.example/edgegauge/internal/stack"
)

// mqttOptions: qos 0, 1 or 2, of requests and answers.
var mqttOptions = []string{"qos"}

// Transports of the MQTT stacks: versions of the protocol.
const (
	mqtt5   = "mqtt5"
	mqtt311 = "mqtt311"
)

// A broker carries messages. It also listens on a socket in the file system,
// for the service beside it: what it says there is not on the wire.
type broker interface {
	address() string
	close()
}

// An mqttServer is a broker and a responder, the service. Topics stand at
// drive's mqttWire.
type mqttServer struct {
	*workers
	at      string
	name    string
	qos     byte
	version mqtt.Version
	limit   int
	socket  string
	broker  broker
	p       *program
	turns   chan struct{} // a place for each request being worked on

	end   context.CancelFunc
	ended chan struct{}
	mu    sync.Mutex // session and conn, but for what is received
	s     *mqtt.Session
	conn  net.Conn
	busy  sync.WaitGroup
}

const (
	mqttHeadroom = 4096 // B of a packet besides the body
	mqttTurns    = 256
	mqttPatience = 10 * time.Second // for a broker to let the responder in
)

// An openBroker starts one that takes packets of at most limit bytes (0: any)
// and listens beside the network on socket.
type openBroker func(p *program, s stack.Serve, limit int, socket string) (broker, error)

func serveMQTT(open openBroker) func(*program, stack.Serve) (server, error) {
	return func(p *program, s stack.Serve) (server, error) {
		w, err := p.workers(s)
		if err != nil {
			return nil, err
		}
		m := &mqttServer{workers: w, name: s.Service, version: mqtt.V5, limit: int(s.Limits.Body), p: p,
			turns: make(chan struct{}, mqttTurns), ended: make(chan struct{})}
		if s.Transport == mqtt311 {
			m.version = mqtt.V311
		}
		if m.qos, err = mqttQoS(s.Options); err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp("", "edgegauge-mqtt-")
		if err != nil {
			return nil, err
		}
		m.socket = filepath.Join(dir, "socket")
		packet := 0
		if m.limit > 0 {
			packet = m.limit + mqttHeadroom
		}
		if m.broker, err = open(p, s, packet, m.socket); err != nil {
			os.RemoveAll(dir)
			return nil, err
		}
		scheme := "mqtt"
		if s.Security == "tls" {
			scheme = "mqtts"
		}
		m.at = scheme + "://" + m.broker.address() + "/" + s.Service
		return m, m.begin()
	}
}

func mqttQoS(options map[string]string) (byte, error) {
	switch v := options["qos"]; v {
	case "", "0":
		return 0, nil
	case "1", "2":
		return v[0] - '0', nil
	default:
		return 0, fmt.Errorf("unknown qos %q; supported: 0, 1, 2", v)
	}
}

func (m *mqttServer) url() string    { return m.at }
func (m *mqttServer) take() *records { return m.settled() }

func (m *mqttServer) close() {
	m.end()
	m.mu.Lock()
	if m.conn != nil {
		m.conn.Close()
	}
	m.mu.Unlock()
	<-m.ended
	m.busy.Wait()
	m.broker.close()
	os.RemoveAll(filepath.Dir(m.socket))
	m.sensor.close()
}

// begin lets the responder in and leaves it listening.
func (m *mqttServer) begin() error {
	ctx, cancel := context.WithCancel(context.Background())
	m.end = cancel
	first := make(chan error, 1)
	go func() {
		defer close(m.ended)
		m.listen(ctx, first)
	}()
	err := <-first
	if err != nil {
		m.close()
	}
	return err
}

// listen answers until ctx ends, over a new connection if the broker ends one.
func (m *mqttServer) listen(ctx context.Context, first chan<- error) {
	for begun := false; ctx.Err() == nil; begun = true {
		err := m.enter(ctx)
		if !begun {
			first <- err
		}
		if err == nil {
			err = m.respond()
		}
		if ctx.Err() == nil {
			m.p.log.Printf("the responder's connection: %v", err)
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// enter connects to the broker and subscribes.
func (m *mqttServer) enter(ctx context.Context) error {
	conn, err := dialSocket(ctx, m.socket)
	if err != nil {
		return err
	}
	s := mqtt.NewSession(mqtt.Params{Version: m.version, ClientID: "responder", QoS: m.qos,
		Filters: []string{m.name + "/request/#"}})
	m.mu.Lock()
	m.s, m.conn = s, conn
	m.mu.Unlock()
	if ctx.Err() != nil {
		conn.Close()
	}
	within, cancel := context.WithTimeout(ctx, mqttPatience)
	defer cancel()
	_, err = mqtt.NewClient(within, conn, s)
	return err
}

// dialSocket waits for the broker to be there.
func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	for deadline := time.Now().Add(mqttPatience); ; {
		conn, err := kernel.DialUnix(ctx, path)
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return conn, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// respond takes requests until the connection ends. Subtle: only this goroutine
// touches what the session has received; sending is under the lock.
func (m *mqttServer) respond() error {
	for {
		n, err := m.conn.Read(m.s.Space())
		if err != nil {
			return err
		}
		if err = m.received(n); err != nil {
			return err
		}
	}
}

func (m *mqttServer) received(n int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.s.Took(n)
	for {
		request, more, err := m.s.Step()
		if err != nil {
			return err
		}
		if request != nil {
			came := now()
			m.mu.Unlock() // a place may be long in coming, and answers make it
			m.turns <- struct{}{}
			m.mu.Lock()
			m.begun(request, came)
		}
		if !more {
			return m.flush()
		}
	}
}

func (m *mqttServer) flush() error {
	for b := m.s.Next(); b != nil; b = m.s.Next() {
		if _, err := m.conn.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// begun answers a request in a goroutine of its own, as net/http does. Its total begins when it came.
func (m *mqttServer) begun(request *mqtt.Message, came int64) {
	answer := m.addressed(request)
	if answer == nil {
		<-m.turns
		return
	}
	m.underway.Add(1)
	x := m.pool.Get().(*worker)
	x.body = append(x.body[:0], request.Payload...)
	bad := request.ContentType != nil && !m.encoding.Takes(string(request.ContentType))
	m.busy.Go(func() {
		m.answer(x, answer, bad, came)
		m.pool.Put(x)
		m.underway.Add(-1)
		<-m.turns
	})
}

// addressed is an answer to request without its payload; nil if the request
// does not say where it is to go. Nothing is sent but below NAME/response/: the
// service answers clients, it is not to talk to other services for them.
func (m *mqttServer) addressed(request *mqtt.Message) *mqtt.Message {
	answer := &mqtt.Message{QoS: m.qos}
	base := m.name + "/response/"
	if m.version == mqtt.V5 {
		answer.Topic, answer.Correlation = bytes.Clone(request.ResponseTopic), bytes.Clone(request.Correlation)
		if !bytes.HasPrefix(answer.Topic, []byte(base)) || len(answer.Topic) == len(base) ||
			bytes.ContainsAny(answer.Topic, "+#") {
			return nil
		}
		return answer
	}
	id, ok := bytes.CutPrefix(request.Topic, []byte(m.name+"/request/"))
	if !ok || len(id) == 0 || bytes.IndexByte(id, '/') >= 0 {
		return nil
	}
	answer.Topic = append([]byte(base), id...)
	return answer
}

func (m *mqttServer) answer(x *worker, answer *mqtt.Message, bad bool, came int64) {
	err := m.judged(x, bad)
	if answer.Payload = x.answer; err != nil {
		answer.Payload = nil
		if m.version == mqtt.V5 {
			answer.Failure = []byte(fmt.Sprintf("%.500s", err))
		} else {
			answer.Topic = append([]byte(m.name+"/error/"), answer.Topic[len(m.name+"/response/"):]...)
			answer.Payload = []byte(err.Error())
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	sent := m.s.Publish(answer)
	if sent == nil {
		sent = m.flush()
	}
	if err == nil && sent == nil {
		x.began = came
		m.keep(x)
	}
}

// judged works the request, or says what is wrong with it.
func (m *mqttServer) judged(x *worker, bad bool) error {
	switch {
	case bad:
		return fmt.Errorf("send %s", m.encoding.MediaType(m.workers.name, false))
	case m.limit > 0 && len(x.body) > m.limit:
		return errTooLarge
	}
	return m.work(x)
}

// mqttListen is the broker's port, with TLS 1.3 where security asks for it.
func mqttListen(p *program, s stack.Serve) (net.Listener, error) {
	l, err := p.listen(s)
	if err != nil || s.Security != "tls" {
		return l, err
	}
	config, err := tlsConfig(s)
	if err != nil {
		l.Close()
		return nil, err
	}
	return tls.NewListener(l, config), nil
}

var errNoBroker = errors.New("the broker is not listening")
