package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const warmedUp = 3 // requests of the warm-up

// packetStudy captures one treatment.
func packetStudy(settings string, responses ...string) string {
	return fmt.Sprintf(`study: packets
service: echo
size: 100B
requests: 20
min_duration: 1ms
retries: 20
design: {replications: 1, warmup: %d}
%s
responses: [%s]
packets: keep
`, warmedUp, settings, strings.Join(responses, ", "))
}

// frame is one packet, as tshark sees it.
type frame struct {
	at      int64 // ns
	bytes   float64
	fromSrv bool
	stream  string
	ack     bool
	content string // of DTLS records
}

// framesOf reads a capture with tshark, the server's port being that of the first answer.
func framesOf(t *testing.T, file, layer string) []frame {
	t.Helper()
	tshark, err := exec.LookPath("tshark")
	needs(t, err == nil, "tshark; run: apt-get install tshark")
	read := func(more ...string) [][]string {
		args := append([]string{"-n", "-r", file, "-Y", layer, "-T", "fields", "-E", "separator=|", "-e", "frame.time_epoch",
			"-e", "frame.len",
			"-e", layer + ".srcport", "-e", layer + ".dstport", "-e", layer + ".stream"}, more...)
		out, err := exec.Command(tshark, args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		var rows [][]string
		for line := range strings.Lines(string(out)) {
			rows = append(rows, strings.Split(strings.TrimRight(line, "\n"), "|"))
		}
		return rows
	}
	port := read()[0][3]
	more := []string{"-e", "tcp.flags.ack", "-e", "dtls.record.content_type", "-d", "udp.port==" + port + ",dtls"}
	var out []frame
	for _, r := range read(more...) {
		whole, fraction, _ := strings.Cut(r[0], ".") // nine digits
		at, err := strconv.ParseInt(whole+fraction, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseFloat(r[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, frame{at, n, r[2] == port, r[4], r[5] == "1" || r[5] == "True", r[6]})
	}
	return out
}

// wireFigures are means over calls of one trial.
type wireFigures map[string]float64

func meansOf(calls [][]frame, ends func([]frame) int64) wireFigures {
	f := wireFigures{}
	n := float64(len(calls))
	for _, c := range calls {
		f["packets"] += float64(len(c)) / n
		f["delay"] += float64(ends(c)-c[0].at) / 1e9 / n
		for _, x := range c {
			f["wire_bytes"] += x.bytes / n
		}
	}
	return f
}

// What a study says of packets is what tshark counts in the capture that the study keeps: exchanges inside DTLS,
// connections that carry one MQTT request each, and CoAP in the clear.
func TestPacketFiguresAgreeWithTshark(t *testing.T) {
	if testing.Short() {
		t.Skip("captures packets")
	}
	needs(t, os.Geteuid() == 0, "root, to capture packets")
	last := func(c []frame) int64 { return c[len(c)-1].at }
	lastACK := func(c []frame) int64 {
		var at int64
		for _, x := range c {
			if !x.fromSrv && x.ack {
				at = x.at
			}
		}
		return at
	}
	for name, tt := range map[string]struct {
		settings, layer string
		data            string // DTLS: content type of application data
		byStream        bool
		whole           bool // bytes and packets are those of the whole stream: a session for each request
		ends            func([]frame) int64
	}{
		"CoAP": {"stack: coap-cbor", "udp", "", false, false, last},
		"DTLS": {"stack: coap-cbor\nsecurity: dtls-psk", "udp", "23", false, false, last},
		"DTLS for each": {"stack: coap-cbor\nsecurity: dtls-psk\nconnection: per-request", "udp", "23", false, true,
			last},
		"MQTT 5, for each": {"stack: mqtt\nencoding: cbor\nconnection: per-request", "tcp", "", true, false, lastACK},
		"MQTT 3.1, for each": {"stack: mqtt\nencoding: cbor\ntransport: mqtt311\nconnection: per-request", "tcp", "", true,
			false, lastACK},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOwn(t)
			o.write(t, "s.yaml", packetStudy(tt.settings, "delay", "wire_bytes", "packets"))
			if out, code := o.run(t, "run", "s.yaml", "--out", "r"); code != 0 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			var calls [][]frame
			streams, sessions := map[string]int{}, map[string][]frame{}
			for _, x := range framesOf(t, onlyCapture(t, o), tt.layer) {
				sessions[x.stream] = append(sessions[x.stream], x)
				if tt.data != "" && !strings.Contains(x.content, tt.data) {
					continue // handshake and alerts
				}
				i, known := streams[x.stream]
				if tt.byStream && !known || !tt.byStream && !x.fromSrv {
					i = len(calls)
					calls = append(calls, nil)
				} else if !tt.byStream {
					i = len(calls) - 1
				}
				streams[x.stream] = i
				calls[i] = append(calls[i], x)
			}
			if len(calls) < warmedUp+20 {
				t.Fatalf("tshark has %d calls", len(calls))
			}
			got := o.summary(t, "r")
			means := meansOf(calls[warmedUp:], tt.ends)
			if tt.whole {
				var all [][]frame
				for _, c := range calls[warmedUp:] {
					all = append(all, sessions[c[0].stream])
				}
				whole := meansOf(all, tt.ends)
				means["packets"], means["wire_bytes"] = whole["packets"], whole["wire_bytes"]
			}
			for response, want := range means {
				said, err := strconv.ParseFloat(got["client "+response]["mean"], 64)
				if err != nil || math.Abs(said-want) > 1e-6*want {
					t.Errorf("%s: %v, tshark has %v in %d calls (%v)", response, said, want, len(calls)-warmedUp, err)
				}
			}
		})
	}
}

func onlyCapture(t *testing.T, o own) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(o.dir, "r/packets/*.pcapng"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: %v", files, err)
	}
	slices.Sort(files)
	return files[len(files)-1]
}

