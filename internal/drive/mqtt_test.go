package drive

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"net"
	"slices"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/mqtt"
)

// A leaver waits, when its first answer is decoded, for what the broker says then.
type leaver struct{ decoded, said chan bool }

func (l leaver) Encode(seq uint64, buf []byte) ([]byte, error) { return append(buf, byte(seq)), nil }

func (l leaver) Decode(seq uint64, _ int, body []byte) error {
	if seq == 1 {
		l.decoded <- true
		<-l.said
	}
	if string(body) != "a" {
		return fmt.Errorf("answer %q", body)
	}
	return nil
}

// packets are what a client sends, by first byte: small ones, until it hangs up.
func packets(c net.Conn) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
		for in := bufio.NewReader(c); ; {
			kind, _ := in.ReadByte()
			size, err := in.ReadByte()
			b := make([]byte, size)
			if _, bad := io.ReadFull(in, b); err != nil || bad != nil || !yield(kind, b) {
				return
			}
		}
	}
}

// A broker may say something between requests: that it ends the connection, say, since it was silent for too long, and
// that concerns the next request as little as the end itself.
func TestMQTTBrokerSpeaksBetweenRequests(t *testing.T) {
	kept := []byte{0x30, 5, 0, 1, 'r', 0, 'k'} // a message that nobody asked for
	leave := []byte{0xe0, 2, 0x8d, 0}
	for what, tt := range map[string]struct {
		with, says []byte // its answer, and behind that
		reconnects int
	}{
		"a message": {nil, kept, 0}, "DISCONNECT": {nil, leave, 1}, "both": {nil, append(kept, leave...), 1},
		"a message at once": {kept, nil, 0}, "DISCONNECT at once": {leave, nil, 1},
	} {
		for concurrency := 1; concurrency <= 2; concurrency++ {
			call := leaver{make(chan bool), make(chan bool)}
			url := hostile(t, func(c net.Conn, _ int) {
				for kind, b := range packets(c) {
					switch kind {
					case 0x10:
						c.Write([]byte{0x20, 3, 0, 0, 0})
					case 0x82:
						c.Write([]byte{0x90, 4, b[0], b[1], 0, 0})
					case 0x30:
						answer := []byte{0x30, 5, 0, 1, 'r', 0, 'a'}
						if b[len(b)-1] == 1 {
							answer = append(answer, tt.with...)
						}
						c.Write(answer)
						if b[len(b)-1] == 1 {
							<-call.decoded
							c.Write(tt.says)
							if tt.reconnects > 0 {
								c.Close()
							}
							call.said <- true
						}
					}
				}
			})
			record, xs := drive(t, Spec{URL: "mqtt" + url[len("http"):], Protocol: MQTT5, Topic: "q", ResponseTopic: "r/{id}",
				Concurrency: concurrency}, Load{Schedule: ClosedLoop(6, 5*time.Millisecond)}, call)
			for _, x := range xs {
				if x.Failure != "" {
					t.Errorf("%s, %d connections: request %d: %s", what, concurrency, x.Seq, x.Failure)
				}
			}
			if record.Quality.Reconnects != tt.reconnects {
				t.Errorf("%s, %d connections: %d reconnects, want %d", what, concurrency, record.Quality.Reconnects, tt.reconnects)
			}
		}
	}
}

