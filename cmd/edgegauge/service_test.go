package main

import (
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	broker5 "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"

	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/store"
)

// An account is what a service of a test has seen: the truth that results are held to.
type account struct {
	mu       sync.Mutex
	requests int
	wrong    string // the first request that was not as the study says
}

// serve counts a request and takes at least 5 ms.
func (a *account) serve(wrong string) {
	time.Sleep(5 * time.Millisecond)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests++
	if a.wrong == "" {
		a.wrong = wrong
	}
}

// seen is how many requests came, and the first that was wrong.
func (a *account) seen() (requests int, wrong string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests, a.wrong
}

// own runs edgegauge's own command line in a folder of its own.
type own struct{ exe, dir string }

func newOwn(t *testing.T) own {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	named := filepath.Join(dir, "edgegauge") // by this name the test binary is the program
	if err := os.Symlink(exe, named); err != nil {
		t.Fatal(err)
	}
	return own{named, dir}
}

// run gives what it printed and its exit code.
func (o own) run(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), o.exe, args...)
	c.Dir = o.dir
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

func (o own) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// summary are the rows of a results directory's summary.csv, by side and response.
func (o own) summary(t *testing.T, dir string) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(o.dir, dir, "summary.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	out := map[string]map[string]string{}
	for _, row := range rows[1:] {
		named := map[string]string{}
		for i, name := range rows[0] {
			named[name] = row[i]
		}
		out[named["side"]+" "+named["response"]] = named
	}
	return out
}

// Anyone's service is measured from outside: it sees exactly the requests that the
// study says, no time is less than it took by its own clock, and nothing is said of
// what cannot be known.
func TestServicesThatAreAlreadyThere(t *testing.T) {
	const trials, warmUp, requests = 2, 3, 10
	for _, c := range []struct {
		protocol string
		listen   func(*testing.T, *account) (url string)
		settings string
		out, in  float64 // B of bodies
	}{
		{"http", serveOwnHTTP, "request: {method: PUT, path: '/sensor?unit=C', headers: {X-Kind: test, " +
			"Authorization: 'Bearer env:TOKEN'}, body: '21.5', content_type: text/plain, status: 201, match: '^o.$'}", 4, 2},
		{"http2", serveOwnHTTP, "transport: http2\nrequest: {method: PUT, path: '/sensor?unit=C', headers: {X-Kind: test, " +
			"Authorization: 'Bearer env:TOKEN'}, body: '21.5', content_type: text/plain, status: 201}", 4, 2},
		{"grpc", serveOwnGRPC, "transport: grpc\nrequest: {path: /test.Sensor/Read, body: abc}", 3, 3},
		{"https", serveOwnHTTPS, "request: {method: PUT, path: '/sensor?unit=C', headers: {X-Kind: test, " +
			"Authorization: 'Bearer env:TOKEN'}, body: '21.5', content_type: text/plain, insecure: true}", 4, 2},
		{"coaps", serveOwnCoAPS, "request: {method: POST, path: /sensor, body: '21.5', psk_identity: me, " +
			"psk: env:TOKEN}", 4, 2},
		{"coap", serveOwnCoAP, "request: {method: POST, path: /sensor, body: '21.5', content_type: text/plain, " +
			"status: 2.05}", 4, 2},
		{"mqtt", serveOwnMQTT, "request: {topic: sensor/request, response_topic: sensor/response, body: '21.5', " +
			"qos: 1}", 4, 2},
		{"mqtt311", serveOwnMQTT, "transport: mqtt311\nrequest: {topic: sensor/request, " +
			"response_topic: sensor/response, body: '21.5'}", 4, 2},
	} {
		if testing.Short() && c.protocol != "http" {
			continue
		}
		t.Run(c.protocol, func(t *testing.T) {
			t.Setenv("TOKEN", "s3cret")
			o, a := newOwn(t), &account{}
			url := c.listen(t, a)
			o.write(t, "mine.yaml", fmt.Sprintf("study: mine\nserver: {url: %q}\n%s\nrequests: %d\nretries: 0\n"+
				"design: {replications: %d, warmup: %d}\n", url, c.settings, requests, trials, warmUp))
			if out, code := o.run(t, "check", "mine.yaml"); code != exitDone || !strings.Contains(out, "ready to run") {
				t.Fatalf("check: exit code %d: %s", code, out)
			}
			if n, _ := a.seen(); n != 0 {
				t.Fatalf("check sent %d requests", n)
			}
			out, code := o.run(t, "run", "mine.yaml", "--out", "out", "--trust")
			if code != exitDone {
				t.Fatalf("run: exit code %d: %s", code, out)
			}
			if !strings.Contains(strings.Join(strings.Fields(out), " "), "CPU and memory are unknown") {
				t.Errorf("the report does not say what is unknown: %s", out)
			}
			if !strings.Contains(out, "\n"+url) {
				t.Errorf("the report does not name the treatment by its URL: %s", out)
			}
			n, wrong := a.seen()
			if want := trials * (warmUp + requests); n != want || wrong != "" {
				t.Errorf("the service saw %d requests, want %d; %s", n, want, wrong)
			}
			all := o.summary(t, "out")
			figure := func(response string) float64 {
				v, err := strconv.ParseFloat(all["client "+response]["mean"], 64)
				if err != nil {
					t.Errorf("%s: %v", response, err)
				}
				return v
			}
			if rtt := figure("rtt"); rtt < 0.005 {
				t.Errorf("a mean RTT of %g s, and every request takes 5 ms", rtt)
			}
			if out, in := figure("message_size"), figure("response_size"); out != c.out || in != c.in {
				t.Errorf("bodies of %g B and %g B, want %g B and %g B", out, in, c.out, c.in)
			}
			for name := range all {
				if strings.HasPrefix(name, "server ") || strings.Contains(name, "serialization") {
					t.Errorf("the results claim to know %s", name)
				}
			}
			holdsNo(t, filepath.Join(o.dir, "out"), "s3cret")
			if strings.Contains(out, "s3cret") {
				t.Error("the secret is printed")
			}
		})
	}
}

