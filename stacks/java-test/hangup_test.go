package javatest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// A hangups counts connections, and times their ends.
type hangups struct {
	counter
	after map[int]time.Duration // of each connection: from before the last byte of its answer to the client's end of it
}

// hangup passes one request and its answer, and waits for the client to close.
func (c *hangups) hangup(client net.Conn, server string, number int) {
	request, err := http.ReadRequest(bufio.NewReader(client))
	if err != nil {
		return
	}
	last := request.Close
	request.RequestURI, request.URL.Scheme, request.URL.Host = "", "http", server
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || len(body) == 0 {
		return
	}
	head := fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n", response.Status,
		response.Header.Get("Content-Type"), len(body))
	if last {
		head += "Connection: close\r\n"
	}
	client.Write(append([]byte(head+"\r\n"), body[:len(body)-1]...))
	time.Sleep(20 * time.Millisecond) // the client has all but the last byte
	began := time.Now()
	client.Write(body[len(body)-1:])
	io.Copy(io.Discard, client)
	took := time.Since(began)
	c.mutex.Lock()
	c.after[number] = took
	c.mutex.Unlock()
}

// closers are the clients whose HTTP library would close a connection by itself, and their encodings.
var closers = []struct {
	name      string
	encodings []string
}{
	{"jersey", []string{"protobuf", "xml"}}, {"jersey3", []string{"xml"}}, {"restlet", []string{"xml"}},
	{"jaxws-rt", []string{"soap11", "text"}}, {"axis2", []string{"soap11"}}, {"axis2-18", []string{"soap11"}},
}

// A connection of a request's own is closed behind it, and is nobody else's. One server and one client of a stack are
// asked for both: to start them takes longer.
func TestRequestsWithConnectionsOfTheirOwn(t *testing.T) {
	for _, f := range closers {
		t.Run(f.name, func(t *testing.T) {
			cpu := ownCPU(t)
			d := stacktest.Built(t, filepath.Join("..", f.name))
			p := pair{server: lightly(t, cpu, d, d.Serve), client: lightly(t, cpu, d, d.Call)}
			for _, encoding := range f.encodings {
				t.Run(encoding+": closing follows decoding", func(t *testing.T) { closingFollowsDecoding(t, p, encoding) })
				t.Run(encoding+": each has its own", func(t *testing.T) { eachHasItsOwnConnection(t, p, encoding) })
			}
		})
	}
}

// Closing the connection of a request is no part of its total, and of its round trip least of all: the client closes it
// when the answer is decoded, which takes milliseconds of 300 kB, not within the read that gets its end.
func closingFollowsDecoding(t *testing.T, p pair, encoding string) {
	call := stack.Call{Service: "sort", Encoding: encoding, Security: "none", Transport: "http",
		Connection: "per-request", Message: stack.Message{Seed: 7, N: 30_000}, Limits: stack.Limits{Body: 16e6}}
	c := hangups{after: map[int]time.Duration{}}
	call.URL = c.between(t, serve(t, p.server, call), c.hangup)
	all := ask(t, p.client, call, 5) // of the warm-up and of the run
	for range 100 {                  // the last one may be on its way
		c.mutex.Lock()
		ended := len(c.after)
		c.mutex.Unlock()
		if ended == 10 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.after) != 10 || len(all) != 5 {
		t.Fatalf("%d connections were closed of 10, %d records", len(c.after), len(all))
	}
	var decoding, ending []measure.Exchange
	for i, x := range all {
		decoding = append(decoding, measure.Exchange{Total: x.Deserialization})
		ending = append(ending, measure.Exchange{Total: c.after[5+i]})
		if c.after[5+i] < x.Deserialization {
			t.Errorf("request %d: it was closed %v after its last byte was sent, and decoded in %v", x.Seq,
				c.after[5+i], x.Deserialization)
		}
	}
	t.Logf("decoded in %v, closed after %v", median(decoding, total), median(ending, total))
}

// Each request has a connection of its own, also beside others: none takes one that another has done with.
func eachHasItsOwnConnection(t *testing.T, p pair, encoding string) {
	call := stack.Call{Service: "echo", Encoding: encoding, Security: "none", Transport: "http",
		Connection: "per-request", Message: stack.Message{Seed: 7, N: 40}, Timeout: int64(30 * time.Second),
		Limits: stack.Limits{Body: 16e6}}
	var c counter
	call.URL = c.between(t, serve(t, p.server, call), through)
	if _, err := p.client.Call(within(t), call); err != nil {
		t.Fatal(err)
	}
	const requests = 300
	end, err := p.client.Run(within(t), stack.Run{Requests: requests, Concurrency: 4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.connections != requests {
		t.Errorf("%d connections for %d requests; %+v", c.connections, requests, end)
	}
}