// A broker that does not hear that an answer has arrived, since the connection broke, sends it again when the session
// goes on. That is not the answer to the request which is under way then.
func TestMQTTAnswerSentAgain(t *testing.T) {
	for _, version := range []string{MQTT311, MQTT5} {
		w := newMQTTConn(&target{Spec: Spec{Protocol: version, QoS: 1, Concurrency: 1, MostBody: 64, Topic: "q",
			ResponseTopic: "r/{id}"}})
		v := w.version
		hears := func(b ...byte) bool {
			t.Helper()
			whole, err := w.got(copy(w.space(), b), 0)
			if err != nil {
				t.Fatal(err)
			}
			return whole
		}
		answer := func(id uint16, dup bool, payload string) []byte {
			b, err := mqtt.AppendPublish(nil, v, id, &mqtt.Message{Topic: []byte("r"), QoS: 1, Dup: dup,
				Payload: []byte(payload)})
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		properties := func(b ...byte) []byte { // an empty list of them, in MQTT 5
			if v == mqtt.V5 {
				b[1]++
				if b[0] == 0x90 {
					return append(b[:4:4], append([]byte{0}, b[4:]...)...)
				}
				return append(b, 0)
			}
			return b
		}
		ask := func(body string) {
			if err := w.start([]byte(body), 0); err != nil {
				t.Fatal(err)
			}
			w.next()
		}
		w.connected()
		w.next()
		hears(properties(0x20, 2, 0, 0)...)    // CONNACK
		w.next()                               // SUBSCRIBE
		hears(properties(0x90, 3, 0, 1, 1)...) // SUBACK
		ask("first")                           // identifier 2
		hears(0x40, 2, 0, 2)                   // PUBACK
		if !hears(answer(7, false, "one")...) {
			t.Fatalf("%s: the answer was not taken", version)
		}
		ask("second") // 3; the PUBACK of the answer is lost with the connection
		if !w.resume() {
			t.Fatal("the session does not go on")
		}
		w.connected()
		w.next()
		hears(properties(0x20, 2, 1, 0)...) // the session is there
		ask("second")
		if hears(answer(7, true, "one")...) || hears(0x40, 2, 0, 3) {
			t.Errorf("%s: the first answer is taken for the second: %q", version, w.body)
			continue
		}
		if !hears(answer(8, true, "two")...) || string(w.body) != "two" { // DUP alone means nothing
			t.Errorf("%s: got %q", version, w.body)
		}
		// A broker that acknowledges the third request has the PUBACK before it: the next answer may have its identifier.
		ask("third")         // 4
		hears(0x40, 2, 0, 4) // PUBACK; the answer is lost with the connection
		if !w.resume() {
			t.Fatal("the session does not go on")
		}
		w.connected()
		w.next()
		hears(properties(0x20, 2, 1, 0)...)
		ask("third")
		if !hears(answer(8, true, "three")...) || string(w.body) != "three" {
			t.Errorf("%s: the third answer is taken for the second: %q", version, w.body)
		}
	}
}

// With a connection for each request DISCONNECT is said behind the request, as the connection is closed behind it: its
// time is not in the total.
func TestMQTTLeavesBehindTheRequest(t *testing.T) {
	w := newMQTTConn(&target{Spec: Spec{Protocol: MQTT311, Connection: PerRequest, Concurrency: 1, MostBody: 64,
		Topic: "q", ResponseTopic: "r"}})
	hears := func(b ...byte) bool {
		t.Helper()
		whole, err := w.got(copy(w.space(), b), 0)
		if err != nil {
			t.Fatal(err)
		}
		return whole
	}
	w.connected()
	w.next()
	hears(0x20, 2, 0, 0)    // CONNACK
	w.next()                // SUBSCRIBE
	hears(0x90, 3, 0, 1, 0) // SUBACK
	if err := w.start([]byte("q"), 0); err != nil {
		t.Fatal(err)
	}
	w.next()
	if !hears(0x30, 4, 0, 1, 'r', 'a') {
		t.Fatal("the answer was not taken")
	}
	if b := w.next(); b != nil {
		t.Errorf("said %x before the answer is decoded", b)
	}
	abilitiesOf(w).parter.goodbye()
	if b := w.next(); string(b) != "\xe0\x00" {
		t.Errorf("said %x, want DISCONNECT", b)
	}
}

// On a response topic that is not the session's own, answers that do not say whose they are may be those of earlier
// requests, which were given up: that is counted until as many have come as requests were sent.
func TestMQTTAnswersOfUnsureOrigin(t *testing.T) {
	for _, tt := range []struct {
		version, topic string
		correlated     bool
		unsure         bool
	}{
		{MQTT311, "r", false, true}, {MQTT5, "r", false, true}, {MQTT5, "r", true, false},
		{MQTT311, "r/{id}", false, false}, {MQTT5, "r/{id}", false, false},
	} {
		w := newMQTTConn(&target{Spec: Spec{Protocol: tt.version, Connection: KeepAlive, Concurrency: 1, Topic: "q",
			ResponseTopic: tt.topic}})
		takes := func(b ...[]byte) bool {
			t.Helper()
			whole, err := w.got(copy(w.space(), slices.Concat(b...)), 0)
			if err != nil {
				t.Fatal(err)
			}
			return whole
		}
		answer := func() []byte {
			m := mqtt.Message{Topic: []byte("r")}
			if tt.correlated {
				m.Correlation = w.m.Correlation
			}
			b, err := mqtt.AppendPublish(nil, w.version, 0, &m)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		connack, suback := []byte{0x20, 2, 0, 0}, []byte{0x90, 3, 0, 1, 0}
		if tt.version == MQTT5 {
			connack, suback = []byte{0x20, 3, 0, 0, 0}, []byte{0x90, 4, 0, 1, 0, 0}
		}
		connect := func(with ...byte) {
			t.Helper()
			w.connected()
			w.next()
			takes(connack)
			w.next()
			if takes(suback, with) {
				t.Errorf("%+v: what came before the request was sent is taken for its answer", tt)
			}
		}
		start := func() {
			if err := w.start([]byte("q"), 0); err != nil {
				t.Fatal(err)
			}
		}
		ask := func(unsure bool) {
			t.Helper()
			start()
			w.next()
			if !takes(answer()) || w.doubtful() != unsure {
				t.Errorf("%+v: doubtful %v, want %v", tt, w.doubtful(), unsure)
			}
		}
		connect()
		ask(false)
		start()
		w.next()
		w.hungUp() // no answer in time
		connect()
		ask(tt.unsure)
		ask(tt.unsure)
		if err := w.unasked(copy(w.space(), answer())); err != nil { // the one that was late, or the last one
			t.Fatal(err)
		}
		ask(false)
		start() // its connection is not there any more, and it is not sent
		w.hungUp()
		start()
		connect(answer()...)
		w.next()
		if !takes(answer()) || w.doubtful() {
			t.Errorf("%+v: doubtful, or not taken", tt)
		}
	}
}

// A run says how many of its answers may be those of earlier requests.
func TestMQTTUnsureAnswersAreCounted(t *testing.T) {
	url := hostile(t, func(c net.Conn, before int) {
		for kind, b := range packets(c) {
			switch kind {
			case 0x10:
				c.Write([]byte{0x20, 2, 0, 0})
			case 0x82:
				c.Write([]byte{0x90, 3, b[0], b[1], 0})
			case 0x30:
				if before == 0 {
					return
				}
				c.Write([]byte{0x30, 4, 0, 1, 'r', 'a'})
			}
		}
	})
	record, xs := drive(t, Spec{URL: "mqtt" + url[len("http"):], Protocol: MQTT311, Topic: "q", ResponseTopic: "r"},
		Load{Schedule: ClosedLoop(6, 0)}, Fixed("x"))
	if len(xs) != 6 || xs[0].Failure == "" || record.failed != 1 || record.Quality.Unsure != 5 {
		t.Errorf("%d requests, the first: %q; %d failed, %d answers unsure; want 6, 1 and 5", len(xs), xs[0].Failure,
			record.failed, record.Quality.Unsure)
	}
}

// A broker may say for how long a client may be silent (MQTT 5.0, section 3.2.2.3.14), and has one no more that was
// silent for longer, though it only waits for an answer.
func TestMQTTPingsABrokerThatWantsThat(t *testing.T) {
	t.Parallel()
	for concurrency := 1; concurrency <= 2; concurrency++ {
		url := hostile(t, func(c net.Conn, _ int) {
			for kind, b := range packets(c) {
				switch kind {
				case 0x10:
					c.Write([]byte{0x20, 6, 0, 0, 3, 0x13, 0, 1})
				case 0x82:
					c.Write([]byte{0x90, 4, b[0], b[1], 0, 0})
				case 0xc0:
					c.Write([]byte{0xd0, 0, 0x30, 5, 0, 1, 'r', 0, 'a'})
				}
			}
		})
		record, xs := drive(t, Spec{URL: "mqtt" + url[len("http"):], Topic: "q", ResponseTopic: "r/{id}",
			Concurrency: concurrency}, Load{Schedule: ClosedLoop(1, 0)}, Fixed("x"))
		sound(t, xs)
		if rtt := xs[0].RTT(); rtt < time.Second || record.Quality.Reconnects > 0 {
			t.Errorf("answered after %v, want 1s or more: it is said after that silence; %d connections made anew", rtt,
				record.Quality.Reconnects)
		}
	}
	w := newMQTTConn(&target{Spec: Spec{Protocol: MQTT5, Concurrency: 1, Topic: "q", ResponseTopic: "r"}})
	w.connected()
	w.next()
	w.got(copy(w.space(), []byte{0x20, 3, 0, 0, 0}), 0)
	if at, ok := w.deadline(); ok {
		t.Errorf("it pings at %v a broker that does not ask for it", at)
	}
}

// A body longer than allowed is none, whether the packet that it comes in is longer than that as well or not.
func TestMQTTBodiesBeyondTheLimit(t *testing.T) {
	for size, want := range map[int]string{100: "", 101: "response: body larger than 100 B (--max-body)",
		1 << 20: "response: body larger than 100 B (--max-body)"} {
		url := hostile(t, func(c net.Conn, _ int) {
			for kind, b := range packets(c) {
				switch kind {
				case 0x10:
					c.Write([]byte{0x20, 3, 0, 0, 0})
				case 0x82:
					c.Write([]byte{0x90, 4, b[0], b[1], 0, 0})
				case 0x30:
					answer, _ := mqtt.AppendPublish(nil, mqtt.V5, 0, &mqtt.Message{Topic: []byte("r"), Payload: make([]byte, size)})
					c.Write(answer)
				}
			}
		})
		_, xs := drive(t, Spec{URL: "mqtt" + url[len("http"):], Topic: "q", ResponseTopic: "r/{id}", MostBody: 100,
			Limit: "--max-body"}, Load{Schedule: ClosedLoop(1, 0)}, Fixed("x"))
		if xs[0].Failure != want {
			t.Errorf("%d B: %q, want %q", size, xs[0].Failure, want)
		}
	}
}
