package gsoap_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// request lets our client make one secured request and returns it; nobody has answered it.
func request(t *testing.T, security string, c map[string]string) []byte {
	t.Helper()
	var body []byte
	catcher := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		http.Error(w, "caught", http.StatusTeapot)
	}))
	defer catcher.Close()
	cl := stacktest.Start(t, "", "build/gsoap", "call")
	_, err := cl.Call(within(t), stack.Call{URL: catcher.URL + "/echo", Service: "echo", Encoding: "soap11",
		Security: security,
		Message:  stack.Message{Seed: 7, N: 5}, Connection: "per-request", Timeout: int64(5 * time.Second), Credentials: c})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Run(within(t), stack.Run{Requests: 1}, nil); err != nil {
		t.Fatal(err)
	}
	if len(body) == 0 {
		t.Fatal("the client sent nothing")
	}
	return body
}

// post sends a body and returns the status and the answer.
func post(t *testing.T, url string, body []byte) (int, string) {
	t.Helper()
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post(url, "text/xml; charset=utf-8", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func accepted(t *testing.T, url string, body []byte) {
	t.Helper()
	if status, answer := post(t, url, body); status != 200 || !strings.Contains(answer, "echoResponse") {
		t.Errorf("a good request got %d: %s", status, answer)
	}
}

func refused(t *testing.T, url string, body []byte, why string) {
	t.Helper()
	status, answer := post(t, url, body)
	if status != 500 || !strings.Contains(answer, "Fault>") || !strings.Contains(answer, why) {
		t.Errorf("got %d, want a fault that says %q: %s", status, why, answer)
	}
}

var levels = []string{"wss-username", "wss-hmac", "wss-rsa"}

// A message passes once, however its signature is spelt, and another one still passes after it.
func TestReplay(t *testing.T) {
	stacktest.Built(t, ".")
	c := credentials(t)
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			url := serve(t, stack.Serve{Service: "echo", Encoding: "soap11", Security: level, Credentials: c})
			message := request(t, level, c)
			accepted(t, url, message)
			why := "answered before"
			if level == "wss-username" {
				why = "FailedAuthentication"
			}
			refused(t, url, message, why)
			if level != "wss-username" {
				spelt := bytes.Replace(message, []byte("</ds:SignatureValue>"), []byte("\n </ds:SignatureValue>"), 1)
				if bytes.Equal(spelt, message) {
					t.Fatal("no signature in the message")
				}
				refused(t, url, spelt, "answered before")
			}
			if level == "wss-username" {
				spelt := bytes.Replace(message, []byte("</wsse:Nonce>"), []byte("\n</wsse:Nonce>"), 1)
				spelt = bytes.Replace(spelt, []byte("</wsse:Password>"), []byte("\n</wsse:Password>"), 1)
				if len(spelt) != len(message)+2 {
					t.Fatal("no token in the message")
				}
				refused(t, url, spelt, why)
				fresh := request(t, level, c) // its unsigned Timestamp, around the token answered above
				stamp := func(b []byte) []byte {
					return b[bytes.Index(b, []byte("<wsu:Timestamp")):bytes.Index(b, []byte("</wsu:Timestamp>"))]
				}
				refused(t, url, bytes.Replace(message, stamp(message), stamp(fresh), 1), why)
			}
			accepted(t, url, request(t, level, c))
		})
	}
}

// Remembering does not slow down what comes after: the plugin's own list would be searched from end to end.
func TestManyTokens(t *testing.T) {
	stacktest.Built(t, ".")
	c := credentials(t)
	srv := stacktest.Start(t, "", "build/gsoap", "serve")
	ready, err := srv.Serve(within(t), stack.Serve{Service: "echo", Encoding: "soap11", Security: "wss-username",
		Credentials: c, Host: "127.0.0.1",
		Limits: stack.Limits{Body: 1e6}, Transport: "http"})
	if err != nil {
		t.Fatal(err)
	}
	cl := stacktest.Start(t, "", "build/gsoap", "call")
	_, err = cl.Call(within(t), stack.Call{URL: ready.URL, Service: "echo", Encoding: "soap11", Security: "wss-username",
		Message:    stack.Message{Seed: 7, N: 5},
		Connection: "keep-alive", Timeout: int64(10 * time.Second), Credentials: c})
	if err != nil {
		t.Fatal(err)
	}
	const many = 6000
	if _, err := cl.Run(within(t), stack.Run{Requests: many}, nil); err != nil {
		t.Fatal(err)
	}
	var took []time.Duration
	if _, err := srv.Report(within(t), false,
		func(x measure.Exchange) { took = append(took, x.Deserialization) }); err != nil || len(took) != many {
		t.Fatalf("%d records, want %d: %v", len(took), many, err)
	}
	early, late := median(took[500:1500]), median(took[many-1000:])
	t.Logf("deserialization: %v of the first requests, %v of the last of %d", early, late, many)
	if late > 2*early {
		t.Errorf("deserialization grew from %v to %v", early, late)
	}
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}

func TestTampered(t *testing.T) {
	stacktest.Built(t, ".")
	c := credentials(t)
	for _, level := range levels[1:] {
		t.Run(level, func(t *testing.T) {
			url := serve(t, stack.Serve{Service: "echo", Encoding: "soap11", Security: level, Credentials: c})
			refused(t, url, bytes.Replace(request(t, level, c), []byte("<eg:text>"), []byte("<eg:text>x"), 1), "FailedCheck")
			late := bytes.Replace(request(t, level, c), []byte("<wsu:Expires>20"), []byte("<wsu:Expires>21"), 1)
			refused(t, url, late, "FailedCheck") // the Timestamp is signed
			accepted(t, url, request(t, level, c))
		})
	}
}

