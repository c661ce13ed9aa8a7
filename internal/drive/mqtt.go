package drive

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/mqtt"
)

// Versions of MQTT; Spec.Protocol.
const (
	MQTT5   = "mqtt5"
	MQTT311 = "mqtt311"
)

// mqttConn asks over a broker. A request is over when its answer is delivered
// (QoS 2: by its PUBREL) and no handshake is under way on this connection.
//
// Topics, of a client that calls itself ID and asks for mqtt://HOST/NAME:
//
//	              MQTT 5                              3.1.1
//	request       NAME/request, with a response       NAME/request/ID
//	              topic and correlation data
//	answer        NAME/response/ID                    NAME/response/ID
//	failure       the same, user property "failure"   NAME/error/ID
//
// With a topic and a response topic of its own (Spec.Topic) it asks a service that
// knows nothing of these. If the response topic is this client's alone, whatever
// comes on it is the answer; otherwise the answer has the request's correlation data.
type mqttConn struct {
	t        *target
	version  mqtt.Version
	s        *mqtt.Session
	m        mqtt.Message
	count    uint64        // of requests: the correlation
	failures string        // topic; 3.1.1
	resent   int           // by the session before this request
	own      bool          // nobody else's answers come on the response topic
	resuming bool          // the session goes on over the next connection
	leaves   bool          // DISCONNECT after every request
	spoke    time.Duration // when it said something last, at the earliest
	taken    uint16        // the broker's identifier of the last answer; 0: it had none, or knows that it has arrived
	here     bool          // that answer came over this connection
	answered bool          // the answer is here, a handshake is not
	whole    bool
	status   int
	body     []byte
	kept     []byte // memory for body, while handshakes go on
	id       string // of the session
	greets   bool   // it has gone out to the broker
	left     []string
	// Of a response topic that later sessions have as well, and answers that do not say whose they are:
	asked  bool // a request has gone out and has no answer yet
	owed   int  // requests that were given up, whose answers may still come
	unsure bool // the last answer may be one of those
}

func newMQTTConn(t *target) *mqttConn {
	w := &mqttConn{t: t, version: mqtt.V5, leaves: t.Connection == PerRequest}
	if t.Protocol == MQTT311 {
		w.version = mqtt.V311
	}
	w.hungUp()
	return w
}

// hungUp: unless the session is to go on, the next request comes from a client
// of another name, whom no late answer can reach.
func (w *mqttConn) hungUp() {
	if w.resuming {
		return
	}
	w.leave()
	if w.asked && w.t.Topic != "" && !strings.Contains(w.t.ResponseTopic, "{id}") {
		w.owed++
	}
	w.asked, w.unsure = false, false
	id := fmt.Sprintf("e%016x", rand.Uint64())
	w.id = id
	name := strings.Trim(w.t.path, "/")
	p := mqtt.Params{Version: w.version, ClientID: id, QoS: w.t.QoS, Resume: w.t.QoS > 0 && !w.leaves,
		MaxPacket: w.t.MostBody + mostHead,
		Filters:   []string{name + "/response/" + id}}
	w.m = mqtt.Message{QoS: w.t.QoS}
	switch {
	case w.t.Topic != "":
		w.own = w.t.Concurrency == 1 || strings.Contains(w.t.ResponseTopic, "{id}")
		w.m.Topic = []byte(strings.ReplaceAll(w.t.Topic, "{id}", id))
		p.Filters[0] = strings.ReplaceAll(w.t.ResponseTopic, "{id}", id)
	case w.version == mqtt.V5:
		w.m.Topic = []byte(name + "/request")
	default:
		w.m.Topic, w.failures = []byte(name+"/request/"+id), name+"/error/"+id
		p.Filters = append(p.Filters, w.failures)
	}
	if w.version == mqtt.V5 {
		w.m.ResponseTopic = []byte(p.Filters[0])
		// Subtle: connections may share a response topic, so none counts as another does.
		w.count = rand.Uint64()
		w.m.Correlation = make([]byte, 8)
		if w.t.ContentType != "" {
			w.m.ContentType = []byte(w.t.ContentType)
		}
	}
	w.s, w.taken = mqtt.NewSession(p), 0
}

// connected says that the next bytes go over a new connection.
func (w *mqttConn) connected() {
	w.greets, w.here = true, false
	w.s.Connected()
}

// goodbye: the broker is told only now, since it is no part of the request.
func (w *mqttConn) goodbye() {
	if w.leaves {
		w.s.Goodbye()
	}
}

// leave notes that the session is not taken up again, and may outlive its connection at the broker.
func (w *mqttConn) leave() {
	if w.greets && w.t.QoS > 0 && !w.leaves {
		w.left = append(w.left, w.id)
	}
	w.greets = false
}

// greeted says whether requests can go out.
func (w *mqttConn) greeted() bool { return w.s.Ready() }

// resume says whether the request under way, whose connection broke, goes on
// over another one: what QoS 1 and 2 promise (section 4.4).
func (w *mqttConn) resume() bool {
	w.resuming = w.t.QoS > 0 && !w.leaves
	return w.resuming
}