// Settings beside server.url have their effect: trials last as long as they must, and lack what they leave out. What
// has none is refused.
func TestSettingsBesideAService(t *testing.T) {
	t.Setenv("TOKEN", "s3cret")
	o, a := newOwn(t), &account{}
	o.write(t, "mine.yaml", fmt.Sprintf("study: mine\nserver: {url: %q}\nrequest: {method: PUT, path: '/sensor?unit=C', "+
		"headers: {X-Kind: test, Authorization: 'Bearer env:TOKEN'}, body: '21.5', status: 201}\nrequests: 2\n"+
		"min_duration: 500ms\nleave_out: [throughput]\nretries: 0\ndesign: {replications: 1, warmup: 3}\n",
		serveOwnHTTP(t, a)))
	if out, code := o.run(t, "run", "mine.yaml", "--out", "out", "--trust"); code != exitDone {
		t.Fatalf("run: exit code %d: %s", code, out)
	}
	// Each takes 5 ms, and longer on a busy machine.
	n, _ := a.seen()
	if n -= 3; n < 3 || n > 100 {
		t.Errorf("%d requests in half a second, each of 5 ms; 2 if min_duration was dropped", n)
	}
	all := o.summary(t, "out")
	if _, ok := all["client throughput"]; ok || all["client rtt"] == nil {
		t.Errorf("throughput was left out: %v", all)
	}
	for _, set := range []string{"placement=apart", "at_once=2"} {
		if out, code := o.run(t, "check", "mine.yaml", "--set", set); code != exitUsage ||
			!strings.Contains(out, "has no effect") {
			t.Errorf("%s: exit code %d: %s", set, code, out)
		}
	}
}

// holdsNo walks a folder for a text.
func holdsNo(t *testing.T, dir, text string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if seen++; strings.Contains(string(b), text) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil || seen < 5 {
		t.Errorf("%d files: %v", seen, err)
	}
}

func serveOwnHTTP(t *testing.T, a *account) string {
	s := ownHTTP(a)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL + "/elsewhere"
}

