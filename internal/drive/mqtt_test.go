package drive

import (
	"testing"

	"edgegauge.example/edgegauge/internal/protocol/mqtt"
)

// A broker that does not hear that an answer has arrived, since the connection broke, sends it again when the session
// goes on. That is not the answer to the request which is under way then.
func TestMQTTAnswerSentAgain(t *testing.T) {
	for _, version := range []string{MQTT311, MQTT5} {
		w := newMQTTConn(&target{Spec: Spec{Protocol: version, QoS: 1, Concurrency: 1, Topic: "q", ResponseTopic: "r/{id}"}})
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
	}
}