// answering: what comes besides an answer are acknowledgements and others' messages.
func (w *mqttConn) answering() bool { return w.answered }

// guess: a broker may say that nobody gets the request, and so that nobody will answer it.
func (w *mqttConn) guess() string {
	if w.s.Unheard() {
		return ": the broker says that nobody has subscribed to the topic of requests"
	}
	return ""
}

// retransmitted: what the session sent again over a new connection.
func (w *mqttConn) retransmitted() int { return w.s.Resent() - w.resent }

func (w *mqttConn) headroom() int { return 0 }

func (w *mqttConn) start(buf []byte, now time.Duration) error {
	w.spoke = now
	if w.resuming {
		w.resuming = false
		return nil
	}
	w.whole, w.answered, w.unsure, w.resent = false, false, false, w.s.Resent()
	w.count++
	if w.version == mqtt.V5 {
		binary.BigEndian.PutUint64(w.m.Correlation, w.count)
	}
	w.m.Payload = buf
	return w.s.Publish(&w.m)
}

// deadline: a broker may have clients that say nothing for a while no more (5.0, section 3.2.2.3.14), also those that
// wait for an answer.
func (w *mqttConn) deadline() (time.Duration, bool) {
	silence := w.s.Silence()
	return w.spoke + time.Duration(silence)*time.Second, silence > 0
}

func (w *mqttConn) expire(now time.Duration) error {
	if at, ok := w.deadline(); ok && now >= at {
		w.spoke = now
		w.s.Ping()
	}
	return nil
}

func (w *mqttConn) next() []byte {
	b := w.s.Next()
	w.asked = w.asked || b != nil && !w.answered && w.s.Ready()
	return b
}

// doubtful says that nobody can tell whether the answer is not that of an earlier request, which was given up.
func (w *mqttConn) doubtful() bool { return w.unsure }

func (w *mqttConn) space() []byte { return w.s.Space() }

func (w *mqttConn) got(n int, _ time.Duration) (bool, error) {
	w.s.Took(n)
	for {
		m, more, err := w.s.Step()
		if err != nil || !more {
			return false, err
		}
		if w.here && !w.answered && w.s.Acknowledged() { // the request after it, and so what went out before that
			w.taken = 0
		}
		if m != nil && (w.answered || !w.asked) { // what came before the request was sent answers another
			w.extra(m)
		} else if m != nil {
			w.answer(m)
		}
		if w.answered && len(w.body) > w.t.MostBody {
			return false, tooLarge(w.t.MostBody)
		}
		if w.answered && w.s.Settled() {
			w.whole = true
			return true, nil
		}
		if m != nil && w.answered { // what m lies in is received into again
			w.kept = append(w.kept[:0], w.body...)
			w.body = w.kept
		}
	}
}

// unasked takes what came between requests, such as an answer once more. A broker that ends the connection may say so
// first (5.0, section 3.14), and the next request finds another.
func (w *mqttConn) unasked(n int) error {
	w.s.Took(n)
	for more := true; more; {
		var m *mqtt.Message
		var err error
		if m, more, err = w.s.Step(); err != nil {
			return err
		}
		if m != nil {
			w.extra(m)
		}
	}
	return nil
}

// extra takes an answer that no request waits for: with it a request that was given up has had its own.
func (w *mqttConn) extra(m *mqtt.Message) {
	if !m.Retain && !w.again(m) {
		w.owed = max(w.owed-1, 0)
	}
}

// answer takes m if it belongs to the request under way.
func (w *mqttConn) answer(m *mqtt.Message) {
	switch {
	case m.Retain && w.t.Topic != "": // kept by the broker from before
		return
	case w.again(m):
		return
	case w.own && len(m.Correlation) == 0:
	case w.version == mqtt.V5 && !bytes.Equal(m.Correlation, w.m.Correlation):
		return
	}
	w.answered, w.status, w.body, w.taken, w.here = true, 200, m.Payload, m.ID, true
	w.asked, w.unsure = false, w.owed > 0 && (w.version == mqtt.V311 || len(m.Correlation) == 0)
	switch {
	case m.Failure != nil:
		w.status, w.body = 400, m.Failure
	case w.version == mqtt.V311 && string(m.Topic) == w.failures:
		w.status = 400
	}
}

// again says whether m is the answer taken last: a broker that lost its PUBACK with a connection sends it once
// more. One that has the PUBACK may give the next answer the same identifier. Correlation data tells answers apart by
// itself.
func (w *mqttConn) again(m *mqtt.Message) bool {
	return m.Dup && m.ID != 0 && m.ID == w.taken && len(m.Correlation) == 0
}

func (w *mqttConn) closed() error { return io.EOF }

// reply: a failure that the responder told is shown as a 400 with its reason as body.
func (w *mqttConn) reply() (int, []byte) { return w.status, w.body }

// reusable takes what came with the answer, too, and is not of it.
func (w *mqttConn) reusable() bool { return w.whole && w.unasked(0) == nil }