func serveOwnHTTPS(t *testing.T, a *account) string {
	s := ownHTTP(a)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

func ownHTTP(a *account) *httptest.Server {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		wrong := ""
		if got := fmt.Sprint(r.Method, r.URL, r.Header.Get("X-Kind"), r.Header.Get("Authorization"),
			r.Header.Get("Content-Type"), string(body)); got != "PUT/sensor?unit=CtestBearer s3crettext/plain21.5" {
			wrong = got
		}
		a.serve(wrong)
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, "ok")
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// serveOwnGRPC echoes a message, with a frame read and written by hand.
func serveOwnGRPC(t *testing.T, a *account) string {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") { // as gRPC's own servers do
			http.Error(w, "no gRPC", http.StatusUnsupportedMediaType)
			return
		}
		frame, _ := io.ReadAll(r.Body)
		wrong := ""
		if len(frame) != 8 || binary.BigEndian.Uint32(frame[1:]) != 3 || r.URL.Path != "/test.Sensor/Read" {
			wrong = fmt.Sprintf("%s %q", r.URL, frame)
		}
		a.serve(wrong)
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		w.Write(frame)
		w.Header().Set("Grpc-Status", "0")
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

func serveOwnCoAP(t *testing.T, a *account) string {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	s := ownCoAP(a)
	go func() { ended <- s.Serve(ctx, conn) }()
	t.Cleanup(func() { cancel(); <-ended })
	return "coap://" + conn.LocalAddr().String()
}

func serveOwnCoAPS(t *testing.T, a *account) string {
	l, err := coap.ListenDTLS("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)},
		coap.PSK{Identity: "me", Key: []byte("s3cret")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	s := ownCoAP(a)
	go func() { ended <- s.ServeListener(ctx, l) }()
	t.Cleanup(func() { cancel(); <-ended })
	return "coaps://" + l.Addr().String()
}

func ownCoAP(a *account) *coap.Server {
	return &coap.Server{Handler: func(req *coap.Request, resp *coap.Response) {
		wrong := ""
		if string(req.Body) != "21.5" || strings.TrimPrefix(string(req.Path), "/") != "sensor" {
			wrong = fmt.Sprintf("%s %q", req.Path, req.Body)
		}
		a.serve(wrong)
		resp.Code = coap.Content
		resp.Body = append(resp.Body, "ok"...)
	}}
}

// allow lets everyone do everything.
type allow struct{ broker5.HookBase }

func (*allow) Provides(b byte) bool {
	return b == broker5.OnConnectAuthenticate || b == broker5.OnACLCheck
}
func (*allow) OnConnectAuthenticate(*broker5.Client, packets.Packet) bool { return true }
func (*allow) OnACLCheck(*broker5.Client, string, bool) bool              { return true }

// serveOwnMQTT is a broker with a service that knows nothing of edgegauge: it
// answers on one topic, without correlation data.
func serveOwnMQTT(t *testing.T, a *account) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := broker5.New(&broker5.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)})
	err = errors.Join(s.AddHook(new(allow), nil), s.AddListener(listeners.NewNet("wire", l)), s.Serve())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() }) // s.Close may wait for ever for a client that leaves meanwhile
	// What was kept from before is nobody's answer.
	s.Publish("sensor/response", []byte("an old one"), true, 0)
	err = s.Subscribe("sensor/request", 1, func(_ *broker5.Client, _ packets.Subscription, p packets.Packet) {
		body := string(p.Payload)
		go func() {
			wrong := ""
			if body != "21.5" {
				wrong = body
			}
			a.serve(wrong)
			s.Publish("sensor/response", []byte("ok"), false, 0)
		}()
	})
	if err != nil {
		t.Fatal(err)
	}
	return "mqtt://" + l.Addr().String()
}

