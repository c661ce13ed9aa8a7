package drive

import (
	"encoding/binary"
	base16 "encoding/hex"
	"net"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// failing is why each of some requests failed.
func failing(t *testing.T, s Spec, requests int) (why []string, r *Record) {
	t.Helper()
	r, xs := drive(t, s, Load{Schedule: ClosedLoop(requests, 0)}, Fixed("x"))
	for _, x := range xs {
		why = append(why, x.Failure)
	}
	return why, r
}

// What is not of a response does not begin one, and a server that ends a connection for a fault is quoted.
func TestHTTP2EndsBeforeAResponse(t *testing.T) {
	goAway := func(stream, code uint32) []byte {
		b := binary.BigEndian.AppendUint32(appendFrame(nil, 8, frameGoAway, 0, 0), stream)
		return binary.BigEndian.AppendUint32(b, code)
	}
	half := func(stream uint32) []byte {
		return append(appendFrame(nil, 1, frameHeaders, flagEndHeaders, stream), 0x88)
	}
	window := func(stream uint32) []byte {
		return append(appendFrame(nil, 4, frameWindow, 0, stream), 0, 0, 0, 1)
	}
	for want, says := range map[string]func(stream uint32) []byte{
		"connection closed before a response": func(s uint32) []byte { return append(goAway(s, 0), window(s)...) },
		"connection closed in mid-response":   half,
		"connection closed before a response, after GOAWAY with code 11 (ENHANCE_YOUR_CALM)": func(s uint32) []byte {
			return goAway(s, 11)
		},
		"connection closed in mid-response, after GOAWAY with code 99": func(s uint32) []byte {
			return append(half(s), goAway(s, 99)...)
		},
	} {
		url := http2Peer(t, func(conn net.Conn, _ int, stream uint32) {
			conn.Write(says(stream))
			conn.Close()
		})
		for _, s := range []Spec{{Connection: KeepAlive}, {Concurrency: 2}, {Connection: Multiplexed}} {
			s.URL, s.Protocol = url, HTTP2
			why, _ := failing(t, s, 2)
			for _, got := range why {
				// Of what it did not read, the kernel makes a reset of the end.
				if got = strings.Replace(got, "reset", "closed", 1); got != want {
					t.Errorf("%s, %d: %q, want %q", s.Connection, s.Concurrency, got, want)
				}
			}
		}
	}
}

// A gRPC status is named, and what is no answer of gRPC. Nothing that the server writes is repeated but its message,
// short and harmless, and not where it echoes what was told to it in a header.
func TestGRPCFailuresInWords(t *testing.T) {
	literal := func(name, value string) string {
		return "\x00" + string(rune(len(name))) + name + string(rune(len(value))) + value
	}
	message := "\x00\x00\x00\x00\x01m"
	for want, says := range map[string]struct{ trailer, body string }{
		"": {literal("grpc-status", "0"), message},
		"gRPC status 12 (UNIMPLEMENTED)": {literal("grpc-status", "12") +
			literal("grpc-message", "no such as s3cr3t"), ""},
		"gRPC status 99": {literal("grpc-status", "99"), message},
		"gRPC status 3 (INVALID_ARGUMENT): no käse, 5 % %zz %": {literal("grpc-status", "3") +
			literal("grpc-message", "no k%C3%A4se, 5 % %zz %"), ""},
		`gRPC status 13 (INTERNAL): \u001b[31mred second line`: {literal("grpc-status", "13") +
			literal("grpc-message", "%1b[31mred%0asecond line"), ""},
		"gRPC status 98: ß" + strings.Repeat("x", 99) + "…": {literal("grpc-status", "98") +
			literal("grpc-message", "ß"+strings.Repeat("x", 110)), ""},
		"gRPC status 14 (UNAVAILABLE)": {literal("grpc-status", "14") + literal("grpc-message", "%20"),
			""},
		"the response has no gRPC status: the server may not speak gRPC": {literal("x", "y"), "<html>"},
		"the response has a gRPC status that is no number":               {literal("grpc-status", "secret"), ""},
		"the response is not one uncompressed gRPC message":              {literal("grpc-status", "0"), message + message},
	} {
		url := http2Peer(t, func(conn net.Conn, _ int, s uint32) {
			b := append(appendFrame(nil, 1, frameHeaders, flagEndHeaders, s), 0x88)
			b = append(appendFrame(b, len(says.body), frameData, 0, s), says.body...)
			conn.Write(append(appendFrame(b, len(says.trailer), frameHeaders, flagEndHeaders|flagEndStream, s), says.trailer...))
		})
		for _, connection := range []string{KeepAlive, Multiplexed} {
			why, _ := failing(t, Spec{URL: url, Protocol: GRPC, Connection: connection,
				Header: []string{"Authorization: Bearer s3cr3t"}}, 1)
			if why[0] != want {
				t.Errorf("%s: %q, want %q", connection, why[0], want)
			}
		}
	}
}

// A broker that refuses is quoted in words, and never taken for one that is down.
func TestMQTTRefusalsInWords(t *testing.T) {
	for _, tt := range []struct{ connack, suback, puback, version, want string }{
		{"200200 01", "", "", MQTT5, "CONNACK, reason 0x01 (unacceptable protocol version); ask it by the other version of " +
			"MQTT: mqtt5 or mqtt311"},
		{"200300 8400", "", "", MQTT5, "reason 0x84 (unsupported protocol version); ask it by the other version"},
		{"200300 8700", "", "", MQTT5, "reason 0x87 (not authorized); edgegauge has no user name and no password to tell it"},
		{"200200 04", "", "", MQTT311, "reason 0x04 (bad user name or password); edgegauge has no user name"},
		{"200300 8800", "", "", MQTT5, "reason 0x88 (server unavailable)"},
		{"f00218 00", "", "", MQTT5, "AUTH: unexpected from a broker; it listens there, but may not speak mqtt"},
		{"", "", "", MQTT5, "the server closed the connection; it listens there, but may not speak mqtt"},
		{"200300 0000", "8f", "", MQTT5, "SUBACK, reason 0x8f (topic filter invalid)"},
		{"200300 0000", "00", "", MQTT5, "the broker grants the subscription QoS 0 only"},
		{"200300 0000", "01", "97", MQTT5, "PUBACK, reason 0x97 (quota exceeded)"},
		{"200300 0000", "01", "10", MQTT5,
			"no response within 500ms: the broker says that nobody has subscribed to the topic of requests"},
		{"200300 0000", "01", "00", MQTT5, "no response within 500ms"},
	} {
		says := func(c net.Conn, packet string) {
			b, _ := base16.DecodeString(strings.ReplaceAll(packet, " ", ""))
			c.Write(b)
		}
		url := hostile(t, func(c net.Conn, _ int) {
			for kind, b := range packets(c) {
				switch kind >> 4 {
				case 1:
					if says(c, tt.connack); tt.connack == "" {
						return
					}
				case 8:
					says(c, "9004"+base16.EncodeToString(b[:2])+"00"+tt.suback)
				case 3:
					at := 2 + int(b[1])
					says(c, "4003"+base16.EncodeToString(b[at:at+2])+tt.puback)
				}
			}
		})
		got := ""
		d, err := Dial(t.Context(), Spec{URL: "mqtt" + url[len("http"):], Protocol: tt.version, QoS: 1, Topic: "q",
			ResponseTopic: "r/{id}"})
		if err != nil {
			got = err.Error()
		} else {
			d.Timeout = 500 * time.Millisecond
			r, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(1, 0), Record: true}, Fixed("x"))
			if err != nil {
				t.Fatal(err)
			}
			for x := range r.Exchanges() {
				got = x.Failure
			}
			d.Close()
		}
		if !strings.Contains(got, tt.want) || strings.Contains(got, "is the server up") ||
			strings.HasSuffix(tt.want, "500ms") && got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

// A broker that ends connections, and says so, keeps sessions: what QoS 1 promises holds over the next connection, as
// where it says nothing. Of one that finds a fault with the client it does not.
func TestMQTTSessionOutlivesADisconnect(t *testing.T) {
	for reason, want := range map[byte]string{0x8b: "", 0: "",
		0x82: "mqtt: the broker refused with DISCONNECT, reason 0x82 (protocol error)"} {
		for concurrency := 1; concurrency <= 2; concurrency++ {
			url := hostile(t, func(c net.Conn, before int) {
				present := byte(0)
				for kind, b := range packets(c) {
					switch kind >> 4 {
					case 1:
						if before >= concurrency {
							present = 1
						}
						c.Write([]byte{0x20, 3, present, 0, 0})
					case 8:
						c.Write([]byte{0x90, 4, b[0], b[1], 0, 1})
					case 3:
						if present == 0 {
							c.Write([]byte{0xe0, 1, reason})
							return
						}
						at := 2 + int(b[1])
						c.Write([]byte{0x40, 2, b[at], b[at+1]})
						c.Write([]byte{0x30, 5, 0, 1, 'r', 0, 'a'})
					}
				}
			})
			why, r := failing(t, Spec{URL: "mqtt" + url[len("http"):], QoS: 1, Topic: "q", ResponseTopic: "r/{id}",
				Concurrency: concurrency}, 1)
			if why[0] != want || want == "" && r.Quality.Retransmissions != 1 {
				t.Errorf("reason %#x, %d connections: %q, %d messages sent again", reason, concurrency, why[0],
					r.Quality.Retransmissions)
			}
		}
	}
}

// Of what a broker says besides, no response has begun.
func TestMQTTEndsBeforeAResponse(t *testing.T) {
	url := hostile(t, func(c net.Conn, _ int) {
		for kind, b := range packets(c) {
			switch kind >> 4 {
			case 1:
				c.Write([]byte{0x20, 3, 0, 0, 0})
			case 8:
				c.Write([]byte{0x90, 4, b[0], b[1], 0, 0})
			case 3:
				c.Write([]byte{0xd0, 0}) // PINGRESP
				return
			}
		}
	})
	why, _ := failing(t, Spec{URL: "mqtt" + url[len("http"):], Topic: "q", ResponseTopic: "r/{id}"}, 2)
	for _, got := range why {
		if got != "connection closed before a response" {
			t.Errorf("%q", got)
		}
	}
}

// Answers that do not belong to the request are not heard, but they are why it has none.
func TestCoAPAnswersToSomethingElse(t *testing.T) {
	right := func(b []byte) []byte { return []byte{0x64, 0x45, b[2], b[3], b[4], b[5], b[6], b[7]} }
	for name, tt := range map[string]struct {
		answer func(request []byte) []byte
		want   string
	}{
		"another token": {func(b []byte) []byte { return []byte{0x64, 0x45, b[2], b[3], ^b[4], b[5], b[6], b[7]} },
			"no response within 500ms, only what is malformed or has another token, message ID or type"},
		"another message ID": {func(b []byte) []byte { return []byte{0x64, 0x45, b[2], ^b[3], b[4], b[5], b[6], b[7]} },
			"no response within 500ms, only what is malformed or has another token, message ID or type"},
		"separate, another token": {func(b []byte) []byte { return []byte{0x54, 0x45, 0, 1, ^b[4], b[5], b[6], b[7]} },
			"no response within 500ms, only what is malformed or has another token, message ID or type"},
		"malformed": {func(b []byte) []byte { return []byte{0x64, 0x45, b[2], b[3], b[4], b[5], b[6], b[7], 0xff} },
			"no response within 500ms, only what is malformed or has another token, message ID or type"},
		"an acknowledgement": {func(b []byte) []byte { return []byte{0x60, 0, b[2], b[3]} }, "no response within 500ms"},
		"OSCORE, without protection": {right,
			"no response within 500ms, only answers that OSCORE does not protect or its keys do not open"},
		"NON, on an acknowledgement": {right,
			"no response within 500ms, only what is malformed or has another token, message ID or type"},
	} {
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() {
			for b := make([]byte, 1500); ; {
				_, from, err := c.ReadFrom(b)
				if err != nil {
					return
				}
				c.WriteTo(tt.answer(b), from)
			}
		}()
		s := Spec{URL: "coap://" + c.LocalAddr().String(), Method: "GET", NON: strings.HasPrefix(name, "NON")}
		if strings.HasPrefix(name, "OSCORE") {
			s.Credentials.OSCORE = coap.Keys{Secret: []byte("secret"), SenderID: []byte{1}, RecipientID: []byte{2}}
		}
		_, xs := driveWithin(t, 500*time.Millisecond, s, Load{Schedule: ClosedLoop(1, 0)}, Fixed(nil))
		for _, x := range xs {
			if x.Failure != tt.want {
				t.Errorf("%s: %q, want %q", name, x.Failure, tt.want)
			}
		}
	}
}

// Over TCP, what a server says of itself begins no response, and one that ends a connection for a fault says so.
func TestCoAPOverTCPEndsBeforeAResponse(t *testing.T) {
	for want, says := range map[string]string{
		"no response within 500ms, only answers with another token": "0445" + "7a7a7a7a",
		"connection closed before a response":                       "00e4",
		"connection closed before a response, after Abort":          "00e5",
	} {
		url := hostile(t, func(c net.Conn, _ int) {
			c.Write([]byte{0, 0xe1})
			b := make([]byte, 1500)
			for n := 0; n < 20; { // its own CSM, and the request
				more, err := c.Read(b)
				if err != nil {
					return
				}
				n += more
			}
			answer, _ := base16.DecodeString(says)
			c.Write(answer)
			if strings.HasPrefix(want, "no response") {
				c.Read(b)
			}
		})
		_, xs := driveWithin(t, 500*time.Millisecond, Spec{URL: "coap+tcp" + url[len("http"):] + "path", Method: "POST"},
			Load{Schedule: ClosedLoop(1, 0)}, Fixed("12345678"))
		if got := xs[0].Failure; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Frames of unknown types, and of priority, may be of streams that were never opened (RFC 9113, sections 4.1 and 5.1).
func TestMultiplexPassesOverWhatConcernsNobody(t *testing.T) {
	url := http2Peer(t, func(conn net.Conn, _ int, stream uint32) {
		b := append(appendFrame(nil, 1, 0xb, 0xff, stream+100), 'x')
		b = append(appendFrame(b, 5, framePriority, 0, stream+100), 0, 0, 0, 0, 1)
		conn.Write(append(b, http2OK(stream)...))
	})
	why, _ := failing(t, Spec{URL: url, Protocol: HTTP2, Connection: Multiplexed}, 2)
	if why[0] != "" || why[1] != "" {
		t.Errorf("%q", why)
	}
}
