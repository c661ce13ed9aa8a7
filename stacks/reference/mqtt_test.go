package reference

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/protocol/mqtt"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

var mqttStacks = []string{"mqtt", "mqtt-mosquitto"}

func mqttServe(t *testing.T, name string, s stack.Serve) server {
	t.Helper()
	k, _ := find(name)
	if _, err := os.Stat(mosquittoProgram); err != nil && name == "mqtt-mosquitto" {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(mosquittoNeeds[0].Install)
	}
	s.Service, s.Encoding, s.Host = "echo", "json", "127.0.0.1"
	srv, err := k.serve(&program{kind: k, log: log.New(io.Discard, "", 0)}, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.close)
	return srv
}

// mqttDrive asks n times and wants the right answer each time.
func mqttDrive(t *testing.T, spec drive.Spec, n, letters int) *drive.Record {
	t.Helper()
	spec.Timeout = 20 * time.Second
	d, err := drive.Dial(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return mqttAsk(t, d, n, letters)
}

func mqttAsk(t *testing.T, d *drive.Driver, n, letters int) *drive.Record {
	t.Helper()
	defer d.Close()
	c := &caller{name: service.Echo, encoding: codec.JSON}
	service.Make(service.Echo, 7, letters, service.Width{}, &c.request)
	var err error
	if c.check, err = service.NewChecker(service.Echo, &c.request); err != nil {
		t.Fatal(err)
	}
	record, err := d.Run(t.Context(), drive.Load{Schedule: drive.ClosedLoop(n, 0), Record: true}, c)
	if err != nil {
		t.Fatal(err)
	}
	for x := range record.Exchanges() {
		if x.Failure != "" || x.RTT() <= 0 {
			t.Errorf("%s QoS %d, %s, %d at once: request %d: %q, rtt %v", d.Protocol, d.QoS, d.Connection, d.Concurrency, x.Seq,
				x.Failure, x.RTT())
			break
		}
	}
	return record
}

func TestMQTTAgainstBrokers(t *testing.T) {
	credentials, err := stack.NewCredentials(t.TempDir(), []string{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range mqttStacks {
		for _, version := range []string{mqtt5, mqtt311} {
			for qos := range byte(3) {
				for _, security := range []string{"none", "tls"} {
					srv := mqttServe(t, name, stack.Serve{Transport: version, Security: security, Credentials: credentials,
						Options: map[string]string{"qos": fmt.Sprint(qos)}})
					want := 0
					for _, connection := range []string{drive.KeepAlive, drive.PerRequest} {
						for _, concurrency := range []int{1, 4} {
							spec := drive.Spec{URL: srv.url(), Protocol: version, QoS: qos, Connection: connection, Concurrency: concurrency,
								Credentials: drive.Credentials{CA: credentials["ca"]}}
							if security == "none" {
								spec.Credentials = drive.Credentials{}
							}
							if record := mqttDrive(t, spec, 12, 5000); record.Quality.Reconnects > 0 {
								t.Errorf("%s: %d connections made anew", name, record.Quality.Reconnects)
							}
							want += 12
						}
					}
					if n := srv.take().n; n != want {
						t.Errorf("%s %s QoS %d %s: the server counts %d, want %d", name, version, qos, security, n, want)
					}
				}
			}
		}
	}
}

// A broker's socket lies in a folder whose name may be long, and have spaces.
func TestMQTTInALongFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("a long", 13), strings.Repeat("folder ", 11))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if len(dir) < 150 {
		t.Fatalf("%s is not long", dir)
	}
	t.Setenv("TMPDIR", dir)
	credentials, err := stack.NewCredentials(t.TempDir(), []string{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range mqttStacks {
		srv := mqttServe(t, name, stack.Serve{Transport: mqtt5, Security: "tls", Credentials: credentials})
		mqttDrive(t, drive.Spec{URL: srv.url(), Protocol: mqtt5, Connection: drive.KeepAlive, Concurrency: 1,
			Credentials: drive.Credentials{CA: credentials["ca"]}}, 3, 10)
	}
}

// A cutter is a network that cuts a connection after so many bytes of the
// broker's, or of the client's, and holds nothing back that it had passed on.
type cutter struct {
	net.Listener
	broker string
	mu     sync.Mutex
	next   int // which connection
	budget func(connection int) (up, down int64)
	busy   sync.WaitGroup
}

func newCutter(t *testing.T, broker string, budget func(int) (up, down int64)) *cutter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, broker: broker, budget: budget}
	c.busy.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.busy.Go(func() { c.carry(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); c.busy.Wait() })
	return c
}

func (c *cutter) carry(client net.Conn) {
	defer client.Close()
	broker, err := net.Dial("tcp", c.broker)
	if err != nil {
		return
	}
	defer broker.Close()
	c.mu.Lock()
	up, down := c.budget(c.next)
	c.next++
	c.mu.Unlock()
	done := make(chan bool, 2)
	pass := func(to, from net.Conn, most int64) {
		io.CopyN(to, from, most)
		to.Close()
		from.Close()
		done <- true
	}
	go pass(broker, client, up)
	go pass(client, broker, down)
	<-done
	<-done
}

// Connections are cut at every byte of the exchange in turn. With QoS 2 every request is
// served once and answered once, with QoS 1 at least once.
func TestMQTTSurvivesCuts(t *testing.T) {
	const requests = 40
	for _, name := range mqttStacks {
		for _, version := range []string{mqtt5, mqtt311} {
			for _, qos := range []byte{1, 2} {
				srv := mqttServe(t, name, stack.Serve{Transport: version, Options: map[string]string{"qos": fmt.Sprint(qos)}})
				at := strings.TrimSuffix(strings.TrimPrefix(srv.url(), "mqtt://"), "/echo")
				c := newCutter(t, at, func(n int) (up, down int64) {
					switch {
					case n%2 == 1:
						return 1 << 40, 1 << 40 // each second one lasts until the request is over
					case n%4 == 0:
						return 100 + 9*int64(n), 1 << 40
					}
					return 1 << 40, 20 + 9*int64(n)
				})
				spec := drive.Spec{URL: "mqtt://" + c.Addr().String() + "/echo", Protocol: version, QoS: qos,
					Connection: drive.KeepAlive, Timeout: 20 * time.Second}
				cuts := 0
				for range requests {
					record := mqttAsk(t, dialCut(t, spec), 3, 20)
					cuts += int(record.Quality.Reconnects)
				}
				n := srv.take().n
				if cuts < requests/4 || n < 3*requests || qos == 2 && n != 3*requests {
					t.Errorf("%s %s QoS %d: %d requests, %d served, %d connections made anew", name, version, qos, 3*requests, n, cuts)
				}
			}
		}
	}
}

// dialCut dials through a network that may cut the greeting too.
func dialCut(t *testing.T, spec drive.Spec) *drive.Driver {
	t.Helper()
	for try := 0; ; try++ {
		d, err := drive.Dial(t.Context(), spec)
		if err == nil {
			return d
		} else if try == 5 {
			t.Fatal(err)
		}
	}
}

// What no client may send ends its connection or is passed over, and the next
// request is answered.
// What a request waits for until somebody works on it is in the server's total: it was received.
func TestMQTTTotalBeginsWhenTheRequestCame(t *testing.T) {
	srv := mqttServe(t, "mqtt", stack.Serve{Transport: mqtt5}).(*mqttServer)
	const waited = time.Second
	request := &mqtt.Message{ResponseTopic: []byte("echo/response/x"), Payload: []byte(`{"text":"abc"}`)}
	srv.turns <- struct{}{}
	srv.mu.Lock()
	srv.begun(request, now()-int64(waited))
	srv.mu.Unlock()
	n := 0
	for x := range srv.take().exchanges() {
		if n++; x.Total < waited || x.Failure != "" {
			t.Errorf("waited %v: %+v", waited, x)
		}
	}
	if n != 1 {
		t.Errorf("%d records", n)
	}
}

func TestMQTTBrokersRefuse(t *testing.T) {
	t.Parallel()
	const hello4, hello5 = "100f 0004 4d515454 04 02 0000 0003 414243", "1010 0004 4d515454 05 02 0000 00 0003 414243"
	for _, name := range mqttStacks {
		srv := mqttServe(t, name, stack.Serve{Transport: mqtt5, Limits: stack.Limits{Body: 100_000}})
		at := strings.TrimSuffix(strings.TrimPrefix(srv.url(), "mqtt://"), "/echo")
		for _, tt := range []struct{ what, bytes string }{
			{"a message before CONNECT", "3003 0001 61"},
			{"protocol level 9", "100f 0004 4d515454 09 02 0000 0003 414243"},
			{"another protocol's name", "100f 0004 4d515458 04 02 0000 0003 414243"},
			{"CONNECT's reserved flag", "100f 0004 4d515454 04 03 0000 0003 414243"},
			{"CONNECT cut short", "100f 0004 4d5154"},
			{"CONNECT twice", hello4 + hello4},
			{"a length of five digits", hello4 + "30ffffffffff01"},
			{"QoS 3", hello4 + "3605 0001 61 0001"},
			{"a message to a wildcard", hello4 + "3003 0001 23"},
			{"a message to an empty topic", hello4 + "3002 0000"},
			{"a topic that is not UTF-8", hello4 + "3003 0001 ff"},
			{"a topic beyond its packet", hello4 + "3003 00ff 61"},
			{"an oversized packet", hello4 + "3080808001 0001 61"},
			{"a subscription to a filter that is none", hello4 + "8208 0001 0003 612b62 00"},
			{"SUBSCRIBE without its flag", hello4 + "8006 0001 0001 61 00"},
			{"a subscription to nothing", hello4 + "8202 0001"},
			{"PUBREL without its flag", hello4 + "6002 0001"},
			{"a reserved type", hello4 + "0000"},
			{"HTTP", hex.EncodeToString([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))},
			{"a repeated property", hello5 + "3007 0001 61 04 0100 0100"},
			{"a topic alias of 0", hello5 + "3006 0000 03 230000"},
			{"a response topic with a wildcard", hello5 + "3008 0001 61 04 08 0001 23"},
			{"packet identifier 0", hello4 + "3205 0001 61 0000"},
		} {
			b, err := hex.DecodeString(strings.ReplaceAll(tt.bytes, " ", ""))
			if err != nil {
				t.Fatal(tt.what, err)
			}
			conn, err := net.Dial("tcp", at)
			if err != nil {
				t.Fatal(name, tt.what, err)
			}
			conn.Write(b)
			conn.SetDeadline(time.Now().Add(time.Second))
			if strings.Contains(tt.what, "cut short") {
				conn.(*net.TCPConn).CloseWrite()
			}
			heard, err := io.ReadAll(conn)
			conn.Close()
			// A subscription may also be refused alone; who names a bad place for an answer gets none.
			refused := strings.HasSuffix(hex.EncodeToString(heard), "9003000180") ||
				strings.HasPrefix(tt.what, "a response topic")
			if err != nil && os.IsTimeout(err) && !refused {
				t.Errorf("%s: %s: the connection stands; it said %x", name, tt.what, heard)
			}
			mqttDrive(t, drive.Spec{URL: srv.url(), Protocol: mqtt5}, 1, 10)
		}
	}
}

// A retained message is kept for nobody: who sends them could fill a broker without bound.
func TestMQTTBrokersRetainNothing(t *testing.T) {
	t.Parallel()
	const retained = "100f 0004 4d515454 04 02 0000 0003 414243" + "3104 0001 78 41"
	const subscribe = "100f 0004 4d515454 04 02 0000 0003 444546" + "8206 0001 0001 78 00"
	for _, name := range mqttStacks {
		srv := mqttServe(t, name, stack.Serve{Transport: mqtt5})
		at := strings.TrimSuffix(strings.TrimPrefix(srv.url(), "mqtt://"), "/echo")
		var heard []byte
		for _, text := range []string{retained, subscribe} {
			b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			conn, err := net.Dial("tcp", at)
			if err != nil {
				t.Fatal(name, err)
			}
			conn.Write(b)
			conn.SetDeadline(time.Now().Add(time.Second))
			heard, _ = io.ReadAll(conn)
			conn.Close()
		}
		if want := "20020000" + "9003000100"; hex.EncodeToString(heard) != want {
			t.Errorf("%s: a later subscriber heard %x, want CONNACK and SUBACK alone (%s)", name, heard, want)
		}
	}
}

// Requests that say a wrong place for the answer, or a wrong one twice, move
// nobody; the responder serves the next one.
func TestMQTTTopicMischief(t *testing.T) {
	for _, name := range mqttStacks {
		srv := mqttServe(t, name, stack.Serve{Transport: mqtt5, Options: map[string]string{"qos": "2"}})
		at := strings.TrimSuffix(strings.TrimPrefix(srv.url(), "mqtt://"), "/echo")
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		client, err := mqtt.NewClient(ctx, conn,
			mqtt.NewSession(mqtt.Params{Version: mqtt.V5, ClientID: "rogue", QoS: 2, Filters: []string{"#"}}))
		if err != nil {
			t.Fatal(err)
		}
		for _, topic := range []string{"", "other/topic", "echo/request", "$SYS/x", "echo/response/", "echo/responder"} {
			m := &mqtt.Message{Topic: []byte("echo/request"), Payload: []byte(`{}`), QoS: 2}
			if topic != "" {
				m.ResponseTopic = []byte(topic)
			}
			if err := client.Publish(ctx, m); err != nil {
				t.Fatalf("%s, response topic %q: %v", name, topic, err)
			}
		}
		right := &mqtt.Message{Topic: []byte("echo/request"), Payload: []byte(`}`),
			ResponseTopic: []byte("echo/response/rogue"), Correlation: []byte("7"), QoS: 2}
		if err := client.Publish(ctx, right); err != nil {
			t.Fatal(err)
		}
		// The rogue hears everything: his own requests, and one answer, a failure.
		for {
			m, err := client.Receive(ctx)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if topic := string(m.Topic); topic == "echo/response/rogue" {
				if m.Failure == nil || string(m.Correlation) != "7" || len(m.Payload) > 0 {
					t.Errorf("%s: a bad request got %+v", name, m)
				}
				break
			} else if topic != "echo/request" {
				t.Errorf("%s: the responder wrote to %q", name, topic)
			}
		}
		mqttDrive(t, drive.Spec{URL: srv.url(), Protocol: mqtt5, QoS: 2}, 2, 10)
		client.Close()
		cancel()
	}
}

// tshark reads what we send as we mean it.
func TestMQTTAsTsharkSeesIt(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("sudo apt-get install tshark")
	}
	for _, version := range []mqtt.Version{mqtt.V311, mqtt.V5} {
		b := mqtt.AppendConnect(nil, version, &mqtt.Hello{ClientID: "abc", Clean: true, Expiry: 5})
		b = mqtt.AppendSubscribe(b, version, 1, 2, "echo/response/abc", "x")
		b, _ = mqtt.AppendPublish(b, version, 2,
			&mqtt.Message{Topic: []byte("echo/request"), Payload: []byte("hello"), QoS: 2,
				ResponseTopic: []byte("echo/response/abc"), Correlation: []byte{1, 2}, Failure: []byte("none")})
		b = mqtt.AppendBare(mqtt.AppendAck(b, mqtt.Pubrel, 2, 0), mqtt.Disconnect)
		file := t.TempDir() + "/c.pcap"
		if err := os.WriteFile(file, classicPcap(b), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(tshark, "-r", file, "-d", "tcp.port==1883,mqtt", "-T", "fields", "-e", "mqtt.msgtype", "-e",
			"mqtt.topic", "-e", "mqtt.msg",
			"-e", "mqtt.prop_string", "-e", "mqtt.prop_value", "-e", "_ws.malformed").Output()
		want := "1,8,3,6,14\techo/response/abc,x,echo/request\t68656c6c6f\t"
		if version == mqtt.V5 {
			want += "echo/response/abc,\x01\x02\tnone"
		}
		if err != nil || strings.TrimRight(string(out), "\t\n") != strings.TrimRight(want, "\t") {
			t.Errorf("version %d: %q, want %q (%v)", version, out, want, err)
		}
	}
}

// classicPcap is a capture of one TCP segment to port 1883.
func classicPcap(payload []byte) []byte {
	be16 := func(n int) []byte { return []byte{byte(n >> 8), byte(n)} }
	le32 := func(n int) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)} }
	ip := append([]byte{0x45, 0}, be16(40+len(payload))...)
	ip = append(ip, 0, 0, 0, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1)
	ip = append(append(ip, be16(50000)...), be16(1883)...)
	ip = append(ip, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0)
	ip = append(ip, payload...)
	b := []byte{0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 101, 0, 0, 0}
	b = append(append(b, make([]byte, 8)...), append(le32(len(ip)), le32(len(ip))...)...)
	return append(b, ip...)
}
