package conform

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
)

// A soapClient sends an envelope for each request, and fails as told.
type soapClient struct {
	conn  *stack.Conn
	fails func(status int, body []byte) bool
	twice bool // sends again what failed
}

func startSOAPClient(c soapClient) Running {
	in, inFar := net.Pipe()
	out, outFar := net.Pipe()
	c.conn = stack.NewConn(in, out)
	go func() {
		defer outFar.Close()
		url := ""
		for lines := bufio.NewScanner(inFar); lines.Scan(); {
			var l struct {
				Type, URL string
				Requests  int
			}
			if json.Unmarshal(lines.Bytes(), &l) != nil {
				return
			}
			says := []byte(`{"type":"ready","again":true}` + "\n")
			if l.Type == "call" {
				url = l.URL
			} else {
				says = c.run(url, l.Requests)
			}
			if _, err := outFar.Write(says); err != nil {
				return
			}
		}
	}()
	return &running{c.conn, in}
}

func (c soapClient) run(url string, requests int) (says []byte) {
	for i := range requests {
		x := measure.Exchange{Seq: uint64(i) + 1, Done: time.Millisecond}
		for range 2 {
			resp, err := http.Post(url, "application/soap+xml", strings.NewReader("<Envelope/>"))
			if err != nil {
				return fmt.Appendf(nil, "{\"type\":\"error\",\"message\":%q}\n", err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if c.fails(resp.StatusCode, body) {
				x.Failure = resp.Status
			}
			if !c.twice {
				break
			}
		}
		says = stack.AppendExchange(says, x)
	}
	return fmt.Appendf(says, "{\"type\":\"end\",\"count\":%d}\n", requests)
}

// running is a program of a test.
type running struct {
	conn *stack.Conn
	in   io.Closer
}

func (r *running) Conn() *stack.Conn                  { return r.conn }
func (r *running) Stop(time.Duration) ([]byte, error) { return nil, r.in.Close() }
func (*running) Said() string                         { return "" }
func (*running) Sockets() ([]kernel.Socket, error)    { return nil, nil }

// A client that takes a fault for an answer is found, whichever status it looks for.
func TestFaultsAreFailures(t *testing.T) {
	isFault := func(_ int, body []byte) bool { return bytes.Contains(body, []byte("Fault>")) }
	bySuccess := func(status int, _ []byte) bool { return status != 200 }
	by500 := func(status int, _ []byte) bool { return status == 500 }
	by4xx := func(status int, _ []byte) bool { return status/100 == 4 }
	for _, tt := range []struct {
		what, encoding, want string
		client               soapClient
	}{
		{"reads faults", "soap12", "", soapClient{fails: isFault}},
		{"reads faults", "soap11", "", soapClient{fails: isFault}},
		{"looks at the status", "soap12-fastinfoset", "", soapClient{fails: bySuccess}},
		{"knows a fault by the status 500", "soap12", "Sender with HTTP status 400", soapClient{fails: by500}},
		{"knows a fault by the status 500", "soap11", "", soapClient{fails: by500}},
		{"fails on 4xx alone", "soap12", "Receiver with HTTP status 500", soapClient{fails: by4xx}},
		{"sends again", "soap12", "were sent 6 times", soapClient{fails: isFault, twice: true}},
	} {
		kit := Kit{Start: func(context.Context, stack.Description, string) (Running, error) {
			return startSOAPClient(tt.client), nil
		}}
		c := suite{ctx: t.Context(), kit: kit, wish: stack.Wish{Encoding: tt.encoding, Security: "none", Transport: "http"}}
		p := program{c: c, verb: "call"}
		err := c.failsOnFaults(&p, "echo")
		p.close()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("a client of %s that %s: got %v, want %q", tt.encoding, tt.what, err, tt.want)
		}
	}
}

// What the kit cannot serve it does not check.
func TestFaultsAreOfPlainHTTP(t *testing.T) {
	for _, tt := range []struct {
		encoding, security, transport string
		want                          bool
	}{
		{"soap11", "none", "http", true}, {"soap12-gzip", "none", "http", true}, {"soap12", "tls", "http", false},
		{"soap12", "wss-rsa", "http", false}, {"soap12", "none", "coap", false}, {"xml", "none", "http", false},
	} {
		c := suite{wish: stack.Wish{Encoding: tt.encoding, Security: tt.security, Transport: tt.transport}}
		if got := c.faultable(); got != tt.want {
			t.Errorf("%s %s %s: %v", tt.encoding, tt.security, tt.transport, got)
		}
	}
}