// Where packets do not tell requests apart, "packets" gives the whole connection's bytes and no request's time.
func TestPacketsOfHiddenRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("captures packets")
	}
	needs(t, os.Geteuid() == 0, "root, to capture packets")
	for name, tt := range map[string]struct{ settings, layer, kind, why string }{
		"QUIC": {"stack: http3\nencoding: protobuf", "udp", "exchanges", "QUIC hides where a request begins and ends"},
		"MQTT": {"stack: mqtt\nencoding: cbor", "tcp", "connections", "MQTT messages and acknowledgements"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOwn(t)
			o.write(t, "s.yaml", packetStudy(tt.settings, "rtt"))
			if out, code := o.run(t, "run", "s.yaml", "--out", "r"); code != 0 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			file := onlyCapture(t, o)
			want := wireFigures{}
			for _, x := range framesOf(t, file, tt.layer) {
				want["wire_bytes"] += x.bytes
				want["packets"]++
			}
			text, code := o.run(t, "packets", file, "--json")
			var got map[string]json.RawMessage
			var calls []struct {
				WireBytes float64           `json:"wire_bytes"`
				Packets   float64           `json:"packets"`
				Delay     *float64          `json:"delay_ns"`
				Again     *float64          `json:"retransmissions"`
				Refused   map[string]string `json:"refused"`
				Requests  []any             `json:"requests"`
			}
			if err := json.Unmarshal([]byte(text), &got); err != nil || code != 0 {
				t.Fatalf("exit %d: %v\n%s", code, err, text)
			}
			if err := json.Unmarshal(got[tt.kind], &calls); err != nil || len(calls) != 1 {
				t.Fatalf("%d %s: %v", len(calls), tt.kind, err)
			}
			c := calls[0]
			if c.WireBytes != want["wire_bytes"] || c.Packets != want["packets"] {
				t.Errorf("%v B in %v packets, tshark has %v", c.WireBytes, c.Packets, want)
			}
			if why := c.Refused["delay"] + c.Refused["requests"]; len(c.Requests) > 0 || !strings.Contains(why, tt.why) {
				t.Errorf("%d requests, refused: %v", len(c.Requests), c.Refused)
			}
			if hidden := tt.layer == "udp"; hidden != (c.Delay == nil) || hidden != (c.Again == nil) {
				t.Errorf("delay %v, retransmissions %v", c.Delay, c.Again)
			}
			if text, _ := o.run(t, "packets", file); !strings.Contains(text, tt.why) {
				t.Errorf("the text does not say why:\n%s", text)
			}
		})
	}
}