// Without the security asked for, or with less of it, nothing passes.
func TestTooLittle(t *testing.T) {
	stacktest.Built(t, ".")
	c := credentials(t)
	wrong := maps.Clone(c)
	wrong["password"] = "guess"
	for _, x := range []struct{ level, sent, why string }{
		{"wss-username", "none", "Timestamp"},
		{"wss-hmac", "none", "Signature"},
		{"wss-rsa", "none", "Signature"},
		{"wss-hmac", "wss-username", "Signature"}, // a user is no signature
		{"wss-rsa", "wss-username", "Signature"},
		{"wss-rsa", "wss-hmac", ""}, // HMAC for RSA
		{"wss-hmac", "wss-rsa", ""}, // and the other way
		{"wss-username", "wss-rsa", "UsernameToken"},
	} {
		t.Run(x.sent+" to "+x.level, func(t *testing.T) {
			url := serve(t, stack.Serve{Service: "echo", Encoding: "soap11", Security: x.level, Credentials: c})
			refused(t, url, request(t, x.sent, c), x.why)
			accepted(t, url, request(t, x.level, c))
		})
	}
	for _, level := range levels[:2] {
		t.Run("wrong password to "+level, func(t *testing.T) {
			url := serve(t, stack.Serve{Service: "echo", Encoding: "soap11", Security: level, Credentials: c})
			refused(t, url, request(t, level, wrong), "FailedAuthentication")
		})
	}
}

// gSOAP's plugin takes an HMAC key out of the message that it signs, if the message offers one. Whoever signs so must
// not pass.
func TestKeyInTheMessage(t *testing.T) {
	stacktest.Built(t, ".")
	c := credentials(t)
	forger := maps.Clone(c)
	forger["psk"] = strings.Repeat("ab", 16)
	key, _ := hex.DecodeString(forger["psk"])
	offer := `<ds:KeyInfo><wsse:SecurityTokenReference><wsse:KeyIdentifier ValueType="http://www.w3.org/2000/09/xmldsig#hmac-sha1">` +
		base64.StdEncoding.EncodeToString(key) +
		`</wsse:KeyIdentifier></wsse:SecurityTokenReference></ds:KeyInfo></ds:Signature>`
	for _, x := range []struct{ level, why string }{{"wss-hmac", "brings no key"}, {"wss-rsa", "another algorithm"}} {
		t.Run(x.level, func(t *testing.T) {
			url := serve(t, stack.Serve{Service: "echo", Encoding: "soap11", Security: x.level, Credentials: c})
			forged := bytes.Replace(request(t, "wss-hmac", forger), []byte("</ds:Signature>"), []byte(offer), 1)
			refused(t, url, forged, x.why)
		})
	}
}

// A certificate of another authority signs nothing here.
func TestForeignCertificate(t *testing.T) {
	stacktest.Built(t, ".")
	c := credentials(t)
	url := serve(t, stack.Serve{Service: "echo", Encoding: "soap11", Security: "wss-rsa", Credentials: c})
	refused(t, url, request(t, "wss-rsa", credentials(t)), "")
	accepted(t, url, request(t, "wss-rsa", c))
}

// bytesOf counts what a call of echo(5 letters) sends and receives, HTTP head and body, and the bodies alone.
func bytesOf(t *testing.T, level string, c map[string]string) (head [2]int, body [2]int64) {
	t.Helper()
	at, err := url.Parse(serve(t, stack.Serve{Service: "echo", Encoding: "soap11", Security: level, Credentials: c}))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	counted := make(chan [2]int, 1)
	go func() { counted <- relay(l, at.Host) }()
	cl := stacktest.Start(t, "", "build/gsoap", "call")
	_, err = cl.Call(within(t), stack.Call{URL: "http://" + l.Addr().String() + "/echo", Service: "echo",
		Encoding: "soap11", Security: level,
		Message: stack.Message{Seed: 7, N: 5}, Connection: "per-request", Timeout: int64(5 * time.Second), Credentials: c})
	if err != nil {
		t.Fatal(err)
	}
	_, err = cl.Run(within(t), stack.Run{Requests: 1, Record: true}, func(x measure.Exchange) {
		if body = [2]int64{x.Out, x.In}; x.Failure != "" {
			t.Error(x.Failure)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return <-counted, body
}

// relay passes one connection on and counts both ways.
func relay(l net.Listener, to string) (n [2]int) {
	client, err := l.Accept()
	if err != nil {
		return n
	}
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return n
	}
	defer server.Close()
	up := make(chan int, 1)
	go func() {
		k, _ := io.Copy(server, client)
		up <- int(k)
	}()
	k, _ := io.Copy(client, bufio.NewReader(server))
	client.Close()
	return [2]int{<-up, int(k)}
}

// The bytes of each level: what gsoap-on-arm calls the message overhead of security. They were counted; a change of any
// is a change of the treatment.
func TestBytes(t *testing.T) {
	stacktest.Built(t, ".")
	c := credentials(t)
	for _, x := range []struct {
		level string
		body  [2]int64
		vary  int64 // B that certificates and identifiers may move a body
	}{
		{"none", [2]int64{407, 423}, 0},
		{"wss-username", [2]int64{1623, 1170}, 0},
		{"wss-hmac", [2]int64{2811, 1851}, 0},
		{"wss-rsa", [2]int64{3918, 3902}, 60},
	} {
		head, body := bytesOf(t, x.level, c)
		t.Logf("%-13s request %d B HTTP, %d B body; response %d B HTTP, %d B body", x.level, head[0], body[0],
			head[1], body[1])
		for i := range body {
			if d := body[i] - x.body[i]; d < -x.vary || d > x.vary {
				t.Errorf("%s: body %d is %d B, want %d ± %d", x.level, i, body[i], x.body[i], x.vary)
			}
		}
	}
}