// What stands in the way is said by check, plan and run alike, before the first
// trial, and a stranger's study sends nothing of this machine unasked.
func TestServicesThatCannotBeMeasured(t *testing.T) {
	o, a := newOwn(t), &account{}
	t.Setenv("TOKEN", "s3cret")
	url := serveOwnHTTP(t, a)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	nobody, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	for i, c := range []struct {
		text, want string
		code       int
	}{
		{"server: {url: " + gone.URL + "}", "2:15: nothing listens at " + strings.TrimPrefix(gone.URL, "http://") +
			": connect: connection refused; start the service", exitUnmeasured},
		{"server: {url: 'coap://" + nobody.LocalAddr().String() + "'}", "nothing listens at " + nobody.LocalAddr().String(),
			exitUnmeasured},
		{"server: {url: " + url + "}\nrequest: {body_file: missing.json}", "missing.json: no such file", exitUnmeasured},
		{"server: {url: " + url + "}\nrequest: {headers: {Authorization: env:NO_SUCH_VARIABLE}}",
			"the environment variable NO_SUCH_VARIABLE is not set", exitUnmeasured},
		{"server: {url: " + url + "}\nresponses: [rtt, processing]",
			"3:18: response processing cannot be measured at a service that is already running", exitUsage},
		{"server: {url: " + url + "}\nconnection: multiplexed", "multiplexing is supported only for HTTP/2", exitUsage},
		{"server: {url: " + url + ", meter: 'model:raspberry-pi-1'}\nresponses: [energy]",
			"needs a program on the server's machine", exitUsage},
	} {
		o.write(t, "s.yaml", "study: s\n"+c.text+"\n")
		verbs := [][]string{{"check", "s.yaml"}, {"plan", "s.yaml"}, {"run", "s.yaml", "--out", "none"}}
		if i > 0 { // the three share their obstacles: once is enough
			verbs = verbs[:1]
		}
		for _, verb := range verbs {
			if out, code := o.run(t, verb...); code != c.code || !strings.Contains(out, c.want) {
				t.Errorf("%s: %s: exit code %d, want %d: %s; want %q", c.text, verb[0], code, c.code, out, c.want)
			}
		}
	}
	o.write(t, "secret.txt", "s3cret\n")
	if err := os.Mkdir(filepath.Join(o.dir, "theirs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"{headers: {Authorization: 'Bearer env:TOKEN'}}":   "request sends the environment variable TOKEN to " + url,
		"{headers: {Authorization: 'file:../secret.txt'}}": "request sends the file ../secret.txt to " + url,
		"{body_file: ../secret.txt}":                       "request sends the file ../secret.txt to " + url,
	} {
		o.write(t, "theirs/s.yaml", "study: s\nserver: {url: "+url+"}\nrequest: "+text+"\n")
		if out, code := o.run(t, "run", "theirs/s.yaml", "--out", "none"); code != exitUsage || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d: %s; want %q", text, code, out, want)
		}
	}
	if n, _ := a.seen(); n != 0 || exists(filepath.Join(o.dir, "none")) {
		t.Errorf("%d requests were sent, or results begun", n)
	}
	// An answer other than the one wanted makes the trial invalid, and is not repeated.
	o.write(t, "s.yaml", "study: s\nserver: {url: "+url+"}\nrequests: 1\nretries: 0\ndesign: {replications: 1}\n"+
		"request: {status: 200}\n")
	if out, code := o.run(t, "run", "s.yaml", "--out", "wrong"); code != exitUnmeasured ||
		!strings.Contains(out, "status 201, not 200") {
		t.Errorf("exit code %d: %s", code, out)
	}
	o.write(t, "s.yaml", "study: s\nserver: {url: "+url+"}\nrequests: 1\nretries: 0\ndesign: {replications: 1}\n"+
		"request: {match: other}\n")
	if out, code := o.run(t, "run", "s.yaml", "--out", "other"); code != exitUnmeasured ||
		!strings.Contains(out, "the body of the response does not match") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// A service that is already running is driven from two benches at once: it saw what both sent.
func TestAServiceDrivenFromTwoBenches(t *testing.T) {
	var a account
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.serve("")
		fmt.Fprint(w, "answer")
	}))
	defer server.Close()
	o := newOwn(t)
	o.write(t, "s.yaml", `study: s
server.url: `+server.URL+`
driven_from: 2
duration: 500ms
retries: 9
design: {replications: 1, warmup: 3}
`)
	out, code := o.run(t, "run", "s.yaml", "--out", "out", "--benches", "2", "--trust")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	s, err := store.OpenReadOnly(filepath.Join(o.dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	trials, err := s.Trials()
	if err != nil || len(trials) != 1 {
		t.Fatalf("%d trials: %v", len(trials), err)
	}
	j, err := s.Joint(store.AttemptID{Trial: 1, Attempt: trials[0].Attempt})
	if err != nil || len(j.Benches) != 2 {
		t.Fatalf("got %+v: %v", j, err)
	}
	sent := 0
	for _, b := range j.Benches {
		sent += b.Requests + 3
	}
	saw, _ := a.seen()
	if again := trials[0].Attempts - 1; again == 0 && saw != sent || saw < sent {
		t.Errorf("the service saw %d requests, the benches sent %d, in the last of %d attempts", saw, sent, again+1)
	}
}

// A server that closes each connection is no service with keep-alive, and the report says so.
func TestServiceThatKeepsNoConnection(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	service := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	service.Config.SetKeepAlivesEnabled(false)
	service.Start()
	defer service.Close()
	o.write(t, "s.yaml", "study: s\nserver: {url: \""+service.URL+"\"}\nrequests: 5\ndesign: {replications: 2}\n"+
		"factors: {connection: [keep-alive, per-request]}\n")
	out, code := o.run(t, "run", "s.yaml", "--quiet")
	if text := strings.Join(strings.Fields(out), " "); code != exitDone ||
		!strings.Contains(text, " of 10 requests needed a new connection") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
